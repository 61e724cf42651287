package target

import (
	"cmp"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
)

// This file finds out who has opened a tab of which the browser names no opener: by
// a link that is clicked with the middle button, with Control or with Shift. The
// page tells for which address it wants another tab, and the browser with which
// address one begins. They are put together when the address and the context are
// the same, whichever is told first. Of several tabs that want the same at once none
// is taken for the opener.

const (
	// wantBound is how long a tab and who wanted it may be told of apart.
	wantBound = 5 * time.Second
	// comeBound is how long an action waits for a tab that its page wants.
	comeBound = time.Second
	// maxWanted bounds what is remembered of each.
	maxWanted = 128

	empty = "about:blank"
)

// wanted is a tab that a page wants to have opened.
type wanted struct {
	by      *Tab // nil: one of several, it is not known which
	turn    int  // of those that the tab wants
	url     string
	context cdp.BrowserContextID
	at      time.Time
}

// orphan is a tab of which nobody has said yet that it wants it.
type orphan struct {
	tab *Tab
	url string
	at  time.Time
}

// newPlace tells whether a navigation that a page asks for goes to another tab.
func (e *frameEvent) newPlace() bool { return e.Placement == "newTab" || e.Placement == "newWindow" }

// wants takes note that t wants a tab; mu is held.
func (b *Browser) wants(t *Tab, url string) {
	if url == empty {
		return // all empty tabs look the same
	}
	b.forgetWanted()
	own := t.window.context
	same := func(o orphan) bool {
		return o.tab != t && o.url == url && o.tab.window.context == own && (o.tab.opener == 0 || o.tab.opener == t.ID)
	}
	if i := slices.IndexFunc(b.orphans, same); i >= 0 {
		if !slices.ContainsFunc(b.orphans[i+1:], same) {
			b.orphans[i].tab.opener = t.ID
		}
		b.orphans = slices.Delete(b.orphans, i, i+1)
		t.notify()
		return
	}
	t.wants++
	by := t
	for i := range b.wanted {
		if w := &b.wanted[i]; w.url == url && w.context == own && w.by != t {
			w.by, by = nil, nil // who waits for it does so a moment in vain
		}
	}
	b.wanted = append(b.wanted, wanted{by, t.wants, url, own, time.Now()})
}

// openerOf finds the tab that wanted one that begins with url in a context, nil:
// none, or not known. named is the opener that the browser names, and found tells
// whether the tab was wanted; mu is held.
func (b *Browser) openerOf(url string, own cdp.BrowserContextID, named *Tab) (opener *Tab, found bool) {
	b.forgetWanted()
	i := slices.IndexFunc(b.wanted, func(w wanted) bool {
		return w.url == url && w.context == own && (named == nil || w.by == named)
	})
	if i < 0 {
		return named, false
	}
	by := b.wanted[i].by
	b.wanted = slices.Delete(b.wanted, i, i+1)
	if by != nil {
		by.notify()
	}
	return by, true
}

// unwanted takes note of such a tab; mu is held.
func (b *Browser) unwanted(t *Tab, url string) {
	if url != "" && url != empty && !b.quiet {
		b.orphans = append(b.orphans, orphan{t, url, time.Now()})
	}
}

// forgetWanted drops what will not come any more; mu is held.
func (b *Browser) forgetWanted() {
	b.wanted = slices.DeleteFunc(b.wanted, func(w wanted) bool { return w.by != nil && w.by.why != nil || time.Since(w.at) > wantBound })
	b.orphans = slices.DeleteFunc(b.orphans, func(o orphan) bool { return o.tab.why != nil || time.Since(o.at) > wantBound })
	b.wanted = b.wanted[max(0, len(b.wanted)-maxWanted):]
	b.orphans = b.orphans[max(0, len(b.orphans)-maxWanted):]
}

// awaits tells whether a tab is to come that t wants since a turn; mu is held.
func (t *Tab) awaits(since int) bool {
	return slices.ContainsFunc(t.browser.wanted, func(w wanted) bool { return w.by == t && w.turn > since })
}

// meet asks for the first document of a tab that has begun with one: it may have
// come before anything of the tab was followed. mu is held.
func (t *Tab) meet(s *sessionOf) {
	s.StartThen("Page.getFrameTree", nil, func(result []byte) {
		t.browser.mu.Lock()
		defer t.browser.mu.Unlock()
		tree := decode[frameTree](result).Tree
		url := cmp.Or(tree.Frame.Unreachable, tree.Frame.URL)
		if t.committed == 0 && tree.Frame.ID == string(t.main.ID) && opens(url) && url != empty { // else it was told, or is still to come
			t.showTree(s, tree)
		}
	})
}
