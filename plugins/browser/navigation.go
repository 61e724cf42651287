package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	sdk.Handle(p, "browser.navigate", "Open an address in a tab and wait for the page.",
		func(ctx context.Context, in navigate) (arrived, error) {
			url, err := l.policy.Check(in.URI, urlpolicy.Typed)
			if err != nil {
				return arrived{}, coded(err)
			}
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return arrived{}, coded(err)
			}
			return inTurn(ctx, t, func() (target.Navigation, error) {
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
			return inTurn(ctx, t, func() (target.Navigation, error) {
				return t.Reload(ctx, in.IgnoreCache, target.Wait(in.Wait), in.bound())
			}, false)
		}, long, failures, sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.stop", "Stop loading.",
		func(ctx context.Context, in onTab) (arrived, error) {
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return arrived{}, coded(err)
			}
			// Not in turn: it is what ends a navigation that takes long.
			if err := t.Stop(ctx); err != nil {
				return arrived{}, coded(err)
			}
			return arrived{TabInfo: t.Info()}, nil
		}, quick, failures, sdk.Idempotent(), sdk.Since("0.1.0"))
	step := func(name, summary string, by int) {
		sdk.Handle(p, name, summary,
			func(ctx context.Context, in history) (arrived, error) {
				t, err := l.act(ctx, in.TabID)
				if err != nil {
					return arrived{}, coded(err)
				}
				return inTurn(ctx, t, func() (target.Navigation, error) {
					return t.History(ctx, by, target.Wait(in.Wait), in.bound())
				}, true)
			}, long, failures, sdk.Since("0.1.0"))
	}
	step("browser.back", "Go back in the tab's history.", -1)
	step("browser.forward", "Go forward in the tab's history.", 1)
}

func (w waited) bound() time.Duration { return time.Duration(w.TimeoutMS) * time.Millisecond }

// inTurn changes a tab when no other call does.
func inTurn(ctx context.Context, t *target.Tab, change func() (target.Navigation, error), history bool) (arrived, error) {
	release, err := t.Take(ctx)
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
	_, err := inTurn(ctx, t, func() (target.Navigation, error) {
		return t.Navigate(ctx, url, "", target.Load, 15*time.Second)
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

// hostRules keeps the browser from hosts where names are resolved, which pages,
// frames, workers and redirects all pass. What is excluded there is so from all
// rules: an allowed host that is denied is left out, and a wider pattern that
// allows one cannot be had.
func hostRules(c config) ([]string, error) {
	allowed, err := urlpolicy.Patterns(c.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("allow_hosts: %w", err)
	}
	denied, err := urlpolicy.Patterns(c.DenyHosts)
	if err != nil {
		return nil, fmt.Errorf("deny_hosts: %w", err)
	}
	var rules []string
	for _, host := range denied {
		for _, wide := range allowed {
			if wide != host && covers(wide, host) && !covers(host, wide) {
				return nil, fmt.Errorf("deny_hosts: %s cannot be taken out of %s of allow_hosts; list there the names that may be reached", host, wide)
			}
		}
		rules = append(rules, "MAP "+host+" ~NOTFOUND")
	}
	if len(allowed) > 0 {
		rules = append(rules, "MAP * ~NOTFOUND")
	}
	for _, host := range allowed {
		if !slices.ContainsFunc(denied, func(d string) bool { return covers(d, host) }) {
			rules = append(rules, "EXCLUDE "+host)
		}
	}
	if rules == nil {
		return nil, nil
	}
	// A proxy would resolve names and connect in the browser's place.
	return []string{"--host-resolver-rules=" + strings.Join(rules, ","), "--no-proxy-server"}, nil
}

// covers tells whether a pattern is for all that another one is for.
func covers(pattern, other string) bool {
	suffix, wide := strings.CutPrefix(pattern, "*")
	return pattern == other || wide && strings.HasSuffix(other, suffix)
}
