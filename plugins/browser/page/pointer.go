package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
)

// guardLife is how long the page guards the events of one attempt.
const guardLife = 2 * time.Second

// point moves the pointer to the element and presses, as the action says. What
// the page does between the check and the events is seen by the guard, which lets
// nothing else have them: then it is tried again while there is time.
func (a *actor) point(ctx context.Context) (*Outcome, *Failure, error) {
	button := a.a.Button
	if button == "" {
		button = "left"
	}
	count := max(1, a.a.Count)
	if a.a.Kind == "dblclick" {
		count = 2
	}
	for again := false; ; again = true {
		arg := a.arg()
		if again {
			arg["again"] = true
		}
		ans, err := a.ask(ctx, "check", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		if ans.Done {
			return &Outcome{Hit: ans.Element, Checked: ans.Checked}, nil, nil
		}
		armed := time.Now()
		a.token = ans.Token
		at, guards, failure, err := a.outward(ctx, ans)
		if err != nil || failure != nil {
			leave(guards)
			return nil, failure, err
		}
		if time.Since(armed) > guardLife/2 && time.Now().Before(a.end) {
			continue // a frame around took so long that the guard may end first; nothing was sent
		}
		var in input
		in.move(at, 0, a.mods)
		inputs := 0 // a hover is none that the page could wait for
		if a.a.Kind != "hover" {
			inputs = count
			for n := 1; n <= count; n++ {
				in.press(at, button, n, a.mods)
				in.release(at, button, n, a.mods)
			}
		}
		met, had, err := a.aftermath(ctx, &in, inputs, "outcome", map[string]any{"token": ans.Token})
		if !had {
			leave(guards)
			return nil, nil, err
		}
		hit, over, err := a.outcome(ctx, ans, guards, met, err)
		if err != nil {
			return nil, nil, err
		}
		if hit != nil {
			return &Outcome{Hit: hit, Partly: over != nil || met != nil && met.Partly}, nil, nil
		}
		if over == nil {
			// Who got the events is not known, so they are not sent again.
			return nil, &Failure{Error: "covered", Reason: "not_reached"}, nil
		}
		if time.Now().After(a.end) {
			return nil, &Failure{Error: "covered", Reason: "moved", CoveredBy: over.CoveredBy}, nil
		}
	}
}

// outward carries the point of what was checked into the main frame's viewport,
// through each frame around the element's, where nothing may lie over it. The
// guards on the way are told, the element's own first.
func (a *actor) outward(ctx context.Context, checked *answer) (Point, []guard, *Failure, error) {
	p, guards := checked.Point, []guard{{a.at, checked.Token}}
	for f := a.at.frame; f.Parent() != nil; f = f.Parent() {
		if err := f.Bind(ctx); err != nil {
			return p, guards, nil, err
		}
		around := place{frame: f.Parent()}
		var ans answer
		err := around.ask(ctx, "through", map[string]any{"frame": f.ID, "x": p.X, "y": p.Y, "timeout": left(a.end)}, &ans)
		if err != nil {
			return p, guards, nil, err
		}
		if !ans.OK {
			return p, guards, &ans.Failure, nil
		}
		p = ans.Point
		guards = append(guards, guard{around, ans.Token})
	}
	return p, guards, nil, nil
}

// onward carries a further point of the element's frame outward, as the page is
// scrolled now.
func (a *actor) onward(ctx context.Context, p Point) (Point, *Failure, error) {
	for f := a.at.frame; f.Parent() != nil; f = f.Parent() {
		around := place{frame: f.Parent()}
		var ans answer
		err := around.ask(ctx, "onward", map[string]any{"frame": f.ID, "x": p.X, "y": p.Y}, &ans)
		if err != nil {
			return p, nil, err
		}
		if !ans.OK {
			return p, &ans.Failure, nil
		}
		p = ans.Point
	}
	return p, nil, nil
}

// guard watches the events of an action in one document.
type guard struct {
	place
	token int64
}

// leave ends the guards of an action that was given up: what of it has not come
// does nothing.
func leave(guards []guard) {
	for _, g := range guards {
		g.leave(g.token, false)
	}
}

// outcome judges by what was told of the events, or why it was not: hit is what
// was hit, over what was in the way of all, or of what followed; both are nil when
// no event came. When nobody can tell it is an error: then nothing may be tried
// again.
func (a *actor) outcome(ctx context.Context, checked *answer, guards []guard, ans *answer, err error) (hit json.RawMessage, over *blocked, _ error) {
	if gone(err) {
		return checked.Element, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if ans.met() {
		return ans.Hit, ans.Blocked, nil
	}
	if ans.Blocked != nil {
		return nil, ans.Blocked, nil
	}
	if !ans.OK || ans.Expired {
		return nil, nil, context.DeadlineExceeded // the page was busy for so long that the guard ended
	}
	for _, g := range guards[1:] {
		var around answer
		if err := g.ask(ctx, "outcome", map[string]any{"token": g.token}, &around); err == nil && around.Blocked != nil {
			return nil, around.Blocked, nil
		}
	}
	return nil, nil, nil
}

// met: an event of the action has reached its element.
func (a *answer) met() bool { return len(a.Hit) > 0 && string(a.Hit) != "null" }

// gone: the document, frame or tab has ended, by what the action did.
func gone(err error) bool {
	return errors.Is(err, target.ErrNavigated) || errors.Is(err, target.ErrFrameGone) || errors.Is(err, target.ErrTabClosed)
}

// ErrNoAnswer is a page that has not dealt with its input in time: a script of it
// still runs, perhaps for ever.
var ErrNoAnswer = fmt.Errorf("the page has been busy for %v since it got the input: what that did is not known", answerBound)

// answerBound is how long a page may take to deal with what was sent at once.
const answerBound = 20 * time.Second

// flush sends the page the events and waits until it has had them.
func (a *actor) flush(ctx context.Context, in *input) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerBound, ErrNoAnswer)
	defer cancel()
	err := in.flush(ctx, a.t)
	a.sent = a.sent || in.sent
	return err
}

// tick clicks a box unless it is as it should be, and looks afterwards.
func (a *actor) tick(ctx context.Context) (*Outcome, *Failure, error) {
	out, failure, err := a.point(ctx)
	if err != nil || failure != nil || len(out.Checked) > 0 {
		return out, failure, err
	}
	var ans answer
	arg := a.arg()
	arg["token"] = a.token
	err = a.at.ask(ctx, "state", arg, &ans)
	if gone(err) {
		return out, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	if out.Checked = ans.Checked; len(ans.Checked) == 0 {
		return out, nil, nil // the page has removed it since
	}
	if want := strconv.FormatBool(a.a.Kind == "check"); string(ans.Checked) != want {
		return nil, &Failure{Error: "wrong_element", Reason: "it was clicked and is not " + a.a.Kind + "ed"}, nil
	}
	return out, nil, nil
}
