package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDialogsThatAreDismissed(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"alerts are accepted, confirm and prompt dismissed, and the action tells of them": func(c *client) {
			p := c.open("/pages/dialog-confirm")
			out := p.does("click", sel("#now"))
			d, _ := out["dialog"].(m)
			if d["kind"] != "confirm" || d["message"] != "Save?" || d["open"] != false {
				c.t.Errorf("it gave %v", out)
			}
			p.is("log.findLast(e => e.type === 'answer').value", false)
			if d["count"] != nil {
				c.t.Errorf("one is counted: %v", d)
			}
			if out := p.does("click", sel("#alert")); out["dialog"].(m)["kind"] != "alert" {
				c.t.Errorf("it gave %v", out)
			}
			p.does("click", sel("#later"))
			p.until(m{"function": "log.filter(e => e.type === 'answer').length === 3"})
			p = c.open("/pages/dialog-prompt")
			p.does("click", sel("#ask"))
			p.is("log.findLast(e => e.type === 'answer').value", nil)
			p = c.open("/pages/dialog-two")
			if d := p.does("click", sel("#go"))["dialog"].(m); d["kind"] != "prompt" || d["message"] != "Second?" || fmt.Sprint(d["count"]) != "2" {
				c.t.Errorf("of two it tells %v", d)
			}
			p.noted("first,second")
			p.js("document.getElementById('go').onclick = () => { for (let i = 1; i <= 5; i++) alert(i) }")
			if d := p.does("click", sel("#go"))["dialog"].(m); d["message"] != "5" || fmt.Sprint(d["count"]) != "5" {
				c.t.Errorf("of five it tells %v", d)
			}
			p.is("confirm('in a script') + '|' + prompt('too')", "false|null")
		},
		"dialogs in frames, on load and without end make nobody wait": func(c *client) {
			p := c.open("/pages/dialog-in-frame")
			p.does("click", m{"ref": p.find("button", "Now"), "timeout_ms": 10000})
			p.does("click", sel("#outer"))
			p = c.open("/pages/dialog-on-load")
			p.noted("answered")
			p = c.open("/pages/dialog-loop")
			quick := c.open("/pages/blank")
			var out m
			err := c.try("page.interact", p.with(sel("#go", "action", "click", "timeout_ms", 0)), &out)
			if err == nil && out["ok"] != true || err != nil && !strings.Contains(err.Error(), "timeout") {
				c.t.Errorf("it gave %v %v", out, err)
			}
			quick.is("1", 1)
			var v any
			c.call("browser.tabs", nil, &v)
		},
		"a page that asks before it is left is left": func(c *client) {
			p := c.open("/pages/dialog-beforeunload")
			p.does("fill", sel("#text", "value", "x"))
			if out := p.does("click", sel("#away")); out["url"] != site+"/pages/blank" {
				c.t.Errorf("it gave %v", out)
			}
			p = c.open("/pages/dialog-beforeunload")
			p.does("fill", sel("#text", "value", "x"))
			var tab m
			c.call("browser.navigate", p.with(m{"uri": site + "/pages/blank"}), &tab)
			if tab["title"] != "Blank" {
				c.t.Errorf("it is at %v", tab)
			}
		},
		"print and questions for permission make nobody wait": func(c *client) {
			p := c.open("/pages/print")
			p.does("click", sel("#print"))
			p.noted("printed")
			p = c.open("/pages/permissions")
			for _, id := range []string{"geo", "notify", "camera", "clipboard", "midi"} {
				p.does("click", sel("#"+id))
			}
			p.is("1 + 1", 2)
			p.snapshot(nil)
		},
	})
}

