package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/sdk"
	"github.com/vant-run/vant/sdk/plugintest"
)

func commandLine(id proc.Identity) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.Pid)) // it may have ended
	return string(line)
}

type health struct {
	LoadError  string `json:"last_load_error"`
	Crash      string `json:"last_web_process_termination"`
	Responsive bool
}

func (t *tab) health() health {
	t.t.Helper()
	var h health
	t.call("page.native_diagnostics", t.with(nil), &h)
	return h
}

// crash ends the tab's renderer.
func (t *tab) crash() {
	t.t.Helper()
	// The answer never comes, or tells of the crash.
	_ = t.try("browser.cdp", t.with(map[string]any{"method": "Page.crash"}), nil)
}

func TestCrashes(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a crashed tab says so, and a reload brings it back": func(c *client) {
			p, other := c.open("/pages/buttons"), c.open("about:blank")
			waits := map[string]map[string]any{
				"page.javascript": {"script": "new Promise(() => {})", "timeout_ms": 30000}, "page.wait": {"text": "never there", "timeout_ms": 30000},
				"browser.cdp": {"method": "Runtime.evaluate", "params": map[string]any{"expression": "new Promise(() => {})", "awaitPromise": true}},
			}
			ended := make(chan error, len(waits))
			for method, params := range waits {
				go func() { ended <- c.try(method, p.with(params), nil) }()
			}
			p.js("document.title")
			p.crash()
			for range waits {
				var e *sdk.Error
				if err := <-ended; !errors.As(err, &e) || e.Code != "tab_crashed" {
					c.t.Errorf("a call that waited has %v", err)
				}
			}
			for _, method := range []string{"page.snapshot", "page.frames"} {
				err := c.try(method, p.with(nil), nil)
				var e *sdk.Error
				if method == "page.snapshot" && (!errors.As(err, &e) || e.Code != "tab_crashed") {
					c.t.Errorf("%s: %v", method, err)
				}
			}
			c.refused("tab_crashed", "page.javascript", p.with(map[string]any{"script": "1"}))
			c.refused("tab_crashed", "page.interact", p.with(map[string]any{"selector": "button", "action": "click"}))
			c.refused("tab_crashed", "browser.cdp", p.with(map[string]any{"method": "Runtime.evaluate", "params": map[string]any{"expression": "1"}}))
			if info := p.info(); !info.Crashed || info.Loading || info.URI != site+"/pages/buttons" {
				c.t.Errorf("the tab is %+v", info)
			}
			if h := p.health(); h.Crash == "" || h.Responsive {
				c.t.Errorf("its health is %+v", h)
			}
			if list := p.published("tab_id", p.id, "page.web_process_terminated"); len(list) != 1 {
				c.t.Errorf("the events are %v", list)
			}
			if got := other.js("1 + 1"); fmt.Sprint(got) != "2" {
				c.t.Errorf("the other tab gives %v", got)
			}
			if info := p.move("browser.reload", nil); info.Crashed || info.Title != "Buttons" || info.Loading {
				c.t.Errorf("reloaded it is %+v", info)
			}
			p.ref("button", "Clicked 0")
			if h := p.health(); h.Crash == "" || !h.Responsive {
				c.t.Errorf("its health is %+v", h)
			}
			p.crash()
			await(c.t, "it has crashed again", func() bool { return p.info().Crashed })
			if info := p.goTo("/pages/blank", nil); info.Crashed || info.Title != "Blank" {
				c.t.Errorf("navigated it is %+v", info)
			}
			p.crash()
			await(c.t, "it has crashed once more", func() bool { return p.info().Crashed })
			c.call("browser.tab.close", p.with(nil), nil)
			c.refused("not_found", "browser.reload", p.with(nil))
		},
		"a crashed tab is one until it shows another document": func(c *client) {
			p := c.open("/pages/buttons")
			same := func(what string) {
				c.t.Helper()
				crashed := p.info().Crashed
				var e *sdk.Error
				err := c.try("page.javascript", p.with(map[string]any{"script": "1"}), nil)
				if crashed && (!errors.As(err, &e) || e.Code != "tab_crashed") || !crashed && err != nil {
					c.t.Errorf("%s: it is crashed: %v, and a script gives %v", what, crashed, err)
				}
			}
			for what, begin := range map[string]func(){
				"an answer without content": func() { p.goTo("/status?code=204", nil) },
				"a download":                func() { p.goTo("/download?name=x.bin", nil) },
				"no answer": func() {
					p.goTo("/hang", timeout(300))
					same("while there is no answer")
					p.move("browser.stop", nil)
				},
				"what is stopped": func() {
					p.goTo("/hang", until("none"))
					p.move("browser.stop", nil)
				},
				"nowhere to go": func() { p.move("browser.forward", nil) },
			} {
				p.crash()
				await(c.t, "it has crashed", func() bool { return p.info().Crashed })
				begin()
				same(what)
				if info := p.goTo("/pages/buttons", nil); info.Crashed || info.Title != "Buttons" {
					c.t.Errorf("after %s it is %+v", what, info)
				}
				same("afterwards")
			}
			p.crash()
			await(c.t, "it has crashed", func() bool { return p.info().Crashed })
			p.goTo("/pages/blank", until("none"))
			c.call("page.wait", p.with(map[string]any{"load": true, "timeout_ms": 30000}), nil)
			same("what was waited for")
		},
		"a crash while a page loads is told": func(c *client) {
			p := c.open("/pages/blank")
			ended := make(chan error, 1)
			go func() {
				ended <- c.try("browser.navigate", p.with(map[string]any{"uri": site + "/never", "timeout_ms": 30000}), nil)
			}()
			c.call("page.wait", p.with(map[string]any{"url": "/never", "timeout_ms": 30000}), nil)
			p.crash()
			var e *sdk.Error
			if err := <-ended; !errors.As(err, &e) || e.Code != "tab_crashed" {
				c.t.Errorf("the navigation has %v", err)
			}
		},
		"chrome://crash is a crash": func(c *client) {
			p := c.open("/pages/blank")
			_ = c.try("browser.cdp", p.with(map[string]any{"method": "Page.navigate", "params": map[string]any{"url": "chrome://crash"}}), nil)
			await(c.t, "it has crashed", func() bool { return p.info().Crashed })
			if info := p.goTo("/pages/buttons", nil); info.Title != "Buttons" {
				c.t.Errorf("navigated it is %+v", info)
			}
		},
		"a script that never ends is stopped": func(c *client) {
			p, other := c.open("/pages/buttons"), c.open("/pages/blank")
			for _, script := range []string{"while (true) {}", "for (;;) { try { for (;;); } catch {} }", "await 0; while (true) {}", "new Promise(() => {})"} {
				c.refused("timeout", "page.javascript", p.with(map[string]any{"script": script, "timeout_ms": 500}))
				if got := other.js("1 + 1"); fmt.Sprint(got) != "2" {
					c.t.Errorf("the other tab gives %v", got)
				}
				for range 5 { // none of these is taken for it
					if got := p.js("document.title"); got != "Buttons" {
						c.t.Errorf("after %s the tab gives %v", script, got)
					}
				}
			}
		},
		"a page that spins keeps nobody else": func(c *client) {
			p, other := c.open("/pages/spin"), c.open("/pages/buttons")
			p.js("setTimeout(() => { for (;;); }, 0)")
			bounded := make(chan error, 1)
			go func() { bounded <- c.try("page.snapshot", p.with(nil), nil) }()
			for range 5 {
				if info := p.info(); info.URI != site+"/pages/spin" {
					c.t.Errorf("the tab is %+v", info)
				}
				other.ref("button", "Clicked 0")
				other.js("1")
			}
			if h := p.health(); h.Responsive {
				c.t.Error("it is called responsive")
			}
			var e *sdk.Error
			if err := <-bounded; !errors.As(err, &e) || e.Code != "timeout" {
				c.t.Errorf("its snapshot gives %v", err)
			}
			c.call("browser.tab.close", p.with(nil), nil)
			q := c.open("/pages/blank")
			for method, title := range map[string]string{"browser.reload": "Spins", "browser.back": "Blank"} {
				q.goTo("/pages/spin", timeout(30000))
				q.js("setTimeout(() => { for (;;); }, 0)")
				await(c.t, "it spins", func() bool { return !q.health().Responsive })
				if info := q.move(method, timeout(30000)); info.Title != title || info.Loading {
					c.t.Errorf("%s gives %+v", method, info)
				}
			}
			q.goTo("/pages/spin", timeout(30000))
			q.js("setTimeout(() => { for (;;); }, 0)")
			await(c.t, "it spins", func() bool { return !q.health().Responsive })
			if info := q.goTo("/pages/buttons", timeout(30000)); info.Title != "Buttons" {
				c.t.Errorf("left it is %+v", info)
			}
		},
	})
}

