package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// worldName names the isolated worlds of our code. No other client of the browser
// has the same ones, nor has this plugin after a restart.
var worldName = "vant-" + rand.Text()

// Frame is a frame of a tab; its fields are guarded by the browser's mu.
type Frame struct {
	ID     cdp.FrameID
	tab    *Tab
	parent *Frame
	order  int // among the tab's frames

	session   *transport.Session // nil while the frame changes its process
	loader    string
	name, url string
	world     string // unique id of the isolated world's context, "" when there is none yet
	context   int64  // the same context's number in its process
	installed bool   // our code is in that world
	main      string // unique id of the page's own context
	bound     string // world of the parent in which the frame's element is known
	gone      bool
}

// FrameInfo is what is shown of a frame.
type FrameInfo struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitzero"`
	Name   string `json:"name"`
	URI    string `json:"uri"`
}

func (t *Tab) addFrame(id, parent string) *Frame {
	t.framesMade++
	f := &Frame{ID: cdp.FrameID(id), tab: t, parent: t.frames[cdp.FrameID(parent)], order: t.framesMade}
	if f.parent == nil && t.main != nil {
		f.parent = t.main
	}
	t.frames[f.ID] = f
	return f
}

// move notes in which process's session the frame is now, nil: in none; mu is
// held. What was known of the old one's worlds is void.
func (f *Frame) move(s *transport.Session) {
	if f.session != s {
		f.session, f.world, f.main = s, "", ""
	}
}

// removeFrame forgets a frame and those in it; mu is held.
func (t *Tab) removeFrame(f *Frame) {
	if f.gone {
		return
	}
	f.gone = true
	delete(t.frames, f.ID)
	for _, other := range t.frames {
		if other.parent == f {
			t.removeFrame(other)
		}
	}
	t.notify()
}

// frameNavigated takes note of a new document; mu is held.
func (t *Tab) frameNavigated(s *sessionOf, info frameInfo) {
	f := t.frames[cdp.FrameID(info.ID)]
	if f == nil {
		if info.ParentID == "" {
			return
		}
		f = t.addFrame(info.ID, info.ParentID)
	}
	f.move(s.Session)
	f.loader, f.name, f.url = info.LoaderID, info.Name, info.URL+info.Fragment
	for _, other := range t.frames {
		if other.parent == f {
			t.removeFrame(other) // they were the old document's
		}
	}
	if f != t.main {
		return
	}
	if info.Unreachable != "" {
		f.url = info.Unreachable
	}
	t.url, t.dialog, t.chooser, t.crashed, t.revived = f.url, nil, nil, false, false
	t.committed++
	t.browser.publish("page.load", map[string]any{"tab_id": t.ID, "event": 2, "uri": t.url})
	t.notify()
}

// setLoading follows the spinner of the main frame; mu is held.
func (t *Tab) setLoading(frame string, on bool) {
	if frame != string(t.main.ID) || t.loading == on {
		return
	}
	if t.loading = on; !on {
		t.stops++
	}
	if on {
		t.started = true
	} else if t.started { // else it was the document before that has stopped
		t.starting = ""
	}
	t.notify()
}

// lifecycle follows how far the main frame's document has come; mu is held.
func (t *Tab) lifecycle(e frameEvent) {
	if e.FrameID != string(t.main.ID) {
		return
	}
	switch e.Name {
	case "DOMContentLoaded":
		t.dom = e.LoaderID
	case "load":
		t.dom, t.load = e.LoaderID, e.LoaderID
		if t.main.loader == e.LoaderID { // not that of the first, empty one, which nobody has asked for
			t.browser.publish("page.load", map[string]any{"tab_id": t.ID, "event": 3, "uri": t.uri()})
		}
	default:
		return
	}
	t.notify()
}

// Main is the tab's main frame.
func (t *Tab) Main() *Frame { return t.main }

// Frame finds a frame; "" is the main one.
func (t *Tab) Frame(id string) (*Frame, error) {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	if id == "" {
		return t.main, nil
	}
	f := t.frames[cdp.FrameID(id)]
	if f == nil {
		return nil, ErrFrameGone
	}
	return f, nil
}

// Children are the frames directly in f.
func (f *Frame) Children() []*Frame {
	f.tab.browser.mu.Lock()
	defer f.tab.browser.mu.Unlock()
	return slices.DeleteFunc(f.children(), func(f *Frame) bool { return f.session == nil })
}

// children are the frames directly in f, in the order in which they came; mu is
// held.
func (f *Frame) children() []*Frame {
	var list []*Frame
	for _, other := range f.tab.frames {
		if other.parent == f {
			list = append(list, other)
		}
	}
	slices.SortFunc(list, func(a, b *Frame) int { return a.order - b.order })
	return list
}

// Frames are all frames of the tab, parents before their children.
func (t *Tab) Frames() []FrameInfo {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	var list []FrameInfo
	var add func(f *Frame)
	add = func(f *Frame) {
		info := FrameInfo{ID: string(f.ID), Name: f.name, URI: f.url}
		if f.parent != nil {
			info.Parent = string(f.parent.ID)
		}
		list = append(list, info)
		for _, other := range f.children() {
			add(other)
		}
	}
	add(t.main)
	return list
}

// Parent is the frame around f, nil for the main frame.
func (f *Frame) Parent() *Frame { return f.parent }

