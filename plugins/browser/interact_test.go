package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestClicks(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a click is trusted, in the order of a person's, and happens once": func(c *client) {
			p := c.open("/pages/buttons")
			out := p.does("click", m{"ref": p.ref("button", "Clicked 0")})
			p.is(`log.filter(e => /pointer|mouse|click/.test(e.type)).map(e => e.type + ' ' + e.isTrusted).join()`,
				"pointerdown true,mousedown true,pointerup true,mouseup true,click true")
			if hit := out["hit"].(m); hit["id"] != "counter" || hit["role"] != "button" {
				c.t.Errorf("it hit %v", hit)
			}
			p.is("counter.textContent", "Clicked 1")
		},
		"double clicks, other buttons, modifiers and counts are what the page sees": func(c *client) {
			p := c.open("/pages/buttons")
			p.does("dblclick", sel("#twice"))
			p.does("click", sel("#menu", "button", "right"))
			p.noted("twice,menu")
			p.does("click", sel("#plain", "modifiers", []string{"Control", "shift"}))
			p.is(`(e => [e.ctrl, e.shift, e.alt, e.meta].join())(log.findLast(e => e.type === 'click'))`, "true,true,false,false")
			p.does("click", sel("#plain", "button", "middle"))
			p.is(`log.findLast(e => e.type === 'auxclick').button`, 1)
			p.does("click", sel("#plain", "count", 3))
			p.is(`log.findLast(e => e.type === 'click').detail`, 3)
			p.does("click", sel("#plain", "position", m{"x": 3, "y": 4}))
			p.is(`(e => (r => Math.abs(e.x - r.x - 3) < 1 && Math.abs(e.y - r.y - 4) < 1)(plain.getBoundingClientRect()))(log.findLast(e => e.type === 'click'))`, true)
		},
		"hover, focus and blur do that and no more": func(c *client) {
			p := c.open("/pages/buttons")
			p.does("hover", sel("#counter"))
			p.is("counter.matches(':hover')", true)
			p.does("focus", sel("#link"))
			p.is("document.activeElement.id", "link")
			p.does("blur", nil)
			p.is("document.activeElement === document.body", true)
			p.is("log.filter(e => /click|press|down/.test(e.type)).length", 0)
		},
		"what is disabled, read-only or not editable is refused": func(c *client) {
			p := c.open("/pages/buttons")
			now := func(s string, more ...any) m { return sel(s, append([]any{"timeout_ms", 0}, more...)...) }
			p.fails("disabled", "", "click", now("#off"))
			p.fails("disabled", "", "click", now("#aria-off"))
			p.fails("not_editable", "", "fill", now("#plain", "value", "x"))
			p.fails("wrong_element", "", "check", now("#plain"))
			p.fails("wrong_element", "", "select", now("#plain", "value", "x"))
			p.is("log.length", 0)
			p = c.open("/pages/disabled-fieldset")
			for _, s := range []string{"#inside", "#button"} {
				p.fails("disabled", "", "click", now(s))
			}
			p.fails("disabled", "", "fill", now("#inside", "value", "x"))
			p.does("fill", sel("#legend", "value", "free")) // a legend is not disabled with its set
			p.does("click", sel("#waits"))
			p.noted("waits")
			p = c.open("/pages/readonly")
			for _, s := range []string{"#fixed", "#area", "#aria", "#date"} {
				p.fails("readonly", "", "fill", now(s, "value", "2027-01-01"))
				p.fails("readonly", "", "clear", now(s))
				p.fails("readonly", "", "type", now(s, "value", "x"))
			}
			p.fails("disabled", "", "fill", now("#off", "value", "x"))
			p.fails("not_editable", "", "type", now("#button", "value", "x"))
			p.is("[fixed, area, aria, off, date].map(e => e.value).join()", "stays,stays,says so,stays,2026-01-01")
		},
		"what cannot be met by the pointer is refused, and says what is in the way": func(c *client) {
			now := func(s string) m { return sel(s, "timeout_ms", 0) }
			p := c.open("/pages/overlay")
			for _, action := range []string{"click", "dblclick", "hover"} {
				if by := covered(p.fails("covered", "", action, now("#pay"))); by != "cover" {
					c.t.Errorf("it is covered by %s", by)
				}
			}
			p.does("click", sel("#above"))
			p.noted("")
			p = c.open("/pages/pointer-events-none")
			p.fails("covered", "pointer_events_none", "click", now("#link"))
			p.fails("disabled", "inert", "click", now("#inert"))
			p.noted("")
			p = c.open("/pages/hidden")
			for _, s := range []string{"#none", "#attribute", "#visibility", "#zero", "#content", "#folded"} {
				p.fails("hidden", "", "click", now(s))
			}
			p.does("click", sel("#opacity"))
			p.does("click", sel("#contents"))
			p.does("click", sel("#soon"))
			p.noted("soon")
			p = c.open("/pages/modal#open")
			if by := covered(p.fails("covered", "modal", "click", now("#behind"))); by != "modal" {
				c.t.Errorf("it is covered by %s", by)
			}
			p.does("fill", sel("#field", "value", "in it"))
			p.does("click", sel("#ok"))
			p.does("click", sel("#behind"))
			p.noted("behind")
			p = c.open("/pages/shadow-fills")
			p.does("click", sel("#target"))
			p.noted("target")
		},
		"a page that changes between check and press is not clicked at the wrong place": func(c *client) {
			p := c.open("/pages/move-after-check")
			p.does("click", sel("#keep"))
			p.noted("jumped,keep")
			p = c.open("/pages/overlay-in-mousemove")
			out := p.fails("covered", "", "click", sel("#pay", "timeout_ms", 300))
			if covered(out) != "cover" {
				c.t.Errorf("it gave %v", out)
			}
			p.noted("")
			p = c.open("/pages/document-open")
			p.until(m{"selector": "#new"})
			p.does("click", sel("#new"))
			p.noted("new")
			p.fails("covered", "", "click", sel("#cover-me", "timeout_ms", 300))
			p.noted("new")
		},
		"a page that is busy with a press is waited for": func(c *client) {
			p := c.open("/pages/busy-mousedown?ms=3000")
			p.does("click", sel("#busy"))
			p.noted("clicked")
		},
		"what is out of sight is scrolled to, below and above what sticks": func(c *client) {
			p := c.open("/pages/sticky-header")
			p.does("click", sel("#target"))
			p.does("click", sel("#last"))
			p.does("click", sel("#target")) // from below, where scrolling to it puts it under the header
			p.noted("target,target")
			p = c.open("/pages/straddle")
			p.does("click", sel("#target"))
			p.noted("target")
			p = c.open("/pages/offscreen")
			for _, s := range []string{"below", "right", "inside"} {
				p.does("click", sel("#"+s))
			}
			p.noted("below,right,inside")
			p.fails("hidden", "", "click", sel("#never", "timeout_ms", 0))
			if out := p.do("click", sel("#clipped", "timeout_ms", 0)); out["ok"] != false {
				c.t.Errorf("what is clipped away gave %v", out)
			}
			p.noted("below,right,inside")
		},
		"what moves is clicked when it stands, or where it is": func(c *client) {
			p := c.open("/pages/animated")
			for _, s := range []string{"once", "glow", "script", "ever"} {
				p.does("click", sel("#"+s, "timeout_ms", 2000))
			}
			p.does("click", sel("#start"))
			p.does("click", sel("#transition"))
			p.does("click", sel("#child"))
			p.noted("once,glow,script,ever,transition,child")
		},
		"transformed, zoomed and broken shapes are met": func(c *client) {
			p := c.open("/pages/transforms")
			for _, s := range []string{"rotated", "scaled", "turned", "zoomed", "broken", "middle"} {
				p.does("click", sel("#"+s))
			}
			p.noted("rotated,scaled,turned,zoomed,broken,middle")
		},
		"shadow roots, slots and clickables without a role are clicked": func(c *client) {
			p := c.open("/pages/shadow-open")
			p.does("click", sel("#inner"))
			p.does("fill", sel("#field", "value", "in the shadow"))
			p.noted("inner")
			p.is("host.shadowRoot.getElementById('field').value", "in the shadow")
			p = c.open("/pages/shadow-closed")
			p.does("click", m{"ref": p.ref("button", "Inside")})
			if out := p.does("fill", m{"ref": p.ref("textbox", "Name"), "value": "closed"}); out["value"] != "closed" {
				c.t.Errorf("it gave %v", out)
			}
			p.noted("inner")
			p = c.open("/pages/shadow-nested")
			for _, s := range []string{"one", "two", "three"} {
				p.does("click", m{"ref": p.ref("button", "Level "+s)})
			}
			p.noted("first,second,third")
			p = c.open("/pages/shadow-slots")
			p.does("click", sel("#a"))
			p.does("click", sel("#b"))
			p.fails("hidden", "", "click", sel("#none", "timeout_ms", 0))
			p.noted("a,b")
			p = c.open("/pages/icon-clickables")
			p.does("click", sel("#icon"))
			p.does("click", sel("#card"))
			p.does("click", sel("#li2"))
			p.noted("icon,card,list")
		},
		"elements in frames of every kind are clicked where they are": func(c *client) {
			p := c.open("/pages/frames-same")
			p.does("click", m{"ref": p.ref("button", "One"), "timeout_ms": 10000})
			p.until(m{"function": "log.some(e => e.data === 'inner')"})
			p = c.open("/pages/frames-nested")
			for _, level := range []string{"Level 2", "Level 1", "Level 0"} {
				p.until(m{"load": true})
				p.does("click", m{"ref": p.find("button", level), "timeout_ms": 10000})
			}
			p = c.open("/pages/frames-transformed")
			for _, name := range []string{"Bordered", "Scaled", "Rotated", "Scrolled"} {
				out := p.does("click", m{"ref": p.find("button", name), "timeout_ms": 10000})
				if out["hit"].(m)["name"] != name {
					c.t.Errorf("%s: %v", name, out)
				}
			}
			p = c.open("/pages/frames-covered")
			out := p.fails("covered", "", "click", m{"ref": p.find("button", "Under a cover"), "timeout_ms": 200})
			if covered(out) != "cover" {
				c.t.Errorf("it gave %v", out)
			}
			p.noted("")
		},
		"a selector finds what only a frame has": func(c *client) {
			p := c.open("/pages/frames-cross")
			p.find("button", "Other site")
			p.does("fill", sel("#field", "value", "across"))
			p.does("click", sel("#inner"))
			p.until(m{"function": "log.some(e => e.data === 'inner')"})
		},
	})
}

