package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// Navigate loads url. A page that still loads when timeout is over is no error.
func (t *Tab) Navigate(ctx context.Context, url, referrer string, wait Wait, timeout time.Duration) (Navigation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errStillLoading)
	defer cancel()
	guarded, end := t.guard(ctx)
	defer end()
	t.browser.mu.Lock()
	before := t.committed
	t.browser.mu.Unlock()
	asked := transport.Go(t.Session(), page.Navigate, page.NavigateParams{URL: url, Referrer: referrer})
	if wait == None {
		// Refused addresses are told at once; whatever else comes is not waited for.
		err := t.wait(ctx, func() bool { return t.committed > before || t.starting != "" || answered(asked.Pending) })
		return Navigation{}, ignoreLoading(err)
	}
	res, err := asked.Wait(guarded)
	if err != nil {
		return Navigation{}, ignoreLoading(t.gone(err))
	}
	if res.IsDownload {
		return Navigation{Download: true}, nil
	}
	if res.ErrorText != "" {
		if res.ErrorText == "net::ERR_ABORTED" && t.superseded(string(res.LoaderID)) {
			return t.settle(ctx, before, wait)
		}
		return Navigation{}, &LoadError{URL: url, Name: res.ErrorText}
	}
	if res.LoaderID == "" { // within the document: it is there
		return Navigation{Moved: true}, nil
	}
	return t.settle(ctx, before, wait)
}

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

// superseded: the page has begun another navigation meanwhile.
func (t *Tab) superseded(loader string) bool {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	return t.starting != "" && t.starting != loader
}

// settle waits until a document that came after before is as far as wait says. A
// page that goes on to another document by itself is followed.
func (t *Tab) settle(ctx context.Context, before int, wait Wait) (Navigation, error) {
	n := Navigation{Moved: true}
	err := t.wait(ctx, func() bool {
		if t.committed <= before {
			return false
		}
		loader := t.main.loader
		if t.statusOf == loader {
			n.Status = t.status
		}
		switch wait {
		case DOM:
			return t.dom == loader
		case Load:
			return t.load == loader
		}
		return true
	})
	if err == nil && wait != Commit {
		t.readTitle(ctx)
	}
	return n, ignoreLoading(err)
}

// readTitle asks the page for its title: the browser tells of it a moment later.
func (t *Tab) readTitle(ctx context.Context) {
	f := t.Main()
	title, err := f.Evaluate(ctx, "String(document.title)", 0)
	if err != nil {
		return // then the browser's word comes
	}
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	t.title = title
}

// Reload loads the page again.
func (t *Tab) Reload(ctx context.Context, ignoreCache bool, wait Wait, timeout time.Duration) (Navigation, error) {
	return t.move(ctx, wait, timeout, func(ctx context.Context) (bool, error) {
		_, err := cdp.Call(ctx, t.Session(), page.Reload, page.ReloadParams{IgnoreCache: &ignoreCache})
		return true, err
	})
}

// Back and forward move through the history, by steps. At its ends nothing moves.
func (t *Tab) History(ctx context.Context, steps int, wait Wait, timeout time.Duration) (Navigation, error) {
	return t.move(ctx, wait, timeout, func(ctx context.Context) (bool, error) {
		h, err := cdp.Call(ctx, t.Session(), page.GetNavigationHistory, cdp.Empty{})
		if err != nil {
			return false, err
		}
		i := int(h.CurrentIndex) + steps
		if i < 0 || i >= len(h.Entries) {
			return false, nil
		}
		_, err = cdp.Call(ctx, t.Session(), page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[i].ID})
		return true, err
	})
}

// move starts a navigation that has no answer of its own, and waits for it.
func (t *Tab) move(ctx context.Context, wait Wait, timeout time.Duration, start func(context.Context) (bool, error)) (Navigation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errStillLoading)
	defer cancel()
	t.browser.mu.Lock()
	documents, within, failure := t.committed, t.sameDocument, t.failures
	if t.crashed {
		t.crashed = false // whoever waits now waits for the new renderer
	}
	t.browser.mu.Unlock()
	guarded, end := t.guard(ctx)
	defer end()
	moved, err := start(guarded)
	if err != nil || !moved || wait == None {
		return Navigation{Moved: moved}, ignoreLoading(t.gone(err))
	}
	failed := ""
	err = t.wait(ctx, func() bool {
		if t.failures > failure {
			failed = t.lastLoadError
		}
		return t.committed > documents || t.sameDocument > within || failed != ""
	})
	if err != nil {
		return Navigation{Moved: true}, ignoreLoading(err)
	}
	t.browser.mu.Lock()
	same, uri := t.committed == documents, t.url
	t.browser.mu.Unlock()
	if failed != "" && !strings.HasSuffix(failed, "ERR_ABORTED") {
		return Navigation{Moved: true}, &LoadError{URL: uri, Name: failed}
	}
	if same {
		return Navigation{Moved: true}, nil
	}
	return t.settle(ctx, documents, wait)
}

// Stop ends what loads.
func (t *Tab) Stop(ctx context.Context) error {
	ctx, end := t.guard(ctx)
	defer end()
	_, err := cdp.Call(ctx, t.Session(), page.StopLoading, cdp.Empty{})
	return t.gone(err)
}

// WaitLoad waits until the document that the tab shows has loaded.
func (t *Tab) WaitLoad(ctx context.Context) error {
	return t.wait(ctx, func() bool { return !t.loading && (t.committed == 0 || t.load == t.main.loader) })
}

// WaitURL waits until the tab's address is one that fits.
func (t *Tab) WaitURL(ctx context.Context, fits func(url string) bool) error {
	return t.wait(ctx, func() bool { return fits(t.uri()) })
}