// small makes renderers die of little.
const small = `{"args":["--js-flags=--max-old-space-size=64"]}`

func TestAFrameOfAnotherProcessMayCrash(t *testing.T) {
	t.Parallel()
	c := alone(t, small)
	p := c.open("/pages/frames-cross")
	p.named("Other site")
	frame := p.frames()[1].ID
	c.call("page.javascript", p.with(map[string]any{"frame": frame, "script": "setTimeout(() => { const kept = []; for (;;) kept.push(new Array(1 << 20).fill(kept.length + 0.5)) }, 0)"}), nil)
	p.lacks("Other site")
	if info := p.info(); info.Crashed {
		t.Errorf("the tab is %+v", info)
	}
	if list := p.published("tab_id", p.id, "page.web_process_terminated"); len(list) != 0 {
		t.Errorf("the events are %s", list)
	}
	p.named("After")
	p.js("cross.src = elsewhere('/pages/frame-child?name=Again')")
	p.named("Again")
}

func TestMemoryThatRunsOutIsACrash(t *testing.T) {
	t.Parallel()
	c := alone(t, small)
	p := c.open("/pages/allocate")
	p.js("setTimeout(eat, 0)")
	await(t, "it has crashed", func() bool { return p.info().Crashed })
	list := p.published("tab_id", p.id, "page.web_process_terminated")
	// Chromium tells memory that ran out from other crashes on some systems only.
	var data struct{ Reason int }
	if len(list) != 1 || json.Unmarshal(list[0].Data, &data) != nil || data.Reason > 1 {
		t.Errorf("the events are %s", list)
	}
	if info := p.move("browser.reload", nil); info.Crashed {
		t.Errorf("reloaded it is %+v", info)
	}
}

