package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"every kind of field takes its value, and it is read back": func(c *client) {
			p := c.open("/pages/form")
			for field, text := range map[string]string{
				"name": "Ann Ünïcode 👩‍👩‍👧", "email": "a@b.example", "number": "7", "search": "words", "phone": "12345", "note": "one\ntwo",
			} {
				out := p.does("fill", sel("#"+field, "value", text))
				if out["value"] != text || out["matches"] != nil {
					c.t.Errorf("%s: %v", field, out)
				}
				p.is("document.getElementById('"+field+"').value", text)
			}
			if out := p.does("clear", sel("#name")); out["value"] != "" {
				c.t.Errorf("cleared: %v", out)
			}
			if out := p.does("fill", sel("#number", "value", 3.5)); out["value"] != "3.5" {
				c.t.Errorf("a number: %v", out)
			}
			if out := p.does("fill", sel("#phone", "value", "1234567")); out["matches"] != false || out["value"] != "12345" {
				c.t.Errorf("too long: %v", out)
			}
			p.fails("not_editable", "malformed", "fill", sel("#number", "value", "seven"))
			p.fails("not_editable", "use check", "fill", sel("#agree", "value", "x"))
			p.fails("not_editable", "use select", "fill", sel("#colour", "value", "x"))
			p = c.open("/pages/dates")
			for field, text := range map[string]string{
				"date": "2026-02-28", "time": "13:45", "local": "2026-02-28T13:45", "month": "2026-02", "week": "2026-W09", "range": "55", "colour": "#12abef", "number": "2.5",
			} {
				if out := p.does("fill", sel("#"+field, "value", text)); out["value"] != text {
					c.t.Errorf("%s: %v", field, out)
				}
				p.is("document.getElementById('"+field+"').value", text)
			}
			p.is("log.filter(e => e.type === 'change' && e.target !== 'number').length", 7)
			for field, text := range map[string]string{
				"date": "28.02.2026", "time": "1pm", "local": "2026-02-28", "month": "02/2026", "week": "9", "range": "52", "colour": "red", "number": "x",
			} {
				p.fails("not_editable", "malformed", "fill", sel("#"+field, "value", text))
			}
			p.is("[date, time, week, range].map(e => e.value).join()", "2026-02-28,13:45,2026-W09,55")
		},
		"editors, tracked and masked fields see what they would of a person": func(c *client) {
			p := c.open("/pages/contenteditable")
			for _, id := range []string{"rich", "plain", "editor", "outer"} {
				if out := p.does("fill", sel("#"+id, "value", "new text")); out["value"] != "new text" {
					c.t.Errorf("%s: %v", id, out)
				}
				p.is(id+".innerText.trim()", "new text")
			}
			if out := p.does("type", sel("#editor", "value", " more")); out["matches"] != nil {
				c.t.Errorf("typed: %v", out)
			}
			p.is("model", "new text more")
			p.does("clear", sel("#rich"))
			p.is("rich.innerText.trim()", "")
			p = c.open("/pages/tracked-input")
			p.does("fill", sel("#name", "value", "Ann"))
			p.is("state.textContent", "Ann")
			if out := p.does("fill", sel("#upper", "value", "loud")); out["value"] != "LOUD" || out["matches"] != false {
				c.t.Errorf("upper: %v", out)
			}
			p = c.open("/pages/masked-input")
			if out := p.does("type", sel("#mask", "value", "12345678")); out["value"] != "1234 5678" || out["matches"] != false {
				c.t.Errorf("mask: %v", out)
			}
			if out := p.does("fill", sel("#digits", "value", "abc")); out["matches"] != false || out["value"] != "" {
				c.t.Errorf("digits: %v", out)
			}
			if out := p.does("fill", sel("#short", "value", "abcdef")); out["matches"] != false || out["value"] != "abc" {
				c.t.Errorf("short: %v", out)
			}
			if out := p.does("fill", sel("#empty", "value", "abc")); out["matches"] != false || out["value"] != "" {
				c.t.Errorf("empty: %v", out)
			}
			if out := p.do("fill", sel("#gone", "value", "abc")); out["ok"] != false {
				c.t.Errorf("gone: %v", out)
			}
			p = c.open("/pages/combobox")
			p.does("type", sel("#box", "value", "ap"))
			p.does("click", m{"ref": p.ref("option", "Apricot")})
			p.is("box.value", "Apricot")
		},
		"secrets are shown nowhere": func(c *client) {
			p := c.open("/pages/secrets")
			var all strings.Builder
			tell := func(method string, params m) {
				var out any
				c.call(method, p.with(params), &out)
				fmt.Fprintln(&all, out)
			}
			for _, id := range []string{"password", "code", "card", "csc"} {
				tell("page.interact", sel("#"+id, "action", "fill", "value", "S3CRET"+id))
				p.is("document.getElementById('"+id+"').value", "S3CRET"+id)
				tell("page.interact", sel("#"+id, "action", "type", "value", "S3CRET"))
			}
			tell("page.snapshot", nil)
			tell("page.interact", sel("#show", "action", "click")) // a password that is shown on the screen is still one
			tell("page.snapshot", m{"detail": true})
			tell("page.snapshot", m{"format": "outline"})
			for _, kind := range []string{"text", "html", "selection", "metadata", "markdown", "links", "forms", "styles"} {
				tell("page.inspect", m{"kind": kind})
			}
			p.does("focus", sel("#password"))
			p.js("password.select()")
			tell("page.inspect", m{"kind": "selection"})
			for _, secret := range []string{"S3CRET", "hunter", "4111", "987\""} {
				if strings.Contains(all.String(), secret) {
					c.t.Errorf("%s is in the answers: %s", secret, all.String())
				}
			}
			if !strings.Contains(all.String(), "secret:true") || !strings.Contains(all.String(), "ann") {
				c.t.Errorf("the answers are %s", all.String())
			}
		},
		"options are chosen by value, label and list, and offered when none fits": func(c *client) {
			p := c.open("/pages/select")
			if out := p.does("select", sel("#one", "value", "2")); out["value"] != "2" {
				c.t.Errorf("by value: %v", out)
			}
			p.does("select", sel("#one", "value", "One"))
			p.noted("chosen,chosen")
			p.does("select", sel("#one", "value", "other"))
			p.does("select", sel("#many", "value", []any{"a", "C"}))
			p.is("[...many.selectedOptions].map(o => o.value).join()", "a,c")
			p.does("select", sel("#grouped", "value", "Pear"))
			p.does("select", sel("#late", "value", "Came late"))
			p.does("select", sel("#one option[value='2']"))
			p.is("one.value", "2")
			out := p.fails("no_option", "disabled", "select", sel("#one", "value", "3", "timeout_ms", 0))
			if options, _ := out["options"].([]any); len(options) != 5 {
				c.t.Errorf("offered: %v", out)
			}
			p.fails("no_option", "missing", "select", sel("#one", "value", "Nine", "timeout_ms", 0))
			p.fails("no_option", "disabled", "select", sel("#grouped", "value", "Stone", "timeout_ms", 0))
			p.fails("disabled", "", "select", sel("#off", "value", "y", "timeout_ms", 0))
			p.fails("wrong_element", "takes one value", "select", sel("#one", "value", []any{"1", "2"}, "timeout_ms", 0))
			p.js("document.querySelector('select[multiple]').options[0].selected = true; 1")
			for _, at := range []string{"#one", "select[multiple]"} {
				c.refused("invalid_params", "page.interact", p.with(m{"action": "select", "selector": at}))
				c.refused("invalid_params", "page.interact", p.with(m{"action": "select", "selector": at, "value": nil}))
			}
			p.is("document.querySelector('select[multiple]').selectedOptions.length > 0", true)
			p.does("select", sel("select[multiple]", "value", []any{}))
			p.is("document.querySelector('select[multiple]').selectedOptions.length", 0)
			p.fails("wrong_element", "", "select", sel("#listbox", "value", "First", "timeout_ms", 0))
		},
		"boxes are ticked and unticked, and looked at afterwards": func(c *client) {
			p := c.open("/pages/checkboxes")
			for _, id := range []string{"plain", "on", "hidden", "mixed", "aria", "r1"} {
				if out := p.does("check", sel("#"+id)); out["checked"] != true {
					c.t.Errorf("%s: %v", id, out)
				}
			}
			p.is("[plain, on, hidden, mixed, r1, r2].map(e => e.checked).join()", "true,true,true,true,true,false")
			for _, id := range []string{"plain", "on", "hidden", "aria"} {
				if out := p.does("uncheck", sel("#"+id)); out["checked"] != false {
					c.t.Errorf("%s: %v", id, out)
				}
			}
			p.fails("wrong_element", "", "check", sel("#stubborn"))
			p.fails("wrong_element", "", "uncheck", sel("#r1"))
			p.is("aria.getAttribute('aria-checked')", "false")
		},
		"keys come one by one, chords with their modifiers, and Enter submits": func(c *client) {
			p := c.open("/pages/keys")
			p.does("type", sel("#field", "value", "aB 1!é"))
			p.is("field.value", "aB 1!é")
			p.is("log.filter(e => e.type === 'keydown' && e.key.length === 1).map(e => e.key + e.code).join()", "aKeyA,BKeyB, Space,1Digit1,!Digit1")
			p.is("log.filter(e => e.type === 'keydown').every(e => e.isTrusted)", true)
			p.does("type", sel("#stops", "value", "x"))
			p.is("stops.value", "")
			for _, chord := range []string{"Control+Shift+K", "ctrl+a", "Alt+ArrowDown", "Meta+Enter", "F5", "Shift+a", "Control++", "+", "Shift+1", "?"} {
				p.does("press", sel("#app", "value", chord))
			}
			p.is("log.filter(e => e.type === 'shortcut').map(e => e.keys).filter(k => !/^((Control|Shift|Alt|Meta)[+]?)+$/.test(k)).join(' ')",
				"Control+Shift+K Control+a Alt+ArrowDown Meta+Enter F5 Shift+A Control+Shift++ Shift++ Shift+! Shift+?")
			p.does("press", sel("#app", "value", "Control+z", "modifiers", []string{"Control"}))
			p.is("log.filter(e => e.type === 'keydown' && e.key === 'Control').length", 4)
			p.does("key", sel("#field", "value", "Enter"))
			p.noted(strings.TrimSuffix(strings.Repeat("shortcut,", strings.Count(p.notes(), "shortcut")), ",") + ",submitted")
			p.does("fill", sel("#area", "value", "abc"))
			p.does("press", m{"value": "Backspace", "count": 2})
			p.is("area.value", "a")
			p.does("press", m{"value": "Control+a"})
			p.does("press", m{"value": "z"})
			p.is("area.value", "z")
		},
		"scrolling brings into view, goes by pixels and to the ends": func(c *client) {
			p := c.open("/pages/tall")
			p.does("scroll", sel("#last"))
			p.is("last.getBoundingClientRect().top > 0 && last.getBoundingClientRect().top < innerHeight", true)
			p.does("scroll", sel("body", "value", "top"))
			p.is("scrollY", 0)
			out := p.does("scroll", sel("body", "value", 200))
			p.is("scrollY", 200)
			if number(out["moved"].(m)["y"]) != 200 {
				c.t.Errorf("it gave %v", out)
			}
			p.does("scroll", sel("body", "value", "bottom"))
			p.is("Math.round(scrollY + innerHeight)", 3000)
			p = c.open("/pages/offscreen")
			p.does("scroll", sel("#box", "value", 300))
			p.is("box.scrollTop + ' ' + scrollY", "300 0")
		},
		"drags go by pointer events and by HTML's": func(c *client) {
			p := c.open("/pages/drag-pointer")
			p.does("drag", sel("#ball", "to", m{"selector": "#goal"}))
			p.is("log.findLast(e => e.type === 'dropped').inside", true)
			p = c.open("/pages/drag-html5")
			p.does("drag", m{"ref": p.ref("button", "Card"), "to": m{"selector": "#bin"}})
			p.is("log.findLast(e => e.type === 'dropped').data + bin.contains(card)", "cardtrue")
			p.is("log.filter(e => e.type === 'dragend').length", 1)
			p = c.open("/pages/drag-html5")
			if out := p.fails("wrong_element", "", "drag", sel("#card", "to", m{"selector": "#closed"})); out["which"] != "to" {
				c.t.Errorf("it gave %v", out)
			}
			p.is("bin.contains(card) || log.some(e => e.type === 'drop')", false)
			p.does("click", sel("#card")) // the pointer is free again
			if out := p.fails("stale_or_missing", "", "drag", sel("#card", "to", m{"selector": "#nowhere"}, "timeout_ms", 0)); out["which"] != "to" {
				c.t.Errorf("it gave %v", out)
			}
			p.fails("stale_or_missing", "unknown", "drag", sel("#card", "to", m{"ref": "@e1"}))
			p.js(`card.addEventListener("dragstart", () => setTimeout(() => bin.remove())); 1`)
			p.fails("wrong_element", "", "drag", sel("#card", "to", m{"selector": "#bin"}))
			for _, taking := range []string{
				`<div id=z style="width:99px;height:99px" ondragover="event.preventDefault()" ondrop="window.drops = 1"></div>
				<script>addEventListener("drop", (e) => { e.preventDefault(); e.stopImmediatePropagation(); window.drops = 1 }, true)</script>`,
				`<div id=z style="display:inline-block"><iframe style="width:99px;height:99px" srcdoc="<body ondragover='event.preventDefault()' ondrop='parent.drops = 1' style='height:90px'>in"></iframe></div>`,
				`<textarea id=z oninput="window.drops = 1"></textarea>`,
				`<div id=z style="width:99px;height:99px" ondragover="event.preventDefault(); event.dataTransfer.dropEffect = 'move'" ondrop="a.remove(); window.drops = 1"></div>`,
			} {
				p := c.page(`<div id=a draggable=true ondragstart="event.dataTransfer.setData('text/plain', 'x')" style="width:40px;height:40px">A</div>` + taking)
				if strings.Contains(taking, "iframe") {
					p.until(m{"text": "in"})
				}
				p.does("drag", sel("#a", "to", m{"selector": "#z"}))
				p.is("window.drops", 1)
			}
			p = c.page(`<p id=outer>Outer</p><iframe srcdoc="<p id=inner>Inner</p>"></iframe>`)
			p.until(m{"selector": "#inner"})
			for from, to := range map[string]string{"#outer": "#inner", "#inner": "#outer"} {
				if out := p.fails("wrong_element", "both must be in the same frame", "drag", sel(from, "to", m{"selector": to}, "timeout_ms", 200)); out["which"] != "to" {
					c.t.Errorf("it gave %v", out)
				}
			}
		},
	})
}

