package target

import (
	"context"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"
)

// This file makes tabs and windows in the browser, chooses among them and closes
// them. The model follows from the browser's events.

// expectation says where the tab belongs that is being made.
type expectation struct {
	window  *Window // nil: a new one
	context cdp.BrowserContextID
}

// NewTab makes an empty tab in a window, 0: the current one, or a new one when
// there is none. It becomes the current tab.
func (b *Browser) NewTab(ctx context.Context, windowID int) (*Tab, error) {
	return b.create(ctx, func() (*expectation, error) {
		w := b.current
		if windowID != 0 {
			if w = b.window(windowID); w == nil {
				return nil, ErrNoWindow
			}
		}
		if w == nil {
			return &expectation{}, nil
		}
		return &expectation{window: w, context: w.context}, nil
	}, false)
}

// NewWindow makes a window with an empty tab. A private one has a browser context
// of its own, of which nothing is kept.
func (b *Browser) NewWindow(ctx context.Context, private bool) (*Tab, error) {
	var own cdp.BrowserContextID
	if private {
		// A person's browser outlives a connection, and so do our windows in it.
		dispose := !b.o.Lazy
		made, err := cdp.Call(ctx, b.Root(), cdptarget.CreateBrowserContext, cdptarget.CreateBrowserContextParams{DisposeOnDetach: &dispose})
		if err != nil {
			return nil, b.gone(err)
		}
		own = made.BrowserContextID
		b.mu.Lock()
		b.made[own] = true
		b.mu.Unlock()
	}
	t, err := b.create(ctx, func() (*expectation, error) { return &expectation{context: own}, nil }, true)
	if err != nil && own != "" {
		b.mu.Lock()
		delete(b.made, own)
		b.mu.Unlock()
		b.Root().Start("Target.disposeBrowserContext", cdptarget.DisposeBrowserContextParams{BrowserContextID: own})
	}
	return t, err
}

// create makes a tab where place says; place is called with mu held.
func (b *Browser) create(ctx context.Context, place func() (*expectation, error), newWindow bool) (*Tab, error) {
	select {
	case b.creating <- struct{}{}:
		defer func() { <-b.creating }()
	case <-b.Done():
		return nil, ErrBrowserLost
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	e, err := place()
	if err == nil {
		b.expected = e
	}
	var beside *Tab // brings the browser's own window to the front for the new tab
	if e != nil && e.window != nil && b.windowsOf(e.context) > 1 {
		beside = e.window.current
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p := cdptarget.CreateTargetParams{URL: "about:blank", BrowserContextID: e.context}
	if b.o.Headed {
		if beside != nil {
			b.Root().Start("Target.activateTarget", cdptarget.ActivateTargetParams{TargetID: beside.target})
		}
		p.NewWindow = &newWindow
	}
	made, err := cdp.Call(ctx, b.Root(), cdptarget.CreateTarget, p)
	b.mu.Lock()
	b.expected = nil
	// It was announced before the answer came.
	t := b.byTarget[made.TargetID]
	if t != nil {
		b.choose(t)
	}
	b.mu.Unlock()
	switch {
	case err != nil:
		return nil, b.gone(err)
	case t == nil:
		return nil, ErrTabClosed
	}
	b.locate(ctx, []*Tab{t})
	return t, nil
}

// SelectTab makes a tab the current one of the current window.
func (b *Browser) SelectTab(ctx context.Context, t *Tab) error {
	if b.o.Headed {
		if _, err := cdp.Call(ctx, b.Root(), cdptarget.ActivateTarget, cdptarget.ActivateTargetParams{TargetID: t.target}); err != nil {
			return t.gone(err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.why != nil {
		return t.why
	}
	b.choose(t)
	return nil
}

// choose makes t current; mu is held.
func (b *Browser) choose(t *Tab) {
	t.window.current, b.current = t, t.window
}

// CloseTab closes a tab, whatever its page does, and waits until it is gone.
func (b *Browser) CloseTab(ctx context.Context, t *Tab) error {
	if _, err := cdp.Call(ctx, b.Root(), cdptarget.CloseTarget, cdptarget.CloseTargetParams{TargetID: t.target}); err != nil {
		return t.gone(err)
	}
	return b.wait(ctx, func() bool { return b.tabs[t.ID] == nil })
}

// CloseWindow closes a window with its tabs; 0 is the current one.
func (b *Browser) CloseWindow(ctx context.Context, id int) error {
	b.mu.Lock()
	w := b.current
	if id != 0 {
		w = b.window(id)
	}
	var tabs []*Tab
	whole := false // the window is all that there is of its context
	if w != nil {
		tabs = slices.Clone(w.tabs)
		whole = b.made[w.context] && b.windowsOf(w.context) == 1
	}
	b.mu.Unlock()
	if w == nil {
		return ErrNoWindow
	}
	if whole {
		_, err := cdp.Call(ctx, b.Root(), cdptarget.DisposeBrowserContext, cdptarget.DisposeBrowserContextParams{BrowserContextID: w.context})
		if err != nil {
			return b.gone(err)
		}
	} else {
		for _, t := range tabs {
			b.Root().Start("Target.closeTarget", cdptarget.CloseTargetParams{TargetID: t.target})
		}
	}
	return b.wait(ctx, func() bool { return b.window(w.ID) == nil })
}
