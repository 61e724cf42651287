package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/vant-run/vant/plugins/browser/transport"
)

// Wait says how far a navigation is waited for.
type Wait string

// None returns when the navigation was asked for, Commit when there is a new
// document, DOM when it was parsed, Load when its load event has come.
const (
	None   Wait = "none"
	Commit Wait = "commit"
	DOM    Wait = "dom"
	Load   Wait = "load"
)

// Navigation says what became of one.
type Navigation struct {
	Status   int  // HTTP status, 0 when there is none
	Download bool // it became a download
	Moved    bool // there was somewhere to go
}

// LoadError is a navigation that failed in the network.
type LoadError struct {
	URL  string
	Name string // Chromium's: net::ERR_CONNECTION_REFUSED
}

// Error implements error.
func (e *LoadError) Error() string { return fmt.Sprintf("%s could not be loaded: %s", e.URL, e.Name) }

// errStillLoading ends a wait whose time is over; it is no failure.
var errStillLoading = errors.New("the page still loads")

// maxBegun bounds the navigations of a tab that are remembered.
const maxBegun = 32

// errorPage bounds the wait for the page that shows a failure.
const errorPage = 5 * time.Second

// Navigate loads url. A page that still loads when timeout is over is no error.
func (t *Tab) Navigate(ctx context.Context, url, referrer string, wait Wait, timeout time.Duration) (Navigation, error) {
	before := t.leave()
	if err := before.answers(ctx); err != nil {
		return Navigation{}, err
	}
	ctx, end := before.guard(ctx)
	defer end()
	waiting, cancel := context.WithTimeoutCause(ctx, timeout, errStillLoading)
	defer cancel()
	for attempt := 1; ; attempt++ {
		n, again, err := t.navigate(ctx, waiting, before, page.NavigateParams{URL: url, Referrer: referrer}, wait)
		if !again || attempt == attempts {
			return n, err
		}
	}
}

// attempts is how often a navigation is asked for that the page takes back by one
// of its own.
const attempts = 10

// navigate asks for a navigation once. again: the page that was there has gone
// somewhere else instead, and no other caller wanted that. It has begun, or was
// refused, also where ctx, unlike call, has no time for that.
func (t *Tab) navigate(call, ctx context.Context, before moment, p page.NavigateParams, wait Wait) (n Navigation, again bool, err error) {
	asked := transport.Go(t.Session(), page.Navigate, p)
	before.begins(call, asked.Pending, func() bool { return answered(asked.Pending) })
	if wait == None { // an address that is refused at once is told
		if err := before.waitFor(ctx, asked.Pending, func() bool { return before.begun() || answered(asked.Pending) }); err != nil || !answered(asked.Pending) {
			return Navigation{Moved: true}, false, ignoreLoading(err)
		}
	}
	res, err := asked.Wait(ctx)
	if err != nil {
		return Navigation{}, false, ignoreLoading(t.gone(err))
	}
	loader := string(res.LoaderID)
	switch {
	case res.IsDownload:
		return Navigation{Download: true}, false, nil
	case res.ErrorText == aborted && t.superseded(loader):
		if !before.latest() {
			n, err = t.settle(ctx, before, "", wait)
			return n, false, err
		}
		n, err = t.settle(ctx, before, "", Commit)
		return n, err == nil && ctx.Err() == nil, err
	case res.ErrorText == aborted:
		if status := t.answered(loader); status == http.StatusNoContent || status == http.StatusResetContent {
			return Navigation{Status: status}, false, nil // it stays where it was
		}
		return Navigation{}, false, &LoadError{URL: bare(p.URL), Name: res.ErrorText}
	case res.ErrorText != "":
		shown, cancel := context.WithTimeout(ctx, errorPage)
		defer cancel()
		_ = before.wait(shown, func() bool { return before.arrived(loader) && !t.loading }) // if it does not come, the failure is the same
		return Navigation{}, false, &LoadError{URL: bare(p.URL), Name: res.ErrorText}
	case loader == "": // within the document
		err := before.wait(ctx, func() bool { return t.sameDocument > before.within || t.committed > before.committed })
		return Navigation{Moved: true}, false, ignoreLoading(err)
	case wait == None:
		return Navigation{Moved: true}, false, nil
	}
	n, err = t.settle(ctx, before, loader, wait)
	return n, false, err
}

const aborted = "net::ERR_ABORTED"

func answered(p *transport.Pending) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func ignoreLoading(err error) error {
	if errors.Is(err, errStillLoading) {
		return nil
	}
	return err
}

// moment is how far a tab was when a navigation was asked for.
type moment struct {
	t                                      *Tab
	requested, committed, within, failures int
	crashes, left                          int
}

// leave takes note of the moment before a navigation. A crashed tab gets a new
// renderer by it: whoever waits since then waits for that one.
func (t *Tab) leave() moment {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	t.left++
	return moment{t, t.requested, t.committed, t.sameDocument, t.failures, t.crashes, t.left}
}

