package page

import (
	"context"
	"errors"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// input is real input events for a tab. flush sends them all without waiting for
// each other's answers, and then waits for these.
type input struct {
	events []event
	then   func() // unless nil it is called when they are sent
	sent   bool
}

type event struct {
	method string
	params any
}

type mouseEvent struct {
	Type       string  `json:"type"`
	X          float64 `json:"x"`
	Y          float64 `json:"y"`
	Button     string  `json:"button,omitzero"`
	Buttons    int     `json:"buttons"`
	ClickCount int     `json:"clickCount"`
	Modifiers  int     `json:"modifiers"`
}

type keyEvent struct {
	Type       string   `json:"type"`
	Modifiers  int      `json:"modifiers"`
	Text       string   `json:"text,omitzero"`
	Unmodified string   `json:"unmodifiedText,omitzero"`
	Code       string   `json:"code,omitzero"`
	Key        string   `json:"key"`
	KeyCode    int      `json:"windowsVirtualKeyCode,omitzero"`
	Location   int      `json:"location,omitzero"`
	Keypad     bool     `json:"isKeypad,omitzero"`
	Commands   []string `json:"commands,omitzero"`
}

var buttonBits = map[string]int{"left": 1, "right": 2, "middle": 4, "back": 8, "forward": 16}

func (in *input) send(method string, params any) {
	in.events = append(in.events, event{method, params})
}

func (in *input) move(p Point, buttons, mods int) {
	button := "none"
	if buttons&1 != 0 {
		button = "left"
	}
	in.send("Input.dispatchMouseEvent", mouseEvent{Type: "mouseMoved", X: p.X, Y: p.Y, Button: button, Buttons: buttons, Modifiers: mods})
}

func (in *input) press(p Point, button string, count, mods int) {
	in.send("Input.dispatchMouseEvent", mouseEvent{
		Type: "mousePressed", X: p.X, Y: p.Y, Button: button, Buttons: buttonBits[button], ClickCount: count, Modifiers: mods})
}

func (in *input) release(p Point, button string, count, mods int) {
	in.send("Input.dispatchMouseEvent", mouseEvent{Type: "mouseReleased", X: p.X, Y: p.Y, Button: button, ClickCount: count, Modifiers: mods})
}

func (in *input) insert(text string) {
	in.send("Input.insertText", map[string]string{"text": text})
}

func (in *input) keyDown(k key, mods int) {
	e := keyEvent{Type: "rawKeyDown", Modifiers: mods, Code: k.Code, Key: k.Key, KeyCode: k.KeyCode, Location: k.Location}
	if k.Text != "" && mods&(control|alt|meta) == 0 {
		e.Type, e.Text, e.Unmodified = "keyDown", k.Text, k.Text
	}
	in.send("Input.dispatchKeyEvent", e)
}

func (in *input) keyUp(k key, mods int) {
	in.send("Input.dispatchKeyEvent", keyEvent{Type: "keyUp", Modifiers: mods, Code: k.Code, Key: k.Key, KeyCode: k.KeyCode, Location: k.Location})
}

// stroke presses a key with modifiers, and releases everything.
func (in *input) stroke(mods []string, k key) {
	bits := 0
	for _, name := range mods {
		bits |= modifierKeys[name].bit
		in.keyDown(modifierKeys[name].key, bits)
	}
	in.keyDown(k, bits)
	in.keyUp(k, bits)
	for i := len(mods) - 1; i >= 0; i-- {
		bits &^= modifierKeys[mods[i]].bit
		in.keyUp(modifierKeys[mods[i]].key, bits)
	}
}

// write types a text, a key for each character where there is one.
func (in *input) write(text string) {
	for _, r := range text {
		k, shifted, ok := typed(r)
		switch {
		case !ok:
			in.insert(string(r))
		case shifted:
			in.stroke([]string{"Shift"}, k)
		default:
			in.stroke(nil, k)
		}
	}
}

// flush sends the events and waits until the page has had them all. Nothing is
// sent for somebody who has given up. A dialog that one of them opened keeps the
// rest from being answered: then it is over too.
func (in *input) flush(ctx context.Context, t *target.Tab) error {
	err := t.Guarded(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, p := range in.start(t.Session()) {
			if _, err := p.Wait(ctx); err != nil && !answeredLate(err) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, target.ErrTabClosed) {
		return nil // as a page does that closes its window
	}
	return err
}

func (in *input) start(s *transport.Session) []*transport.Pending {
	in.sent = true
	pending := make([]*transport.Pending, len(in.events))
	for i, e := range in.events {
		pending[i] = s.Start(e.method, e.params)
	}
	if in.then != nil {
		in.then()
	}
	return pending
}

// answeredLate: the event was given to a document that its own effect replaced, or
// closed.
func answeredLate(err error) bool {
	var refused *transport.Error
	return errors.As(err, &refused) || errors.Is(err, target.ErrTabClosed)
}