func TestAKilledPluginLeavesNoBrowser(t *testing.T) {
	t.Parallel()
	vantd := os.Getenv("VANT_HOST")
	if vantd == "" {
		vantd = t.TempDir() + "/vantd"
		if out, err := exec.Command("go", "build", "-o", vantd, "github.com/vant-run/vant/cmd/vantd").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	binary := plugintest.Build(t, ".", "browser")
	h := plugintest.HostWith(t, plugintest.HostOptions{Binaries: []string{binary}, Program: vantd})
	gone := func(all []proc.Identity) {
		t.Helper()
		for _, id := range all {
			await(t, fmt.Sprintf("process %d ends", id.Pid), func() bool { return !proc.Alive(id) })
		}
	}
	for range 2 {
		var list []tabInfo
		await(t, "the plugin answers", func() bool { return h.Call(t.Context(), "browser.tabs", nil, &list) == nil })
		plugin, browser := 0, []proc.Identity(nil)
		below, err := proc.Descendants(h.Pid())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range below {
			if line := commandLine(id); len(line) > 0 && strings.Contains(line, "vant-plugin-browser") && !strings.Contains(line, "--user-data-dir") {
				plugin = id.Pid
			} else if strings.Contains(line, "--user-data-dir") || strings.Contains(line, "--type=") {
				browser = append(browser, id)
			}
		}
		if plugin == 0 || len(browser) < 3 {
			t.Fatalf("the check sees plugin %d and browser %v", plugin, browser)
		}
		if err := syscall.Kill(plugin, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(browser)
	}
	// Nor does a killed host.
	await(t, "the plugin answers", func() bool { return h.Call(t.Context(), "browser.tabs", nil, nil) == nil })
	below, err := proc.Descendants(h.Pid())
	if err != nil {
		t.Fatal(err)
	}
	h.Kill()
	gone(below)
}
