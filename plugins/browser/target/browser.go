// Package target is the live model of one Chromium: its windows and tabs, each
// tab's frames with their sessions and isolated worlds, dialogs, crashes and
// pop-ups. It learns everything from the browser's events, which arrive in order
// on one goroutine that never waits; methods read the model, send commands, and
// wait for the model to change.
//
// Package page works in one tab through it.
package target

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/plugins/browser/transport"
)

var (
	// ErrNoTab and ErrNoWindow: there is none with that id, or not any more.
	ErrNoTab    = errors.New("there is no such tab")
	ErrNoWindow = errors.New("there is no such window")
	// ErrTabClosed: the tab was closed during the call.
	ErrTabClosed = errors.New("the tab was closed")
	// ErrTabCrashed: the tab's renderer has ended; browser.reload starts it again.
	ErrTabCrashed = errors.New("the tab has crashed: reload it")
	// ErrBrowserLost: the browser has ended, with all its tabs.
	ErrBrowserLost = errors.New("the browser has ended, its tabs are lost")
	// ErrDialogOpen: a dialog keeps the page from running.
	ErrDialogOpen = errors.New("a dialog is open: answer it with page.dialog")
	// ErrNavigated: the document that the call was for is gone.
	ErrNavigated = errors.New("the page has navigated")
	// ErrFrameGone: the frame was removed.
	ErrFrameGone = errors.New("there is no such frame")
)

// Options say how a browser is driven.
type Options struct {
	IDs *IDs
	// HoldDialogs leaves dialogs open until Tab.AnswerDialog; otherwise they are
	// answered at once.
	HoldDialogs bool
	// Files says whether a page may show or read a file: address; nil: none is
	// opened. It may take its time.
	Files func(url string) bool
	// Headed: people see the windows, and may move tabs between them.
	Headed bool
	// Event publishes an event. It is called on the reading goroutine and must not
	// block.
	Event func(typ string, data any)
	Log   hclog.Logger
}

// Browser is a running Chromium. All methods may be called concurrently.
type Browser struct {
	conn *transport.Conn
	o    Options

	creating chan struct{} // a place for the one that makes a tab

	mu       sync.Mutex // guards all that follows, and the fields of windows, tabs and frames; never held over a command
	windows  []*Window
	tabs     map[int]*Tab
	byTarget map[cdptarget.ID]*Tab
	current  *Window
	expected *expectation
	refs     map[int64]*issue
	changed  chan struct{} // closed and replaced when windows or tabs change
}

// expectation says where the tab belongs that is being made.
type expectation struct {
	window  *Window // nil: a new one
	context cdp.BrowserContextID
}

// Window is a window of the model. In a headless browser it exists here alone.
type Window struct {
	ID      int
	Private bool
	context cdp.BrowserContextID
	tabs    []*Tab
	current *Tab
}

// New drives the browser at the other end of the pipe. It returns at once: tabs
// come in as the browser tells of them. It owns the pipe.
func New(r io.ReadCloser, w io.WriteCloser, o Options) *Browser {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	b := &Browser{
		o:        o,
		creating: make(chan struct{}, 1),
		tabs:     make(map[int]*Tab),
		byTarget: make(map[cdptarget.ID]*Tab),
		refs:     make(map[int64]*issue),
		changed:  make(chan struct{}),
	}
	ready := make(chan struct{})
	b.conn = transport.New(r, w, func(method string, params []byte) {
		<-ready // conn is set
		b.rootEvent(method, params)
	})
	close(ready)
	root := b.conn.Root()
	root.Start("Target.setDiscoverTargets", jsonv2.Value(`{"discover":true,"filter":[{"type":"page"}]}`))
	root.Start("Target.setAutoAttach", jsonv2.Value(
		`{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true,"filter":[{"type":"page"}]}`))
	root.Start("Browser.setDownloadBehavior", jsonv2.Value(`{"behavior":"default","eventsEnabled":true}`))
	go func() {
		<-b.conn.Done()
		b.lost()
	}()
	return b
}

// Root is the browser's own session.
func (b *Browser) Root() *transport.Session { return b.conn.Root() }

// Done is closed when the browser has gone.
func (b *Browser) Done() <-chan struct{} { return b.conn.Done() }

// Close lets go of the browser without ending it.
func (b *Browser) Close() { b.conn.Close() }

// WindowInfo and TabInfo are what is shown of a window and a tab.
type WindowInfo struct {
	ID      int   `json:"id"`
	Private bool  `json:"private"`
	Tabs    []int `json:"tabs"`
	Current bool  `json:"current"`
}

// TabInfo is a tab as it is shown.
type TabInfo struct {
	ID       int    `json:"id"`
	WindowID int    `json:"window_id"`
	URI      string `json:"uri"`
	Title    string `json:"title"`
	Loading  bool   `json:"loading"`
	Private  bool   `json:"private"`
	Current  bool   `json:"current"`
	OpenerID int    `json:"opener_id,omitzero"`
	Crashed  bool   `json:"crashed,omitzero"`
}