// find is ref that waits: frames come later than the page.
func (t *tab) find(role, name string) string {
	t.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for _, e := range t.snapshot(nil) {
			if e.Role == role && e.Name == name {
				return e.Ref
			}
		}
		_ = t.try("page.wait", t.with(m{"selector": "#not-there", "timeout_ms": 100}), nil)
	}
	t.t.Fatalf("no %s %q came", role, name)
	return ""
}

func TestRefs(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a ref of another tab, generation or shape is no element's": func(c *client) {
			p, other := c.open("/pages/buttons"), c.open("/pages/buttons")
			ref := other.ref("button", "Save")
			own := p.ref("button", "Save")
			for _, bad := range []string{
				ref, "@e1", "e1_1", "@e01_1", "@e1_01", "@e9999999999999999999_1", "@e1_9999999999999999999", "@e999999_1", "@e0_1", "@e1_0",
				"@e-1_1", "@e1_-1", "@e1_1 ", " @e1_1", "@E1_1", "@e1_1_1", "@", "@e", "@e_", "#plain", "1", own + "0000", "@e\u0661_1", "",
			} {
				p.fails("stale_or_missing", "unknown", "click", m{"ref": bad, "timeout_ms": 0})
			}
			p.is("log.length", 0)
			var v any
			c.call("browser.tab.close", m{"tab_id": other.id}, &v)
			p.fails("stale_or_missing", "unknown", "click", m{"ref": ref})
			c.refused("not_found", "page.interact", m{"tab_id": other.id, "ref": ref, "action": "click"})
			p.does("click", m{"ref": own})
		},
		"a ref ends with its document": func(c *client) {
			p := c.open("/pages/buttons")
			ref := p.ref("button", "Save")
			var v any
			c.call("browser.navigate", p.with(m{"uri": site + "/pages/buttons"}), &v)
			p.fails("stale_or_missing", "navigated", "click", m{"ref": ref})
			p.ref("button", "Save")
			p.fails("stale_or_missing", "navigated", "fill", m{"ref": ref, "value": "x"})
			p.is("log.length", 0)
		},
		"a ref ends with its frame": func(c *client) {
			p := c.open("/pages/frames-same")
			ref := p.find("button", "One")
			p.js("one.remove()")
			p.fails("stale_or_missing", "navigated", "click", m{"ref": ref})
		},
		"an element keeps its ref, whatever comes before it": func(c *client) {
			p := c.open("/pages/insert-before")
			a, b := p.ref("button", "A"), p.ref("button", "B")
			p.does("click", sel("#insert"))
			if now := p.ref("button", "A"); now != a {
				c.t.Errorf("A was %s and is %s", a, now)
			}
			p.does("click", m{"ref": b})
			p.does("click", m{"ref": a})
			p.noted("b,a")
		},
		"a row that is drawn anew or re-used is not the row that was asked for": func(c *client) {
			p := c.open("/pages/rerender-rows")
			a := p.ref("button", "Delete A")
			p.js("render()")
			p.fails("stale_or_missing", "detached", "click", m{"ref": a, "timeout_ms": 0})
			a = p.ref("button", "Delete A")
			p.js("rows.shift(); reuse()")
			p.fails("stale_or_missing", "changed", "click", m{"ref": a, "timeout_ms": 0})
			p.noted("")
		},
		"rows drawn anew all the time are never taken for another": func(c *client) {
			p := c.open("/pages/rerender-rows?ms=20")
			p.js("let n = 0; setInterval(() => { rows.splice(0, 3, ...(++n % 2 ? ['B', 'A', 'C'] : ['A', 'B', 'C'])); }, 13)")
			done := 0
			for range 15 {
				for _, e := range p.snapshot(nil) {
					if e.Name != "Delete A" {
						continue
					}
					out := p.do("click", m{"ref": e.Ref, "timeout_ms": 200})
					if out["ok"] == true {
						done++
					} else if out["error"] != "stale_or_missing" && out["error"] != "covered" {
						c.t.Errorf("it gave %v", out)
					}
				}
			}
			if rows := fmt.Sprint(p.js("log.filter(e => e.type === 'delete').map(e => e.row).join('')")); rows != strings.Repeat("A", len(rows)) || len(rows) < done {
				c.t.Errorf("%d clicks were said to be done, deleted were %q", done, rows)
			}
		},
		"parameters that name nothing are refused, and nothing is typed": func(c *client) {
			p := c.open("/pages/form")
			for _, bad := range []m{
				{"action": "click"}, {"action": "fill", "value": "x"}, {"action": "click", "selector": "input["}, {"action": "fill", "selector": "!!", "value": "x"},
				{"action": "type", "selector": ":nope(", "value": "x"}, {"action": "key", "selector": "#name>>", "value": "x"},
				{"action": "fill", "selector": "#name"}, {"action": "type", "selector": "#name"}, {"action": "press"},
				{"action": "fly", "selector": "#name"}, {"action": "click", "selector": "#name", "modifiers": []string{"Hyper"}},
				{"action": "drag", "selector": "#name"}, {"action": "upload", "selector": "#name"}, {"action": "scroll", "selector": "#name", "value": "far"},
				{"action": "press", "value": "NoSuchKey"}, {"action": "press", "value": "Hyper+a"}, {"action": "press", "value": ""},
			} {
				c.refused("invalid_params", "page.interact", p.with(bad))
			}
			c.refused("invalid_param_type", "page.interact", p.with(m{"action": "fill", "selector": "#name", "value": true}))
			p.fails("stale_or_missing", "missing", "fill", sel("#nowhere", "value", "x", "timeout_ms", 0))
			p.is("log.filter(e => /key|input/.test(e.type)).length", 0)
			out := p.does("fill", m{"ref": "@e1_1", "selector": "#name", "value": "selector wins"})
			if out["value"] != "selector wins" {
				c.t.Errorf("it gave %v", out)
			}
		},
	})
}

