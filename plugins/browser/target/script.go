package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/transport"
)

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