// latest tells whether no other caller has asked for a navigation since.
func (m moment) latest() bool {
	m.t.browser.mu.Lock()
	defer m.t.browser.mu.Unlock()
	return m.t.left == m.left
}

// wait is the tab's, but for crashes before the moment.
func (m moment) wait(ctx context.Context, ok func() bool) error { return m.waitFor(ctx, nil, ok) }

func (m moment) waitFor(ctx context.Context, p *transport.Pending, ok func() bool) error {
	return m.t.waitFor(ctx, p, m.crashes, ok)
}

// guard is the tab's, but for crashes before the moment.
func (m moment) guard(ctx context.Context) (context.Context, func()) {
	return m.t.guardSince(ctx, m.crashes)
}

// answers is the tab's, but for crashes before the moment.
func (m moment) answers(ctx context.Context) error { return m.t.answersSince(ctx, m.crashes) }

// stuckBound is how long a page may be busy before it is taken for one that holds
// up its own end.
const stuckBound = 2 * time.Second

// free stops the script of a page that does not let the next document come, as no
// browser would without a person who is asked. done ends that.
func (m moment) free() (done func()) {
	t := m.t
	timer := time.AfterFunc(stuckBound, func() {
		t.browser.mu.Lock()
		there := t.committed <= m.committed && t.blockedSince(m.crashes) == nil
		s := t.session
		t.browser.mu.Unlock()
		if there {
			if blocked(probe(s), idleBound) {
				stop(s)
			}
		}
	})
	return func() { timer.Stop() }
}

// beginsBound is how long a navigation may take to begin, whatever its caller waits
// for.
const beginsBound = time.Second

// begins waits until a navigation that was asked for has begun: until then the tab
// looks as if it did not load. over ends it, and is asked with mu held.
func (m moment) begins(ctx context.Context, asked *transport.Pending, over func() bool) {
	ctx, cancel := context.WithTimeout(ctx, beginsBound)
	defer cancel()
	_ = m.waitFor(ctx, asked, func() bool { return m.begun() || over() }) // why not is seen by whoever waits on
}

// begun tells whether a navigation has begun since; mu is held.
func (m moment) begun() bool { return m.t.requested > m.requested || m.t.sameDocument > m.within }

// arrived tells whether the document of a loader has come since, or one that was
// begun after it; without a loader, whether any has. mu is held.
func (m moment) arrived(loader string) bool {
	t := m.t
	if t.committed <= m.committed {
		return false
	}
	asked := t.begunBy(loader)
	return asked < 0 || t.main.loader == loader || t.begunBy(t.main.loader) > asked
}

// begun is a navigation that was begun.
type begun struct {
	loader string
	status int // HTTP status of the answer, 0 when none has come
}

// begunBy finds the navigation of a loader, -1: none that is remembered; mu is
// held.
func (t *Tab) begunBy(loader string) int {
	return slices.IndexFunc(t.begun, func(b begun) bool { return b.loader == loader })
}

// lastBegun is the loader of the navigation that was begun last, and the HTTP status
// of its answer; mu is held.
func (t *Tab) lastBegun() (loader string, status int) {
	if n := len(t.begun); n > 0 {
		return t.begun[n-1].loader, t.begun[n-1].status
	}
	return "", 0
}

// superseded: the page has begun another navigation meanwhile.
func (t *Tab) superseded(loader string) bool {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	last, _ := t.lastBegun()
	return last != "" && last != loader
}

// answered is the HTTP status of the answer to a loader's request, 0 when none has
// come.
func (t *Tab) answered(loader string) int {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.statusOf(loader)
}

func (t *Tab) statusOf(loader string) int {
	if i := t.begunBy(loader); i >= 0 {
		return t.begun[i].status
	}
	return 0
}

// settle waits until the document of a loader is as far as wait says. A page that
// goes on to another document by itself is followed.
func (t *Tab) settle(ctx context.Context, before moment, loader string, wait Wait) (Navigation, error) {
	n := Navigation{Moved: true}
	defer before.free()()
	err := before.wait(ctx, func() bool {
		if !before.arrived(loader) {
			return false
		}
		now := t.main.loader
		n.Status = t.statusOf(now)
		switch {
		case t.dialog != nil: // the rest comes when it is answered
			return true
		case wait == DOM:
			return t.dom == now
		case wait == Load:
			return t.load == now
		}
		return true
	})
	if err == nil && wait != Commit {
		t.readTitle(ctx)
	}
	return n, ignoreLoading(err)
}

// titleBound is how long a page is asked for its title.
const titleBound = time.Second

// readTitle asks the browser for the page's title: it tells of none by itself.
func (t *Tab) readTitle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, titleBound)
	defer cancel()
	var now struct {
		Info targetInfo `json:"targetInfo"`
	}
	if t.browser.Root().Call(ctx, "Target.getTargetInfo", map[string]any{"targetId": t.target}, &now) != nil {
		return // what is known is shown
	}
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	t.title = now.Info.Title
}

