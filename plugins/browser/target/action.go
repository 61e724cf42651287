package target

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// Mark is a moment in a tab's life, before an action.
type Mark struct {
	requested, committed, within, stops, dialogs, errors, downloads, wants int
	begun                                                                  string // loader of the last navigation
	tabs                                                                   map[int]bool
	url                                                                    string
}

// Effects are what an action has caused.
type Effects struct {
	Navigated     bool
	URL           string  // where the tab is now, "" when it is where it was
	Opened        []int   // tabs
	Dialog        *Dialog // the last
	Dialogs       int
	DialogOpen    bool // one waits for its answer
	ConsoleErrors int
	Download      *Download
}

// Download is a download that a page has begun.
type Download struct {
	URL      string `json:"url"`
	Filename string `json:"suggestedFilename"`
}

// Dialogs is how many dialogs had opened until then.
func (m Mark) Dialogs() int { return m.dialogs }

// Mark takes note of how things are.
func (t *Tab) Mark() Mark {
	b := t.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	m := Mark{
		requested: t.requested, committed: t.committed, within: t.sameDocument, stops: t.stops, dialogs: t.dialogs, downloads: t.downloads, wants: t.wants,
		errors: t.Diagnostics.Errors(), tabs: make(map[int]bool, len(b.tabs)), url: t.url,
	}
	for id := range b.tabs {
		m.tabs[id] = true
	}
	m.begun, _ = t.lastBegun()
	return m
}

// saving: a navigation that was begun since has come to no document, and may have
// become a download; mu is held.
func (t *Tab) saving(m Mark) bool {
	loader, status := t.lastBegun()
	return loader != m.begun && status != http.StatusNoContent && status != http.StatusResetContent
}

// beginBound is how long a navigation or a download that a page has asked for may
// take to begin.
const beginBound = 5 * time.Second

// lateBound is how long after the end of a navigation that came to no document the
// browser may take to tell of the download that it has become.
const lateBound = 500 * time.Millisecond

// Since tells what has come since a mark. When a navigation was begun it waits for
// the new document, until ctx ends or the tab closes. saves: the page has asked for
// a download.
func (t *Tab) Since(ctx context.Context, m Mark, saves bool) (Effects, error) {
	b := t.browser
	come := func() bool {
		return t.committed > m.committed || t.sameDocument > m.within || t.downloads > m.downloads || t.dialog != nil
	}
	over := func() bool {
		return come() || t.stops > m.stops && !t.asked && !t.pending() // else it was the load before that has stopped
	}
	b.mu.Lock()
	began := t.requested > m.requested
	b.mu.Unlock()
	if saves && !began {
		begin, cancel := context.WithTimeout(ctx, beginBound)
		err := t.wait(begin, func() bool {
			began = t.requested > m.requested // what another site offers is not saved, but shown
			return began || t.downloads > m.downloads || t.dialog != nil
		})
		cancel()
		if !waited(err) {
			return Effects{}, err
		}
	}
	if began {
		begin, cancel := context.WithTimeout(ctx, beginBound)
		err := t.wait(begin, func() bool { return over() || t.loading })
		cancel()
		if err == nil {
			err = t.wait(ctx, over)
		}
		if err == nil {
			late, cancel := context.WithTimeout(ctx, lateBound)
			err = t.wait(late, func() bool { return come() || !t.saving(m) })
			cancel()
		}
		if !waited(err) {
			return Effects{}, err
		}
	}
	opening, cancel := context.WithTimeout(ctx, comeBound)
	err := t.wait(opening, func() bool { return !t.awaits(m.wants) })
	cancel()
	if !waited(err) {
		return Effects{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := Effects{
		Navigated:     t.committed > m.committed || t.sameDocument > m.within,
		DialogOpen:    t.dialog != nil && t.why == nil,
		ConsoleErrors: t.Diagnostics.Errors() - m.errors,
	}
	if t.url != m.url {
		e.URL = t.url
	}
	for id, other := range b.tabs {
		if !m.tabs[id] && other.opener == t.ID {
			e.Opened = append(e.Opened, id)
		}
	}
	slices.Sort(e.Opened)
	if t.downloads > m.downloads {
		d := t.lastDownload
		e.Download = &d
	}
	if t.dialogs > m.dialogs {
		d := t.lastDialog
		e.Dialog, e.Dialogs = &d, t.dialogs-m.dialogs
	}
	return e, nil
}

// waited tells whether a wait has ended as it may: what has come by then is all that
// an action has caused. It may have closed its own tab.
func waited(err error) bool {
	return err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTabClosed)
}

// Told waits until the browser itself has told what a page has had it do until now:
// of going back in the history a page says nothing.
func (t *Tab) Told(ctx context.Context) error {
	err := t.gone(t.browser.Root().Call(ctx, "Browser.getVersion", nil, nil))
	if waited(err) {
		return nil // its end was told too; or it is too busy to tell
	}
	return err
}

// Chooser waits for the file chooser that an action opens.
func (t *Tab) Chooser(ctx context.Context) (*Chooser, error) {
	var c *Chooser
	err := t.wait(ctx, func() bool { c = t.chooser; return c != nil })
	return c, err
}

// ForgetChooser drops a chooser that was opened before.
func (t *Tab) ForgetChooser() {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	t.chooser = nil
}
