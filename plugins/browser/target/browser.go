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
	"sync/atomic"

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
	// ErrDisconnected: the browser runs, but the connection to it has ended. What
	// the call has done is not known.
	ErrDisconnected = errors.New("the connection to the browser was lost")
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
	// Lazy: the browser and its tabs are a person's. A tab is attached to when
	// a call needs its page, and the connection may be made again.
	Lazy bool
	// Event publishes an event. It is called on the reading goroutine and must not
	// block.
	Event func(typ string, data any)
	Log   hclog.Logger
}

// Browser is a running Chromium. All methods may be called concurrently.
type Browser struct {
	conn atomic.Pointer[transport.Conn] // another one after Reconnect
	o    Options

	creating chan struct{} // a place for the one that makes a tab
	done     chan struct{} // closed when the browser has gone

	mu       sync.Mutex // guards all that follows, and the fields of windows, tabs and frames; never held over a command
	windows  []*Window
	tabs     map[int]*Tab
	byTarget map[cdptarget.ID]*Tab
	current  *Window
	expected *expectation
	refs     map[int64]*issue
	home     cdp.BrowserContextID          // the profile's own, "" when the browser does not tell
	made     map[cdp.BrowserContextID]bool // contexts of our windows
	quiet    bool                          // windows and tabs are not announced yet
	left     []TabInfo                     // tabs that were there when the browser was lost
	changed  chan struct{}                 // closed and replaced when windows or tabs change
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
	native  int64                // the browser's number for it, 0 while it is not known
	context cdp.BrowserContextID // "" for the profile's own
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
		done:     make(chan struct{}),
		tabs:     make(map[int]*Tab),
		byTarget: make(map[cdptarget.ID]*Tab),
		refs:     make(map[int64]*issue),
		made:     make(map[cdp.BrowserContextID]bool),
		quiet:    o.Lazy,
		changed:  make(chan struct{}),
	}
	b.connect(r, w)
	if !o.Lazy {
		go func() {
			<-b.conn.Load().Done()
			b.lost()
		}()
	}
	return b
}

// connect asks the browser at the other end for its tabs.
func (b *Browser) connect(r io.ReadCloser, w io.WriteCloser) {
	ready := make(chan struct{})
	conn := transport.New(r, w, func(method string, params []byte) {
		<-ready // conn is set
		b.rootEvent(method, params)
	})
	b.conn.Store(conn)
	close(ready)
	root := conn.Root()
	root.StartThen("Target.getBrowserContexts", nil, b.readHome)
	root.Start("Target.setDiscoverTargets", jsonv2.Value(`{"discover":true,"filter":[{"type":"page"}]}`))
	if !b.o.Lazy {
		root.Start("Target.setAutoAttach", jsonv2.Value(
			`{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true,"filter":[{"type":"page"}]}`))
	}
	root.Start("Browser.setDownloadBehavior", jsonv2.Value(`{"behavior":"default","eventsEnabled":true}`))
}

// readHome takes note of the profile's own context.
func (b *Browser) readHome(result []byte) {
	home := decode[struct {
		Default string `json:"defaultBrowserContextId"`
	}](result).Default
	b.mu.Lock()
	defer b.mu.Unlock()
	b.home = cdp.BrowserContextID(home)
}

// Root is the browser's own session.
func (b *Browser) Root() *transport.Session { return b.conn.Load().Root() }

// Done is closed when the browser has gone.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Connected says whether there is a connection to the browser.
func (b *Browser) Connected() bool {
	select {
	case <-b.conn.Load().Done():
		return false
	default:
		return true
	}
}

// Close lets go of the browser without ending it.
func (b *Browser) Close() { b.conn.Load().Close() }

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
	conn := b.conn.Load()
	for {
		b.mu.Lock()
		good, changed := ok(), b.changed
		b.mu.Unlock()
		if good {
			return nil
		}
		select {
		case <-changed:
		case <-conn.Done():
			return b.gone(transport.ErrClosed)
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
		// A person's browser outlives a connection, and so do our windows in it.
		dispose := !b.o.Lazy
		made, err := cdp.Call(ctx, b.Root(), cdptarget.CreateBrowserContext, cdptarget.CreateBrowserContextParams{DisposeOnDetach: &dispose})
		if err != nil {
			return nil, b.gone(err)
		}
		own = made.BrowserContextID
		b.mu.Lock()
		b.made[own] = true
		b.mu.Unlock()
	}
	t, err := b.create(ctx, func() (*expectation, error) { return &expectation{context: own}, nil }, true)
	if err != nil && own != "" {
		b.mu.Lock()
		delete(b.made, own)
		b.mu.Unlock()
		b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: own})
	}
	return t, err
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
	if e != nil && e.window != nil && b.windowsOf(e.context) > 1 {
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
	b.expected = nil
	// It was announced before the answer came.
	t := b.byTarget[made.TargetID]
	if t != nil {
		b.choose(t)
	}
	b.mu.Unlock()
	switch {
	case err != nil:
		return nil, b.gone(err)
	case t == nil:
		return nil, ErrTabClosed
	}
	b.locate(ctx, []*Tab{t})
	return t, nil
}

