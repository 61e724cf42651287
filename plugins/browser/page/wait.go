package page

import (
	"context"
	"errors"
	"strings"
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

// waitElement lets our code wait in the page; a new document is asked again.
func waitElement(ctx context.Context, t *target.Tab, c Condition, end time.Time) error {
	at := place{frame: t.Main()}
	if c.Ref != "" {
		p, failure := where(t, Element{Ref: c.Ref})
		if failure != nil {
			if c.Gone && failure.Reason == target.Navigated {
				return nil
			}
			return &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		at = p
	}
	for {
		arg := map[string]any{"gone": c.Gone, "timeout": left(end)}
		switch {
		case c.Text != "":
			arg["text"] = c.Text
		case c.Selector != "":
			arg["selector"] = c.Selector
		default:
			arg["ref"] = c.Ref
		}
		var ans Failure
		now := at // of a selector or text, whatever document is there then
		err := now.ask(ctx, "wait", arg, &ans)
		if errors.Is(err, target.ErrNavigated) || errors.Is(err, target.ErrFrameGone) {
			if c.Ref != "" {
				if c.Gone {
					return nil
				}
				return &FailedTarget{Code: "stale_or_missing", Reason: target.Navigated}
			}
			if time.Now().Before(end) {
				continue
			}
			return ErrWait
		}
		switch {
		case err != nil:
			return err
		case ans.OK:
			return nil
		case ans.Error == "timeout":
			return ErrWait
		case ans.Error == "invalid_selector":
			return &ParamError{"selector", ans.Message}
		}
		return &FailedTarget{Code: ans.Error, Reason: ans.Reason, Message: ans.Message}
	}
}

// waitFunction evaluates an expression after each change of the page.
func waitFunction(ctx context.Context, t *target.Tab, source string, end time.Time) error {
	for {
		value, err := JavaScript(ctx, t, Script{
			Source: "(async () => { let value = (" + source + "\n); if (typeof value == 'function') value = value(); return !!(await value) })()",
			Await:  true, Timeout: max(time.Until(end), 100*time.Millisecond), Passive: true,
		})
		switch {
		case errors.Is(err, target.ErrNavigated):
		case err != nil:
			return err
		case string(value) == "true":
			return nil
		}
		if !time.Now().Before(end) {
			return ErrWait
		}
		_, _, err = t.Main().Invoke(ctx, "", "tick", nil)
		if err != nil && !errors.Is(err, target.ErrNavigated) {
			return err
		}
	}
}
