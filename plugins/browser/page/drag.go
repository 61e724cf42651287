package page

import (
	"context"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

const (
	// dragSteps is over how many moves a drag goes.
	dragSteps = 6
	// dragStart is how long after the last move an HTML drag may be told of.
	dragStart = 150 * time.Millisecond
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
		return nil, &Failure{Error: "wrong_element", Reason: "both must be in the same frame", Which: "to"}, nil
	}
	arg := a.arg()
	arg["to"] = to
	ans, err := a.ask(ctx, "drag", arg)
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	from, tokens, failure, err := a.outward(ctx, ans.Point)
	if err != nil || failure != nil {
		return nil, failure, err
	}
	end := Point{from.X + ans.To.X - ans.X, from.Y + ans.To.Y - ans.Y}

	s := a.t.Session()
	begun, cancel := s.Subscribe("Input.dragIntercepted")
	defer cancel()
	s.Start("Input.setInterceptDrags", map[string]bool{"enabled": true})
	defer s.Start("Input.setInterceptDrags", map[string]bool{"enabled": false})
	in := newInput(a.t)
	in.move(from, 0, a.mods)
	in.press(from, "left", 1, a.mods)
	for i := 1; i <= dragSteps; i++ {
		part := float64(i) / dragSteps
		in.move(Point{from.X + (end.X-from.X)*part, from.Y + (end.Y-from.Y)*part}, 1, a.mods)
	}
	event, err := begins(ctx, begun, func(ctx context.Context) error { return a.flush(ctx, in) })
	if err != nil {
		return nil, nil, err
	}
	if event != nil {
		err = a.drop(ctx, event, end)
	} else {
		in.release(end, "left", 1, a.mods)
		err = a.flush(ctx, in)
	}
	if err != nil {
		return nil, nil, err
	}
	hit, over, err := a.outcome(ctx, ans, tokens)
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
	return &Outcome{Hit: hit}, nil, nil
}

// begins waits until the browser begins an HTML drag, which keeps the moves from
// being answered, or has answered them all: then it gives nil, after a moment in
// which the drag may still be told of.
func begins(ctx context.Context, begun <-chan jsonv2.Value, flush func(context.Context) error) (jsonv2.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- flush(ctx) }()
	select {
	case event := <-begun:
		return event, nil
	case err := <-answered:
		if err != nil {
			return nil, err
		}
	}
	moment := time.NewTimer(dragStart)
	defer moment.Stop()
	select {
	case event := <-begun:
		return event, nil
	case <-moment.C:
		return nil, nil
	}
}

// drop ends a drag that the browser has begun.
func (a *actor) drop(ctx context.Context, event jsonv2.Value, end Point) error {
	var e struct {
		Data jsonv2.Value `json:"data"`
	}
	if err := jsonv2.Unmarshal(event, &e); err != nil {
		return err
	}
	in := newInput(a.t)
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		in.send("Input.dispatchDragEvent", map[string]any{"type": kind, "x": end.X, "y": end.Y, "data": e.Data, "modifiers": a.mods})
	}
	in.release(end, "left", 1, a.mods)
	return a.flush(ctx, in)
}
