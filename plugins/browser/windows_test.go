package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk"
)

// window opens a window and closes it when the test ends.
func (c *client) window(private bool, url string) (window int, p *tab) {
	c.t.Helper()
	var made struct {
		WindowID int `json:"window_id"`
		TabID    int `json:"tab_id"`
	}
	c.call("browser.window.new", map[string]any{"private": private, "uri": whole(url)}, &made)
	c.t.Cleanup(func() {
		c.ended(c.try("browser.window.close", map[string]any{"window_id": made.WindowID}, nil))
	})
	return made.WindowID, &tab{c, made.TabID}
}

// opened are the tabs that a tab has opened, in order.
func (t *tab) opened() []tabInfo {
	t.t.Helper()
	var list []tabInfo
	for _, info := range t.tabs() {
		if info.OpenerID == t.id {
			list = append(list, info)
		}
	}
	return list
}

func (c *client) closeAll(list []tabInfo) {
	for _, info := range list {
		c.ended(c.try("browser.tab.close", map[string]any{"tab_id": info.ID}, nil))
	}
}

func TestCurrentTabsAndWindows(t *testing.T) {
	t.Parallel()
	c := alone(t, "")
	shape := func() string {
		t.Helper()
		var text []string
		for _, w := range c.windows() {
			text = append(text, fmt.Sprint(w.ID, w.Tabs, w.Current, w.Private))
		}
		current := 0
		for _, info := range c.tabs() {
			if info.Current {
				current = current*100 + info.ID
			}
		}
		return strings.Join(text, " ") + fmt.Sprint(" current ", current)
	}
	check := func(what, want string) {
		t.Helper()
		if got := shape(); got != want {
			t.Errorf("%s: %s; want %s", what, got, want)
		}
	}
	check("at first", "1 [1] true false current 1")
	c.call("browser.tab.new", nil, nil)
	check("a new tab", "1 [1 2] true false current 2")
	c.call("browser.window.new", nil, nil)
	check("a new window", "1 [1 2] false false 2 [3] true false current 3")
	c.call("browser.tab.new", map[string]any{"window_id": 1}, nil)
	check("a tab in the other window", "1 [1 2 4] true false 2 [3] false false current 4")
	c.call("browser.tab.select", map[string]any{"tab_id": 3}, nil)
	check("another selected", "1 [1 2 4] false false 2 [3] true false current 3")
	c.call("browser.tab.new", map[string]any{"window_id": nil}, nil)
	check("a tab in no window in particular", "1 [1 2 4] false false 2 [3 5] true false current 5")
	c.call("browser.tab.close", map[string]any{"tab_id": nil}, nil)
	check("the current one closed", "1 [1 2 4] false false 2 [3] true false current 3")
	c.call("browser.tab.close", map[string]any{"tab_id": 2}, nil)
	check("another closed", "1 [1 4] false false 2 [3] true false current 3")
	c.call("browser.window.close", map[string]any{"window_id": 0}, nil)
	check("the current window closed", "1 [1 4] true false current 4")
	c.call("browser.window.new", map[string]any{"private": true}, nil)
	check("a private window", "1 [1 4] false false 3 [6] true true current 6")
	c.call("browser.tab.new", nil, nil)
	check("a tab in it", "1 [1 4] false false 3 [6 7] true true current 7")
	var info tabInfo
	c.call("browser.tab.select", map[string]any{"tab_id": 1}, &info)
	if info.ID != 1 || !info.Current || info.WindowID != 1 {
		t.Errorf("the selected tab is %+v", info)
	}
	c.call("browser.window.close", map[string]any{"window_id": 3}, nil)
	check("the private window closed", "1 [1 4] true false current 1")
	c.call("browser.tab.new", map[string]any{"uri": site + "/pages/buttons"}, &info)
	if info.ID != 8 || info.Title != "Buttons" || !info.Current || info.WindowID != 1 {
		t.Errorf("the new tab is %+v", info)
	}
	e := c.refused("navigation_failed", "browser.tab.new", map[string]any{"uri": site + "/drop"})
	check("a tab that failed to load", "1 [1 4 8 9] true false current 9")
	if !strings.Contains(fmt.Sprintf("%s", e.Data), "9") {
		t.Errorf("the error does not name the tab: %s", e.Data)
	}
	for _, private := range []bool{false, true} {
		window := map[bool]int{false: 2, true: 3}[private]
		for _, e := range c.published("window_id", window, "window.created", "window.closed") {
			var data struct{ Private *bool }
			if err := json.Unmarshal(e.Data, &data); err != nil || data.Private == nil || *data.Private != private {
				t.Errorf("%s tells %s", e.Type, e.Data)
			}
		}
	}
}

