package target

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/vant-run/vant/plugins/browser/diagnostics"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// Tab is a tab. All methods may be called concurrently.
type Tab struct {
	ID          int
	Diagnostics *diagnostics.Ring

	browser  *Browser
	target   cdptarget.ID
	turn     chan struct{} // a place for the call that changes the tab
	done     chan struct{} // closed when the tab has gone
	unblocks chan struct{} // a place for who ends a script
	scripts  atomic.Int32  // that callers wait for
	groups   atomic.Int64  // of the objects of scripts, so far
	order    sync.Mutex    // held while commands that belong together are queued

	// Guarded by the browser's mu.
	session       *transport.Session // it may have ended, when the tab is attached to on demand
	tree          *transport.Pending // answer that tells its frames, when they were there before it
	followed      *transport.Pending // answer to the last that follow has asked
	joining       *joining           // the attachment on demand, nil when nobody has asked
	seen          *transport.Conn    // connection that has told of the tab last
	drops         int                // sessions that were lost
	learning      int                // frames of other processes whose own frames are asked for
	window        *Window
	opener        int
	begins        string // the address that it began with, "" for an empty one
	wants         int    // tabs that its page has asked for so far
	title, url    string
	main          *Frame
	framesMade    int
	frames        map[cdp.FrameID]*Frame
	children      map[string]bool // sessions of frames and workers
	dialogs       int             // that have opened so far
	lastDialog    Dialog
	downloads     int // that the page has begun so far
	lastDownload  Download
	failures      int     // loads that failed so far
	issued        []int64 // generations of refs
	loading       bool
	left          int   // how often a caller asked for a navigation
	fresh         bool  // a document was committed, and that it loads or has stopped is still to be told
	crashed       bool  // until a new renderer shows a document
	crashes       int   // renderers that have ended so far
	revived       bool  // there is a new renderer, which has shown none yet
	why           error // why it has gone
	dialog        *Dialog
	chooser       *Chooser
	requested     int     // navigations that the page asked for or began
	committed     int     // documents that the main frame has shown
	sameDocument  int     // navigations inside one
	stops         int     // times that loading has stopped
	asked         bool    // the page has asked for a navigation that was not begun yet
	starting      string  // loader of the navigation that was begun last and has not failed
	startingURL   string  // where it goes
	started       bool    // it was told that the tab loads, since then
	begun         []begun // the navigations that were begun, the last maxBegun
	dom, load     string  // loaders that came so far
	sought        string  // loader of the document that was asked for last, since it was missed
	lastLoadError string
	lastCrash     string
	changed       chan struct{} // closed and replaced when any of it changes
}

// sessionOf is a session of the tab: the page's own, or a frame's.
type sessionOf struct{ *transport.Session }

// Session is the page's own session.
func (t *Tab) Session() *transport.Session {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.session
}

// Browser is the one that the tab belongs to.
func (t *Tab) Browser() *Browser { return t.browser }

// Info is what is shown of the tab.
func (t *Tab) Info() TabInfo {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.info()
}

func (t *Tab) info() TabInfo {
	w := t.window
	return TabInfo{
		ID: t.ID, WindowID: w.ID, URI: t.shownURI(), Title: t.title, Loading: t.pending() || (t.loading || t.fresh) && t.load != t.main.loader, Private: w.Private,
		Current: w.current == t && w == t.browser.current, OpenerID: t.opener, Crashed: t.crashed,
	}
}

// pending tells whether a navigation was begun that has not come to a document;
// mu is held.
func (t *Tab) pending() bool { return t.starting != "" && t.starting != t.main.loader }

func (t *Tab) uri() string {
	if t.url == "" {
		return "about:blank"
	}
	return t.url
}

// shownURI is the address of the document, or the one that a new tab is to show
// first. That of a pop-up is its opener's word, which may be for another page than
// the one that the opener has written; mu is held.
func (t *Tab) shownURI() string {
	if t.committed == 0 && t.opener == 0 && t.pending() {
		return t.startingURL
	}
	return t.uri()
}

