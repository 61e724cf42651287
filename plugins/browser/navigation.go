package main

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/sdk"
)

// waited is how a navigation is waited for.
type waited struct {
	Wait      string `json:"wait" default:"load" enum:"none,commit,dom,load" doc:"how far to wait: none, commit (there is a new document), dom (it was parsed) or load"`
	TimeoutMS int    `json:"timeout_ms" default:"15000" clamp:"0,30000" doc:"how long to wait; a page that still loads then is no error"`
}

type navigate struct {
	onTab
	waited
	URI      string `json:"uri" doc:"the address; https:// is added to a name, http:// to localhost and to addresses in numbers"`
	Referrer string `json:"referrer,omitempty"`
}

type reload struct {
	onTab
	waited
	IgnoreCache bool `json:"ignore_cache,omitempty"`
}

type history struct {
	onTab
	waited
}

// arrived is the tab after a navigation.
type arrived struct {
	target.TabInfo
	Status   int   `json:"status,omitzero"`
	Download bool  `json:"download,omitzero"`
	Moved    *bool `json:"moved,omitempty"`
}

func navigation(p *sdk.Plugin, l *life) {
	failures := sdk.Errors("not_found", "navigation_failed", "tab_crashed", "dialog_open", "timeout", codeDisconnected)
	sdk.Handle(p, "browser.navigate", "Open an address in a tab, in a new one where none is open, and wait for the page.",
		func(ctx context.Context, in navigate) (arrived, error) {
			url, err := l.policy.Check(in.URI, urlpolicy.Typed)
			if err != nil {
				return arrived{}, coded(err)
			}
			t, err := l.act(ctx, in.TabID)
			if errors.Is(err, target.ErrNoCurrent) {
				t, err = l.first(ctx)
			}
			if err != nil {
				return arrived{}, coded(err)
			}
			return inTurn(ctx, t, in.bound(), func() (target.Navigation, error) {
				return t.Navigate(ctx, url, in.Referrer, target.Wait(in.Wait), in.bound())
			}, false)
		}, long, failures, sdk.Errors("navigation_rejected", "navigation_external"), sdk.Since("0.1.0"),
		sdk.Example(`{"uri":"https://example.com"}`), sdk.Example(`{"uri":"localhost:3000","wait":"dom"}`))
	sdk.Handle(p, "browser.reload", "Load the page again; this also brings a crashed tab back.",
		func(ctx context.Context, in reload) (arrived, error) {
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return arrived{}, coded(err)
			}
			return inTurn(ctx, t, in.bound(), func() (target.Navigation, error) {
				return t.Reload(ctx, in.IgnoreCache, target.Wait(in.Wait), in.bound())
			}, false)
		}, long, failures, sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.stop", "Stop loading.",
		func(ctx context.Context, in history) (arrived, error) {
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return arrived{}, coded(err)
			}
			// Not in turn: it is what ends a navigation that takes long.
			if err := t.Stop(ctx, target.Wait(in.Wait), in.bound()); err != nil {
				return arrived{}, coded(err)
			}
			return arrived{TabInfo: t.Info()}, nil
		}, long, failures, sdk.Idempotent(), sdk.Since("0.1.0"))
	step := func(name, summary string, by int) {
		sdk.Handle(p, name, summary,
			func(ctx context.Context, in history) (arrived, error) {
				t, err := l.act(ctx, in.TabID)
				if err != nil {
					return arrived{}, coded(err)
				}
				return inTurn(ctx, t, in.bound(), func() (target.Navigation, error) {
					return t.History(ctx, by, target.Wait(in.Wait), in.bound())
				}, true)
			}, long, failures, sdk.Since("0.1.0"))
	}
	step("browser.back", "Go back in the tab's history.", -1)
	step("browser.forward", "Go forward in the tab's history.", 1)
}

func (w waited) bound() time.Duration { return time.Duration(w.TimeoutMS) * time.Millisecond }

// loadBound is how long a new tab's page is waited for.
const loadBound = 15 * time.Second

// turnBound is how long a call that changes a tab waits at least for the one before.
const turnBound = time.Second

// inTurn changes a tab when no other call does. bound is how long the caller would
// wait for the change.
func inTurn(ctx context.Context, t *target.Tab, bound time.Duration, change func() (target.Navigation, error), history bool) (arrived, error) {
	turn, cancel := context.WithTimeout(ctx, max(bound, turnBound))
	release, err := t.Take(turn)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return arrived{}, sdk.Errorf("timeout", "another call still acts in the tab, whose page may be busy: nothing was done; call again, or close the tab").From(sdk.Downstream)
	}
	if err != nil {
		return arrived{}, coded(err)
	}
	defer release()
	n, err := change()
	if err != nil {
		return arrived{}, coded(err)
	}
	a := arrived{TabInfo: t.Info(), Status: n.Status, Download: n.Download}
	if history {
		a.Moved = &n.Moved
	}
	return a, nil
}

// address checks an address that may be absent.
func (l *life) address(uri string) (string, error) {
	if uri == "" {
		return "", nil
	}
	url, err := l.policy.Check(uri, urlpolicy.Typed)
	return url, coded(err)
}

// open loads url in a new tab, unless it is "". The tab stays when that fails: the
// error names it.
func (l *life) open(ctx context.Context, t *target.Tab, url string) error {
	if url == "" || url == "about:blank" {
		return nil
	}
	if err := t.Attach(ctx, true); err != nil {
		return coded(err)
	}
	_, err := inTurn(ctx, t, loadBound, func() (target.Navigation, error) {
		return t.Navigate(ctx, url, "", target.Load, loadBound)
	}, false)
	var e *sdk.Error
	if errors.As(err, &e) {
		data, _ := e.Data.(map[string]any)
		data = maps.Clone(data)
		if data == nil {
			data = make(map[string]any)
		}
		data["tab_id"] = t.ID
		return e.With(data)
	}
	return err
}