func TestIDsThatNameNothing(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"unknown and closed ids are not found, others are no ids": func(c *client) {
			p := c.open("/pages/blank")
			c.call("browser.tab.close", p.with(nil), nil)
			methods := map[string]map[string]any{
				"browser.tab.select": {}, "browser.tab.close": {}, "browser.navigate": {"uri": site}, "browser.reload": {}, "browser.stop": {},
				"browser.back": {}, "browser.forward": {}, "browser.cdp": {"method": "Page.enable"}, "page.javascript": {"script": "1"}, "page.snapshot": {},
				"page.interact": {"action": "click", "selector": "a"}, "page.wait": {"text": "x"}, "page.inspect": {"kind": "text"},
				"page.screenshot": {"path": c.t.TempDir() + "/x.png"}, "page.diagnostics": {}, "page.diagnostics.clear": {}, "page.native_diagnostics": {},
				"page.dialog": {"accept": true}, "page.frames": {},
			}
			for method, params := range methods {
				for id, code := range map[any]string{
					p.id: "not_found", 1 << 30: "not_found", 1 << 53: "not_found", -1: "invalid_params", 1.5: "invalid_param_type", "1": "invalid_param_type", true: "invalid_param_type",
				} {
					c.refused(code, method, mixed(params, map[string]any{"tab_id": id}))
				}
			}
			for _, method := range []string{"browser.tab.new", "browser.window.close"} {
				c.refused("not_found", method, map[string]any{"window_id": 1 << 30})
				c.refused("invalid_params", method, map[string]any{"window_id": -1})
				c.refused("invalid_param_type", method, map[string]any{"window_id": "1"})
			}
		},
		"a tab that closes ends the calls on it at once": func(c *client) {
			const begun = "window.begun = true; new Promise(() => {})"
			scripted := func(p *tab) bool { return p.js("window.begun === true") == true }
			for method, wait := range map[string]struct {
				params map[string]any
				begun  func(p *tab) bool // nil: nothing shows it
			}{
				"page.javascript":  {map[string]any{"script": begun, "timeout_ms": 30000}, scripted},
				"page.wait":        {map[string]any{"function": "(window.begun = true, false)", "timeout_ms": 30000}, scripted},
				"browser.cdp":      {map[string]any{"method": "Runtime.evaluate", "params": map[string]any{"expression": begun, "awaitPromise": true}}, scripted},
				"browser.navigate": {map[string]any{"uri": site + "/hang", "timeout_ms": 30000}, func(p *tab) bool { return p.info().Loading }},
				"page.interact":    {map[string]any{"action": "click", "selector": "#none", "timeout_ms": 30000}, nil},
			} {
				p := c.open("/pages/buttons")
				ended := make(chan error, 2)
				call := func() { ended <- c.try(method, p.with(wait.params), nil) }
				go call()
				go call() // in turn behind the first one, where there are turns
				if wait.begun != nil {
					await(c.t, method+" has begun", func() bool { return wait.begun(p) })
				}
				c.call("browser.tab.close", p.with(nil), nil)
				for range cap(ended) { // one that had waited for its time would have another code
					var e *sdk.Error
					if err := <-ended; !errors.As(err, &e) || e.Code != "not_found" {
						c.t.Errorf("%s: %v", method, err)
					}
				}
			}
		},
		"tabs of one window are opened and closed side by side": func(c *client) {
			window, _ := c.window(false, "")
			seen := map[int]bool{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					var info tabInfo
					if err := c.try("browser.tab.new", map[string]any{"window_id": window}, &info); err != nil {
						c.t.Errorf("browser.tab.new: %v", err)
						return
					}
					mu.Lock()
					if seen[info.ID] || info.WindowID != window {
						c.t.Errorf("it gave %+v", info)
					}
					seen[info.ID] = true
					mu.Unlock()
					if err := c.try("browser.tab.close", map[string]any{"tab_id": info.ID}, nil); err != nil {
						c.t.Errorf("browser.tab.close: %v", err)
					}
				})
			}
			all.Wait()
			for _, w := range c.windows() {
				if w.ID == window && len(w.Tabs) != 1 {
					c.t.Errorf("the window has %v", w.Tabs)
				}
			}
		},
		"events of a tab are there before the reply": func(c *client) {
			var info tabInfo
			c.call("browser.tab.new", map[string]any{"uri": site + "/pages/blank", "window_id": c.home}, &info)
			if n := len(c.published("tab_id", info.ID, "tab.created")); n != 1 {
				c.t.Errorf("%d events tell of the new tab", n)
			}
			if diff := cmp.Diff([]int{0, 2, 3}, (&tab{c, info.ID}).loads()); diff != "" {
				c.t.Error(diff)
			}
			c.call("browser.tab.close", map[string]any{"tab_id": info.ID}, nil)
			if n := len(c.published("tab_id", info.ID, "tab.closed")); n != 1 {
				c.t.Errorf("%d events tell of its end", n)
			}
		},
		"a tab that does not want to be left is closed": func(c *client) {
			p := c.open("/pages/dialog-beforeunload")
			c.call("browser.tab.close", p.with(nil), nil)
			q := c.open("/pages/blank")
			q.js("onunload = onpagehide = () => { for (;;); }")
			c.call("browser.tab.close", q.with(nil), nil)
		},
	})
}