// Take waits until no other call changes the tab, and gives what ends the turn. A
// dialog that is held open ends the wait: the other goes on when it is answered.
func (t *Tab) Take(ctx context.Context) (release func(), err error) {
	release = func() { <-t.turn }
	select {
	case t.turn <- struct{}{}:
		return release, nil
	default:
	}
	ctx, end := t.guardSince(ctx, math.MaxInt) // a crash is for what has the turn then
	defer end()
	select {
	case t.turn <- struct{}{}:
		return release, nil
	case <-t.done:
		return nil, t.cause()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (t *Tab) cause() error {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.why
}

// noSession is the browser's answer to a command in a session that it has ended.
const noSession = -32001

// gone names a failure that the tab's end has caused.
func (t *Tab) gone(err error) error {
	select {
	case <-t.done:
		return t.cause()
	default:
	}
	var refused *transport.Error
	switch {
	case !errors.As(err, &refused):
	case refused.Code == -32602 && refused.Message == "No target with given id found":
		return ErrTabClosed
	case refused.Code == noSession: // it has ended the session, and has not told why
		return t.browser.gone(transport.ErrClosed)
	}
	return t.browser.gone(err)
}

// attach begins to follow the tab's page. Everything is queued at once, so that
// nothing of the page's first document is missed; mu is held.
func (t *Tab) attach(a attached) {
	own := &sessionOf{}
	own.Session = t.browser.conn.Load().Attach(a.SessionID, func(method string, params []byte) { t.event(own, method, params) })
	t.session = own.Session
	t.main.move(own.Session)
	t.notify()
	s := own.Session
	if t.browser.o.Lazy && !a.Waiting {
		t.learn(own)
	} else {
		t.follow(s)
	}
	s.Start("Emulation.setFocusEmulationEnabled", jsonv2.Value(`{"enabled":true}`))
	if !t.browser.o.Headed { // a person may choose files; see HoldChoosers
		s.Start("Page.setInterceptFileChooserDialog", jsonv2.Value(`{"enabled":true}`))
	}
	s.Start("Runtime.runIfWaitingForDebugger", nil)
	if a.Waiting && t.begins != "" {
		t.meet(own)
	}
}

// follow turns on what the model learns from, for a page or a frame. When the
// answer has come, what there is was told.
func (t *Tab) follow(s *transport.Session) *transport.Pending {
	s.Start("Page.enable", nil)
	s.Start("Page.setLifecycleEventsEnabled", jsonv2.Value(`{"enabled":true}`))
	s.Start("Page.addScriptToEvaluateOnNewDocument", map[string]string{"source": keepOriginals})
	s.Start("Runtime.enable", nil)
	s.Start("Log.enable", nil)
	s.Start("Network.enable", jsonv2.Value(`{"maxTotalBufferSize":0,"maxResourceBufferSize":0,"maxPostDataSize":0}`))
	if t.browser.o.Files != nil {
		s.Start("Fetch.enable", jsonv2.Value(`{"patterns":[{"urlPattern":"file://*"}]}`))
	}
	return s.Start("Target.setAutoAttach", autoAttach)
}

// autoAttach makes the browser attach to what a page, a frame or a worker starts.
var autoAttach = jsonv2.Value(`{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}`)

// attachChild takes in a frame of another process, or a worker; mu is held.
func (t *Tab) attachChild(parent *sessionOf, a attached) {
	own := &sessionOf{}
	switch a.Info.Type {
	case "iframe":
		f := t.frames[cdp.FrameID(a.Info.TargetID)]
		if f == nil {
			f = t.addFrame(a.Info.TargetID, a.Info.ParentFrameID)
		}
		own.Session = t.browser.conn.Load().Attach(a.SessionID, func(method string, params []byte) { t.event(own, method, params) })
		t.children[a.SessionID] = true
		f.move(own.Session)
		if a.Waiting {
			t.follow(own.Session)
		} else {
			t.learn(own)
		}
		if !t.browser.o.Headed {
			own.Start("Page.setInterceptFileChooserDialog", jsonv2.Value(`{"enabled":true}`))
		}
	case "worker", "shared_worker", "service_worker":
		own.Session = t.browser.conn.Load().Attach(a.SessionID, func(method string, params []byte) { t.event(own, method, params) })
		t.children[a.SessionID] = true
		own.Start("Runtime.enable", nil)
		own.Start("Log.enable", nil)
		own.Start("Target.setAutoAttach", autoAttach) // the workers that it starts
	default:
		t.browser.release(parent.Session, a)
		return
	}
	own.Start("Runtime.runIfWaitingForDebugger", nil)
}

// frameCrashed notes that the process of some frames has ended, and not the
// tab's; mu is held. What is around them goes on.
func (t *Tab) frameCrashed(s *sessionOf) {
	for _, f := range t.frames {
		if f.session == s.Session {
			f.move(nil)
		}
	}
	t.browser.conn.Load().Interrupt(s.Session, ErrFrameGone)
	t.notify()
}

// crash notes that the tab's renderer has ended; mu is held.
func (t *Tab) crash(status string) {
	again := t.crashed && !t.revived // told already
	t.crashed, t.revived, t.loading, t.fresh = true, false, false, false
	if status != "" {
		t.lastCrash = status
	} else if t.lastCrash == "" {
		t.lastCrash = "crashed"
	}
	for _, f := range t.frames {
		if f != t.main {
			t.removeFrame(f)
		}
	}
	t.main.world = ""
	t.dialog = nil
	if !again {
		t.crashes++
	}
	t.notify()
	if again {
		return
	}
	reason := 0
	if status == "oom" {
		reason = 1
	}
	t.browser.publish("page.web_process_terminated", map[string]any{"tab_id": t.ID, "reason": reason})
	if t.session != nil {
		t.browser.conn.Load().Interrupt(t.session, ErrTabCrashed)
	}
}

// end says that the tab has gone; mu is held.
func (t *Tab) end(why error) {
	if t.why != nil {
		return
	}
	t.why = why
	close(t.done)
	conn := t.browser.conn.Load()
	for id := range t.children {
		conn.Detach(id, why)
	}
	if t.session != nil {
		conn.Detach(t.session.ID(), why)
	}
	t.notify()
}

// notify wakes those who wait for the tab to change; mu is held.
func (t *Tab) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// wait waits until ok, which is asked with mu held, after each change.
func (t *Tab) wait(ctx context.Context, ok func() bool) error {
	return t.waitFor(ctx, nil, noCrash, ok)
}

// waitFor is wait for what a command brings about: its failure ends the wait. The
// first crashes that the tab has had do not.
func (t *Tab) waitFor(ctx context.Context, p *transport.Pending, crashes int, ok func() bool) error {
	var answered <-chan struct{}
	if p != nil {
		answered = p.Done()
	}
	b := t.browser
	b.mu.Lock()
	drops := t.drops
	b.mu.Unlock()
	for {
		b.mu.Lock()
		good, changed, why, crashed, dropped := ok(), t.changed, t.why, t.hasCrashed(crashes), t.drops > drops
		b.mu.Unlock()
		switch {
		case why != nil:
			return why
		case dropped:
			return ErrDisconnected
		case good:
			return nil
		case crashed:
			return ErrTabCrashed
		}
		select {
		case <-changed:
		case <-answered:
			answered = nil
			if _, err := p.Wait(ctx); err != nil {
				return t.gone(err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noCrash stands for no crash that the tab has had.
const noCrash = 0

// hasCrashed tells whether the tab's renderer has ended, and not only the first
// crashes times; mu is held.
func (t *Tab) hasCrashed(crashes int) bool { return t.crashed && t.crashes > crashes }

// guard gives a context that ends with a typed cause when the page can answer no
// more: the tab has gone or crashed, or a dialog is open that nobody answers.
func (t *Tab) guard(ctx context.Context) (context.Context, func()) { return t.guardSince(ctx, noCrash) }

// guardSince is guard for what brings a new renderer after the first crashes.
func (t *Tab) guardSince(ctx context.Context, crashes int) (context.Context, func()) {
	b := t.browser
	b.mu.Lock()
	why, changed := t.blockedSince(crashes), t.changed
	b.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	if why != nil {
		cancel(why)
		return ctx, func() {}
	}
	if !b.o.HoldDialogs {
		// Nothing but the end of the session stops a call, and that is seen there.
		return ctx, func() { cancel(nil) }
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			b.mu.Lock()
			why, changed = t.blockedSince(crashes), t.changed
			b.mu.Unlock()
			if why != nil {
				cancel(why)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// blocked says why the page cannot answer; mu is held.
func (t *Tab) blocked() error { return t.blockedSince(noCrash) }

func (t *Tab) blockedSince(crashes int) error {
	switch {
	case t.why != nil:
		return t.why
	case t.hasCrashed(crashes):
		return ErrTabCrashed
	case t.dialog != nil && t.browser.o.HoldDialogs:
		return ErrDialogOpen
	}
	return nil
}

// Raw runs a command in the page's session as it is, and gives the raw result. A
// dialog holds up all but its answer.
func (t *Tab) Raw(ctx context.Context, method string, params jsonv2.Value) ([]byte, error) {
	if method != "Page.handleJavaScriptDialog" {
		var end func()
		ctx, end = t.guard(ctx)
		defer end()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nothing is sent
	}
	raw, err := t.Session().Start(method, params).Wait(ctx)
	if err != nil {
		return nil, t.gone(err)
	}
	return raw, nil
}

// Guarded runs f with a context that ends with a typed cause when the tab can
// answer no more.
func (t *Tab) Guarded(ctx context.Context, f func(context.Context) error) error {
	ctx, end := t.guard(ctx)
	defer end()
	return t.gone(f(ctx))
}

// Health is how the tab itself does.
type Health struct {
	LastLoadError string `json:"last_load_error"`
	LastCrash     string `json:"last_web_process_termination"`
	Responsive    bool   `json:"responsive"`
}

// answerBound is how long a page may take to be called responsive.
const answerBound = time.Second

// Health asks the page whether it answers.
func (t *Tab) Health(ctx context.Context) Health {
	err := t.Attach(ctx, false)
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	if err == nil {
		err = t.Guarded(ctx, func(ctx context.Context) error {
			return t.Session().Call(ctx, "Runtime.evaluate", jsonv2.Value(`{"expression":"1"}`), nil)
		})
	}
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return Health{LastLoadError: t.lastLoadError, LastCrash: t.lastCrash, Responsive: err == nil}
}

// Answers says why the tab's page cannot be acted on now, nil when it can.
func (t *Tab) Answers(ctx context.Context) error { return t.answersSince(ctx, noCrash) }

func (t *Tab) answersSince(ctx context.Context, crashes int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.blockedSince(crashes)
}
