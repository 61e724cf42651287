package page

import (
	"context"
	"errors"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
)

const (
	// dragSteps is over how many moves a drag goes.
	dragSteps = 6
	// dragStart is how long after the last move an HTML drag may be told of.
	dragStart = 150 * time.Millisecond
	// letGoBound is how long a page may be busy before the button is let go of. Who
	// waited for the drag has given up; the next action waits.
	letGoBound = 10 * time.Second
)

// drag presses on the element, moves to the other one and lets go. A page that
// drags by pointer events gets these; where the browser begins an HTML drag, it
// goes on with that.
func (a *actor) drag(ctx context.Context) (*Outcome, *Failure, error) {
	to := *a.a.To
	if to.Selector != "" {
		to.Ref = ""
	} else if at, failure := where(a.t, to); failure != nil {
		failure.Which = "to"
		return nil, failure, nil
	} else if a.a.Selector == "" && at.frame != a.at.frame {
		return nil, apart, nil
	}
	arg := a.arg()
	arg["to"] = to
	ans, err := a.ask(ctx, "drag", arg)
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		if ans.Which == "to" && ans.Reason == "missing" && a.elsewhere(ctx, to) {
			return nil, apart, nil
		}
		return nil, &ans.Failure, nil
	}
	from, guards, failure, err := a.outward(ctx, ans)
	if err != nil || failure != nil {
		leave(guards)
		return nil, failure, err
	}
	end, failure, err := a.onward(ctx, ans.To)
	if err != nil || failure != nil {
		leave(guards)
		if failure != nil {
			failure.Which = "to"
		}
		return nil, failure, err
	}
	html, err := a.carry(ctx, from, end, guards)
	if err != nil {
		return nil, nil, err
	}
	var met answer
	err = a.at.ask(ctx, "outcome", map[string]any{"token": ans.Token, "dragged": html}, &met)
	hit, over, err := a.outcome(ctx, ans, guards, &met, err)
	if err != nil {
		return nil, nil, err
	}
	if hit == nil {
		f := &Failure{Error: "covered", Reason: "not_reached"}
		if over != nil {
			f.Reason, f.CoveredBy = "moved", over.CoveredBy
		}
		return nil, f, nil
	}
	if html && met.Refused {
		return nil, &Failure{Error: "wrong_element", Reason: "it was dragged there, and does not take it", Which: "to"}, nil
	}
	return &Outcome{Hit: hit}, nil, nil
}

// apart is the failure of a drag from one frame into another.
var apart = &Failure{Error: "wrong_element", Reason: "both must be in the same frame", Which: "to"}

// elsewhere: an element is in another frame than the action's.
func (a *actor) elsewhere(ctx context.Context, e Element) bool {
	at, ok, err := firstFrame(ctx, a.t, time.Now(), func(ctx context.Context, at *place) (bool, error) {
		var ans Failure
		err := at.ask(ctx, "wait", map[string]any{"there": e.Selector, "timeout": 0}, &ans)
		return ans.OK, err
	})
	return err == nil && ok && at.frame != a.at.frame
}

// carry drags from one point of the main frame's viewport to another; html: it was a
// drag of the browser's own. Whatever comes in between, no button stays down.
func (a *actor) carry(ctx context.Context, from, end Point, guards []guard) (html bool, err error) {
	s := a.t.Session()
	begun, cancel := s.Subscribe("Input.dragIntercepted")
	s.Start("Input.setInterceptDrags", map[string]bool{"enabled": true})
	over := func() {
		s.Start("Input.setInterceptDrags", map[string]bool{"enabled": false})
		cancel()
	}
	var in input
	in.move(from, 0, a.mods)
	in.press(from, "left", 1, a.mods)
	for i := 1; i <= dragSteps; i++ {
		part := float64(i) / dragSteps
		in.move(Point{from.X + (end.X-from.X)*part, from.Y + (end.Y-from.Y)*part}, 1, a.mods)
	}
	dragged, err := begins(ctx, begun, func(ctx context.Context) error { return a.flush(ctx, &in) })
	if err == nil {
		var last input
		last.drop(dragged, end, a.mods)
		err = a.flush(ctx, &last)
	}
	if err == nil || !a.sent {
		over()
		return dragged != nil, err
	}
	for _, g := range guards {
		g.leave(g.token, true)
	}
	a.letGo(ctx, func() []*transport.Pending {
		if dragged == nil {
			dragged = inMoment(begun)
		}
		var in input
		in.back(dragged, from, a.mods)
		return in.start(s)
	}, over)
	return false, err
}