func TestPrivateWindows(t *testing.T) {
	t.Parallel()
	config, _ := profiled(t, "")
	c := alone(t, config)
	p := c.open("/set-cookie?name=public&value=1&max_age=3600")
	p.js("localStorage.kept = 'public'")
	window, q := c.window(true, "/set-cookie?name=secret&value=1&max_age=3600")
	q.js("localStorage.kept = 'secret'")
	if got := q.js("document.cookie"); got != "secret=1" {
		t.Errorf("the private window's cookies are %v", got)
	}
	if got := p.js("document.cookie"); got != "public=1" {
		t.Errorf("the other window's cookies are %v", got)
	}
	q.js("void window.open('/pages/blank')")
	await(t, "its pop-up is there", func() bool { return len(q.opened()) == 1 })
	popup := q.opened()[0]
	if popup.WindowID != window || !popup.Private {
		t.Errorf("its pop-up is %+v", popup)
	}
	q.js("void window.open('/pages/blank?alone', '', 'noopener')")
	await(t, "its second pop-up is there", func() bool { return len(c.windows()[len(c.windows())-1].Tabs) == 3 })
	for _, info := range c.tabs() {
		if info.Private != (info.WindowID == window) {
			t.Errorf("private and not: %+v", info)
		}
	}
	_, other := c.window(true, "/pages/blank")
	if got := other.js("document.cookie + localStorage.kept"); got != "undefined" {
		t.Errorf("another private window knows %v", got)
	}
	c.call("browser.window.close", map[string]any{"window_id": window}, nil)
	if list := c.windows(); len(list) != 2 {
		t.Errorf("the windows are %+v", list)
	}
	_, again := c.window(true, "/pages/blank")
	if got := again.js("document.cookie + localStorage.kept"); got != "undefined" {
		t.Errorf("a later private window knows %v", got)
	}
	c.Stop()
	d := alone(t, config)
	r := d.open("/pages/blank")
	if got := fmt.Sprint(r.js("document.cookie + localStorage.kept")); strings.Contains(got, "secret") || !strings.Contains(got, "public") {
		t.Errorf("after the end the profile knows %v", got)
	}
}