func TestDialogsThatAreHeld(t *testing.T) {
	group(t, `{"dialogs":"hold"}`, map[string]func(c *client){
		"an open dialog ends the action, fails other calls at once, and is answered": func(c *client) {
			p := c.open("/pages/dialog-confirm")
			before := p.ref("button", "Alert")
			out := p.does("click", sel("#now"))
			if d, _ := out["dialog"].(m); d["kind"] != "confirm" || d["open"] != true {
				c.t.Fatalf("it gave %v", out)
			}
			for method, params := range map[string]m{
				"page.javascript": {"script": "1"}, "page.inspect": {"kind": "text"}, "page.wait": {"text": "Nothing", "timeout_ms": 30000},
				"page.interact": {"ref": before, "action": "click", "timeout_ms": 30000}, "page.screenshot": {"path": "/nowhere/x.png"},
				"browser.cdp": {"method": "Runtime.evaluate", "params": m{"expression": "1"}},
			} {
				if method == "page.screenshot" {
					params["path"] = c.t.TempDir() + "/x.png"
				}
				c.refused("dialog_open", method, p.with(params))
			}
			for _, params := range []m{nil, {"format": "outline"}, {"scope": "#now"}, {"filter": m{"role": "button"}}} {
				list := p.list(params)
				if list.Dialog["kind"] != "confirm" || list.Dialog["message"] != "Save?" || len(list.Elements) != 0 || !list.Truncated || list.URL != site+"/pages/dialog-confirm" {
					c.t.Errorf("a snapshot %v gave %+v", params, list)
				}
			}
			var v any
			for _, method := range []string{"browser.tabs", "page.diagnostics", "page.frames", "page.native_diagnostics"} {
				params := p.with(nil)
				if method == "browser.tabs" {
					params = m{}
				}
				c.call(method, params, &v)
			}
			c.call("page.dialog", p.with(m{"accept": true}), &v)
			p.is("log.findLast(e => e.type === 'answer').value", true)
			c.refused("not_found", "page.dialog", p.with(m{"accept": true}))
			p.does("click", m{"ref": before})
			c.call("browser.cdp", p.with(m{"method": "Page.handleJavaScriptDialog", "params": m{"accept": true}}), &v)
			c.refused("dialog_open", "browser.cdp", p.with(m{"method": "Runtime.evaluate", "params": m{"expression": "alert(1)"}}))
			c.call("page.dialog", p.with(m{"accept": false}), &v)
			p.does("click", sel("#now"))
			c.call("page.dialog", p.with(m{"accept": false}), &v)
			p.is("log.filter(e => e.type === 'answer').at(-1).value", false)
		},
		"a prompt gets its text, or null": func(c *client) {
			p := c.open("/pages/dialog-prompt")
			for _, tt := range []struct {
				answer m
				want   any
			}{
				{m{"accept": true, "text": "Ann 👩"}, "Ann 👩"}, {m{"accept": true, "text": ""}, ""}, {m{"accept": true}, ""}, {m{"accept": false}, nil}, {m{"accept": false, "text": "x"}, nil},
			} {
				p.does("click", sel("#ask"))
				var v any
				c.call("page.dialog", p.with(tt.answer), &v)
				p.is("log.findLast(e => e.type === 'answer').value", tt.want)
			}
		},
		"two in a row are answered one by one": func(c *client) {
			p := c.open("/pages/dialog-two")
			p.does("click", sel("#go"))
			var v any
			c.call("page.dialog", p.with(m{"accept": true}), &v)
			p.answers(m{"accept": true, "text": "two"}) // it comes when the page runs again
			p.is("log.filter(e => e.isTrusted === undefined).map(e => e.type + e.value).join()", "firsttrue,secondtwo")
		},
		"a dialog of a frame or a script is the tab's": func(c *client) {
			p := c.open("/pages/dialog-in-frame")
			out := p.does("click", m{"ref": p.find("button", "Now"), "timeout_ms": 10000})
			if d, _ := out["dialog"].(m); d["open"] != true {
				c.t.Fatalf("it gave %v", out)
			}
			if list := p.list(nil); list.Dialog == nil {
				c.t.Errorf("a snapshot gave %+v", list)
			}
			var v any
			c.call("page.dialog", p.with(m{"accept": true}), &v)
			p.does("click", sel("#outer"))
			e := c.refused("dialog_open", "page.javascript", p.with(m{"script": "prompt('?')"}))
			if e.Message == "" {
				c.t.Error("it says nothing")
			}
			c.call("page.dialog", p.with(m{"accept": true, "text": "x"}), &v)
			p.is("1", 1)
		},
		"a dialog that opens during a wait ends it, and a tab with one can be closed": func(c *client) {
			p := c.open("/pages/dialog-confirm")
			p.js("setTimeout(() => confirm('soon'), 300)")
			c.refused("dialog_open", "page.wait", p.with(m{"text": "Nothing", "timeout_ms": 30000}))
			c.refused("dialog_open", "browser.navigate", p.with(m{"uri": site + "/pages/blank"}))
			q := c.open("/pages/dialog-confirm")
			q.does("click", sel("#now"))
			var v any
			c.call("browser.tab.close", q.with(nil), &v)
			c.refused("not_found", "page.dialog", q.with(m{"accept": true}))
		},
		"what is asked before a page is left is held too": func(c *client) {
			p := c.open("/pages/dialog-beforeunload")
			p.does("fill", sel("#text", "value", "x"))
			out := p.does("click", sel("#away"))
			if d, _ := out["dialog"].(m); d["kind"] != "beforeunload" || d["open"] != true {
				c.t.Fatalf("it gave %v", out)
			}
			var v any
			c.call("page.dialog", p.with(m{"accept": false}), &v)
			p.is("document.title", "Before unload")
			p.does("click", sel("#away"))
			c.call("page.dialog", p.with(m{"accept": true}), &v)
			p.until(m{"url": "/pages/blank"})
		},
		"what our code does itself opens them as its own": func(c *client) {
			file := c.t.TempDir() + "/one.txt"
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				c.t.Fatal(err)
			}
			for _, tt := range []struct {
				html   string
				action m
				done   string
			}{
				{`<select id=a onchange="alert(1)"><option>1<option>2</select>`, m{"action": "select", "value": "2"}, "a.value === '2'"},
				{`<input id=a type=file onchange="alert(1)">`, m{"action": "upload", "files": []string{file}}, "a.files.length === 1"},
				{`<input id=a onfocus="alert(1)">`, m{"action": "focus"}, "document.activeElement === a"},
				{`<input id=a autofocus onblur="alert(1)">`, m{"action": "blur"}, "document.activeElement !== a"},
				{`<input id=a type=date onchange="alert(1)">`, m{"action": "fill", "value": "2026-02-03"}, "a.value === '2026-02-03'"},
				{`<input id=a type=color oninput="alert(1)">`, m{"action": "type", "value": "#102030"}, "a.value === '#102030'"},
			} {
				p := c.page(tt.html)
				tt.action["selector"] = "#a"
				if tt.action["action"] == "blur" {
					p.does("focus", sel("#a"))
				}
				out := p.does(fmt.Sprint(tt.action["action"]), tt.action)
				if d, _ := out["dialog"].(m); d["open"] != true || out["partly"] != true {
					c.t.Errorf("%v gave %v", tt.action, out)
				}
				var v any
				c.call("page.dialog", p.with(m{"accept": true}), &v)
				p.is(tt.done, true)
			}
			for range 10 { // one that comes between the look and the deed
				p := c.page(`<select id=a disabled><option>1<option>2</select>`)
				p.js(`setTimeout(() => { a.disabled = false; requestAnimationFrame(() => setTimeout(() => alert(1), 0)) }, 100); 1`)
				var out m
				err := c.try("page.interact", p.with(m{"action": "select", "selector": "#a", "value": "2", "timeout_ms": 5000}), &out)
				p.answers(m{"accept": true})
				switch {
				case err == nil && out["ok"] == true:
					p.is("a.value", "2")
				case err == nil || !strings.Contains(err.Error(), "dialog_open"):
					c.t.Errorf("it gave %v, %v", out, err)
				default:
					p.is("a.value", "1")
				}
			}
			p := c.page(`<p>no select</p>`) // a dialog that comes while it waits is none of its
			p.js(`setTimeout(() => alert(1), 200); 1`)
			c.refused("dialog_open", "page.interact", p.with(m{"action": "select", "selector": "#nowhere", "value": "2", "timeout_ms": 30000}))
		},
		"events say that a dialog has opened": func(c *client) {
			p := c.open("/pages/dialog-confirm")
			p.does("click", sel("#alert"))
			found := ""
			for _, e := range c.Events() {
				if e.Type == "page.dialog" && strings.Contains(string(e.Data), "Only said") {
					found = string(e.Data)
				}
			}
			if !strings.Contains(found, fmt.Sprintf(`"tab_id":%d`, p.id)) || !strings.Contains(found, `"answered":false`) {
				c.t.Errorf("the event is %s", found)
			}
			var v any
			c.call("page.dialog", p.with(m{"accept": true}), &v)
		},
	})
}
