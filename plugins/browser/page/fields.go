package page

import (
	"context"
	"slices"
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
		default: // it holds the value already
			return &Outcome{Hit: ready.Element, Value: ready.Value, Secret: ready.Secret}, nil, nil
		}
		ans, had, err := a.aftermath(ctx, &in, inputs, "value", map[string]any{"target": arg["target"], "token": ready.Token, "expect": text})
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
			if time.Now().Before(a.end) {
				continue
			}
			return nil, &Failure{Error: "covered", Reason: "focus_moved", CoveredBy: ans.Blocked.CoveredBy}, nil
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		out := &Outcome{Hit: ready.Element}
		out.holds(ans)
		return out, nil, nil
	}
}

// typeKeys types a text at the end of what a field holds.
func (a *actor) typeKeys(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	arg["value"] = *a.a.Value
	ready, err := a.ask(ctx, "edit", arg)
	if err != nil {
		return nil, nil, err
	}
	if !ready.OK {
		return nil, &ready.Failure, nil
	}
	out := &Outcome{Hit: ready.Element}
	if ready.How == "keys" {
		// Not all at once: what was sent is typed, whoever has given up meanwhile.
		for some := range slices.Chunk([]rune(*a.a.Value), typedAtOnce) {
			var in input
			in.write(string(some))
			if err := a.flush(ctx, &in); err != nil {
				return nil, nil, err
			}
		}
	}
	back := a.arg()
	if ready.Typed != 0 {
		back["typed"] = ready.Typed
	}
	var ans answer
	err = a.at.ask(ctx, "value", back, &ans)
	switch {
	case err == nil && ans.OK:
		out.holds(&ans)
	case err != nil && !gone(err): // else the keys have taken it away
		return nil, nil, err
	}
	return out, nil, nil
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
	out := &Outcome{}
	if a.a.Ref != "" || a.a.Selector != "" {
		ans, err := a.ask(ctx, "focusOn", a.arg())
		if err != nil {
			return nil, nil, err
		}
		if !ans.OK {
			return nil, &ans.Failure, nil
		}
		out.Hit = ans.Element
	}
	var in input
	for range max(1, a.a.Count) {
		in.stroke(mods, k)
	}
	if err := a.flush(ctx, &in); err != nil {
		return nil, nil, err
	}
	return out, nil, a.barrier(ctx)
}

func (a *actor) choose(ctx context.Context) (*Outcome, *Failure, error) {
	arg := a.arg()
	switch {
	case len(a.a.Values) > 0:
		arg["value"] = a.a.Values
	case a.a.Value != nil:
		arg["value"] = *a.a.Value
	}
	return a.simple(ctx, "select", arg)
}
