package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/target"
)

// Point is a place in an element or in a viewport, in CSS pixels.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Element names an element by ref or by selector; a selector wins.
type Element struct {
	Ref      string `json:"ref,omitzero"`
	Selector string `json:"selector,omitzero"`
}

// Failure is why something was not done; it is an answer and no error.
type Failure struct {
	OK        bool            `json:"ok"`
	Error     string          `json:"error,omitzero"`
	Reason    string          `json:"reason,omitzero"`
	CoveredBy json.RawMessage `json:"covered_by,omitzero"`
	Options   json.RawMessage `json:"options,omitzero"`
	More      int             `json:"more,omitzero"`
	Expected  string          `json:"expected,omitzero"`
	Which     string          `json:"which,omitzero"`
	Message   string          `json:"message,omitzero"`
}

// place is the frame and document that an element is looked for in.
type place struct {
	frame *target.Frame
	world string // "" for a selector: whatever document is there
}

// where finds the place of an element; the failure is that of a ref that names
// nothing.
func where(t *target.Tab, e Element) (place, *Failure) {
	if e.Selector != "" {
		return place{frame: t.Main()}, nil
	}
	f, world, reason := t.Ref(e.Ref)
	if reason != "" {
		return place{}, &Failure{Error: "stale_or_missing", Reason: reason}
	}
	return place{f, world}, nil
}

// ask calls a function of our code and decodes its JSON into answer. The place is
// that document from then on.
func (p *place) ask(ctx context.Context, name string, arg map[string]any, answer any) error {
	raw, world, err := p.frame.Invoke(ctx, p.world, name, arg)
	if err != nil {
		return err
	}
	p.world = world
	text, ok := wire.Unquote(raw)
	if !ok {
		return fmt.Errorf("%s gave no text", name)
	}
	return json.Unmarshal([]byte(text), answer)
}

// leave stops what the events of an action still do in the document: nobody waits
// for it any more. pressing: a button is down that is to be let go of.
func (p place) leave(token int64, pressing bool) {
	p.frame.Tell(p.world, "leave", map[string]any{"token": token, "pressing": pressing})
}

// left is what is left of the time until the end, in whole milliseconds.
func left(end time.Time) int64 { return max(0, time.Until(end).Milliseconds()) }

// stale turns the loss of a ref's document into the failure that it is.
func stale(p place, err error) (*Failure, error) {
	if p.world != "" && (errors.Is(err, target.ErrNavigated) || errors.Is(err, target.ErrFrameGone)) {
		return &Failure{Error: "stale_or_missing", Reason: target.Navigated}, nil
	}
	return nil, err
}
