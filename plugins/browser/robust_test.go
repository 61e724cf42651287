package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What a page, or a caller with raw commands, can do to the plugin itself.
func TestPagesAndCallersCannotDisarmIt(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"an element with the name of our code changes nothing": func(c *client) {
			p := c.open("/pages/buttons")
			p.js(`document.body.insertAdjacentHTML('beforeend', '<div id="__vant"></div><iframe name="__vant"></iframe><form name="createRange"></form><img name="title" alt="">')`)
			p.does("click", sel("#plain"))
			p.ref("button", "Save")
			var list []struct {
				ID    int
				Title string
			}
			c.call("browser.tabs", nil, &list)
			for _, tab := range list {
				if tab.ID == p.id && tab.Title != "Buttons" {
					c.t.Errorf("the title is %q", tab.Title)
				}
			}
		},
		"domains that a caller turns on do not end it": func(c *client) {
			p := c.open("/pages/blank")
			var out any
			c.call("browser.cdp", p.with(m{"method": "Fetch.enable", "params": m{}}), &out)
			c.call("browser.navigate", p.with(m{"uri": site + "/pages/buttons", "timeout_ms": 500}), &out)
			c.call("browser.cdp", p.with(m{"method": "Fetch.disable"}), &out)
			c.call("browser.tabs", nil, &out)
		},
		"a script for a frame runs in that frame or not at all": func(c *client) {
			p := c.open("/pages/frames-odd")
			for _, f := range p.frames() {
				var title any
				err := c.try("page.javascript", p.with(m{"script": "document.title", "frame": f.ID}), &title)
				if err == nil && f.Parent != "" && title == "Frames of odd kinds" {
					c.t.Errorf("in %+v it saw the outer page", f)
				}
			}
		},
		"a double click of which the first alone arrived is not done again": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`document.body.innerHTML = '<button id="b" style="position:fixed;left:20px;top:20px;width:200px;height:80px">B</button>';
				window.clicks = 0;
				b.onclick = () => { clicks++; document.body.insertAdjacentHTML('beforeend', '<div id="over" style="position:fixed;inset:0"></div>') }; 1`)
			out := p.does("dblclick", sel("#b"))
			p.is("clicks", 1)
			if out["partly"] != true {
				c.t.Errorf("it gave %v", out)
			}
		},
		"a wait for a promise waits for its value": func(c *client) {
			p := c.open("/pages/blank")
			c.refused("timeout", "page.wait", p.with(m{"function": "Promise.resolve(false)", "timeout_ms": 300}))
			c.refused("timeout", "page.wait", p.with(m{"function": "() => window.never", "timeout_ms": 300}))
			p.until(m{"function": "() => document.title === 'Blank'"})
		},
		"a wait for a load is not over before it began": func(c *client) {
			p := c.open("/pages/blank")
			var out any
			c.call("browser.navigate", p.with(m{"uri": site + "/slow?ms=700&body=<title>slow</title>&type=text/html", "wait": "none"}), &out)
			p.until(m{"load": true, "timeout_ms": 30000})
			p.is("document.title", "slow")
		},
		"a picture is its owner's alone": func(c *client) {
			p := c.open("/pages/blank")
			path := filepath.Join(c.t.TempDir(), "p.png")
			var out any
			c.call("page.screenshot", p.with(m{"path": path}), &out)
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				c.t.Errorf("%v %v", info, err)
			}
		},
		"a long text is typed in slices": func(c *client) {
			p := c.open("/pages/form")
			p.js(`document.body.insertAdjacentHTML('beforeend', '<textarea id="long"></textarea>'); 1`)
			text := ""
			for i := range 40 {
				text += fmt.Sprintf("line %d\n", i)
			}
			out := p.does("type", sel("#long", "value", text))
			if out["value"] != text {
				c.t.Errorf("it holds %q", out["value"])
			}
		},
	})
}

func TestAnActionThatOnlyOpenedADialogIsNotDone(t *testing.T) {
	c := alone(t, `{"dialogs":"hold"}`)
	p := c.open("/pages/blank")
	p.js(`document.body.innerHTML = '<input id="i" onfocus="alert(1)">'; 1`)
	c.refused("dialog_open", "page.interact", p.with(sel("#i", "action", "fill", "value", "x")))
	c.refused("dialog_open", "browser.navigate", p.with(m{"uri": site + "/pages/form"}))
	var out any
	c.call("page.dialog", p.with(m{"accept": true}), &out)
	p.is("location.pathname", "/pages/blank")
}
