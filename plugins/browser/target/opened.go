package target

import (
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
)

// This file finds out who has opened a tab of which the browser names no opener: by
// a link that is clicked with the middle button, with Control or with Shift. The
// page tells for which address it wants another tab, and the browser with which
// address one begins. They are put together when the address and the context are the
// same, the first with the first, whichever is told first.

const (
	// wantBound is how long a tab and who wanted it may be told of apart.
	wantBound = 5 * time.Second
	// comeBound is how long an action waits for a tab that its page wants.
	comeBound = time.Second
	// maxWanted bounds what is remembered of each.
	maxWanted = 128
)

// wanted is a tab that a page wants to have opened.
type wanted struct {
	by   *Tab
	turn int // of those that the tab wants
	url  string
	at   time.Time
}

// orphan is a tab that nobody has wanted yet.
type orphan struct {
	tab *Tab
	url string
	at  time.Time
}

// newPlace tells whether a navigation that a page asks for goes to another tab.
func (e *frameEvent) newPlace() bool { return e.Placement == "newTab" || e.Placement == "newWindow" }

// wants takes note that t wants a tab; mu is held.
func (b *Browser) wants(t *Tab, url string) {
	b.forgetWanted()
	i := slices.IndexFunc(b.orphans, func(o orphan) bool { return o.url == url && o.tab.context() == t.context() })
	if i >= 0 {
		b.orphans[i].tab.opener = t.ID
		b.orphans = slices.Delete(b.orphans, i, i+1)
		t.notify()
		return
	}
	t.wants++
	b.wanted = append(b.wanted, wanted{t, t.wants, url, time.Now()})
}

// openerOf finds the tab that wanted one that begins with url in a context, nil:
// none. named is the opener that the browser names; mu is held.
func (b *Browser) openerOf(url string, own cdp.BrowserContextID, named *Tab) *Tab {
	b.forgetWanted()
	i := slices.IndexFunc(b.wanted, func(w wanted) bool {
		return w.url == url && w.by.context() == own && (named == nil || w.by == named)
	})
	if i < 0 {
		return named
	}
	by := b.wanted[i].by
	b.wanted = slices.Delete(b.wanted, i, i+1)
	by.notify()
	return by
}

// unwanted takes note of a tab that nobody has wanted yet; mu is held.
func (b *Browser) unwanted(t *Tab, url string) {
	if url != "" && url != "about:blank" && !b.quiet {
		b.orphans = append(b.orphans, orphan{t, url, time.Now()})
	}
}

// forgetWanted drops what will not come any more; mu is held.
func (b *Browser) forgetWanted() {
	b.wanted = slices.DeleteFunc(b.wanted, func(w wanted) bool { return w.by.why != nil || time.Since(w.at) > wantBound })
	b.orphans = slices.DeleteFunc(b.orphans, func(o orphan) bool { return o.tab.why != nil || time.Since(o.at) > wantBound })
	b.wanted = b.wanted[max(0, len(b.wanted)-maxWanted):]
	b.orphans = b.orphans[max(0, len(b.orphans)-maxWanted):]
}

// awaits tells whether a tab is to come that t wants since a turn; mu is held.
func (t *Tab) awaits(since int) bool {
	return slices.ContainsFunc(t.browser.wanted, func(w wanted) bool { return w.by == t && w.turn > since })
}

func (t *Tab) context() cdp.BrowserContextID { return t.window.context }

// meet asks for the first document of a tab that has begun with one: it may have
// come before anything of the tab was followed. mu is held.
func (t *Tab) meet(s *sessionOf) {
	s.StartThen("Page.getFrameTree", nil, func(result []byte) {
		t.browser.mu.Lock()
		defer t.browser.mu.Unlock()
		tree := decode[frameTree](result).Tree
		if t.committed > 0 || tree.Frame.ID != string(t.main.ID) || !opens(tree.Frame.URL) || tree.Frame.URL == "about:blank" {
			return // it was told, or is still to come
		}
		t.takeTree(s, tree)
		t.url = t.main.url
		t.browser.publish("page.load", map[string]any{"tab_id": t.ID, "event": 2, "uri": t.url})
	})
}