// gone gives a failure of the connection its name.
func (b *Browser) gone(err error) error {
	if !errors.Is(err, transport.ErrClosed) {
		return err
	}
	if b.o.Lazy {
		return ErrDisconnected
	}
	return ErrBrowserLost
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
	whole := false // the window is all that there is of its context
	if w != nil {
		tabs = slices.Clone(w.tabs)
		whole = b.made[w.context] && b.windowsOf(w.context) == 1
	}
	b.mu.Unlock()
	if w == nil {
		return ErrNoWindow
	}
	if whole {
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
	own := b.contextOf(info)
	var w *Window
	if e := b.expected; opener == nil && e != nil && e.context == own {
		b.expected = nil
		w = e.window
	} else {
		w = b.guess(opener, own)
	}
	if w == nil {
		w = b.addWindow(own)
	}
	t.window = w
	w.tabs = append(w.tabs, t)
	if w.current == nil {
		w.current = t
	}
	b.tabs[t.ID], b.byTarget[t.target] = t, t
	b.notify()
	if !b.quiet {
		b.announce(t)
	}
}

// guess says in which window a tab is that was not asked for: beside the one that
// opened it, or where a person would have made it; nil: in a new one. mu is held.
func (b *Browser) guess(opener *Tab, own cdp.BrowserContextID) *Window {
	if opener != nil && opener.window.context == own {
		return opener.window
	}
	if b.current != nil && b.current.context == own {
		return b.current
	}
	for _, w := range slices.Backward(b.windows) {
		if w.context == own {
			return w
		}
	}
	return nil
}

// contextOf is a target's context, "" for the profile's own; mu is held.
func (b *Browser) contextOf(info *targetInfo) cdp.BrowserContextID {
	id := cdp.BrowserContextID(info.BrowserContextID)
	if !b.made[id] && (b.home == "" || id == b.home) {
		return ""
	}
	return id
}

// windowsOf counts the windows of a context; mu is held.
func (b *Browser) windowsOf(context cdp.BrowserContextID) int {
	n := 0
	for _, w := range b.windows {
		if w.context == context {
			n++
		}
	}
	return n
}

func (b *Browser) addWindow(context cdp.BrowserContextID) *Window {
	w := &Window{ID: b.o.IDs.Window(), Private: context != "", context: context}
	b.windows = append(b.windows, w)
	if b.current == nil {
		b.current = w
	}
	if !b.quiet {
		b.publish("window.created", map[string]any{"window_id": w.ID, "private": w.Private})
	}
	return w
}

func (b *Browser) announce(t *Tab) {
	b.publish("tab.created", map[string]any{"tab_id": t.ID, "window_id": t.window.ID, "uri": t.uri()})
}

// remove takes a tab out of the model; mu is held.
func (b *Browser) remove(t *Tab) {
	if b.tabs[t.ID] == nil {
		return
	}
	delete(b.tabs, t.ID)
	delete(b.byTarget, t.target)
	b.dropRefs(t)
	if !b.quiet {
		b.publish("tab.closed", map[string]any{"tab_id": t.ID, "window_id": t.window.ID, "uri": t.uri()})
	}
	b.unlink(t, t.window)
	b.notify()
}

// unlink takes a tab out of a window, which closes when it was the last; mu is
// held.
func (b *Browser) unlink(t *Tab, w *Window) {
	i := slices.Index(w.tabs, t)
	w.tabs = slices.Delete(w.tabs, i, i+1)
	if w.current == t {
		w.current = nil
		if len(w.tabs) > 0 {
			w.current = w.tabs[min(i, len(w.tabs)-1)]
		}
	}
	if len(w.tabs) > 0 {
		return
	}
	b.windows = slices.DeleteFunc(b.windows, func(other *Window) bool { return other == w })
	if b.current == w {
		b.current = nil
		if len(b.windows) > 0 {
			b.current = b.windows[len(b.windows)-1]
		}
	}
	if !b.quiet {
		b.publish("window.closed", map[string]any{"window_id": w.ID})
	}
	if b.made[w.context] && b.windowsOf(w.context) == 0 {
		delete(b.made, w.context)
		b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: w.context})
	}
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
	for _, w := range b.windows {
		for _, t := range w.tabs {
			b.left = append(b.left, t.info())
		}
	}
	for _, w := range slices.Clone(b.windows) {
		for _, t := range slices.Clone(w.tabs) {
			t.end(ErrBrowserLost)
			b.remove(t)
		}
	}
	close(b.done)
}

// Left are the tabs that were there when the browser was lost.
func (b *Browser) Left() []TabInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}