// letGo ends a drag that has failed by let, and calls over when that was answered. Let
// go of before the page has dealt with what it was sent, the element would be clicked.
// A dialog may keep it from that, and the browser begin a drag of its own behind one:
// Chromium ends when that is not kept from its system then. So each dialog's answer is
// waited for, whoever waits for the drag, and no other action comes before.
func (a *actor) letGo(ctx context.Context, let func() []*transport.Pending, over func()) {
	turn := a.release
	a.release = func() {}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer turn()
		_ = a.past(a.barrier) // whatever the page makes of it, the button is let go of
		sent := let()
		err := a.past(func(ctx context.Context) error {
			return a.t.Guarded(ctx, func(ctx context.Context) error { return answered(ctx, sent) })
		})
		if err == nil {
			over()
			return
		}
		go func() { // a page that is busy still may begin the drag yet
			_ = answered(context.Background(), sent)
			over()
		}()
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoBound)
	defer cancel()
	_ = a.t.Guarded(ctx, func(ctx context.Context) error { // the open dialog is for the caller to answer
		select {
		case <-done:
		case <-ctx.Done():
		}
		return nil
	})
}

// past gives what f does, once no dialog has kept it from its end.
func (a *actor) past(f func(context.Context) error) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), letGoBound)
		err := f(ctx)
		cancel()
		if !errors.Is(err, target.ErrDialogOpen) {
			return err
		}
		for changed := a.t.Changed(); errors.Is(a.t.Answers(context.Background()), target.ErrDialogOpen); changed = a.t.Changed() {
			<-changed
		}
	}
}

// answered waits until all were answered, or will not be.
func answered(ctx context.Context, sent []*transport.Pending) error {
	for _, p := range sent {
		select {
		case <-p.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// begins waits until the browser begins an HTML drag, which keeps the moves from
// being answered, or has answered them all: then it gives nil, after a moment in
// which the drag may still be told of.
func begins(ctx context.Context, begun <-chan jsonv2.Value, flush func(context.Context) error) (jsonv2.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	answered := make(chan error, 1)
	go func() { answered <- flush(ctx) }()
	select {
	case event := <-begun:
		cancel()
		if err := <-answered; gone(err) { // else it says that the moves were left
			return nil, err
		}
		return event, nil
	case err := <-answered:
		cancel()
		if err != nil {
			return nil, err
		}
	}
	return inMoment(begun), nil
}

// inMoment is what is told of an HTML drag that may begin now, nil when none does.
func inMoment(begun <-chan jsonv2.Value) jsonv2.Value {
	moment := time.NewTimer(dragStart)
	defer moment.Stop()
	select {
	case event := <-begun:
		return event
	case <-moment.C:
		return nil
	}
}

// drop lets go at the end of a drag; dragged is the HTML one that the browser has
// begun, if any.
func (in *input) drop(dragged jsonv2.Value, end Point, mods int) {
	if dragged != nil {
		in.drag(dragged, end, mods, "dragEnter", "dragOver", "drop")
	}
	in.release(end, "left", 1, mods)
}

// back lets go where a drag began, without anything being clicked or dropped.
func (in *input) back(dragged jsonv2.Value, from Point, mods int) {
	if dragged != nil {
		in.drag(dragged, from, mods, "dragEnter", "dragCancel")
	} else {
		in.send("Input.cancelDragging", nil)
		in.move(from, 1, mods)
	}
	in.release(from, "left", 1, mods)
}

func (in *input) drag(dragged jsonv2.Value, at Point, mods int, kinds ...string) {
	var event struct {
		Data jsonv2.Value `json:"data"`
	}
	_ = jsonv2.Unmarshal(dragged, &event) // without data the browser refuses what follows
	for _, kind := range kinds {
		in.send("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "data": event.Data, "modifiers": mods})
	}
}