// Reload loads the page again.
func (t *Tab) Reload(ctx context.Context, ignoreCache bool, wait Wait, timeout time.Duration) (Navigation, error) {
	before := t.leave()
	if err := before.answers(ctx); err != nil {
		return Navigation{}, err
	}
	asked := t.Session().Start("Page.reload", page.ReloadParams{IgnoreCache: &ignoreCache})
	return t.move(ctx, before, asked, wait, timeout)
}

// History goes steps forward in the history, or back. At its ends nothing moves.
func (t *Tab) History(ctx context.Context, steps int, wait Wait, timeout time.Duration) (Navigation, error) {
	end := time.Now().Add(errorPage)
	for {
		changed := t.Changed()
		n, err := t.step(ctx, steps, wait, timeout)
		if !betweenPages(err) || time.Now().After(end) {
			return n, err
		}
		again := time.NewTimer(stepAgain)
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
	}
}

// stepAgain is how long the browser is left alone while a tab is between pages.
const stepAgain = 100 * time.Millisecond

// betweenPages: an error page comes in the place of a page of another process, and the
// browser does not deal with the tab's history until it is there.
func betweenPages(err error) bool {
	var refused *transport.Error
	return errors.As(err, &refused) && refused.Message == "Not attached to an active page"
}

func (t *Tab) step(ctx context.Context, steps int, wait Wait, timeout time.Duration) (Navigation, error) {
	before := t.leave()
	guarded, end := before.guard(ctx)
	h, err := cdp.Call(guarded, t.Session(), page.GetNavigationHistory, cdp.Empty{})
	end()
	if err != nil {
		return Navigation{}, t.gone(err)
	}
	i := int(h.CurrentIndex) + steps
	if i < 0 || i >= len(h.Entries) {
		return Navigation{}, nil
	}
	if err := before.answers(ctx); err != nil {
		return Navigation{}, err
	}
	asked := t.Session().Start("Page.navigateToHistoryEntry", page.NavigateToHistoryEntryParams{EntryID: h.Entries[i].ID})
	return t.move(ctx, before, asked, wait, timeout)
}

// move waits for a navigation whose answer does not tell how it goes.
func (t *Tab) move(ctx context.Context, before moment, asked *transport.Pending, wait Wait, timeout time.Duration) (Navigation, error) {
	n := Navigation{Moved: true}
	ctx, end := before.guard(ctx)
	defer end()
	before.begins(ctx, asked, func() bool { return t.failures > before.failures })
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errStillLoading)
	defer cancel()
	if wait == None {
		return n, ignoreLoading(before.waitFor(ctx, asked, before.begun))
	}
	defer before.free()()
	failed, document, uri := "", false, ""
	err := before.waitFor(ctx, asked, func() bool {
		document = t.committed > before.committed
		if t.failures > before.failures {
			failed, uri = t.lastLoadError, t.startingURL
		}
		return document || t.sameDocument > before.within || failed != ""
	})
	switch {
	case err != nil:
		return n, ignoreLoading(err)
	case failed != "" && failed != aborted:
		shown, cancel := context.WithTimeout(ctx, errorPage)
		defer cancel()
		_ = before.wait(shown, func() bool { return t.committed > before.committed && !t.loading }) // if it does not come, the failure is the same
		return n, &LoadError{URL: uri, Name: failed}
	case !document:
		return n, nil
	}
	return t.settle(ctx, before, "", wait)
}

// Stop ends what loads, and waits until nothing does, unless wait is None: how far
// the others would wait makes no difference.
func (t *Tab) Stop(ctx context.Context, wait Wait, timeout time.Duration) error {
	before := t.leave()
	if err := before.answers(ctx); err != nil {
		return err
	}
	asked := t.Session().Start("Page.stopLoading", nil)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errStillLoading)
	defer cancel()
	ctx, end := before.guard(ctx)
	defer end()
	return ignoreLoading(before.waitFor(ctx, asked, func() bool {
		return answered(asked) && (wait == None || !t.pending() && !t.loading)
	}))
}

// WaitLoad waits until the document that the tab shows has loaded.
func (t *Tab) WaitLoad(ctx context.Context) error {
	return t.waitToCome(ctx, func() bool {
		return !t.crashed && !t.pending() && !t.loading && (t.committed == 0 || t.load == t.main.loader)
	})
}

// WaitURL waits until the tab's address is one that fits.
func (t *Tab) WaitURL(ctx context.Context, fits func(url string) bool) error {
	return t.waitToCome(ctx, func() bool { return !t.crashed && fits(t.uri()) })
}

// waitToCome is wait for what a navigation may bring that was begun: the crash that
// it brings the tab back from does not end it.
func (t *Tab) waitToCome(ctx context.Context, ok func() bool) error {
	t.browser.mu.Lock()
	crashes := noCrash
	if t.pending() {
		crashes = t.crashes
	}
	t.browser.mu.Unlock()
	return t.waitFor(ctx, nil, crashes, ok)
}