// Windows lists the windows in order.
func (b *Browser) Windows() []WindowInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]WindowInfo, 0, len(b.windows))
	for _, w := range b.windows {
		info := WindowInfo{ID: w.ID, Private: w.Private, Tabs: make([]int, 0, len(w.tabs)), Current: w == b.current}
		for _, t := range w.tabs {
			info.Tabs = append(info.Tabs, t.ID)
		}
		list = append(list, info)
	}
	return list
}

// Tabs lists the tabs, window by window.
func (b *Browser) Tabs() []TabInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]TabInfo, 0, len(b.tabs))
	for _, w := range b.windows {
		for _, t := range w.tabs {
			list = append(list, t.info())
		}
	}
	return list
}

// Tab finds a tab; 0 is the current one of the current window.
func (b *Browser) Tab(id int) (*Tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == 0 {
		if b.current == nil || b.current.current == nil {
			return nil, ErrNoTab
		}
		return b.current.current, nil
	}
	t := b.tabs[id]
	if t == nil {
		return nil, ErrNoTab
	}
	return t, nil
}

// WaitTab waits until there is a tab: a browser that was just started has its
// first one in a moment.
func (b *Browser) WaitTab(ctx context.Context) error {
	return b.wait(ctx, func() bool { return len(b.tabs) > 0 })
}

