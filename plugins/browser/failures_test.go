package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/vant-run/vant/sdk"
)

// netError is Chromium's name of why a navigation has failed.
func netError(t testing.TB, e *sdk.Error) string {
	t.Helper()
	var data struct {
		NetError string `json:"net_error"`
	}
	raw, ok := e.Data.(json.RawMessage)
	if !ok || json.Unmarshal(raw, &data) != nil || data.NetError == "" {
		t.Errorf("the data is %s", raw)
	}
	return data.NetError
}

// closedPort is an address on loopback that refuses connections.
func closedPort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// failures are tests of navigations that fail.
var failures = map[string]func(c *client){
	"a tab that is made for an address shows its failure as one that was there": func(c *client) {
		for _, uri := range []string{"http://127.0.0.1:1/", "http://nowhere.invalid/"} {
			was := c.open("/pages/blank")
			was.refused("navigation_failed", "browser.navigate", was.with(m{"uri": uri}))
			want := was.info()
			for _, method := range []string{"browser.tab.new", "browser.window.new"} {
				e := c.refused("navigation_failed", method, m{"uri": uri})
				var data struct {
					TabID int `json:"tab_id"`
				}
				if raw, err := json.Marshal(e.Data); err != nil || json.Unmarshal(raw, &data) != nil || data.TabID == 0 {
					c.t.Fatalf("%s tells %v", method, e.Data)
				}
				made := &tab{c, data.TabID}
				got := made.info()
				if got.URI != want.URI || got.Title != want.Title || got.Loading || want.URI != uri {
					c.t.Errorf("%s shows %+v; want as %+v", method, got, want)
				}
				c.ended(c.try("browser.tab.close", made.with(nil), nil))
			}
		}
	},
	"a failure has Chromium's name": func(c *client) {
		p := c.open("/pages/buttons")
		for url, want := range map[string]string{
			"http://" + closedPort(c.t) + "/x":                 "net::ERR_CONNECTION_REFUSED",
			"http://no-such-host.invalid/":                     "net::ERR_NAME_NOT_RESOLVED",
			site + "/drop":                                     "net::ERR_EMPTY_RESPONSE",
			site + "/auth":                                     "net::ERR_INVALID_AUTH_CREDENTIALS",
			site + "/redirect-loop":                            "net::ERR_TOO_MANY_REDIRECTS",
			"https" + site[4:] + "/":                           "net::ERR_SSL_PROTOCOL_ERROR",
			"http://127.0.0.1:1/":                              "net::ERR_UNSAFE_PORT",
			site + "/redirect?to=http://no-such-host.invalid/": "net::ERR_NAME_NOT_RESOLVED",
		} {
			before := len(c.published("tab_id", p.id, "page.load_failed"))
			e := c.refused("navigation_failed", "browser.navigate", p.with(map[string]any{"uri": url}))
			if got := netError(c.t, e); got != want {
				c.t.Errorf("%s: %s", url, got)
			}
			if n := len(c.published("tab_id", p.id, "page.load_failed")); n == before {
				c.t.Errorf("%s: no event tells of it", url)
			}
			var health struct {
				Error string `json:"last_load_error"`
			}
			c.call("page.native_diagnostics", p.with(nil), &health)
			if health.Error != want {
				c.t.Errorf("%s: diagnostics say %q", url, health.Error)
			}
			if info := p.goTo("/pages/buttons", nil); info.Title != "Buttons" || info.Status != 200 {
				c.t.Errorf("after %s: %+v", url, info)
			}
		}
	},
	"a failed page can be reloaded and left": func(c *client) {
		p := c.open("/pages/buttons")
		c.refused("navigation_failed", "browser.navigate", p.with(map[string]any{"uri": site + "/drop"}))
		if info := p.info(); info.URI != site+"/drop" || info.Loading {
			c.t.Errorf("it shows %+v", info)
		}
		if got := netError(c.t, c.refused("navigation_failed", "browser.reload", p.with(nil))); got != "net::ERR_EMPTY_RESPONSE" {
			c.t.Errorf("reloading gives %s", got)
		}
		if info := p.move("browser.back", nil); info.Title != "Buttons" || !*info.Moved {
			c.t.Errorf("back it is %+v", info)
		}
		if got := netError(c.t, c.refused("navigation_failed", "browser.forward", p.with(nil))); got != "net::ERR_EMPTY_RESPONSE" {
			c.t.Errorf("forward gives %s", got)
		}
	}, "a password in an address is in nothing that is told": func(c *client) {
		var made struct {
			WindowID int `json:"window_id"`
			TabID    int `json:"tab_id"`
		}
		c.call("browser.window.new", map[string]any{"private": true}, &made) // the browser remembers the login
		c.t.Cleanup(func() { c.ended(c.try("browser.window.close", map[string]any{"window_id": made.WindowID}, nil)) })
		p := &tab{c, made.TabID}
		port := site[strings.LastIndex(site, ":"):]
		logins := map[string]string{ // by what comes of them
			"http://vant:secret@127.0.0.1" + port + "/auth": "",
			"http://vant:secret@" + closedPort(c.t) + "/x":  "navigation_failed",
			"http://vant:secret@no-such-host.invalid/":      "navigation_failed",
			"http://vant:secret@127.0.0.1:99999/":           "navigation_rejected",
			"ftp://vant:secret@127.0.0.1/":                  "navigation_rejected",
			"vant:secret@127.0.0.1":                         "navigation_rejected",
		}
		for url, want := range logins {
			var told any
			err := c.try("browser.navigate", p.with(map[string]any{"uri": url, "wait": "load"}), &told)
			var e *sdk.Error
			if errors.As(err, &e) != (want != "") || e != nil && e.Code != want {
				c.t.Errorf("%s gave %v, %v", url, told, err)
			}
			all := fmt.Sprint(told, err)
			if e != nil {
				all += fmt.Sprintf(" %s", e.Data)
			}
			for method, params := range map[string]map[string]any{
				"browser.tabs": {}, "page.frames": p.with(nil), "page.diagnostics": p.with(nil), "page.native_diagnostics": p.with(nil),
				"page.snapshot": p.with(nil), "page.inspect": p.with(map[string]any{"kind": "metadata"}),
			} {
				var raw json.RawMessage
				c.call(method, params, &raw)
				all += "\n" + method + " " + string(raw)
			}
			for _, e := range c.published("tab_id", p.id, "page.load", "page.load_failed") {
				all += "\n" + e.Type + " " + string(e.Data)
			}
			if i := strings.Index(all, "secret"); i >= 0 {
				c.t.Errorf("%s: …%s", url, all[max(0, i-200):min(len(all), i+50)])
			}
		}
	},
}
