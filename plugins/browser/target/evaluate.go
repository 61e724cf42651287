package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/internal/wire"
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

// Exception is one that a script has thrown.
type Exception struct {
	Text   string `json:"text"`
	Line   int    `json:"lineNumber"`
	Column int    `json:"columnNumber"`
	Stack  struct {
		Frames []struct {
			URL    string `json:"url"`
			Line   int    `json:"lineNumber"`
			Column int    `json:"columnNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
	Exception struct {
		Type        string       `json:"type"`
		Description string       `json:"description"`
		Value       jsonv2.Value `json:"value"`
		Preview     *Preview     `json:"preview"`
	} `json:"exception"`
}

// Preview is the first of what an object holds. No getter of it was called.
type Preview struct {
	Subtype    string `json:"subtype"`
	Overflow   bool   `json:"overflow"`
	Properties []struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"properties"`
}

// String gives a plain object or a list as JavaScript writes it, after a space; ""
// for anything else.
func (p *Preview) String() string {
	if p == nil || len(p.Properties) == 0 || p.Subtype != "" && p.Subtype != "array" {
		return ""
	}
	var parts []string
	for _, q := range p.Properties {
		value := q.Value
		switch q.Type {
		case "string":
			value = strconv.Quote(value)
		case "accessor":
			value = "(...)"
		}
		if p.Subtype != "array" {
			value = strconv.Quote(q.Name) + ": " + value
		}
		parts = append(parts, value)
	}
	if p.Overflow {
		parts = append(parts, "…")
	}
	if p.Subtype == "array" {
		return " [" + strings.Join(parts, ", ") + "]"
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// Error implements error.
func (e *Exception) Error() string {
	if e.Exception.Description != "" {
		return e.Exception.Description
	}
	if len(e.Exception.Value) > 0 {
		return e.Text + " " + string(e.Exception.Value)
	}
	if e.Exception.Type == "undefined" {
		return e.Text + " undefined"
	}
	return e.Text
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

// Script is code for the page's own world. What it throws is an *Exception. Code that
// still runs after Limit is stopped, and so is what runs when the caller's context ends,
// unless another's may be what runs.
type Script struct {
	Source string
	// Function, unless "", is given the completion value of Source, where await may then
	// stand on the top level. What Source declares there becomes the page's.
	Function string
	// Before, unless "", is run right before Source: no other script comes in between.
	Before string
	Limit  time.Duration
}

// Evaluate runs a script whose value, or that of its function, is a string or a promise
// of one, and gives that with its JSON escapes undone.
func (f *Frame) Evaluate(ctx context.Context, o Script) (string, error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	s, world, err := f.own()
	if err != nil {
		return "", err
	}
	until := time.Now().Add(o.Limit)
	first := evaluateParams{
		Expression: o.Source, Await: true, AllowEval: true, Gesture: true, Preview: true, World: world, REPL: o.Function != "",
		Timeout: float64(o.Limit.Milliseconds()), Group: f.tab.group(),
	}
	t := f.tab
	t.order.Lock()
	if o.Before != "" {
		s.Start("Runtime.evaluate", evaluateParams{Expression: o.Before, AllowEval: true, World: world})
	}
	sent := f.start(s, "Runtime.evaluate", first.Group, first)
	t.order.Unlock()
	e, err := f.finish(ctx, sent, until)
	if err == nil && o.Function != "" {
		value := argument{Object: e.Result.ObjectID, Value: e.Result.Value, Unserializable: e.Result.Unserializable}
		e, err = f.finish(ctx, f.start(s, "Runtime.callFunctionOn", first.Group, callParams{
			Function: o.Function, World: world, Arguments: []argument{value}, Await: true, Preview: true, Group: first.Group,
		}), until)
		if value.Object != "" {
			sent.release()
		}
	}
	if err != nil {
		return "", err
	}
	return e.text()
}

// Watch is Evaluate for an expression that gives an object with two functions:
// answer gives a promise of a string, and stop is called when ctx ends before it
// comes. Both may run until ctx ends.
func (f *Frame) Watch(ctx context.Context, expression string, limit time.Duration) (string, error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	s, world, err := f.own()
	if err != nil {
		return "", err
	}
	until, group := time.Now().Add(limit), f.tab.group()
	sent := f.start(s, "Runtime.evaluate", group, evaluateParams{
		Expression: expression, AllowEval: true, Preview: true, World: world, Timeout: float64(limit.Milliseconds()), Group: group,
	})
	made, err := f.finish(ctx, sent, until)
	if err != nil {
		return "", err
	}
	e, err := f.finish(ctx, f.start(s, "Runtime.callFunctionOn", group, callParams{
		Function: "function() { return this.answer() }", Object: made.Result.ObjectID, Await: true, Preview: true, Group: group,
	}), until)
	if err != nil && ctx.Err() != nil {
		s.Start("Runtime.callFunctionOn", callParams{Function: "function() { this.stop() }", Object: made.Result.ObjectID})
	}
	sent.release()
	if err != nil {
		return "", err
	}
	return e.text()
}

// own gives the page's own world in the frame.
func (f *Frame) own() (s *transport.Session, world string, err error) {
	b := f.tab.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err = f.ready()
	if err == nil && f.main == "" && f.parent != nil && f.parent.session == f.session {
		err = errNotRun // without a name it would be the outer frame's world
	}
	return s, f.main, err
}

// started is a command that runs a script.
type started struct {
	*transport.Pending
	session *transport.Session
	group   string      // of the objects that it gives
	left    atomic.Bool // nobody waits for it any more
}

// group names the objects of one script.
func (t *Tab) group() string { return "vant" + strconv.FormatInt(t.groups.Add(1), 10) }

// start begins to evaluate in the page's own world.
func (f *Frame) start(s *transport.Session, method, group string, params any) *started {
	f.tab.scripts.Add(1)
	sent := &started{session: s, group: group}
	sent.Pending = s.StartThen(method, params, func([]byte) {
		if sent.left.Load() {
			sent.release()
		}
	})
	return sent
}

// release lets the page forget the objects that were given: what was thrown among them.
func (sent *started) release() {
	sent.session.Start("Runtime.releaseObjectGroup", map[string]string{"objectGroup": sent.group})
}

// finish waits for what was started, which has until then to be done.
func (f *Frame) finish(ctx context.Context, sent *started, until time.Time) (*evaluation, error) {
	select {
	case <-sent.Done():
		f.tab.scripts.Add(-1)
	case <-ctx.Done():
		sent.left.Store(true)
		// What is sent after the probe does not run before it is answered.
		go f.tab.unblock(sent, probe(sent.session), f.tab.scripts.Add(-1) == 0)
		return nil, f.failed(sent.session, context.Cause(ctx))
	}
	raw, err := sent.Wait(ctx)
	if err != nil {
		var refused *transport.Error
		if errors.As(err, &refused) && (!time.Now().Before(until) || refused.Message == "Internal error") {
			return nil, context.DeadlineExceeded // it was stopped, and the browser has several words for that
		}
		return nil, f.failed(sent.session, err)
	}
	var e evaluation
	if err := jsonv2.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	if e.Exception != nil {
		sent.release()
		if e.Exception.Text == "Execution was terminated" || e.Exception.Exception.Type == "" && e.Exception.Text == "Uncaught" {
			return nil, context.DeadlineExceeded
		}
		return nil, e.Exception
	}
	return &e, nil
}

// text is the string that was given, with its JSON escapes undone.
func (e *evaluation) text() (string, error) {
	text, ok := wire.Unquote(e.Result.Value)
	if !ok {
		return "", fmt.Errorf("the expression gave a %s", e.Result.Type)
	}
	return text, nil
}

const (
	// idleBound is how long a page may take to show that no script keeps it from
	// answering.
	idleBound = time.Second
	// workBound is the same where it may be at work of its own.
	workBound = 5 * time.Second
)

// unblock stops the script that keeps a page from answering a probe, if one does:
// when none runs, the next one would be stopped, whosever it is. A call that has its
// answer keeps nothing. One that was given up while another's script may be what runs is
// not alone and stops nothing: the last does.
func (t *Tab) unblock(call *started, probe *transport.Pending, alone bool) {
	if !alone {
		_, _ = probe.Wait(ended)
		return
	}
	t.unblocks <- struct{}{} // two at once would stop two scripts
	defer func() { <-t.unblocks }()
	if !blocked(probe, workBound) { // what was sent later has not begun
		return
	}
	select {
	case <-call.Done():
	default:
		stop(call.session)
	}
}

// ended is a context that has.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// probe asks for what a page answers unless a script keeps it.
func probe(s *transport.Session) *transport.Pending {
	return s.Start("Runtime.evaluate", jsonv2.Value(`{"expression":"1"}`))
}

// blocked tells whether a page does not answer a probe within a bound.
func blocked(probe *transport.Pending, bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	_, err := probe.Wait(ctx)
	return errors.Is(err, context.DeadlineExceeded)
}

// stop ends the script that runs now.
func stop(s *transport.Session) { s.Start("Runtime.terminateExecution", nil) }

// Neither gives objects by value: that would run their getters.
type evaluateParams struct {
	Expression string  `json:"expression"`
	Await      bool    `json:"awaitPromise"`
	AllowEval  bool    `json:"allowUnsafeEvalBlockedByCSP"`
	Gesture    bool    `json:"userGesture"` // as if a person had done it
	Preview    bool    `json:"generatePreview"`
	REPL       bool    `json:"replMode,omitzero"`
	World      string  `json:"uniqueContextId,omitzero"`
	Timeout    float64 `json:"timeout,omitzero"`
	Group      string  `json:"objectGroup,omitzero"`
}

type callParams struct {
	Function  string     `json:"functionDeclaration"`
	Object    string     `json:"objectId,omitzero"`
	World     string     `json:"uniqueContextId,omitzero"`
	Arguments []argument `json:"arguments,omitzero"`
	Await     bool       `json:"awaitPromise"`
	Preview   bool       `json:"generatePreview"`
	Group     string     `json:"objectGroup,omitzero"`
}

type argument struct {
	Object         string       `json:"objectId,omitzero"`
	Value          jsonv2.Value `json:"value,omitzero"`
	Unserializable string       `json:"unserializableValue,omitzero"`
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
