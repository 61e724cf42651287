package target

import (
	"cmp"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"
)

// This file is the model's windows and the tabs in them: which there are, what is
// shown of them, and how they come and go.

// Window is a window of the model. In a headless browser it exists here alone.
type Window struct {
	ID      int
	Private bool
	native  int64                // the browser's number for it, 0 while it is not known
	context cdp.BrowserContextID // "" for the profile's own
	tabs    []*Tab
	current *Tab
}

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
			return nil, ErrNoCurrent
		}
		return b.current.current, nil
	}
	t := b.tabs[id]
	if t == nil {
		return nil, ErrNoTab
	}
	return t, nil
}

func (b *Browser) window(id int) *Window {
	i := slices.IndexFunc(b.windows, func(w *Window) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	return b.windows[i]
}

// add takes a tab into the model; mu is held.
func (b *Browser) add(t *Tab, info *targetInfo) {
	own := b.contextOf(info)
	begins := cmp.Or(t.begins, bare(info.URL))
	opener, found := b.openerOf(begins, own, b.byTarget[cdptarget.ID(info.OpenerID)])
	if opener != nil {
		t.opener = opener.ID
	}
	var w *Window
	if e := b.expected; opener == nil && !found && e != nil && e.context == own {
		b.expected = nil
		w = e.window
	} else {
		w = b.guess(opener, own)
		if !found {
			b.unwanted(t, begins)
		}
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
		b.publish("window.closed", map[string]any{"window_id": w.ID, "private": w.Private})
	}
	if b.made[w.context] && b.windowsOf(w.context) == 0 {
		delete(b.made, w.context)
		b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: w.context})
	}
}