// wait waits until ok, which is asked with mu held, after each change.
func (b *Browser) wait(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		good, changed := ok(), b.changed
		b.mu.Unlock()
		if good {
			return nil
		}
		select {
		case <-changed:
		case <-b.conn.Done():
			return ErrBrowserLost
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notify wakes those who wait for windows or tabs; mu is held.
func (b *Browser) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// SelectTab makes a tab the current one of the current window.
func (b *Browser) SelectTab(ctx context.Context, t *Tab) error {
	if b.o.Headed {
		if _, err := cdp.Call(ctx, b.Root(), cdptarget.ActivateTarget, cdptarget.ActivateTargetParams{TargetID: t.target}); err != nil {
			return t.gone(err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tabs[t.ID] == nil {
		return ErrTabClosed
	}
	b.choose(t)
	return nil
}

// choose makes t current; mu is held.
func (b *Browser) choose(t *Tab) {
	t.window.current, b.current = t, t.window
}

// NewTab makes an empty tab in a window, 0: the current one, or a new one when
// there is none. It becomes the current tab.
func (b *Browser) NewTab(ctx context.Context, windowID int) (*Tab, error) {
	return b.create(ctx, func() (*expectation, error) {
		w := b.current
		if windowID != 0 {
			if w = b.window(windowID); w == nil {
				return nil, ErrNoWindow
			}
		}
		if w == nil {
			return &expectation{}, nil
		}
		return &expectation{window: w, context: w.context}, nil
	}, false)
}

// NewWindow makes a window with an empty tab. A private one has a browser context
// of its own, of which nothing is kept.
func (b *Browser) NewWindow(ctx context.Context, private bool) (*Tab, error) {
	var own cdp.BrowserContextID
	if private {
		dispose := true
		made, err := cdp.Call(ctx, b.Root(), cdptarget.CreateBrowserContext, cdptarget.CreateBrowserContextParams{DisposeOnDetach: &dispose})
		if err != nil {
			return nil, b.gone(err)
		}
		own = made.BrowserContextID
	}
	return b.create(ctx, func() (*expectation, error) { return &expectation{context: own}, nil }, true)
}

// create makes a tab where place says; place is called with mu held.
func (b *Browser) create(ctx context.Context, place func() (*expectation, error), newWindow bool) (*Tab, error) {
	select {
	case b.creating <- struct{}{}:
		defer func() { <-b.creating }()
	case <-b.Done():
		return nil, ErrBrowserLost
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	e, err := place()
	if err == nil {
		b.expected = e
	}
	var beside *Tab // brings the browser's own window to the front for the new tab
	if e != nil && e.window != nil {
		beside = e.window.current
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p := cdptarget.CreateTargetParams{URL: "about:blank", BrowserContextID: e.context}
	if b.o.Headed {
		if beside != nil {
			b.Root().Start("Target.activateTarget", cdptarget.ActivateTargetParams{TargetID: beside.target})
		}
		p.NewWindow = &newWindow
	}
	made, err := cdp.Call(ctx, b.Root(), cdptarget.CreateTarget, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = nil
	if err != nil {
		return nil, b.gone(err)
	}
	// Its attachment was announced before the answer came.
	t := b.byTarget[made.TargetID]
	if t == nil {
		return nil, ErrTabClosed
	}
	b.choose(t)
	return t, nil
}

// gone gives a failure of the connection its name.
func (b *Browser) gone(err error) error {
	if errors.Is(err, transport.ErrClosed) {
		return ErrBrowserLost
	}
	return err
}

func (b *Browser) window(id int) *Window {
	i := slices.IndexFunc(b.windows, func(w *Window) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	return b.windows[i]
}

// CloseTab closes a tab, whatever its page does, and waits until it is gone.
func (b *Browser) CloseTab(ctx context.Context, t *Tab) error {
	if _, err := cdp.Call(ctx, b.Root(), cdptarget.CloseTarget, cdptarget.CloseTargetParams{TargetID: t.target}); err != nil {
		return t.gone(err)
	}
	return b.wait(ctx, func() bool { return b.tabs[t.ID] == nil })
}

// CloseWindow closes a window with its tabs; 0 is the current one.
func (b *Browser) CloseWindow(ctx context.Context, id int) error {
	b.mu.Lock()
	w := b.current
	if id != 0 {
		w = b.window(id)
	}
	var tabs []*Tab
	if w != nil {
		tabs = slices.Clone(w.tabs)
	}
	b.mu.Unlock()
	if w == nil {
		return ErrNoWindow
	}
	if w.context != "" {
		_, err := cdp.Call(ctx, b.Root(), cdptarget.DisposeBrowserContext, cdptarget.DisposeBrowserContextParams{BrowserContextID: w.context})
		if err != nil {
			return b.gone(err)
		}
	} else {
		for _, t := range tabs {
			b.Root().Start("Target.closeTarget", cdptarget.CloseTargetParams{TargetID: t.target})
		}
	}
	return b.wait(ctx, func() bool { return b.window(w.ID) == nil })
}

// add takes a tab into the model; mu is held.
func (b *Browser) add(t *Tab, info *targetInfo) {
	opener := b.byTarget[cdptarget.ID(info.OpenerID)]
	if opener != nil {
		t.opener = opener.ID
	}
	own := cdp.BrowserContextID(info.BrowserContextID)
	w := b.windowFor(own)
	switch e := b.expected; {
	case opener != nil:
		w = opener.window
	case e != nil && (e.context == own || e.context == "" && (w == nil || !w.Private)):
		b.expected = nil
		if w = e.window; w == nil {
			w = b.addWindow(e.context)
		}
	}
	if w == nil {
		w = b.addWindow("")
	}
	t.window = w
	w.tabs = append(w.tabs, t)
	if w.current == nil {
		w.current = t
	}
	b.tabs[t.ID], b.byTarget[t.target] = t, t
	b.publish("tab.created", map[string]any{"tab_id": t.ID, "window_id": w.ID, "uri": t.uri()})
	b.notify()
}

// windowFor is the private window of a browser context, or else the current
// window or the last that is not private, nil when there is none; mu is held.
func (b *Browser) windowFor(context cdp.BrowserContextID) *Window {
	var best *Window
	for _, w := range b.windows {
		if w.Private && w.context == context {
			return w
		}
		if !w.Private && (best == nil || best != b.current) {
			best = w
		}
	}
	return best
}

func (b *Browser) addWindow(context cdp.BrowserContextID) *Window {
	w := &Window{ID: b.o.IDs.Window(), Private: context != "", context: context}
	b.windows = append(b.windows, w)
	if b.current == nil {
		b.current = w
	}
	b.publish("window.created", map[string]any{"window_id": w.ID, "private": w.Private})
	return w
}

// remove takes a tab out of the model; mu is held.
func (b *Browser) remove(t *Tab) {
	if b.tabs[t.ID] == nil {
		return
	}
	delete(b.tabs, t.ID)
	delete(b.byTarget, t.target)
	b.dropRefs(t)
	w := t.window
	i := slices.Index(w.tabs, t)
	w.tabs = slices.Delete(w.tabs, i, i+1)
	if w.current == t {
		w.current = nil
		if len(w.tabs) > 0 {
			w.current = w.tabs[min(i, len(w.tabs)-1)]
		}
	}
	b.publish("tab.closed", map[string]any{"tab_id": t.ID, "window_id": w.ID, "uri": t.uri()})
	if len(w.tabs) == 0 {
		b.windows = slices.DeleteFunc(b.windows, func(other *Window) bool { return other == w })
		if b.current == w {
			b.current = nil
			if len(b.windows) > 0 {
				b.current = b.windows[len(b.windows)-1]
			}
		}
		b.publish("window.closed", map[string]any{"window_id": w.ID})
		if w.context != "" {
			b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: w.context})
		}
	}
	b.notify()
}

func (b *Browser) publish(typ string, data any) {
	if b.o.Event != nil {
		b.o.Event(typ, data)
	}
}

// lost empties the model after the browser's end.
func (b *Browser) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range slices.Clone(b.windows) {
		for _, t := range slices.Clone(w.tabs) {
			t.end(ErrBrowserLost)
			b.remove(t)
		}
	}
}