func TestUploads(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.txt"), filepath.Join(dir, "two.txt")
	for _, file := range []string{one, two} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chosen := "(log.findLast(e => e.type === 'files')?.names || []).join()"
	group(t, "", map[string]func(c *client){
		"files go to an input, shown or hidden, and to the chooser of a button": func(c *client) {
			for page, selectors := range map[string][]string{
				"upload-visible": {"#file"}, "upload-hidden": {"#file", "#upload", "#label"}, "upload-dynamic": {"#upload"}, "upload-multiple": {"#file"},
			} {
				for _, s := range selectors {
					p := c.open("/pages/" + page)
					p.does("upload", sel(s, "files", []string{one}))
					p.until(m{"function": chosen + " === 'one.txt'"})
				}
			}
			p := c.open("/pages/upload-multiple")
			p.does("upload", sel("#file", "files", []string{one, two}))
			p.is(chosen, "one.txt,two.txt")
		},
		"what takes no files, or not these, is refused and lives on": func(c *client) {
			p := c.open("/pages/upload-visible")
			p.fails("wrong_element", "takes one file", "upload", sel("#file", "files", []string{one, two}))
			for _, s := range []string{"#text", "#button"} {
				p.fails("wrong_element", "", "upload", sel(s, "files", []string{one}, "timeout_ms", 0))
			}
			c.refused("invalid_params", "page.interact", p.with(sel("#file", "action", "upload", "files", []string{filepath.Join(dir, "none")})))
			c.refused("invalid_params", "page.interact", p.with(sel("#file", "action", "upload", "files", []string{"one.txt"})))
			c.refused("invalid_params", "page.interact", p.with(sel("#file", "action", "upload", "files", []string{dir})))
			p.is(chosen, "")
			p = c.open("/pages/upload-hidden")
			p.fails("wrong_element", "takes one file", "upload", sel("#upload", "files", []string{one, two}))
			p.does("upload", sel("#upload", "files", []string{two}))
			p.until(m{"function": chosen + " === 'two.txt'"})
		},
	})
}

func TestAListIsForSelectAlone(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"another action says that it is of a wrong type": func(c *client) {
			p := c.open("/pages/form")
			for _, action := range []string{"fill", "type", "press"} {
				e := c.refused("invalid_param_type", "page.interact", p.with(sel("input", "action", action, "value", []string{"a"})))
				if strings.Contains(e.Message, "missing") || !strings.Contains(e.Message, "/value") {
					c.t.Errorf("%s: %v", action, e)
				}
			}
		},
	})
}