// Tab is the tab that the frame is in.
func (f *Frame) Tab() *Tab { return f.tab }

// World names the document that our code has seen in the frame; it changes with
// every document. "" when our code is not there.
func (f *Frame) World() string {
	f.tab.browser.mu.Lock()
	defer f.tab.browser.mu.Unlock()
	if !f.installed {
		return ""
	}
	return f.world
}

// Session is that of the frame's process.
func (f *Frame) Session() (*transport.Session, error) {
	f.tab.browser.mu.Lock()
	defer f.tab.browser.mu.Unlock()
	return f.ready()
}

// ready gives the session when the frame can be talked to; mu is held.
func (f *Frame) ready() (*transport.Session, error) {
	if err := f.tab.blocked(); err != nil {
		return nil, err
	}
	if f.gone {
		return nil, ErrFrameGone
	}
	if f.session == nil {
		return nil, ErrNavigated
	}
	return f.session, nil
}

// evaluation is what Runtime.evaluate answers.
type evaluation struct {
	Result struct {
		Type  string       `json:"type"`
		Value jsonv2.Value `json:"value"`
	} `json:"result"`
	Exception *Exception `json:"exceptionDetails"`
}

// Exception is one that a script has thrown.
type Exception struct {
	Text      string `json:"text"`
	Line      int    `json:"lineNumber"`
	Column    int    `json:"columnNumber"`
	Exception struct {
		Type        string       `json:"type"`
		Description string       `json:"description"`
		Value       jsonv2.Value `json:"value"`
	} `json:"exception"`
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
// that it ran in.
func (f *Frame) Invoke(ctx context.Context, world, name string, arg any) (text []byte, in string, err error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	call, err := inject.Call(name, arg)
	if err != nil {
		return nil, "", err
	}
	for attempt := 0; ; attempt++ {
		there, installed, err := f.enter(ctx)
		if err != nil {
			return nil, "", f.tab.gone(err)
		}
		if world != "" && there.world != world {
			return nil, "", ErrNavigated
		}
		expression := call
		if !installed {
			expression = inject.Source() + ";" + call
		}
		text, err := there.evaluate(ctx, expression)
		switch {
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
			return nil, "", f.tab.gone(err)
		}
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && f.world != "" && f.session == s {
		return isolated{s, f.world}, f.installed, nil
	}
	if err == nil {
		err = errNotRun
	}
	return isolated{}, false, navigatedAway(err)
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
		return nil, navigatedAway(err)
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

// Evaluate runs an expression that gives a string, or a promise of one, in the
// page's own world. Code that still runs after limit is stopped. What it throws is
// an *Exception. The string has its JSON escapes undone.
func (f *Frame) Evaluate(ctx context.Context, expression string, limit time.Duration, gesture bool) (string, error) {
	ctx, end := f.tab.guard(ctx)
	defer end()
	b := f.tab.browser
	b.mu.Lock()
	s, err := f.ready()
	world := f.main
	if err == nil && world == "" && f.parent != nil && f.parent.session == f.session {
		err = errNotRun // without a name it would be the outer frame's world
	}
	b.mu.Unlock()
	if err != nil {
		return "", err
	}
	params := evaluateParams{
		Expression: expression, ByValue: true, Await: true, AllowEval: true, Gesture: gesture, World: world,
		Timeout: float64(limit.Milliseconds()),
	}
	began := time.Now()
	raw, err := s.Start("Runtime.evaluate", params).Wait(ctx)
	if err != nil {
		var refused *transport.Error
		if errors.As(err, &refused) && time.Since(began) >= limit {
			return "", context.DeadlineExceeded // it was stopped, and the browser has several words for that
		}
		if errors.Is(err, context.DeadlineExceeded) {
			go unblock(s)
		}
		return "", navigatedAway(f.tab.gone(err))
	}
	var e evaluation
	if err := jsonv2.Unmarshal(raw, &e); err != nil {
		return "", err
	}
	if e.Exception != nil {
		if e.Exception.Text == "Execution was terminated" || e.Exception.Exception.Type == "" && e.Exception.Text == "Uncaught" {
			return "", context.DeadlineExceeded
		}
		return "", e.Exception
	}
	text, ok := wire.Unquote(e.Result.Value)
	if !ok {
		return "", fmt.Errorf("the expression gave a %s", e.Result.Type)
	}
	return text, nil
}

// idleBound is how long a page may take to show that no script keeps it from
// answering.
const idleBound = time.Second

// unblock stops the script that keeps a page from answering, if one does: when
// none runs, the next one would be stopped, whosever it is.
func unblock(s *transport.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), idleBound)
	defer cancel()
	if err := s.Call(ctx, "Runtime.evaluate", jsonv2.Value(`{"expression":"1"}`), nil); errors.Is(err, context.DeadlineExceeded) {
		s.Start("Runtime.terminateExecution", nil)
	}
}

type evaluateParams struct {
	Expression string  `json:"expression"`
	ByValue    bool    `json:"returnByValue"`
	Await      bool    `json:"awaitPromise"`
	AllowEval  bool    `json:"allowUnsafeEvalBlockedByCSP"`
	Gesture    bool    `json:"userGesture"` // as if a person had done it
	World      string  `json:"uniqueContextId,omitzero"`
	Timeout    float64 `json:"timeout,omitzero"`
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