func TestPopUps(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a click says which tabs it opened, and the current one stays": func(c *client) {
			for id, want := range map[string]string{"plain": "Opened", "opener": "Opened", "window": "Opened", "empty": "Written", "named": "Opened", "slow": "", "hang": ""} {
				_, p := c.window(false, "/pages/popup-blank")
				out := p.do("click", map[string]any{"selector": "#" + id})
				list := p.opened()
				if len(list) != 1 || fmt.Sprint(out["opened"]) != fmt.Sprintf("[%d]", list[0].ID) {
					c.t.Errorf("%s gave %v; opened are %+v", id, out, list)
					continue
				}
				if list[0].Current || list[0].OpenerID != p.id || list[0].WindowID != p.info().WindowID {
					c.t.Errorf("%s opened %+v", id, list[0])
				}
				if want != "" {
					q := &tab{c, list[0].ID}
					c.call("page.wait", q.with(map[string]any{"function": fmt.Sprintf("document.title == %q", want), "timeout_ms": 30000}), nil)
				}
			}
		},
		"a click by another button, or with a key held, says so too": func(c *client) {
			for _, id := range []string{"plain", "opener", "here"} {
				for _, how := range []map[string]any{{"button": "middle"}, {"modifiers": []string{"Control"}}, {"modifiers": []string{"Shift"}}, {"modifiers": []string{"Control", "Shift"}}} {
					_, p := c.window(false, "/pages/popup-blank")
					p.js("const a = document.createElement('a'); a.id = 'here'; a.href = '/opener'; a.textContent = 'Here'; document.body.prepend(a)")
					out := p.do("click", mixed(how, map[string]any{"selector": "#" + id}))
					list := p.opened()
					if len(list) != 1 || fmt.Sprint(out["opened"]) != fmt.Sprintf("[%d]", list[0].ID) || list[0].Current {
						c.t.Errorf("%s with %v gave %v; opened are %+v", id, how, out, list)
						continue
					}
					q := &tab{c, list[0].ID}
					c.call("page.wait", q.with(map[string]any{"url": "/opener", "timeout_ms": 30000}), nil)
					c.call("page.wait", q.with(map[string]any{"text": "by nobody", "timeout_ms": 30000}), nil)
					p.js("document.title") // the page is still there
				}
			}
		},
		"a login in the address of a link is in nothing that is told of the tab": func(c *client) {
			_, p := c.window(false, "/pages/blank")
			at := closedPort(c.t) + "/x"
			p.js("document.body.innerHTML = '<a id=link href=\"http://vant:secret@" + at + "\">Link</a>'; 1")
			for _, how := range []map[string]any{{"button": "middle"}, {"modifiers": []string{"Control"}}, {"modifiers": []string{"Shift"}}} {
				out := p.do("click", mixed(how, map[string]any{"selector": "#link"}))
				q := c.only(out["opened"])
				await(c.t, "it is told to have loaded", func() bool { return slices.Contains(q.loads(), 3) })
				await(c.t, "it loads no more", func() bool { return !q.info().Loading }) // the browser may try again
				if info := q.info(); info.URI != "http://"+at || info.OpenerID != p.id {
					c.t.Errorf("with %v it is %+v", how, info)
				}
				all := fmt.Sprint(out)
				for method, params := range map[string]map[string]any{
					"browser.tabs": {}, "page.frames": q.with(nil), "page.diagnostics": q.with(nil), "page.native_diagnostics": q.with(nil),
					"page.snapshot": q.with(nil), "page.inspect": q.with(map[string]any{"kind": "metadata"}),
				} {
					var raw json.RawMessage
					c.call(method, params, &raw)
					all += "\n" + method + " " + string(raw)
				}
				for _, e := range q.published("tab_id", q.id, "tab.created", "page.load", "page.load_failed") {
					all += "\n" + e.Type + " " + string(e.Data)
				}
				if strings.Contains(all, "secret") {
					c.t.Errorf("with %v: %s", how, all)
				}
				c.call("browser.tab.close", q.with(nil), nil)
			}
		},
		"a link to a download leaves no tab": func(c *client) {
			_, p := c.window(false, "/pages/popup-blank")
			out := p.do("click", map[string]any{"selector": "#download"})
			if out["ok"] != true {
				c.t.Errorf("it gave %v", out)
			}
			await(c.t, "the tab goes", func() bool { return len(p.opened()) == 0 })
		},
		"a pop-up that comes later is a tab": func(c *client) {
			_, p := c.window(false, "/pages/popup-after-fetch")
			p.do("click", map[string]any{"selector": "#open"})
			await(c.t, "it comes", func() bool { return len(p.opened()) == 1 })
			q := &tab{c, p.opened()[0].ID}
			c.call("page.wait", q.with(map[string]any{"text": "by another page", "timeout_ms": 30000}), nil)
			q.do("click", map[string]any{"selector": "#confirm"})
			await(c.t, "it closes itself", func() bool { return len(p.opened()) == 0 })
			c.call("page.wait", p.with(map[string]any{"function": "log.some(e => e.data == 'confirmed')", "timeout_ms": 30000}), nil)
		},
		"a tab without an opener in the page has one here": func(c *client) {
			_, p := c.window(false, "/pages/blank")
			p.js("void window.open('/opener', '', 'noopener')")
			await(c.t, "it comes", func() bool { return len(p.opened()) == 1 })
			q := &tab{c, p.opened()[0].ID}
			c.call("page.wait", q.with(map[string]any{"text": "by nobody", "timeout_ms": 30000}), nil)
		},
		"a tab that closes itself ends the action well": func(c *client) {
			_, p := c.window(false, "/pages/self-close")
			p.do("click", map[string]any{"selector": "#open"})
			q := &tab{c, p.opened()[0].ID}
			c.call("page.wait", q.with(map[string]any{"function": "document.title == 'Closes itself' && document.readyState == 'complete'", "timeout_ms": 30000}), nil)
			if out := q.do("click", map[string]any{"selector": "#close"}); out["ok"] != true {
				c.t.Errorf("it gave %v", out)
			}
			await(c.t, "it goes", func() bool { return len(p.opened()) == 0 })
			c.refused("not_found", "page.snapshot", q.with(nil))
		},
		"a hundred pop-ups are a hundred tabs": func(c *client) {
			_, p := c.window(false, "/pages/popup-hundred")
			var out struct {
				OK     bool
				Opened []int
			}
			// A page may be busy with them for longer than an answer may take.
			err := c.try("page.interact", p.with(sel("#open", "action", "click", "timeout_ms", 20000)), &out)
			if late := err != nil && strings.Contains(err.Error(), "timeout"); !late && (err != nil || !out.OK) {
				c.t.Errorf("it gave %v, %v", out, err)
			}
			for some := 0; some < 100; {
				before := some
				await(c.t, "there are more", func() bool { some = len(p.opened()); return some > before })
			}
			if n := len(p.opened()); n != 100 || err == nil && len(out.Opened) != 100 {
				c.t.Errorf("there are %d, the action names %d", n, len(out.Opened))
			}
			c.closeAll(p.opened())
		},
		"an opener that has gone leaves its tabs": func(c *client) {
			window, p := c.window(false, "/pages/blank")
			p.js("void window.open('/pages/buttons')")
			await(c.t, "it comes", func() bool { return len(p.opened()) == 1 })
			q := &tab{c, p.opened()[0].ID}
			c.call("browser.tab.close", p.with(nil), nil)
			if info := q.info(); info.WindowID != window {
				c.t.Errorf("it is %+v", info)
			}
			q.js("document.title")
		},
	})
}

func TestIDsGoOnAfterTheNextStart(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	last, generation := 0, 0
	for range 3 {
		c := inFolder(t, "", state)
		list := c.tabs()
		if len(list) != 1 || list[0].ID != last+1 || list[0].WindowID != last+1 {
			t.Errorf("after %d the tabs are %+v", last, list)
		}
		var snap struct{ Generation int }
		c.call("page.snapshot", nil, &snap)
		if snap.Generation <= generation {
			t.Errorf("generation %d after %d", snap.Generation, generation)
		}
		last, generation = list[0].ID, snap.Generation
		c.Stop()
	}
}
