package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk"
)

// written is a new tab whose document is html, as it is: without a doctype it is
// in quirks mode.
func (c *client) written(html string) *tab {
	c.t.Helper()
	p := c.open("/pages/blank")
	p.js("document.open(); document.write(" + quote(html) + "); document.close(); 1")
	return p
}

func TestEventsThatAPageKeepsFromUsAreSentOnce(t *testing.T) {
	const page = `<!doctype html><button id=t>Buy</button><input id=b type=checkbox><script>
		var seen = {};
		for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"]) {
			window.addEventListener(type, (e) => {
				seen[type] = (seen[type] || 0) + 1;
				if (%s.includes(type)) e.stopImmediatePropagation();
			}, true);
		}</script>`
	tests := map[string]func(c *client){}
	for _, stopped := range []string{
		`["pointerdown"]`, `["mousedown"]`, `["pointerdown","mousedown"]`, `["pointerdown","mousedown","mouseup","click"]`,
		`["pointerdown","mousedown","pointerup","mouseup","click","dblclick","auxclick","contextmenu"]`,
	} {
		tests[stopped] = func(c *client) {
			for _, act := range []struct {
				action, at string
				more       []any
				presses    int
			}{
				{"click", "#t", nil, 1}, {"click", "#t", []any{"timeout_ms", 0}, 1}, {"click", "#t", []any{"button", "right"}, 1},
				{"click", "#t", []any{"count", 3}, 3}, {"dblclick", "#t", nil, 2}, {"check", "#b", nil, 1},
			} {
				p := c.written(fmt.Sprintf(page, stopped))
				out := p.does(act.action, sel(act.at, act.more...))
				if hit, _ := out["hit"].(m); "#"+fmt.Sprint(hit["id"]) != act.at {
					c.t.Errorf("%s %v: %v", act.action, act.more, out)
				}
				p.is("seen.pointerdown", act.presses)
			}
		}
	}
	group(t, "", tests)
}

