package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
)

// Condition is what page.wait waits for; exactly one of its parts is set, and Gone
// turns text, selector and ref around.
type Condition struct {
	Text, Selector, Ref string
	URL                 string // a part of the address; * stands for any text
	Function            string // an expression that is true
	Load                bool
	Gone                bool
	Timeout             time.Duration
}

// lookBound is how long a frame inside of the page may take to tell what it shows.
const lookBound = 2 * time.Second

// ErrWait: what was waited for did not come in time.
var ErrWait = errors.New("it did not come in time")

// Wait waits until the tab shows what the condition asks for, in whatever document
// it has then.
func Wait(ctx context.Context, t *target.Tab, c Condition) error {
	set := 0
	for _, given := range []bool{c.Text != "", c.Selector != "", c.Ref != "", c.URL != "", c.Function != "", c.Load} {
		if given {
			set++
		}
	}
	if set != 1 {
		return &ParamError{"", "give one of text, selector, ref, url, load and function"}
	}
	if c.Gone && (c.URL != "" || c.Function != "" || c.Load) {
		return &ParamError{"gone", "goes with text, selector or ref"}
	}
	end := time.Now().Add(c.Timeout)
	waiting, cancel := context.WithDeadlineCause(ctx, end.Add(time.Second), ErrWait)
	defer cancel()
	var err error
	switch {
	case c.Load:
		bounded, stop := context.WithDeadlineCause(ctx, end, ErrWait)
		err = t.WaitLoad(bounded)
		stop()
	case c.URL != "":
		bounded, stop := context.WithDeadlineCause(ctx, end, ErrWait)
		err = t.WaitURL(bounded, func(url string) bool { return fits(c.URL, url) })
		stop()
	case c.Function != "":
		err = waitFunction(waiting, t, c.Function, end)
	default:
		err = waitElement(waiting, t, c, end)
	}
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return ErrWait
	}
	return err
}

// fits compares an address with a pattern: * stands for any text; without one the
// pattern has to be somewhere in it.
func fits(pattern, url string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return strings.Contains(url, pattern)
	}
	url, ok := strings.CutPrefix(url, first)
	for ok && star {
		first, rest, star = strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(url, first)
		}
		_, url, ok = strings.Cut(url, first)
	}
	return ok
}

// waitElement lets our code wait in the page's frames.
func waitElement(ctx context.Context, t *target.Tab, c Condition, end time.Time) error {
	switch {
	case c.Ref != "":
		return c.waitRef(ctx, t, end)
	case c.Gone:
		return c.waitGone(ctx, t, end)
	}
	_, ok, err := firstFrame(ctx, t, end, func(ctx context.Context, at *place) (bool, error) { return c.comes(ctx, at, end) })
	if err == nil && !ok {
		return ErrWait
	}
	return err
}

func (c Condition) waitRef(ctx context.Context, t *target.Tab, end time.Time) error {
	at, failure := where(t, Element{Ref: c.Ref})
	if failure == nil {
		ok, err := c.ask(ctx, &at, left(end))
		if failure, err = stale(at, err); err != nil || ok {
			return err
		}
		if failure == nil {
			return ErrWait
		}
	}
	if c.Gone && failure.Reason == target.Navigated {
		return nil
	}
	return &FailedTarget{Code: failure.Error, Reason: failure.Reason}
}

// ask lets one document wait for the condition.
func (c Condition) ask(ctx context.Context, at *place, timeout int64) (bool, error) {
	arg := map[string]any{"gone": c.Gone}
	switch {
	case c.Text != "":
		arg["text"] = c.Text
	case c.Selector != "":
		arg["selector"] = c.Selector
	default:
		arg["ref"] = c.Ref
	}
	var ans Failure
	var err error
	end := time.Now().Add(time.Duration(timeout) * time.Millisecond)
	for seek := int64(0); ; seek = seekAgain.Milliseconds() {
		ans = Failure{}
		if err = at.ask(ctx, "wait", with(with(arg, "timeout", left(end)), "seek", seek), &ans); err != nil || ans.Error != "closed" {
			break
		}
		openRoots(ctx, at)
	}
	switch {
	case err != nil:
		return false, err
	case ans.OK || ans.Error == "timeout":
		return ans.OK, nil
	case ans.Error == "invalid_selector":
		return false, &ParamError{"selector", ans.Message}
	}
	return false, &FailedTarget{Code: ans.Error, Reason: ans.Reason, Message: ans.Message}
}

// comes waits until a frame shows what is waited for, and is itself to be seen.
func (c Condition) comes(ctx context.Context, at *place, end time.Time) (bool, error) {
	for {
		ok, err := c.ask(ctx, at, left(end))
		if err != nil || !ok || at.frame.Parent() == nil {
			return ok, err
		}
		for f := at.frame; f.Parent() != nil; f = f.Parent() {
			if ok, err := frameShown(ctx, f, true, left(end)); err != nil || !ok {
				return false, err
			}
		}
		// It may have gone while the frame was waited for.
		ok, err = c.ask(ctx, at, 0)
		if err != nil || ok || !time.Now().Before(end) {
			return ok, err
		}
	}
}

