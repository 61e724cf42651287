package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
	"github.com/vant-run/vant/sdk"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

type none struct{}

// onTab names a tab.
type onTab struct {
	TabID *int `json:"tab_id,omitempty" doc:"the tab; absent, null or 0: the current one" min:"0"`
}

type onWindow struct {
	WindowID *int `json:"window_id,omitempty" doc:"the window; absent, null or 0: the current one" min:"0"`
}

type newWindow struct {
	Private bool   `json:"private,omitempty" doc:"a browser context of its own, of which nothing is kept"`
	URI     string `json:"uri,omitempty" doc:"what to open in its tab"`
}

type newTab struct {
	onWindow
	URI string `json:"uri,omitempty" doc:"what to open in it"`
}

type windowMade struct {
	WindowID int `json:"window_id"`
	TabID    int `json:"tab_id"`
}

type rawCall struct {
	onTab
	Method string          `json:"method" doc:"a command of the Chrome DevTools Protocol" pattern:"^[A-Za-z]+\\.[A-Za-z]+$"`
	Params json.RawMessage `json:"params,omitempty" doc:"its parameters, an object"`
}

func windows(p *sdk.Plugin, l *life) {
	sdk.Handle(p, "browser.windows", "List the browser's windows.",
		func(ctx context.Context, _ none) ([]target.WindowInfo, error) {
			r, err := l.need(ctx)
			if err != nil {
				return nil, err
			}
			r.Locate(ctx)
			return r.Windows(), nil
		}, quick, sdk.ReadOnly(), sdk.Errors(codeDisconnected), sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.tabs", "List the browser's tabs.",
		func(ctx context.Context, _ none) ([]target.TabInfo, error) {
			r, err := l.need(ctx)
			if err != nil {
				return nil, err
			}
			r.Titles(ctx)
			r.Locate(ctx)
			list := r.Tabs()
			if !r.alive() { // it has ended meanwhile, and the list is empty for that
				return nil, coded(target.ErrBrowserLost)
			}
			return list, nil
		}, quick, sdk.ReadOnly(), sdk.Errors(codeDisconnected), sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.window.new", "Open a window with one tab.",
		func(ctx context.Context, in newWindow) (windowMade, error) {
			url, err := l.address(in.URI)
			if err != nil {
				return windowMade{}, err
			}
			r, err := l.need(ctx)
			if err != nil {
				return windowMade{}, err
			}
			t, err := r.NewWindow(ctx, in.Private)
			if err != nil {
				return windowMade{}, coded(err)
			}
			made := windowMade{WindowID: t.Info().WindowID, TabID: t.ID}
			return made, l.open(ctx, t, url)
		}, long, sdk.Errors(codeDisconnected, "navigation_rejected", "navigation_external", "navigation_failed"), sdk.Since("0.1.0"),
		sdk.Example(`{"private":true}`))
	sdk.Handle(p, "browser.window.close", "Close a window with its tabs.",
		func(ctx context.Context, in onWindow) (bool, error) {
			r, err := l.need(ctx)
			if err != nil {
				return false, err
			}
			id := 0
			if in.WindowID != nil {
				id = *in.WindowID
			}
			return true, coded(r.CloseWindow(ctx, id))
		}, quick, sdk.Errors("not_found", codeDisconnected), sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.tab.new", "Open a tab; it becomes the current one.",
		func(ctx context.Context, in newTab) (target.TabInfo, error) {
			url, err := l.address(in.URI)
			if err != nil {
				return target.TabInfo{}, err
			}
			r, err := l.need(ctx)
			if err != nil {
				return target.TabInfo{}, err
			}
			id := 0
			if in.WindowID != nil {
				id = *in.WindowID
			}
			t, err := r.NewTab(ctx, id)
			if err != nil {
				return target.TabInfo{}, coded(err)
			}
			if err := l.open(ctx, t, url); err != nil {
				return target.TabInfo{}, err
			}
			return t.Info(), nil
		}, long, sdk.Errors("not_found", codeDisconnected, "navigation_rejected", "navigation_external", "navigation_failed"), sdk.Since("0.1.0"),
		sdk.Example(`{"uri":"https://example.com"}`))
	sdk.Handle(p, "browser.tab.select", "Make a tab the current one.",
		func(ctx context.Context, in onTab) (target.TabInfo, error) {
			t, err := l.find(ctx, in.TabID)
			if err != nil {
				return target.TabInfo{}, coded(err)
			}
			if err := t.Browser().SelectTab(ctx, t); err != nil {
				return target.TabInfo{}, coded(err)
			}
			return t.Info(), nil
		}, quick, sdk.Idempotent(), sdk.Errors("not_found", codeDisconnected), sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.tab.close", "Close a tab, whatever its page does.",
		func(ctx context.Context, in onTab) (bool, error) {
			t, err := l.find(ctx, in.TabID)
			if err != nil {
				return false, coded(err)
			}
			return true, coded(t.Browser().CloseTab(ctx, t))
		}, quick, sdk.Errors("not_found", codeDisconnected), sdk.Since("0.1.0"))
	sdk.Handle(p, "browser.cdp", "Run a command of the Chrome DevTools Protocol in a tab.",
		func(ctx context.Context, in rawCall) (json.RawMessage, error) {
			params, err := l.uploads().rawFiles(in.Method, in.Params)
			if err != nil {
				return nil, err
			}
			t, err := l.act(ctx, in.TabID)
			if err != nil {
				return nil, coded(err)
			}
			raw, err := t.Raw(ctx, in.Method, jsonv2.Value(params))
			var refused *transport.Error
			if errors.As(err, &refused) {
				return nil, sdk.Errorf("invalid_params", "%s", refused.Error()).With(map[string]any{"cdp_code": refused.Code}).From(sdk.Caller)
			}
			return raw, coded(err)
		}, long, sdk.Errors("not_found", "tab_crashed", "dialog_open", "timeout", "permission_denied", codeDisconnected), sdk.Since("0.1.0"),
		sdk.Example(`{"method":"Page.getLayoutMetrics"}`))
}
