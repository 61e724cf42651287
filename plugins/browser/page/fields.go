package page

import (
	"context"
	"time"
)

// typedAtOnce is how many characters are sent before the page has had them.
const typedAtOnce = 64

// fill gives a field a text, and reads back what it holds.
func (a *actor) fill(ctx context.Context) (*Outcome, *Failure, error) {
	text := ""
	if a.a.Value != nil && a.a.Kind == "fill" {
		text = *a.a.Value
	}
	for {
		arg := a.arg()
		arg["value"] = text
		ready, err := a.ask(ctx, "edit", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ready.OK {
			return nil, &ready.Failure, nil
		}
		var in input
		inputs := 0
		switch ready.How {
		case "insert":
			in.insert(text)
			inputs = 1
		case "delete":
			in.stroke(nil, named["Delete"])
		case "whole":
			return a.whole(ctx, arg)
		default: // it holds the value already
			return &Outcome{Hit: ready.Element, Value: ready.Value, Secret: ready.Secret}, nil, nil
		}
		ans, had, err := a.aftermath(ctx, &in, inputs, "value", map[string]any{
			"target": arg["target"], "token": ready.Token, "expect": text, "sent": true,
		})
		switch {
		case !had:
			a.at.leave(ready.Token, false)
			return nil, nil, err
		case gone(err):
			return &Outcome{Hit: ready.Element}, nil, nil
		case err != nil:
			return nil, nil, err
		}
		if ans.Blocked != nil {
			if a.again(ans) {
				continue
			}
			return nil, ans.focusMoved(), nil
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		out := &Outcome{Hit: ready.Element}
		out.holds(ans)
		return out, nil, nil
	}
}

// whole gives a field its value at once: a date, a colour and the like.
func (a *actor) whole(ctx context.Context, arg map[string]any) (*Outcome, *Failure, error) {
	ans, err := a.does(ctx, "edit", with(arg, "set", true))
	if err != nil {
		return nil, nil, err
	}
	if !ans.OK {
		return nil, &ans.Failure, nil
	}
	if ans.How != "" { // the page has made another field of it, which holds what it held
		a.at.leave(ans.Token, false)
		return nil, &Failure{Error: "stale_or_missing", Reason: "changed"}, nil
	}
	out := &Outcome{Hit: ans.Element}
	out.holds(ans)
	return out, nil, nil
}

// again: keys or a text were kept from going elsewhere before any of them had done
// something, and there is time to try it again.
func (a *actor) again(ans *answer) bool { return !ans.Begun && !ans.met() && time.Now().Before(a.end) }

// focusMoved is the failure of keys or a text that were kept from going elsewhere.
func (a *answer) focusMoved() *Failure {
	return &Failure{Error: "covered", Reason: "focus_moved", CoveredBy: a.Blocked.CoveredBy}
}

// typeKeys types a text at the end of what a field holds. When its first key would
// go elsewhere, none is typed, and it is tried again while there is time. When the
// page gives the focus away while that comes down, nothing is typed either.
func (a *actor) typeKeys(ctx context.Context) (*Outcome, *Failure, error) {
	for {
		arg := a.arg()
		arg["value"] = *a.a.Value
		ready, err := a.ask(ctx, "edit", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ready.OK {
			return nil, &ready.Failure, nil
		}
		if ready.How == "whole" {
			return a.whole(ctx, arg)
		}
		out := &Outcome{Hit: ready.Element}
		back := a.arg()
		back["typed"], back["token"], back["sent"] = ready.Typed, ready.Token, *a.a.Value != ""
		ans, err := a.keys(ctx, ready, back)
		switch {
		case gone(err): // the keys have taken it away
			return out, nil, nil
		case err != nil:
			return nil, nil, err
		case ans.Blocked != nil:
			if a.again(ans) {
				continue
			}
			return nil, ans.focusMoved(), nil
		case ans.Reason == "not_reached":
			return nil, &ans.Failure, nil
		case ans.OK:
			out.holds(ans)
			out.Focus = ans.Focus
		}
		return out, nil, nil
	}
}

// keys types, and asks what the field holds then.
func (a *actor) keys(ctx context.Context, ready *answer, back map[string]any) (*answer, error) {
	// Not all at once: what was sent is typed, whoever has given up meanwhile.
	text := []rune(*a.a.Value)
	for len(text) > 0 {
		n := min(len(text), typedAtOnce)
		var in input
		in.write(string(text[:n]))
		if err := a.flush(ctx, &in); err != nil {
			a.at.leave(ready.Token, false)
			return nil, err
		}
		if text = text[n:]; len(text) == 0 || back["token"] == nil {
			continue
		}
		var begun answer
		if err := a.at.ask(ctx, "value", back, &begun); err != nil || begun.Blocked != nil || begun.Reason == "not_reached" {
			return &begun, err
		}
		delete(back, "token")
	}
	var ans answer
	return &ans, a.at.ask(ctx, "value", back, &ans)
}

// holds adds what the element holds now.
func (o *Outcome) holds(ans *answer) {
	o.Value, o.Secret = ans.Value, ans.Secret
	if ans.Matches != nil && !*ans.Matches {
		o.Matches = ans.Matches
	}
}

// press strokes a key or a chord, in the element or in what has the focus.
func (a *actor) press(ctx context.Context) (*Outcome, *Failure, error) {
	mods, k, err := chord(*a.a.Value, a.a.Modifiers...)
	if err != nil {
		return nil, nil, err
	}
	var in input
	for range max(1, a.a.Count) {
		in.stroke(mods, k)
	}
	if a.a.Ref != "" || a.a.Selector != "" {
		return a.pressIn(ctx, &in)
	}
	if err := a.barrier(ctx); err != nil { // a busy page gets no key of somebody who has given up
		return nil, nil, err
	}
	if err := a.flush(ctx, &in); err != nil {
		return nil, nil, err
	}
	return &Outcome{}, nil, a.barrier(ctx)
}

// pressIn strokes keys in the element. When the first would go elsewhere, none is
// stroked, and it is tried again while there is time. When the page gives the focus
// away while that comes down, the rest is stopped, and nothing is sent twice.
func (a *actor) pressIn(ctx context.Context, keys *input) (*Outcome, *Failure, error) {
	arg := a.arg()
	arg["action"] = "press"
	for {
		ready, err := a.ask(ctx, "focusOn", arg)
		if err != nil {
			return nil, nil, err
		}
		if !ready.OK {
			return nil, &ready.Failure, nil
		}
		in := *keys
		if err := a.flush(ctx, &in); err != nil {
			a.at.leave(ready.Token, false)
			return nil, nil, err
		}
		var met answer
		err = a.at.ask(ctx, "outcome", map[string]any{"token": ready.Token}, &met)
		switch {
		case gone(err): // the keys have taken it away
		case err != nil:
			return nil, nil, err
		case met.Blocked != nil && met.met():
			return &Outcome{Hit: ready.Element, Partly: true}, nil, nil
		case met.Blocked != nil:
			if a.again(&met) {
				continue
			}
			return nil, met.focusMoved(), nil
		case met.Reason == "not_reached":
			return nil, &met.Failure, nil
		case !met.OK || met.Expired && !met.met():
			return nil, nil, context.DeadlineExceeded // as of a click whose guard ended before it came
		}
		return &Outcome{Hit: ready.Element, Partly: met.Partly}, nil, nil
	}
}

func (a *actor) choose(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	switch {
	case a.a.Values != nil:
		arg["value"] = a.a.Values
	case a.a.Value != nil:
		arg["value"] = *a.a.Value
	}
	return a.simple(ctx, "select", arg)
}
