package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// evaluation is what Runtime.evaluate answers.
type evaluation struct {
	Result struct {
		Type     string       `json:"type"`
		Value    jsonv2.Value `json:"value"`
		ObjectID string       `json:"objectId"`
		// Unserializable is what has no JSON: NaN, -0, 5n.
		Unserializable string `json:"unserializableValue"`
	} `json:"result"`
	Exception *Exception `json:"exceptionDetails"`
}

// Invoke calls a function of our code in the frame's isolated world and gives the
// string that it returns, which is raw JSON with its quotes. The code is put there
// with the first call in a document. world, unless "", is the document that the
// call is meant for: in another one it fails with ErrNavigated. in is the document
// that it ran in. When ctx ends first, so does what the call does in the page. An error
// of a call that the page was not sent is an Unsent.
func (f *Frame) Invoke(ctx context.Context, world, name string, arg any) (text []byte, in string, err error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	id := f.asked.Add(1)
	until, _ := ctx.Deadline()
	call, err := inject.Ask(id, until, name, arg)
	if err != nil {
		return nil, "", err
	}
	for attempt := 0; ; attempt++ {
		there, installed, err := f.enter(ctx)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // nothing is sent
		}
		if err == nil && world != "" && there.world != world {
			err = ErrNavigated
		}
		if err != nil {
			return nil, "", &Unsent{err}
		}
		expression := call
		if !installed {
			expression = inject.Source() + ";" + call
		}
		text, err := there.evaluate(ctx, expression)
		if err != nil && ctx.Err() != nil {
			there.tell(inject.Stop(id))
		}
		err = f.failed(there.session, err)
		switch {
		case err == nil && string(text) == `"`+inject.Stopped+`"`:
			return nil, "", context.DeadlineExceeded
		case err == nil:
			f.tab.browser.mu.Lock()
			if f.world == there.world {
				f.installed = true
			}
			f.tab.browser.mu.Unlock()
			return text, there.world, nil
		case errors.Is(err, errNotRun) && world == "" && attempt < 3:
			continue // the document was replaced before anything ran
		default:
			return nil, "", err
		}
	}
}

// Unsent is why a page was not sent a call.
type Unsent struct{ error }

// Unwrap gives the cause.
func (e *Unsent) Unwrap() error { return e.error }

// Tell calls a function of our code in a document, if it still is there, and does
// not wait.
func (f *Frame) Tell(world, name string, arg any) {
	call, err := inject.Call(name, arg)
	b := f.tab.browser
	b.mu.Lock()
	in := isolated{f.session, f.world}
	there := err == nil && f.installed && !f.gone && f.session != nil && f.world == world
	b.mu.Unlock()
	if there {
		in.tell(call)
	}
}

// isolated is the isolated world of a document.
type isolated struct {
	session *transport.Session
	world   string
}

// enter gives the frame's isolated world, and whether our code is in it.
func (f *Frame) enter(ctx context.Context) (isolated, bool, error) {
	b := f.tab.browser
	b.mu.Lock()
	s, err := f.ready()
	in, installed := isolated{s, f.world}, f.installed
	b.mu.Unlock()
	if err != nil {
		return isolated{}, false, err
	}
	if in.world != "" {
		return in, installed, nil
	}
	// The context is announced before the answer comes.
	err = s.Call(ctx, "Page.createIsolatedWorld", map[string]any{"frameId": f.ID, "worldName": worldName}, nil)
	if err != nil {
		return isolated{}, false, f.failed(s, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.world == "" || f.session != s {
		return isolated{}, false, errNotRun
	}
	return isolated{s, f.world}, f.installed, nil
}

// tell evaluates an expression whose answer is nobody's.
func (in isolated) tell(expression string) {
	in.session.Start("Runtime.evaluate", map[string]string{"expression": expression, "uniqueContextId": in.world})
}

// evaluate runs an expression that gives a string.
func (in isolated) evaluate(ctx context.Context, expression string) ([]byte, error) {
	b := make([]byte, 0, len(expression)+256)
	b = append(b, `{"returnByValue":true,"awaitPromise":true,"userGesture":false,"uniqueContextId":`...)
	b = strconv.AppendQuote(b, in.world)
	b = append(b, `,"expression":`...)
	text, err := jsonv2.Marshal(expression)
	if err != nil {
		return nil, err
	}
	b = append(append(b, text...), '}')
	raw, err := in.session.Start("Runtime.evaluate", jsonv2.Value(b)).Wait(ctx)
	if err != nil {
		return nil, err
	}
	var e evaluation
	if err := jsonv2.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	if e.Exception != nil {
		return nil, fmt.Errorf("our code in the page failed: %w", e.Exception)
	}
	if e.Result.Type != "string" {
		return nil, fmt.Errorf("our code in the page gave a %s", e.Result.Type)
	}
	return e.Result.Value, nil
}

// failed names the failure of a command in one of the tab's processes.
func (f *Frame) failed(s *transport.Session, err error) error {
	var refused *transport.Error
	if errors.As(err, &refused) && refused.Code == noSession && s != f.tab.Session() {
		return fmt.Errorf("%w (%s)", errNotRun, refused.Message) // the frame has left that process
	}
	return navigatedAway(f.tab.gone(err))
}

// navigatedAway recognises the browser's ways to say that a document has gone.
func navigatedAway(err error) error {
	var refused *transport.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Message {
	case "Execution context was destroyed.", "Inspected target navigated or closed":
		return fmt.Errorf("%w (%s)", ErrNavigated, refused.Message)
	case "Cannot find context with specified id", "uniqueContextId not found", "No frame for given id found",
		"Cannot find default execution context", "Frame with the given id was not found.":
		return fmt.Errorf("%w (%s)", errNotRun, refused.Message)
	}
	return err
}

// errNotRun is ErrNavigated before anything of the call has run.
var errNotRun = fmt.Errorf("%w before the call", ErrNavigated)
