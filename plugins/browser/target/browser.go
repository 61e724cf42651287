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
	"fmt"
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
	ErrNoTab = errors.New("there is no such tab")
	// ErrNoCurrent is the ErrNoTab of the current tab.
	ErrNoCurrent = fmt.Errorf("%w: none is open, browser.tab.new opens one", ErrNoTab)
	ErrNoWindow  = errors.New("there is no such window")
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
	begins   map[string]string             // addresses that targets begin with which are not attached to yet
	wanted   []wanted                      // tabs that pages have asked for and that are to come
	orphans  []orphan                      // tabs that have come and that no page has asked for yet
	left     []TabInfo                     // tabs that were there when the browser was lost
	changed  chan struct{}                 // closed and replaced when windows or tabs change
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
		begins:   make(map[string]string),
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
