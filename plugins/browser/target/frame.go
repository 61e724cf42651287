package target

import (
	"crypto/rand"
	"slices"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/plugins/browser/transport"
)

// worldName names the isolated worlds of our code. No other client of the browser
// has the same ones, nor has this plugin after a restart.
var worldName = "vant-" + rand.Text()

// Frame is a frame of a tab.
type Frame struct {
	ID     cdp.FrameID
	tab    *Tab
	parent *Frame
	order  int // among the tab's frames
	asked  atomic.Int64

	// Guarded by the browser's mu.
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
	t.notify()
	return f
}

// move notes in which process's session the frame is now, nil: in none; mu is
// held. What was known of the old one's worlds is void.
func (f *Frame) move(s *transport.Session) {
	if f.session != s {
		f.session, f.world, f.main = s, "", ""
		f.tab.notify()
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
	for _, other := range t.frames {
		if other.parent == f {
			t.removeFrame(other) // they were the old document's
		}
	}
	if f == t.main {
		t.show(info)
		return
	}
	f.has(info)
	t.notify()
}

// has takes note of the document of a frame; mu is held.
func (f *Frame) has(info frameInfo) {
	f.loader, f.name, f.url = info.LoaderID, info.Name, bare(info.URL)+info.Fragment
}

// show takes note of the document of the main frame; mu is held.
func (t *Tab) show(info frameInfo) {
	f := t.main
	f.has(info)
	if info.Unreachable != "" {
		f.url = bare(info.Unreachable)
	}
	t.url, t.dialog, t.chooser, t.crashed, t.revived, t.asked = f.url, nil, nil, false, false, false
	t.committed++
	t.fresh = !t.loading && t.begunBy(info.LoaderID) >= 0
	t.browser.publish("page.load", map[string]any{"tab_id": t.ID, "event": 2, "uri": t.url})
	t.notify()
}

// setLoading follows the spinner of the main frame; mu is held.
func (t *Tab) setLoading(frame string, on bool) {
	if frame != string(t.main.ID) {
		return
	}
	if t.fresh && t.loading == on {
		t.notify()
	}
	t.fresh = false
	if t.loading == on {
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

// missed tells whether the document of a loader has come, by what is said of it,
// and that was not told; mu is held.
func (t *Tab) missed(loader string) bool {
	i := t.begunBy(loader)
	return i >= 0 && i > t.begunBy(t.main.loader)
}

// catchUp asks for the document that was missed. What follows a page is turned on
// in its renderer: in one that starts late, or that takes the place of one that
// has not answered yet, the document comes first.
func (t *Tab) catchUp(s *sessionOf, loader string) {
	if t.sought == loader {
		return
	}
	t.sought = loader
	s.StartThen("Page.getFrameTree", nil, func(result []byte) {
		t.browser.mu.Lock()
		defer t.browser.mu.Unlock()
		if tree := decode[frameTree](result).Tree; tree.Frame.ID == string(t.main.ID) && t.missed(tree.Frame.LoaderID) { // else it came meanwhile
			t.showTree(s, tree)
		}
	})
}

// showTree takes in the document of a tree, which was not told, and the frames in
// it; mu is held.
func (t *Tab) showTree(s *sessionOf, n frameNode) {
	for _, f := range t.frames {
		in := func(child frameNode) bool { return child.Frame.ID == string(f.ID) }
		// Those of other processes are not in the tree, and the new document's.
		if f.parent == t.main && (f.session == nil || f.session == s.Session) && !slices.ContainsFunc(n.Children, in) {
			t.removeFrame(f)
		}
	}
	t.show(n.Frame)
	t.fresh = !t.loading // also when it was not told that it was begun
	for _, child := range n.Children {
		t.takeTree(s, child)
	}
	if t.load == t.main.loader {
		t.loaded()
	}
	t.notify()
}

func (t *Tab) loaded() {
	t.browser.publish("page.load", map[string]any{"tab_id": t.ID, "event": 3, "uri": t.uri()})
}

// lifecycle follows how far the main frame's document has come; mu is held.
func (t *Tab) lifecycle(s *sessionOf, e frameEvent) {
	if e.FrameID != string(t.main.ID) {
		return
	}
	if e.Name != "init" && t.missed(e.LoaderID) { // that one comes before the document is told
		t.catchUp(s, e.LoaderID)
	}
	switch e.Name {
	case "DOMContentLoaded":
		t.dom = e.LoaderID
	case "load":
		t.dom, t.load = e.LoaderID, e.LoaderID
		if t.main.loader == e.LoaderID { // not that of the first, empty one, which nobody has asked for
			t.loaded()
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

// Below are the frames in f that can be asked, and in these, nearest first.
func (f *Frame) Below() []*Frame {
	f.tab.browser.mu.Lock()
	defer f.tab.browser.mu.Unlock()
	list := []*Frame{f}
	for i := 0; i < len(list); i++ {
		for _, child := range list[i].children() {
			if child.session != nil {
				list = append(list, child)
			}
		}
	}
	return list[1:]
}

// Changed is closed when the tab's frames, their documents, or anything else of
// the tab has changed.
func (t *Tab) Changed() <-chan struct{} {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.changed
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
