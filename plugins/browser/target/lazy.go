package target

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/vant-run/vant/plugins/browser/transport"
)

// This file is about a person's browser: its tabs are listed as the browser tells
// of them, and each is attached to when a call needs its page.

// ErrAsleep: the tab does not answer whoever attaches to it.
var ErrAsleep = errors.New("the tab does not answer: it was put to sleep, its page is busy or shows a dialog; browser.tab.select wakes it")

const (
	// attachBound is how long a tab may take to answer, and wakeBound how long
	// once it was woken. Both are within a call's time.
	attachBound = 8 * time.Second
	wakeBound   = 8 * time.Second
	// childBound is how long the frames of other processes may take.
	childBound = 2 * time.Second
)

// joining is an attachment that was begun.
type joining struct {
	there chan struct{} // closed when there is a session
	done  chan struct{} // closed when the page is followed, or err is set
	err   error
}

// isTab tells a person's tabs from what else is called a page.
func (i *targetInfo) isTab() bool {
	return i.Type == "page" && i.Subtype == "" && !strings.HasPrefix(i.URL, "devtools://") &&
		(!strings.HasPrefix(i.URL, "chrome://") || !strings.Contains(i.URL, ".top-chrome/"))
}

// discovered takes note of a target that there is.
func (b *Browser) discovered(info targetInfo) {
	if !info.isTab() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.byTarget[cdptarget.ID(info.TargetID)]
	if t == nil {
		t = newTab(b, &info)
		b.add(t, &info)
		// A pop-up of a tab that is driven: its dialogs would stop that one too.
		if opener := b.byTarget[cdptarget.ID(info.OpenerID)]; opener != nil && opener.joining != nil {
			t.join()
		}
	}
	t.seen, t.title = b.conn.Load(), info.Title
	if t.tree == nil { // else the page itself tells where it is
		t.url = bare(info.URL)
	}
}

// join begins to attach to the tab, unless that was begun; mu is held.
func (t *Tab) join() *joining {
	if t.joining != nil {
		return t.joining
	}
	j := &joining{there: make(chan struct{}), done: make(chan struct{})}
	t.joining = j
	flatten := true
	asked := t.browser.Root().Start("Target.attachToTarget", cdptarget.AttachToTargetParams{TargetID: t.target, Flatten: &flatten})
	go func() {
		defer close(j.done)
		if j.err = t.joined(j, asked); j.err == nil {
			return
		}
		t.browser.mu.Lock()
		defer t.browser.mu.Unlock()
		if t.joining == j {
			t.joining = nil // the next call tries again
		}
	}()
	return j
}

// joined waits until the page is followed. What it waits for ends with the
// connection at the latest.
func (t *Tab) joined(j *joining, asked *transport.Pending) error {
	ctx := context.Background()
	if _, err := asked.Wait(ctx); err != nil {
		return t.gone(err)
	}
	// The session was announced before the answer came.
	close(j.there)
	b := t.browser
	b.mu.Lock()
	s, tree, current := t.session, t.tree, t.joining == j
	b.mu.Unlock()
	switch {
	case !current || s == nil:
		return t.gone(transport.ErrClosed)
	case tree == nil:
		return nil // it was new, and followed from its start
	}
	_, err := tree.Wait(ctx)
	if err != nil && s.Err() != nil {
		return t.gone(err)
	}
	b.mu.Lock()
	if err != nil && t.joining == j {
		t.followed = t.follow(s) // the renderer has ended: the next one will tell
	}
	followed := t.followed
	b.mu.Unlock()
	if followed == nil {
		return t.gone(transport.ErrClosed)
	}
	if _, err := followed.Wait(ctx); err != nil && s.Err() != nil {
		return t.gone(err)
	}
	ctx, cancel := context.WithTimeout(ctx, childBound)
	defer cancel()
	_ = t.wait(ctx, func() bool { return t.learning == 0 }) // those of other processes may come later
	return nil
}

// learn begins to follow a page or a frame whose document is there already; mu is
// held.
func (t *Tab) learn(s *sessionOf) {
	s.Start("Page.enable", nil) // first, so that no change of the frames is missed
	tree := s.StartThen("Page.getFrameTree", nil, func(result []byte) {
		b := t.browser
		b.mu.Lock()
		defer b.mu.Unlock()
		t.takeTree(s, decode[frameTree](result).Tree)
		followed := t.follow(s.Session)
		if s.Session == t.session {
			t.followed = followed
		}
	})
	if s.Session == t.session {
		t.tree = tree
		return
	}
	t.learning++
	go func() {
		<-tree.Done()
		t.browser.mu.Lock()
		defer t.browser.mu.Unlock()
		t.learning--
		t.notify()
	}()
}

type frameTree struct {
	Tree frameNode `json:"frameTree"`
}

type frameNode struct {
	Frame    frameInfo   `json:"frame"`
	Children []frameNode `json:"childFrames"`
}

