package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk"
)

// loads lists the numbers of a tab's page.load events, and page.load_failed as -1.
func (t *tab) loads() []int {
	var list []int
	for _, e := range t.published("tab_id", t.id, "page.load", "page.load_failed") {
		var data struct{ Event int }
		if e.Type == "page.load_failed" {
			data.Event = -1
		} else if err := json.Unmarshal(e.Data, &data); err != nil {
			t.t.Fatal(err)
		}
		list = append(list, data.Event)
	}
	return list
}

// goTo navigates the tab, which must succeed.
func (t *tab) goTo(url string, more map[string]any) tabInfo {
	t.t.Helper()
	return t.move("browser.navigate", mixed(map[string]any{"uri": whole(url), "timeout_ms": 30000}, more))
}

func (t *tab) move(method string, params map[string]any) tabInfo {
	t.t.Helper()
	var info tabInfo
	t.call(method, t.with(params), &info)
	return info
}

func (t *tab) info() tabInfo {
	t.t.Helper()
	for _, info := range t.tabs() {
		if info.ID == t.id {
			return info
		}
	}
	t.t.Fatalf("there is no tab %d", t.id)
	return tabInfo{}
}

func whole(url string) string {
	if strings.HasPrefix(url, "/") {
		return site + url
	}
	return url
}