func TestWhatThePageMakesOfAnElementDuringTheAction(t *testing.T) {
	tests := map[string]func(c *client){
		"a pointer that hovers is told of in quirks mode too": func(c *client) {
			p := c.written(`<button id=t>b</button> <i id=i>i</i> <a id=a href="#">a</a>`)
			p.is("document.compatMode", "BackCompat")
			for _, at := range []string{"#t", "#i", "#a"} {
				p.does("hover", sel(at))
			}
		},
		"a field that a key leads on from is filled, and what has the focus is told": func(c *client) {
			p := c.page(`<input id=a maxlength=1 oninput="b.focus()"><input id=b maxlength=1 oninput="z.focus()"><input id=z maxlength=1>`)
			out := p.does("type", sel("#a", "value", "123"))
			if focus, _ := out["focus"].(m); out["value"] != "1" || focus["id"] != "z" {
				c.t.Errorf("%v", out)
			}
			p.is("a.value + b.value + z.value", "123")
			p = c.page(`<textarea id=a></textarea><input id=z>`)
			out = p.does("type", sel("#a", "value", "k\tz"))
			if focus, _ := out["focus"].(m); out["value"] != "k" || focus["id"] != "z" {
				c.t.Errorf("%v", out)
			}
			p.is("z.value", "z")
		},
		"a field that its first key leads on from is filled, whatever has the focus then": func(c *client) {
			boxes := c.page(strings.Repeat(`<input onkeydown="event.preventDefault(); value = event.key; nextElementSibling.focus()">`, 3) + `<button onclick="value = 'sent'">Send</button>`)
			boxes.does("type", sel("input", "value", "123 "))
			boxes.is(`[...document.querySelectorAll("input, button")].map((e) => e.value).join()`, "1,2,3,sent")
			p := c.page(`<textarea id=a></textarea><input id=z><button id=b onclick="value = 'sent'">Send</button>`)
			out := p.does("type", sel("#a", "value", "\tz\t "))
			if focus, _ := out["focus"].(m); out["value"] != "" || focus["id"] != "b" {
				c.t.Errorf("%v", out)
			}
			p.is("a.value + z.value + b.value", "zsent")
		},
		"a text without keys is typed once when the focus comes back": func(c *client) {
			p := c.page(`<input id=a><input id=z>`)
			p.js(`let taken = false;
				a.addEventListener("focus", () => { if (!taken) { taken = true; queueMicrotask(() => z.focus()) } });
				addEventListener("beforeinput", () => a.focus(), true); 1`)
			if out := p.does("type", sel("#a", "value", "äöü")); out["value"] != "äöü" {
				c.t.Errorf("%v", out)
			}
			p.is("z.value", "")
			p = c.page(`<input id=a>`) // then text comes by itself, and gives it the focus
			p.js(`a.addEventListener("focus", () => queueMicrotask(() => a.blur())); 1`)
			p.do("type", sel("#a", "value", "Ä?", "timeout_ms", 200))
			p.is("a.value", "Ä")
		},
		"the focus is taken, and the field is removed": func(c *client) {
			for _, other := range []string{`<button id=z onclick="value = 'pressed'">Accept</button>`, `<input id=z>`} {
				p := c.page(`<input id=a>` + other)
				p.js(`a.addEventListener("focus", () => queueMicrotask(() => { z.focus(); a.remove() })); 1`)
				if out := p.do("type", sel("#a", "value", "x y", "timeout_ms", 200)); out["ok"] != false {
					c.t.Errorf("beside %s: %v", other, out)
				}
				p.is("z.value", "")
			}
		},
	}
	for _, key := range []string{"Enter", "Space", "Control+a", "x", "Shift"} {
		const met = `window.met = []; for (const type of ["keydown", "keypress", "keyup", "click"]) z.addEventListener(type, () => met.push(type));
			window.begun = []; a.addEventListener("keydown", (e) => begun.push(e.key)); `
		tests["the focus is taken before "+key] = func(c *client) {
			p := c.page(`<input id=a><button id=z>Accept</button>`)
			p.js(met + `a.addEventListener("focus", () => queueMicrotask(() => z.focus())); 1`)
			p.fails("covered", "focus_moved", "press", sel("#a", "value", key, "timeout_ms", 100))
			p.is("met.join() + begun.join()", "")
		}
		for where, steal := range map[string]string{
			"the window": `addEventListener("keydown", () => z.focus(), true)`, "its element": `a.addEventListener("keydown", () => z.focus())`,
			"its element, which goes": `a.addEventListener("keydown", () => { z.focus(); a.remove() })`,
		} {
			tests["the focus is taken when "+key+" comes down in "+where] = func(c *client) {
				p := c.page(`<input id=a><button id=z>Accept</button>`)
				p.js(met + steal + `; 1`)
				switch out := p.do("press", sel("#a", "value", key)); key {
				case "Control+a": // a modifier does nothing by itself
					if out["ok"] != false || out["reason"] != "focus_moved" {
						c.t.Errorf("%v", out)
					}
				case "Shift":
					if out["ok"] != true || out["partly"] != nil {
						c.t.Errorf("%v", out)
					}
				default:
					if hit, _ := out["hit"].(m); out["ok"] != true || out["partly"] != true || hit["id"] != "a" {
						c.t.Errorf("%v", out)
					}
				}
				p.is("begun.length", 1)
				p.is(`met.filter((type) => type != "keyup").join()`, "")
			}
		}
	}
	for _, action := range []string{"press", "type"} {
		tests["a key that came down in an element is not sent to the next, "+action] = func(c *client) {
			p := c.page(`<input><input>`)
			p.js(`window.begun = 0; addEventListener("keydown", (e) => { begun++; e.target.blur(); e.target.remove() }); 1`)
			p.do(action, sel("input", "value", "x"))
			p.is("begun + ' ' + document.querySelectorAll('input').length", "1 1")
		}
	}
	tests["a field is cleared by a key that reaches nothing else"] = func(c *client) {
		p := c.page(`<input id=a value=x><input id=z value=y>`)
		p.js(`window.met = 0; z.addEventListener("keydown", () => met++); a.addEventListener("focus", () => queueMicrotask(() => z.focus())); 1`)
		p.fails("covered", "focus_moved", "clear", sel("#a", "timeout_ms", 100))
		p.is("met + a.value + z.value", "0xy")
		p = c.page(`<input id=a value=x><input id=z value=y>`)
		p.js(`window.met = 0; a.addEventListener("keydown", () => { met++; z.focus() }); 1`)
		p.fails("covered", "focus_moved", "clear", sel("#a"))
		p.is("met + a.value + z.value", "1xy")
	}
	tests["keys that the page keeps from others reach their element"] = func(c *client) {
		p := c.page(`<input id=a>`)
		p.js(`window.met = ""; for (const type of ["keydown", "keypress", "beforeinput", "input", "keyup"]) {
			addEventListener(type, (e) => { met += e.key ?? ""; e.stopImmediatePropagation() }, true) } 1`)
		if out := p.does("type", sel("#a", "value", strings.Repeat("x", 70))); out["value"] != strings.Repeat("x", 70) {
			c.t.Errorf("%v", out)
		}
		p.does("fill", sel("#a", "value", "y"))
		p.does("press", sel("#a", "value", "z"))
		p.is("a.value", "yz")
	}
	tests["keys lead on from their element"] = func(c *client) {
		p := c.page(`<input type=radio name=r id=a checked><input type=radio name=r id=b><input type=radio name=r id=d><button id=e onclick="value='pressed'">E</button>`)
		p.does("press", sel("#a", "value", "ArrowRight", "count", 2))
		p.is("document.activeElement.id", "d")
		p.does("press", sel("#d", "value", "Tab"))
		p.does("press", sel("#e", "value", "Enter"))
		p.is("e.value", "pressed")
	}
	tests["a key that leads from a frame into the page around it is not told as typed"] = func(c *client) {
		p := c.page(`<input id=o><iframe id=f srcdoc="<input id=i onkeydown='parent.o.focus()'>"></iframe>`)
		p.until(m{"selector": "#i"})
		p.fails("covered", "not_reached", "type", sel("#i", "value", "xyz"))
		if out := p.does("press", sel("#i", "value", "x")); out["partly"] != true {
			c.t.Errorf("%v", out)
		}
	}
	tests["a key that leads into a frame of its page is not told as typed"] = func(c *client) {
		for _, src := range []string{`srcdoc="<input id=i>"`, `src="http://` + strings.Replace(strings.TrimPrefix(site, "http://"), "127.0.0.1", "localhost", 1) + `/pages/blank"`} {
			p := c.page(`<div tabindex=0 id=d><input id=o><iframe id=f ` + src + `></iframe></div>`)
			p.until(m{"load": true})
			p.js(`window.lead = () => f.focus(); d.addEventListener("keydown", () => lead()); 1`)
			for _, tt := range [][3]string{{"type", "#o", "xyz"}, {"press", "#o", "Control+a"}, {"press", "#d", "Control+a"}} {
				// The reason says whether the page has seen them: focus_moved or not_reached.
				if out := p.do(tt[0], sel(tt[1], "value", tt[2])); out["error"] != "covered" {
					c.t.Errorf("%s, %v: %v", src, tt, out)
				}
			}
			for _, at := range []string{"#o", "#d"} {
				if out := p.does("press", sel(at, "value", "x")); out["partly"] != true {
					c.t.Errorf("%s, %s: %v", src, at, out)
				}
			}
			p.js(`lead = () => 0; 1`)
			for _, key := range []string{"x", "Control+a", "Shift"} {
				if out := p.does("press", sel("#d", "value", key)); out["partly"] != nil {
					c.t.Errorf("%s: %v", key, out)
				}
			}
		}
	}
	for what, press := range map[string]string{
		"moved":   `a.style.transform = "translate(300px, 0)"`,
		"removed": `a.remove()`,
		"covered": `document.body.insertAdjacentHTML("beforeend", "<div style='position:fixed;inset:0'></div>")`,
	} {
		tests["an element that is "+what+" when it is pressed got part of a click"] = func(c *client) {
			p := c.page(`<button id=a>Press</button>`)
			p.js(fmt.Sprintf(`window.clicks = 0; a.onclick = () => clicks++; a.onmousedown = () => { %s }; 1`, press))
			if out := p.does("click", sel("#a")); out["partly"] != true {
				c.t.Errorf("%v", out)
			}
			p.is("clicks", 0)
			p = c.page(`<button id=a>Press</button>`)
			p.js(fmt.Sprintf(`window.clicks = 0; a.onclick = () => { clicks++; %s }; 1`, press))
			if out := p.does("click", sel("#a")); out["partly"] != nil {
				c.t.Errorf("of a whole click: %v", out)
			}
			p.is("clicks", 1)
		}
	}
	for _, tt := range []struct{ what, press, action string }{
		{"is removed when it is let go of", `a.onmouseup = () => a.remove()`, "click"},
		{"is replaced when it is let go of", `a.onmouseup = () => a.replaceWith(a.cloneNode(true))`, "click"},
		{"is held by what is around it", `document.body.addEventListener("pointerdown", (e) => document.body.setPointerCapture(e.pointerId))`, "click"},
		{"is removed when it is let go of again", `let n = 0; a.onmouseup = () => { if (++n == 2) a.remove() }`, "dblclick"},
		{"moves when it is pressed again", `let n = 0; a.onmousedown = () => { if (++n == 2) a.style.transform = "translate(300px, 0)" }`, "dblclick"},
		{"moves while it is pressed first", `a.onmousedown = () => { a.style.marginLeft = "300px" }; a.onmouseup = document.onmouseup = () => { a.style.marginLeft = 0 }`, "dblclick"},
	} {
		tests["an element that "+tt.what+" got part of a "+tt.action] = func(c *client) {
			p := c.page(`<button id=a>Press</button>`)
			p.js(`window.clicks = 0; a.addEventListener("click", () => clicks++); ` + tt.press + `; 1`)
			if out := p.does(tt.action, sel("#a")); out["partly"] != true {
				c.t.Errorf("%v", out)
			}
			p.is(fmt.Sprintf("clicks < %d", map[string]int{"click": 1, "dblclick": 2}[tt.action]), true)
		}
	}
	tests["a box that the page removes is judged by what was clicked"] = func(c *client) {
		for _, box := range []string{`<input type=checkbox>`, `<span role=checkbox tabindex=0 aria-checked=false>x</span>`} {
			row := "<li>" + box + "</li>"
			p := c.page("<ul>" + row + row + "</ul>")
			p.js(`for (const li of document.querySelectorAll("li")) li.firstChild.onclick = () => li.remove(); 1`)
			for range 2 {
				p.does("check", sel("li > *"))
			}
			p.is(`document.querySelectorAll("li").length`, 0)
			p = c.page(box)
			p.js(`document.body.querySelector("input, span").onclick = (e) => e.target.remove(); 1`)
			all := p.snapshot(nil)
			p.does("check", m{"ref": all[0].Ref})
		}
	}
	tests["a choice that the page takes back is told"] = func(c *client) {
		p := c.page(`<select id=a onchange="value = 'A'"><option>A<option>B</select>`)
		if out := p.does("select", sel("#a", "value", "B")); out["value"] != "A" || out["matches"] != false {
			c.t.Errorf("%v", out)
		}
		p = c.page(`<select id=a><option>A<option>B</select>`)
		if out := p.does("select", sel("#a", "value", "B")); out["value"] != "B" || out["matches"] != nil {
			c.t.Errorf("%v", out)
		}
	}
	tests["what our code does itself leads on as input does"] = func(c *client) {
		for range 10 {
			p := c.page(`<select id=a onchange="location.href = '/pages/blank?' + value"><option>A<option>B</select><input id=d type=date onchange="location.href = '/pages/blank?' + value">`)
			if out := p.does("select", sel("#a", "value", "B")); out["navigated"] != true || out["url"] != site+"/pages/blank?B" {
				c.t.Errorf("%v", out)
			}
			p = c.page(`<input id=d type=date onchange="location.href = '/pages/blank?' + value">`)
			if out := p.does("fill", sel("#d", "value", "2026-02-03")); out["navigated"] != true {
				c.t.Errorf("%v", out)
			}
		}
	}
	for _, action := range []string{"fill", "type", "press"} {
		for _, text := range []string{"a", "secret text", strings.Repeat("secret", 20)} {
			if action == "press" && text != "a" {
				continue
			}
			tests[fmt.Sprintf("the focus is given to another site's frame, %s of %d", action, len(text))] = func(c *client) {
				p := c.page(`<input id=a><iframe id=f></iframe>`)
				p.js(`new Promise((done) => { f.onload = () => done(1); f.src = "http://" + location.host.replace("127.0.0.1", "localhost") + "/pages/frame-child?name=Other" })`)
				p.js(`a.addEventListener("focus", () => queueMicrotask(() => { a.blur(); f.contentWindow.focus(); window.after?.() })); 1`)
				for _, after := range []string{"", "a.remove()", "a.type = 'hidden'"} {
					p.js(fmt.Sprintf("window.field ??= a; document.body.prepend(field); field.type = 'text'; window.after = () => { %s }; 1", after))
					out := p.do(action, sel("#a", "value", text, "timeout_ms", 500))
					if out["ok"] != false || out["error"] != "covered" {
						c.t.Errorf("after %q %v", after, out)
					}
					p.is("field.value", "")
				}
			}
		}
	}
	for what, change := range map[string]string{
		"its name": `t.textContent = "Delete B"`, "its role": `t.setAttribute("role", "link")`, "its label": `t.setAttribute("aria-label", "Delete B")`,
	} {
		for _, event := range []string{"mousemove", "mouseover", "pointerenter"} {
			tests[what+" changes in "+event] = func(c *client) {
				p := c.page(`<button id=t>Delete A</button>`)
				ref := p.ref("button", "Delete A")
				p.js(fmt.Sprintf(`window.clicks = 0; t.addEventListener(%q, () => { %s }); t.addEventListener("click", () => clicks++); 1`, event, change))
				p.fails("stale_or_missing", "changed", "click", m{"ref": ref})
				p.is("clicks", 0)
			}
		}
	}
	for _, event := range []string{"focus", "beforeinput", "input", "keydown"} {
		for _, action := range []string{"fill", "type"} {
			if event == "keydown" && action == "fill" {
				continue // it presses no key
			}
			tests["a password is shown in "+event+" of "+action] = func(c *client) {
				p := c.page(`<input id=a type=password aria-label=Secret>`)
				p.js(fmt.Sprintf(`a.addEventListener(%q, () => { a.type = "text" }); 1`, event))
				out := p.does(action, sel("#a", "value", "hunter2"))
				if out["value"] != nil || out["secret"] != true {
					c.t.Errorf("it is told: %v", out)
				}
				p.is("a.value", "hunter2")
				p.is("a.type", "text")
				for method, params := range map[string]m{"page.snapshot": {}, "page.inspect": {"kind": "forms"}} {
					var all any
					c.call(method, p.with(params), &all)
					if strings.Contains(fmt.Sprint(all), "hunter2") {
						c.t.Errorf("%s tells it: %v", method, all)
					}
				}
			}
		}
	}
	for what, steal := range map[string]string{
		"in keydown":    `a.addEventListener("keydown", () => z.focus())`,
		"when it comes": `a.addEventListener("focus", () => queueMicrotask(() => z.focus()))`,
	} {
		tests["the focus is taken "+what] = func(c *client) {
			p := c.page(`<input id=a><input id=z>`)
			p.js("window.begun = 0; a.addEventListener('keydown', () => begun++);" + steal + "; 1")
			out := p.do("type", sel("#a", "value", strings.Repeat("secret", 20), "timeout_ms", 200))
			if out["ok"] != false || out["reason"] != "focus_moved" {
				c.t.Errorf("%v", out)
			}
			p.is("a.value + z.value", "")
			p.is("begun < 2", true)
		}
	}
	for what, other := range map[string]struct{ html, take string }{
		"a button":   {`<button id=z>Accept</button>`, `z.focus()`},
		"a link":     {`<a id=z href="#went">Accept</a>`, `z.focus()`},
		"a checkbox": {`<input id=z type=checkbox>`, `z.focus()`},
		"the page":   {``, `a.blur()`},
	} {
		for when, steal := range map[string]string{
			"in keydown":    `a.addEventListener("keydown", () => %s)`,
			"when it comes": `a.addEventListener("focus", () => queueMicrotask(() => %s))`,
		} {
			tests["the focus is given to "+what+" "+when] = func(c *client) {
				p := c.page(`<input id=a>` + other.html)
				p.js(fmt.Sprintf(steal, other.take) + `; window.met = [];
					for (const type of ["keydown", "keypress", "keyup", "input", "click"]) {
						document.addEventListener(type, (e) => { if (e.target !== a) met.push(type + " " + e.target.localName) }, true);
					} 1`)
				for _, text := range []string{"x y\nz", " \nz", "\n z"} {
					if out := p.do("type", sel("#a", "value", text, "timeout_ms", 50)); out["ok"] != false || out["reason"] != "focus_moved" {
						c.t.Errorf("%q: %v", text, out)
					}
				}
				p.is("a.value + met + location.hash", "")
			}
		}
	}
	group(t, "", tests)
}

func TestAClickThatNeverReturnsHoldsNoOtherCallUpForLong(t *testing.T) {
	group(t, "", map[string]func(c *client){"": func(c *client) {
		p := c.page(`<button id=t onclick="for (;;);">x</button>`)
		begun := time.Now()
		clicked := make(chan error, 1)
		go func() { clicked <- c.try("page.interact", p.with(m{"selector": "#t", "action": "click"}), nil) }()
		for p.health().Responsive {
			if time.Since(begun) > patience {
				c.t.Fatal("the page is not busy")
			}
		}
		c.refused("timeout", "browser.navigate", p.with(m{"uri": "about:blank", "timeout_ms": 0}))
		if took := time.Since(begun); took > 15*time.Second {
			c.t.Errorf("a navigation waited %v for its turn", took)
		}
		var e *sdk.Error
		if err := <-clicked; !errors.As(err, &e) || e.Code != "timeout" {
			c.t.Errorf("the click ended with %v", err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			c.t.Errorf("the click took %v", took)
		}
	}})
}