func TestWhatAnActionCauses(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a navigation is waited for, and the click is not repeated": func(c *client) {
			p := c.open("/pages/navigate")
			out := p.does("click", sel("#link"))
			if out["navigated"] != true || out["url"] != site+"/pages/blank?link" {
				c.t.Errorf("it gave %v", out)
			}
			p.until(m{"load": true})
			p.is("log.length + ' ' + document.title", "0 Blank") // nothing reached the new document
			p = c.open("/pages/navigate")
			if out := p.does("click", sel("#slow")); out["navigated"] != true {
				c.t.Errorf("it gave %v", out)
			}
			p = c.open("/pages/navigate")
			if out := p.does("click", sel("#now")); out["url"] != site+"/pages/blank?now" {
				c.t.Errorf("it gave %v", out)
			}
			p = c.open("/pages/navigate")
			p.does("fill", sel("#field", "value", "words"))
			out = p.does("key", sel("#field", "value", "Enter"))
			if out["url"] != site+"/pages/blank?q=words" {
				c.t.Errorf("it gave %v", out)
			}
			p = c.open("/pages/navigate")
			p.does("click", sel("#nocontent"))
			if out := p.do("click", sel("#remove")); out["ok"] != true {
				c.t.Errorf("it gave %v", out)
			}
			p = c.open("/pages/pushstate")
			if out := p.does("click", sel("#go")); out["navigated"] != true || out["url"] != site+"/pages/pushstate/inner" {
				c.t.Errorf("it gave %v", out)
			}
			p.until(m{"text": "NEW"})
		},
		"pop-ups, downloads and console errors are in the answer": func(c *client) {
			p := c.open("/pages/popup-blank")
			for _, s := range []string{"#plain", "#opener", "#window"} {
				out := p.does("click", sel(s))
				opened, _ := out["opened"].([]any)
				if len(opened) != 1 {
					c.t.Fatalf("%s: %v", s, out)
				}
				q := &tab{c, number(opened[0])}
				q.until(m{"text": "Opened"})
				var v any
				c.call("browser.tab.close", q.with(nil), &v)
			}
			p = c.open("/pages/downloads")
			out := p.does("click", sel("#plain"))
			d, _ := out["download"].(m)
			if d["filename"] != "report.txt" || d["uri"] != site+"/download?name=report.txt" {
				c.t.Errorf("it gave %v", out)
			}
			for name, click := range map[string]func() m{
				"a link that saves": func() m { return p.does("click", sel("#my-saves")) },
				"what is in it":     func() m { return p.does("click", sel("#my-saves b")) },
				"what is around it": func() m { return p.does("click", sel("#my-around")) },
				"a key":             func() m { return p.does("key", sel("#my-saves", "value", "Enter")) },
				"a slow answer":     func() m { return p.does("click", sel("#my-slow")) },
				"a script's data":   func() m { return p.does("click", sel("#my-data")) },
				"none, prevented":   func() m { return p.does("click", sel("#my-prevented")) },
			} {
				p = c.open("/pages/downloads")
				p.js(`document.body.innerHTML += '<div id=my-around style="width:8em"><a id=my-saves href="/download?name=s.txt" download><b>Save this</b></a></div>' +
					'<p><a id=my-slow href="/slow?ms=700" download>Slow</a><p><a id=my-data download="s.txt" href="data:text/plain,x">Data</a>' +
					'<p><a id=my-prevented href="/download?name=p.txt" download onclick="event.preventDefault()">Prevented</a>'; 1`)
				out := click()
				d, _ := out["download"].(m)
				if none := name == "none, prevented"; none == (d["filename"] != nil) {
					c.t.Errorf("%s gave %v", name, out)
				}
			}
			p = c.open("/pages/buttons")
			p.js(`plain.onclick = () => { console.error('one'); throw new Error('two') }`)
			if out := p.does("click", sel("#plain")); number(out["console_errors"]) != 2 {
				c.t.Errorf("it gave %v", out)
			}
		},
		"a window that closes itself answers": func(c *client) {
			p := c.open("/pages/self-close")
			out := p.does("click", sel("#open"))
			opened, _ := out["opened"].([]any)
			if len(opened) != 1 {
				c.t.Fatalf("it gave %v", out)
			}
			q := &tab{c, number(opened[0])}
			q.until(m{"selector": "#close"})
			q.does("click", sel("#close"))
			c.refused("not_found", "page.snapshot", q.with(nil))
		},
		"a window that closes itself tells what it has done before": func(c *client) {
			p := c.open("/pages/self-close")
			for what, does := range map[string]string{
				"opened": "window.open('/pages/blank')", "dialog": "alert('Bye')", "console_errors": "console.error('Bye')",
			} {
				q := c.only(p.does("click", sel("#open"))["opened"])
				q.until(m{"selector": "#close"})
				q.js("document.getElementById('close').onclick = () => { " + does + "; window.close() }; 1")
				out := q.does("click", sel("#close"))
				if hit, _ := out["hit"].(m); out[what] == nil || hit["id"] != "close" {
					c.t.Errorf("it gave %v", out)
				}
				await(c.t, "it is gone", func() bool { return len(p.opened()) == 0 })
				if what == "opened" {
					next := c.only(out["opened"])
					next.until(m{"function": "document.title === 'Blank'"})
					c.call("browser.tab.close", next.with(nil), nil)
				}
			}
		},
		"two actions on one tab are in order": func(c *client) {
			p := c.open("/pages/form")
			var work sync.WaitGroup
			for _, text := range []string{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)} {
				work.Go(func() {
					var out m
					if err := c.try("page.interact", p.with(sel("#note", "action", "type", "value", text)), &out); err != nil || out["ok"] != true {
						c.t.Errorf("%v %v", out, err)
					}
				})
			}
			work.Wait()
			p.is(`(v => v.replace(/(.)\1*/g, '$1').length + ' ' + v.length)(document.getElementById('note').value)`, "3 120")
		},
	})
}