func mixed(maps ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, m := range maps {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

func timeout(ms int) map[string]any { return map[string]any{"timeout_ms": ms} }

func until(kind string) map[string]any { return map[string]any{"wait": kind} }

func TestNavigation(t *testing.T) { group(t, "", navigations, addresses, histories, failures) }

// navigations are tests of how pages come.
var navigations = map[string]func(c *client){
	"load waits for the page and everything in it": func(c *client) {
		p := c.open("/pages/blank")
		info := p.goTo("/pages/buttons", nil)
		if info.Title != "Buttons" || info.Loading || info.URI != site+"/pages/buttons" || info.Status != 200 {
			c.t.Errorf("it gave %+v", info)
		}
		if got := p.js("document.readyState"); got != "complete" {
			c.t.Errorf("the page is %v", got)
		}
		if diff := cmp.Diff([]int{0, 2, 3, 0, 2, 3}, p.loads()); diff != "" {
			c.t.Error(diff)
		}
	},
	"dom does not wait for what hangs in the page": func(c *client) {
		p := c.open("/pages/blank")
		if info := p.goTo("/pages/hang-image", until("dom")); info.URI != site+"/pages/hang-image" || !info.Loading {
			c.t.Errorf("it gave %+v", info)
		}
		if got := p.js("document.readyState"); got != "interactive" {
			c.t.Errorf("the page is %v", got)
		}
		for _, kind := range []string{"dom", "none", "load"} {
			if info := p.move("browser.stop", mixed(until(kind), timeout(30000))); info.URI != site+"/pages/hang-image" || info.Loading {
				c.t.Errorf("stopped, it is %+v", info)
			}
		}
	},
	"commit does not wait for the document's end": func(c *client) {
		p := c.open("/pages/blank")
		if info := p.goTo("/never", until("commit")); info.URI != site+"/never" || !info.Loading || info.Status != 200 {
			c.t.Errorf("it gave %+v", info)
		}
	},
	"none does not wait for an answer": func(c *client) {
		p := c.open("/pages/blank")
		if info := p.goTo("/hang", until("none")); !info.Loading {
			c.t.Errorf("it gave %+v", info)
		}
		if info := p.goTo("/pages/buttons", nil); info.Title != "Buttons" {
			c.t.Errorf("after it: %+v", info)
		}
		if info := p.goTo("/pages/buttons#x", until("none")); info.URI != site+"/pages/buttons#x" {
			c.t.Errorf("within the document it gave %+v", info)
		}
	},
	"what still loads at the end of the wait is no error": func(c *client) {
		p := c.open("/pages/blank")
		for _, url := range []string{"/hang", "/never", "/pages/hang-script", "/slow?ms=50000&type=text/html"} {
			for _, kind := range []string{"load", "dom"} {
				if info := p.goTo(url, mixed(until(kind), timeout(700))); !info.Loading {
					c.t.Errorf("%s by %s: %+v", url, kind, info)
				}
			}
		}
		if info := p.goTo("/pages/buttons", nil); info.Loading || info.Title != "Buttons" {
			c.t.Errorf("after it: %+v", info)
		}
	},
	"a page that comes later loads until then, however short the wait was": func(c *client) {
		for _, kind := range []string{"none", "commit", "dom", "load"} {
			for _, ms := range []int{0, 1, 50} {
				p := c.open("/pages/blank")
				in := mixed(until(kind), timeout(ms))
				if info := p.goTo("/slow?ms=700&type=text/html", in); !info.Loading || info.URI != site+"/pages/blank" {
					c.t.Errorf("%v: %+v", in, info)
				}
				c.call("page.wait", p.with(map[string]any{"load": true, "timeout_ms": 30000}), nil)
				if info := p.info(); info.Loading || !strings.HasPrefix(info.URI, site+"/slow") {
					c.t.Errorf("after it: %+v", info)
				}
				if info := p.move("browser.reload", in); !info.Loading {
					c.t.Errorf("reload %v: %+v", in, info)
				}
				c.call("page.wait", p.with(map[string]any{"load": true, "timeout_ms": 30000}), nil)
			}
		}
	},
	"no time to wait is time to begin": func(c *client) {
		p := c.open("/pages/blank")
		begin := func(method string, params map[string]any, title string) {
			c.t.Helper()
			p.move(method, mixed(params, timeout(0)))
			c.call("page.wait", p.with(map[string]any{"function": fmt.Sprintf("document.title == %q && document.readyState == 'complete' && !window.old", title), "timeout_ms": 30000}), nil)
			p.js("window.old = true")
		}
		begin("browser.navigate", map[string]any{"uri": site + "/pages/buttons"}, "Buttons")
		begin("browser.reload", nil, "Buttons")
		begin("browser.back", nil, "Blank")
		begin("browser.forward", nil, "Buttons")
	},
	"an HTTP status is a result": func(c *client) {
		p := c.open("/pages/blank")
		for _, code := range []int{200, 401, 404, 410, 500, 503} {
			if info := p.goTo(fmt.Sprintf("/status?code=%d", code), nil); info.Status != code || info.Loading {
				c.t.Errorf("%d: %+v", code, info)
			}
		}
	},
	"an answer without content leaves the tab where it was": func(c *client) {
		p := c.open("/pages/buttons")
		for _, code := range []int{204, 205} {
			if info := p.goTo(fmt.Sprintf("/status?code=%d", code), nil); info.Status != code || info.URI != site+"/pages/buttons" || info.Loading {
				c.t.Errorf("%d: %+v", code, info)
			}
		}
	},
	"redirects are followed and told": func(c *client) {
		p := c.open("/pages/blank")
		before := len(p.loads())
		if info := p.goTo("/redirect?n=3&to=/pages/buttons", nil); info.URI != site+"/pages/buttons" || info.Status != 200 {
			c.t.Errorf("it gave %+v", info)
		}
		if diff := cmp.Diff([]int{0, 1, 1, 1, 2, 3}, p.loads()[before:]); diff != "" {
			c.t.Error(diff)
		}
	},
	"a download leaves the tab where it was": func(c *client) {
		p := c.open("/pages/buttons")
		info := p.goTo("/download?name=x.bin", nil)
		if !info.Download || info.URI != site+"/pages/buttons" || info.Title != "Buttons" || info.Loading {
			c.t.Errorf("it gave %+v", info)
		}
		if info := p.info(); info.URI != site+"/pages/buttons" || info.Loading {
			c.t.Errorf("then it is %+v", info)
		}
		if got := p.js("document.title"); got != "Buttons" {
			c.t.Errorf("the page is %v", got)
		}
	},
	"an address within the document moves there": func(c *client) {
		p := c.open("/pages/buttons")
		p.js("window.mine = 1")
		for _, fragment := range []string{"#a", "#b", "#b", "#"} {
			if info := p.goTo("/pages/buttons"+fragment, nil); info.URI != site+"/pages/buttons"+fragment || info.Loading {
				c.t.Errorf("%s: %+v", fragment, info)
			}
		}
		if p.js("window.mine") == nil {
			c.t.Error("the document was loaded again")
		}
		if info := p.goTo("/pages/buttons", nil); info.URI != site+"/pages/buttons" {
			c.t.Errorf("without a fragment: %+v", info)
		}
	},
	"the same address loads the page again": func(c *client) {
		p := c.open("/pages/buttons")
		for range 3 {
			p.js("window.mine = 1")
			p.goTo("/pages/buttons", nil)
			if p.js("typeof mine") != "undefined" {
				c.t.Error("the document is the old one")
			}
		}
	},
	"about:blank is a page": func(c *client) {
		p := c.open("/pages/buttons")
		for _, url := range []string{"about:blank", "vantage:new", " About:Blank "} {
			if info := p.goTo(url, nil); info.URI != "about:blank" || info.Loading || info.Status != 0 {
				c.t.Errorf("%q: %+v", url, info)
			}
			if p.js("document.URL") != "about:blank" {
				c.t.Errorf("%q: the page is another one", url)
			}
		}
	},
	"a page that goes on by itself is followed and can be left": func(c *client) {
		p := c.open("/pages/blank")
		for range 5 {
			if info := p.goTo("/pages/location-loop", nil); !strings.HasPrefix(info.URI, site+"/pages/location-loop") {
				c.t.Errorf("it gave %+v", info)
			}
			if info := p.goTo("/pages/buttons", nil); info.URI != site+"/pages/buttons" || info.Title != "Buttons" || info.Status != 200 {
				c.t.Errorf("left, it is %+v", info)
			}
		}
		if info := p.goTo("/pages/meta-refresh", nil); info.Title != "Refresh" && info.Title != "Blank" {
			c.t.Errorf("it gave %+v", info)
		}
		c.call("page.wait", p.with(map[string]any{"url": "?refreshed", "timeout_ms": 30000}), nil)
	},
	"reload asks again": func(c *client) {
		p := c.open("/pages/buttons")
		p.js("window.mine = 1")
		for _, ignore := range []bool{false, true} {
			if info := p.move("browser.reload", map[string]any{"ignore_cache": ignore}); info.Title != "Buttons" || info.Status != 200 || info.Loading || info.Moved != nil {
				c.t.Errorf("it gave %+v", info)
			}
		}
		if p.js("typeof mine") != "undefined" {
			c.t.Error("the document is the old one")
		}
	},
	"stop ends a navigation of another call": func(c *client) {
		p := c.open("/pages/buttons")
		ended := make(chan error, 1)
		before := len(p.loads())
		go func() {
			ended <- c.try("browser.navigate", p.with(map[string]any{"uri": site + "/hang", "timeout_ms": 30000}), nil)
		}()
		await(c.t, "it loads", func() bool { return len(p.loads()) > before })
		if info := p.move("browser.stop", nil); info.Title != "Buttons" || info.Loading {
			c.t.Errorf("stopped it is %+v", info)
		}
		var e *sdk.Error
		if err := <-ended; !errors.As(err, &e) || e.Code != "navigation_failed" || netError(c.t, e) != "net::ERR_ABORTED" {
			c.t.Errorf("the other call has %v", err)
		}
		if info := p.info(); info.URI != site+"/pages/buttons" {
			c.t.Errorf("then it is %+v", info)
		}
	},
	"the referrer is sent": func(c *client) {
		p := c.open("/pages/blank")
		p.goTo("/headers", map[string]any{"referrer": site + "/from"})
		if text := p.js("document.body.innerText").(string); !strings.Contains(text, site+"/from") {
			c.t.Errorf("the server saw %s", text)
		}
	},
	"navigations of one tab are in order": func(c *client) {
		p := c.open("/pages/blank")
		done := make(chan tabInfo, 8)
		for i := range cap(done) {
			go func() {
				var info tabInfo
				url := fmt.Sprintf("%s/pages/blank?%d", site, i)
				if err := c.try("browser.navigate", p.with(map[string]any{"uri": url}), &info); err != nil || info.URI != url {
					c.t.Errorf("%s: %+v, %v", url, info, err)
				}
				done <- info
			}()
		}
		for range cap(done) {
			<-done
		}
	},
	"bounds are clamped and kinds are checked": func(c *client) {
		p := c.open("/pages/blank")
		p.goTo("/pages/buttons", timeout(1<<40))
		p.goTo("/pages/buttons", timeout(-5))
		c.refused("invalid_params", "browser.navigate", p.with(map[string]any{"uri": site, "wait": "idle"}))
		c.refused("invalid_params", "browser.navigate", p.with(nil))
		c.refused("invalid_param_type", "browser.navigate", p.with(map[string]any{"uri": 7}))
	},
}

func TestAnAddressIsOpenedWhereNoTabIs(t *testing.T) {
	t.Parallel()
	c := alone(t, "")
	for _, tab := range c.tabs() {
		c.call("browser.tab.close", m{"tab_id": tab.ID}, nil)
	}
	if e := c.refused("not_found", "page.snapshot", nil); !strings.Contains(e.Message, "browser.tab.new") {
		t.Errorf("without a tab: %s", e.Message)
	}
	var out tabInfo
	c.call("browser.navigate", m{"uri": site + "/pages/form"}, &out)
	if list := c.tabs(); len(list) != 1 || list[0].ID != out.ID || out.Title != "Form" {
		t.Errorf("%+v was opened; there are %+v", out, list)
	}
	c.refused("not_found", "browser.navigate", m{"uri": site + "/pages/form", "tab_id": out.ID + 100})
}