// frameShown waits until the frame around f shows it, or shows it no more.
func frameShown(ctx context.Context, f *target.Frame, shown bool, timeout int64) (bool, error) {
	if err := f.Bind(ctx); err != nil {
		return false, err
	}
	around := place{frame: f.Parent()}
	var ans Failure
	err := around.ask(ctx, "wait", map[string]any{"frame": f.ID, "gone": !shown, "timeout": timeout}, &ans)
	return ans.OK, err
}

// waitGone waits until no frame shows it.
func (c Condition) waitGone(ctx context.Context, t *target.Tab, end time.Time) error {
	for {
		ok, err := c.leavesAll(ctx, t, end)
		if err != nil {
			return err
		}
		if !ok {
			return ErrWait
		}
		// It may have come to a frame that was done before.
		if ok, err = c.leavesAll(ctx, t, time.Now()); err != nil || ok {
			return err
		}
		if !time.Now().Before(end) {
			return ErrWait
		}
	}
}

// leavesAll waits until each frame shows it no more, one after the other perhaps.
func (c Condition) leavesAll(ctx context.Context, t *target.Tab, end time.Time) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	list, _ := frames(t)
	replies := make(chan reply, len(list))
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, f := range list {
		work.Go(func() {
			replies <- askAgain(ctx, f, end, func(ctx context.Context, at *place) (bool, error) { return c.leaves(ctx, at, end) })
		})
	}
	for range list {
		r := <-replies
		switch main := r.at.frame == t.Main(); {
		case main && r.err != nil && !errors.Is(r.err, target.ErrNavigated):
			return false, r.err
		case !main && r.err != nil: // what cannot be asked shows nothing
		case !r.yes:
			return false, nil
		}
	}
	return true, nil
}

// leaves waits until a frame shows it no more, or is itself not to be seen. A frame
// inside of the page that does not answer shows nothing.
func (c Condition) leaves(ctx context.Context, at *place, end time.Time) (bool, error) {
	if at.frame.Parent() == nil {
		return c.ask(ctx, at, left(end))
	}
	look, cancel := context.WithTimeout(ctx, lookBound)
	ok, err := c.ask(look, at, 0)
	cancel()
	if err != nil || ok {
		return ok, err
	}
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	hidden := make(chan bool)
	for f := at.frame; f.Parent() != nil; f = f.Parent() {
		go func() {
			ok, err := frameShown(ctx, f, false, left(end))
			select {
			case hidden <- ok && err == nil:
			case <-ctx.Done():
			}
		}()
	}
	own := make(chan reply, 1)
	here := *at // this one goes on when the frame is hidden
	go func() {
		ok, err := c.ask(ctx, &here, left(end))
		own <- reply{at: here, yes: ok, err: err}
	}()
	for {
		select {
		case r := <-own:
			*at = r.at
			return r.yes, r.err
		case ok := <-hidden:
			if ok {
				return true, nil
			}
		}
	}
}

// watch waits in the page's own world until a condition is true; then its answer
// is "true", and "false" when the time is over. It looks at every frame that is
// drawn, and from time to time where none is. Number 0 is no timer of the page.
const watch = `((o) => ((condition, left, { Promise: P, frame, later, never }) => {
	let over = left <= 0, wake = () => {}
	const stop = () => { over = true; wake() }
	const timer = over ? 0 : later(stop, left)
	const next = () => new P((done) => { wake = done; frame(done); later(done, 100) })
	const settled = (value) => new P((done, fail) => {
		if (!over) wake = done;
		(async () => { try { done(await value) } catch (e) { fail(e) } })()
	})
	return {
		stop,
		async answer() {
			try {
				for (;;) {
					let value = await settled(condition())
					if (typeof value == "function") value = await settled(value())
					if (value) return "true"
					if (over) return "false"
					await next()
				}
			} finally { never(timer) }
		},
	}
})((0, o.eval)(%s), %d, o))(%s)`

// waitFunction lets the page wait until an expression is true, in whatever document
// it has then.
func waitFunction(ctx context.Context, t *target.Tab, source string, end time.Time) error {
	condition := quote("(async () => (\n" + source + "\n))" + sourceURL)
	for {
		changed := t.Changed()
		text, err := t.Main().Watch(ctx, fmt.Sprintf(watch, condition, left(end), target.Originals), max(time.Until(end), 100*time.Millisecond))
		var thrown *target.Exception
		switch {
		case errors.As(err, &thrown):
			return scriptError(thrown, 1)
		case errors.Is(err, target.ErrNavigated):
		case err != nil:
			return err
		case text == "true":
			return nil
		default:
			return ErrWait
		}
		if !time.Now().Before(end) {
			return ErrWait
		}
		if err := pause(ctx, changed); err != nil {
			return err
		}
	}
}
