package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
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
	return t.move("browser.navigate", mixed(map[string]any{"uri": whole(url)}, more))
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

func timeout(ms int) map[string]any { return map[string]any{"timeout_ms": ms} }

func until(kind string) map[string]any { return map[string]any{"wait": kind} }

// closedPort is an address on loopback that refuses connections.
func closedPort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestNavigation(t *testing.T) {
	group(t, "", map[string]func(c *client){
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
			if info := p.move("browser.stop", nil); info.URI != site+"/pages/hang-image" {
				c.t.Errorf("stopped, it is %+v", info)
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
		"history that a page writes is history": func(c *client) {
			p := c.open("/pages/pushstate")
			p.js("history.pushState(0, '', '/pages/pushstate/inner')")
			c.call("page.wait", p.with(map[string]any{"url": "/inner", "timeout_ms": 30000}), nil)
			if info := p.move("browser.back", nil); info.URI != site+"/pages/pushstate" || !*info.Moved {
				c.t.Errorf("back it is %+v", info)
			}
			if info := p.move("browser.forward", nil); info.URI != site+"/pages/pushstate/inner" || !*info.Moved {
				c.t.Errorf("forward it is %+v", info)
			}
			if info := p.move("browser.reload", nil); info.URI != site+"/pages/pushstate/inner" || info.Title != "Start" {
				c.t.Errorf("reloaded it is %+v", info)
			}
		},
		"back and forward say when there is nothing": func(c *client) {
			p := c.open("about:blank")
			p.goTo("about:blank", nil) // a tab's first, empty page is replaced by the next one
			for range 2 {
				for _, method := range []string{"browser.back", "browser.forward"} {
					if info := p.move(method, nil); info.Moved == nil || *info.Moved || info.URI != "about:blank" {
						c.t.Errorf("%s: %+v", method, info)
					}
				}
			}
			p.goTo("/pages/buttons", nil)
			p.goTo("/status?code=404", nil)
			if info := p.move("browser.forward", nil); *info.Moved || info.URI != site+"/status?code=404" {
				c.t.Errorf("forward at the end: %+v", info)
			}
			if info := p.move("browser.back", nil); !*info.Moved || info.Title != "Buttons" || info.Status != 200 {
				c.t.Errorf("back: %+v", info)
			}
			if info := p.move("browser.forward", nil); !*info.Moved || info.Status != 404 {
				c.t.Errorf("forward: %+v", info)
			}
			p.move("browser.back", nil)
			if info := p.move("browser.back", nil); !*info.Moved || info.URI != "about:blank" {
				c.t.Errorf("at the start: %+v", info)
			}
			if info := p.move("browser.back", nil); *info.Moved {
				c.t.Errorf("before the start: %+v", info)
			}
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
			if info := p.move("browser.stop", nil); info.Title != "Buttons" {
				c.t.Errorf("stopped it is %+v", info)
			}
			var e *sdk.Error
			if err := <-ended; !errors.As(err, &e) || e.Code != "navigation_failed" || netError(c.t, e) != "net::ERR_ABORTED" {
				c.t.Errorf("the other call has %v", err)
			}
			await(c.t, "it loads no more", func() bool { return !p.info().Loading })
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
		"addresses that are no web page are refused": func(c *client) {
			p := c.open("/pages/buttons")
			for code, urls := range map[string][]string{
				"navigation_rejected": {
					"file:///etc/passwd", "javascript:alert(1)", "JavaScript:alert(1)", " java\nscript:alert(1)", "data:text/html,<h1>x</h1>", "chrome://version",
					"chrome://crash", "view-source:" + site, "blob:" + site + "/x", "about:version", "about:srcdoc", "no such words", "word", "", "ftp://example.com/",
					"ws://example.com/", "http://", "http://a b/", "http://example.com:99999/", "devtools://devtools/bundled/inspector.html", "chrome-extension://x/y.html",
				},
				"navigation_external": {"mailto:ann@example.com", "tel:+1", "sms:1", "magnet:?xt=urn:btih:0", "MAILTO:x@example.com"},
			} {
				for _, url := range urls {
					for _, method := range []string{"browser.navigate", "browser.tab.new", "browser.window.new"} {
						if url == "" && method != "browser.navigate" {
							continue // an empty tab
						}
						c.refused(code, method, map[string]any{"uri": url})
					}
				}
			}
			if info := p.info(); info.Title != "Buttons" {
				c.t.Errorf("the tab is %+v", info)
			}
			if list := p.published("tab_id", p.id, "page.load"); len(list) != 3 {
				c.t.Errorf("%d loads are told", len(list))
			}
		},
		"addresses are completed": func(c *client) {
			p := c.open("/pages/blank")
			port := site[strings.LastIndex(site, ":"):]
			for typed, want := range map[string]string{
				"localhost" + port + "/pages/buttons":             "http://localhost" + port + "/pages/buttons",
				"127.0.0.1" + port + "/pages/buttons":             site + "/pages/buttons",
				"HTTP://127.1" + port + "/pages/../pages/buttons": site + "/pages/buttons",
				" " + site + "/pages/but\ntons ":                  site + "/pages/buttons",
			} {
				if info := p.goTo(typed, nil); info.URI != want || info.Title != "Buttons" {
					c.t.Errorf("%q: %+v", typed, info)
				}
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
	})
}

func TestLocalFilesAreOpenedBelowTheirFolders(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(root, "in"), filepath.Join(root, "out")
	for path, text := range map[string]string{
		filepath.Join(in, "page.html"):     "<title>Inside</title><a id=out href=../out/page.html>out</a><a id=in href=sub/page.html>in</a>",
		filepath.Join(in, "a b#c.html"):    "<title>Odd</title>",
		filepath.Join(in, "sub/page.html"): "<title>Below</title>",
		filepath.Join(in, "frame.html"):    "<title>Frame</title><iframe src=../out/page.html></iframe><iframe src=sub/page.html></iframe>",
		filepath.Join(out, "page.html"):    "<title>Outside</title><h1>Secret</h1>",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, filepath.Join(in, "link")); err != nil {
		t.Fatal(err)
	}
	c := alone(t, fmt.Sprintf(`{"allow_file":[%q]}`, in))
	p := c.open("about:blank")
	for path, title := range map[string]string{"page.html": "Inside", "sub/page.html": "Below", "a b%23c.html": "Odd"} {
		if info := p.goTo("file://"+in+"/"+path, nil); info.Title != title || info.Loading {
			t.Errorf("%s: %+v", path, info)
		}
	}
	for _, path := range []string{out + "/page.html", in + "/../out/page.html", in + "/%2e%2e/out/page.html", in + "/link/page.html", in + "/none.html", "/etc/passwd", in + "x"} {
		c.refused("navigation_rejected", "browser.navigate", p.with(map[string]any{"uri": "file://" + path}))
	}
	// Nor does a page that was let in get there by itself.
	p.goTo("file://"+in+"/page.html", nil)
	for _, script := range []string{
		"document.getElementById('out').click()", "location = '../out/page.html'", fmt.Sprintf("location = 'file://%s/page.html'", out), "location = 'link/page.html'",
	} {
		before := len(p.loads())
		if err := c.try("page.javascript", p.with(map[string]any{"script": script}), nil); err != nil && !strings.Contains(err.Error(), "another document") {
			t.Errorf("%s: %v", script, err)
		}
		await(t, script+" comes to something", func() bool {
			list := p.loads()[before:]
			return len(list) > 1 && (list[len(list)-1] == 3 || list[len(list)-1] == -1)
		})
		if title := p.info().Title; title == "Outside" {
			t.Errorf("%s led out", script)
		}
		p.goTo("file://"+in+"/page.html", nil)
	}
	p.goTo("file://"+in+"/page.html", nil)
	p.js("document.getElementById('in').click()")
	c.call("page.wait", p.with(map[string]any{"function": "document.title == 'Below'", "timeout_ms": 30000}), nil)
	p.goTo("file://"+in+"/frame.html", nil)
	var text string
	c.call("page.inspect", p.with(map[string]any{"kind": "text"}), &text)
	var frames []struct{ ID, URI string }
	c.call("page.frames", p.with(nil), &frames)
	for _, f := range frames {
		var value any
		if err := c.try("page.javascript", p.with(map[string]any{"frame": f.ID, "script": "document.body?.innerText ?? ''"}), &value); err == nil && strings.Contains(fmt.Sprint(value), "Secret") {
			t.Errorf("frame %s shows what is outside", f.URI)
		}
	}
}

func TestHostsAreKeptOut(t *testing.T) {
	t.Parallel()
	port := site[strings.LastIndex(site, ":"):]
	for name, test := range map[string]struct {
		config          string
		allowed, denied []string
	}{
		"denied names": {
			`{"deny_hosts":["denied.localhost","*.below.localhost"]}`,
			[]string{"localhost", "127.0.0.1", "other.localhost", "notbelow.localhost"},
			[]string{"denied.localhost", "DENIED.localhost", "denied.localhost.", "below.localhost", "a.below.localhost", "a.b.below.localhost"},
		},
		"denied addresses": {
			`{"deny_hosts":["127.0.0.2"]}`,
			[]string{"127.0.0.1", "localhost"},
			[]string{"127.0.0.2", "127.2", "0x7f000002"},
		},
		"allowed names": {
			`{"allow_hosts":["localhost","*.fine.localhost","127.0.0.1"]}`,
			[]string{"localhost", "fine.localhost", "a.fine.localhost", "127.0.0.1"},
			[]string{"other.localhost", "127.0.0.2", "notfine.localhost"},
		},
		"denied and allowed alike": {
			`{"allow_hosts":["localhost","127.0.0.1","a.localhost","c.b.localhost","*.d.localhost"],"deny_hosts":["a.localhost","*.b.localhost","*.d.localhost"]}`,
			[]string{"localhost", "127.0.0.1"},
			[]string{"a.localhost", "c.b.localhost", "d.localhost", "e.d.localhost"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := alone(t, test.config)
			p := c.open("about:blank")
			reach := func(host string) bool {
				t.Helper()
				base := "http://" + host + port
				return p.js(fmt.Sprintf("fetch(%q, {mode: 'no-cors'}).then(() => true, () => false)", base+"/beacon")) == true
			}
			for _, host := range test.allowed {
				if info := p.goTo("http://"+host+port+"/pages/blank", nil); info.Title != "Blank" {
					t.Errorf("%s: %+v", host, info)
				}
			}
			p.goTo("http://"+test.allowed[0]+port+"/pages/blank", nil)
			for _, host := range test.allowed[1:] {
				if !reach(host) {
					t.Errorf("a page does not reach %s", host)
				}
			}
			for _, host := range test.denied {
				if err := c.try("browser.navigate", p.with(map[string]any{"uri": "http://" + host + port + "/pages/blank"}), nil); err == nil {
					t.Errorf("%s is shown", host)
				}
				p.goTo("http://"+test.allowed[0]+port+"/pages/blank", nil)
				if reach(host) {
					t.Errorf("a page reaches %s", host)
				}
			}
			base, bad := "http://"+test.allowed[0]+port, "http://"+test.denied[0]+port
			e := c.refused("navigation_failed", "browser.navigate", p.with(map[string]any{"uri": base + "/redirect?to=" + bad + "/pages/blank"}))
			if got := netError(t, e); got != "net::ERR_NAME_NOT_RESOLVED" {
				t.Errorf("a redirect gives %s", got)
			}
			p.goTo(base+"/pages/blank", nil)
			for what, script := range map[string]string{
				"a frame": `new Promise(done => { const f = document.createElement('iframe'); f.src = BAD + '/pages/blank'; f.onload = () => {
					let other; try { other = f.contentDocument === null } catch { other = true }; done(other) }; document.body.append(f) })`,
				"an image":           `new Promise(done => { const i = new Image; i.onload = () => done('loaded'); i.onerror = () => done('failed'); i.src = BAD + '/x.png' })`,
				"a WebSocket":        `new Promise(done => { const w = new WebSocket(BAD.replace('http', 'ws')); w.onopen = () => done('open'); w.onerror = () => done('failed') })`,
				"a redirected fetch": `fetch('/redirect?to=' + BAD + '/beacon', {mode: 'no-cors'}).then(() => 'reached', () => 'failed')`,
				"a worker": `new Promise(done => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + BAD + "/beacon', {mode: 'no-cors'}).then(() => postMessage('reached'), () => postMessage('failed'))"])));
					w.onmessage = e => done(e.data) })`,
			} {
				got := p.js("const BAD = " + fmt.Sprintf("%q", bad) + "; " + script)
				if got == "reached" || got == "loaded" || got == "open" {
					t.Errorf("%s reaches it: %v", what, got)
				}
			}
			var frames []struct{ ID, URI string }
			c.call("page.frames", p.with(nil), &frames)
			for _, f := range frames[1:] {
				var text any
				if err := c.try("page.javascript", p.with(map[string]any{"frame": f.ID, "script": "document.title"}), &text); err == nil && text == "Blank" {
					t.Errorf("the frame shows %s", f.URI)
				}
			}
		})
	}
}

func TestHostsThatCannotBeKeptOutAreRefused(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"deny_hosts":["10.0.0.0/8"]}`:                                       "10.0.0.0/8",
		`{"allow_hosts":["fd00::/8"]}`:                                        "fd00::/8",
		`{"deny_hosts":["a b"]}`:                                              "a b",
		`{"deny_hosts":["x, EXCLUDE *"]}`:                                     "EXCLUDE",
		`{"allow_hosts":["https://x.example"]}`:                               "x.example",
		`{"allow_hosts":[""]}`:                                                "allow_hosts",
		`{"deny_hosts":["a,b"]}`:                                              "a,b",
		`{"deny_hosts":["a?c"]}`:                                              "a?c",
		`{"allow_hosts":["*.a.example"],"deny_hosts":["b.a.example"]}`:        "b.a.example",
		`{"allow_hosts":["*.a.example"],"deny_hosts":["*.c.b.a.example"]}`:    "*.a.example",
		`{"allow_hosts":["*.example","x.test"],"deny_hosts":["*.b.example"]}`: "*.example",
		`{"allow_file":["relative"]}`:                                         "relative",
		`{"profile":"relative"}`:                                              "relative",
		`{"args":["x"]}`:                                                      "--",
	} {
		_, err := startPlugin(t, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", config, err)
		}
	}
	for _, config := range []string{
		`{"deny_hosts":["10.0.0.1","::1","a.example","*.b.example"]}`, `{"allow_hosts":["10.0.0.0/32"]}`, `{"deny_hosts":["bücher.example"]}`,
		`{"allow_hosts":["a.example","*.b.example"],"deny_hosts":["*.example"]}`, `{"allow_hosts":["*.a.example"],"deny_hosts":["*.A.example","ba.example"]}`,
	} {
		if _, err := startPlugin(t, config); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}