// takeTree takes in the frames of a process; mu is held.
func (t *Tab) takeTree(s *sessionOf, n frameNode) {
	id := cdp.FrameID(n.Frame.ID)
	f := t.frames[id]
	switch {
	case f == nil && n.Frame.ParentID == "" && s.Session == t.session:
		delete(t.frames, t.main.ID) // not named after the target
		f, t.main.ID = t.main, id
		t.frames[id] = f
	case f == nil:
		f = t.addFrame(n.Frame.ID, n.Frame.ParentID)
	}
	f.move(s.Session)
	f.has(n.Frame)
	if f == t.main {
		t.committed++
		t.notify()
	}
	for _, child := range n.Children {
		t.takeTree(s, child)
	}
}

// Attach sees to it that the tab's page can be worked with. wake brings a tab to
// the front that does not answer, which loads it again when it was discarded.
func (t *Tab) Attach(ctx context.Context, wake bool) error {
	b := t.browser
	if !b.o.Lazy {
		return nil
	}
	b.mu.Lock()
	why, crashed := t.why, t.crashed
	var j *joining
	if why == nil {
		j = t.join()
	}
	b.mu.Unlock()
	if why != nil {
		return why
	}
	ready := j.done
	if crashed {
		ready = j.there // the page says nothing until it is loaded again
	}
	err := j.wait(ctx, t, ready, attachBound)
	if !errors.Is(err, ErrAsleep) || !wake {
		return err
	}
	if _, err := cdp.Call(ctx, b.Root(), cdptarget.ActivateTarget, cdptarget.ActivateTargetParams{TargetID: t.target}); err != nil {
		return t.gone(err)
	}
	return j.wait(ctx, t, ready, wakeBound)
}

func (j *joining) wait(ctx context.Context, t *Tab, ready chan struct{}, bound time.Duration) error {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-ready:
		select {
		case <-j.done:
			return j.err
		default:
			return nil
		}
	case <-j.done:
		return j.err
	case <-t.done:
		return t.cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return ErrAsleep
	}
}

// sessionLost takes note that the browser has ended a session. When that was
// because its tab closed, it tells of the tab before it answers what is asked now.
func (b *Browser) sessionLost(id string) {
	conn := b.conn.Load()
	conn.Root().StartThen("Browser.getVersion", nil, func([]byte) {
		b.mu.Lock()
		if t := b.attachedBy(id); t != nil {
			t.drop()
		}
		b.mu.Unlock()
		conn.Detach(id, ErrDisconnected)
	})
}

// attachedBy finds the tab of a session; mu is held.
func (b *Browser) attachedBy(id string) *Tab {
	for _, t := range b.tabs {
		if t.session != nil && t.session.ID() == id {
			return t
		}
	}
	return nil
}

// drop forgets the session, which has ended; mu is held.
func (t *Tab) drop() {
	t.drops++
	t.joining, t.tree, t.followed = nil, nil, nil
	for id := range t.children {
		t.browser.conn.Load().Detach(id, ErrDisconnected)
	}
	t.children = make(map[string]bool)
	for _, f := range t.frames {
		if f != t.main {
			t.removeFrame(f)
		}
	}
	t.main.world, t.main.main, t.main.installed = "", "", false
	t.dialog, t.chooser, t.loading, t.fresh, t.asked, t.starting = nil, nil, false, false, false, ""
	t.notify()
}

// Dropped returns when the connection to the browser has ended and nobody waits
// for it any more.
func (b *Browser) Dropped() {
	conn := b.conn.Load()
	<-conn.Done()
	conn.Close() // its handlers have returned
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tabs {
		t.drop()
	}
}

// Reconnect goes on over a new connection to the same browser, after Dropped. Its
// tabs are known again after Join.
func (b *Browser) Reconnect(r io.ReadCloser, w io.WriteCloser) { b.connect(r, w) }

// Abandon says that the browser has gone, after Dropped.
func (b *Browser) Abandon() { b.lost() }

// Join waits until the browser has told of its tabs. Those that are not there any
// more are closed.
func (b *Browser) Join(ctx context.Context) error {
	// Answers come in order: what was asked before is known by then.
	if err := b.Root().Call(ctx, "Browser.getVersion", nil, nil); err != nil {
		return b.gone(err)
	}
	b.mu.Lock()
	conn := b.conn.Load()
	for _, w := range slices.Clone(b.windows) {
		for _, t := range slices.Clone(w.tabs) {
			if t.seen != conn {
				t.end(ErrTabClosed)
				b.remove(t)
			}
		}
	}
	b.mu.Unlock()
	b.Locate(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.quiet {
		return nil
	}
	b.quiet = false
	for _, w := range b.windows {
		b.publish("window.created", map[string]any{"window_id": w.ID, "private": w.Private})
		for _, t := range w.tabs {
			b.announce(t)
		}
	}
	return nil
}

// Leave lets go of a person's browser: windows with a context that we made are
// closed, all else stays as it is.
func (b *Browser) Leave(ctx context.Context) {
	b.mu.Lock()
	var asked []*transport.Pending
	for id := range b.made {
		asked = append(asked, b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: id}))
	}
	b.mu.Unlock()
	for _, p := range asked {
		if _, err := p.Wait(ctx); err != nil {
			b.o.Log.Warn("a private window was not closed", "error", err.Error())
		}
	}
	b.Close()
}
