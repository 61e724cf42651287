package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk"
)

// raw gives the JSON of a script's value.
func (t *tab) raw(script string) string {
	t.t.Helper()
	params, err := json.Marshal(t.with(m{"script": script}))
	if err != nil {
		t.t.Fatal(err)
	}
	value, err := t.CallRaw(t.t.Context(), "page.javascript", params)
	if err != nil {
		t.t.Errorf("%s: %v", script, err)
	}
	return string(value)
}

// failed gives what is told of an exception.
func (t *tab) failed(script string, more m) (e *sdk.Error, data struct {
	Message, Stack string
	Line, Column   int
	Reason         string
},
) {
	t.t.Helper()
	params := t.with(more)
	params["script"] = script
	e = t.refused("javascript_error", "page.javascript", params)
	raw, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(raw, &data)
	}
	if err != nil {
		t.t.Errorf("%s: data %s: %v", script, raw, err)
	}
	return e, data
}

func TestJavaScript(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"the result is the completion value as JSON has it": func(c *client) {
			p := c.open("/pages/blank")
			for script, want := range map[string]string{
				"undefined": "null", "": "null", "null": "null", "() => 1": "null", "NaN": "null", "-0": "0", "Infinity": "null", "1e21": "1e+21",
				"Symbol('s')": "null", "document.body": "{}", "window": "{}", "document": "{}", "new Map([[1, 2]])": "{}", "new Set([1])": "{}",
				"new Date(0)": `"1970-01-01T00:00:00.000Z"`, "new Date(NaN)": "null", "[undefined, () => 1, NaN, Symbol()]": "[null,null,null,null]",
				"({a: undefined, b: 1})": `{"b":1}`, "({toJSON() { return 'own' }})": `"own"`, "/x/": "{}", "new Error('e')": "{}",
				"'\\ud83d'": `"\ud83d"`, "'👩\\u2028\\0'": "\"👩\u2028\\u0000\"", "1; 2": "2", "let a = 1; a + 1": "2", "if (true) { 5 }": "5",
				"const t = 1; t": "1", "var v = 3; v": "3", "function f() { return 7 } f()": "7", "[1,2].map(x => x * 2)": "[2,4]", "{a: 1}": "1",
				"new Uint8Array([1, 2])": `{"0":1,"1":2}`, "Object(1)": "1", "new Boolean(false)": "false", "// only a comment": "null", "typeof __vant": `"undefined"`,
				"Promise.resolve(5)": "5", "await Promise.resolve(6)": "6", "const x = await 7; return x": "7", "(async () => { await null; return 8 })()": "8",
				"await 1; await 2": "2", "await 5;": "5", "const r = await 5; r": "5", "await 1; [1, 2].map(x => x * 2)": "[2,4]", "await (5)": "5", "const a = await (5); a": "5",
				"const b = await 1\nb + 1\n": "2", "let s = 0; for (const x of [1, 2]) { s += await x } s": "3", "const f = async () => { await 1; return 2 }; await f()": "2",
				"const t = `${await 1};\nx`; t": `"1;\nx"`, "await 1; if (false) await 2\n3": "3", "let q = await 1\n(2)": "!", "await 1; (async () => 7)()": "7", "if (await 0) return 1; 2": "null",
				"const o = await {a: 1}; o // done": `{"a":1}`, "await 1; ({a: 1})": `{"a":1}`, "await 1; function g() {}": "1", "await 1\n[0]": "null", "var await_ = 1; await_": "1", "await null": "null",
				"await main()\n// helper\nasync function main() { return 1 }": "1", "await 1; /* c */ { 5 }": "5", "await 1; let [z] = [3]; z": "3",
				"await 1; let [y] = [3]": "1", "return 9": "9", "if (true) return 4; 5": "4", "[1].map(x => { return x + 1 })": "[2]", "'return'": `"return"`, "return await 3": "3", "'await'": `"await"`, "document.title": `"Blank"`, "this === window": "true",
				"({__proto__: null, a: 1})": `{"a":1}`, "[]": "[]", "throw_ = 1": "1", "\"use strict\"; (function() { return this === undefined })()": "true",
				"document.querySelectorAll('script')": `{"0":{}}`, "new (class { get x() { return 1 } })": "{}", "eval('1+1')": "2",
			} {
				if want == "!" { // one call, which fails
					p.failed(script, nil)
					continue
				}
				got := p.raw(script)
				if script == "'\\ud83d'" {
					if got != `"\ud83d"` && got != "\"\ufffd\"" {
						c.t.Errorf("%s gave %s", script, got)
					}
					continue
				}
				if got != want {
					c.t.Errorf("%s gave %s; want %s", script, got, want)
				}
			}
			for range 2 {
				p.is("const t = 1; class K {}; let u = 2; t + u", 3)
			}
		},
		"a promise is not awaited when that is not asked for": func(c *client) {
			p := c.open("/pages/blank")
			var v any
			c.call("page.javascript", p.with(m{"script": "Promise.resolve(5)", "await": false}), &v)
			if fmt.Sprint(v) != "map[]" {
				c.t.Errorf("a promise is %v", v)
			}
			c.call("page.javascript", p.with(m{"script": "new Promise(() => {})", "await": false}), &v)
			c.call("page.javascript", p.with(m{"script": "// no await here\nreturn document.title", "await": false}), &v)
			if v != "Blank" {
				c.t.Errorf("a script that returns gives %v", v)
			}
		},
		"exceptions tell what, where and the stack": func(c *client) {
			p := c.open("/pages/blank")
			e, d := p.failed("const a = 1;\n  null.x", nil)
			if !strings.Contains(e.Message, "TypeError: Cannot read properties of null") || d.Line != 2 || d.Column != 8 || !strings.Contains(d.Stack, "TypeError") {
				c.t.Errorf("%v %+v", e, d)
			}
			_, d = p.failed("function inner() {\n throw new RangeError('deep') }\ninner()", nil)
			if d.Message != "RangeError: deep" || d.Line != 2 || !strings.Contains(d.Stack, "inner") {
				c.t.Errorf("%+v", d)
			}
			_, d = p.failed("await null;\nthrow new Error('later')", nil)
			if d.Message != "Error: later" || d.Line != 2 {
				c.t.Errorf("%+v", d)
			}
			for script, want := range map[string]string{
				"throw 'a text'": "a text", "throw 5": "5", "throw null": "null", "throw undefined": "undefined", "throw {not: 'an error', get x() { window.ran = 1 }}": `Object {"not": "an error"`, "throw ['a', 1]": `["a", 1]`,
				"Promise.reject(new Error('rejected'))": "Error: rejected", "Promise.reject('why')": "why", "Promise.reject()": "undefined",
				"throw ''": "", "throw false": "false",
				"syntax error here": "SyntaxError", "(": "SyntaxError", "await (": "SyntaxError", "let a=[];for(let i=1;i<600;i++)a=[a];a": "too deep", "let b=[];for(let i=1;i<100000;i++)b=[b];b": "too deep", "1n": "BigInt", "({a: {b: 2n}})": "BigInt",
				"const o = {}; o.o = o; o": "circular", "({toJSON() { throw new Error('in toJSON') }})": "in toJSON", "({get x() { throw new Error('in get') }})": "in get",
				"(function f() { f() })()": "Maximum call stack", "nothere": "ReferenceError: nothere is not defined", "new Array(-1)": "RangeError",
				"'x'.repeat(1e8)": "too large", "throw Object.create(null)": "", "throw new Proxy({}, {get() { throw 1 }})": "", "throw document.body": "",
			} {
				e, _ := p.failed(script, nil)
				if !strings.Contains(e.Message, want) {
					c.t.Errorf("%s gave %q; want %s", script, e.Message, want)
				}
			}
			p.is("typeof ran", "undefined")
			for script, want := range map[string][2]int{
				"null.x": {1, 6}, "await null.x": {1, 12}, "if (1) return null.x": {1, 20}, "await 1;\n null.x": {2, 7}, "await 1; return null.x": {1, 22}, "1;\n x y": {2, 4},
				"\n throw 1": {2, 2}, "throw {a: 1}": {1, 1}, "throw null": {1, 1}, "await 1;\n throw 'x'": {0, 0}, "return 1;\n let a=;": {2, 8}, "(() => {\n throw new Error('e') })()": {2, 8},
			} {
				if _, d := p.failed(script, nil); d.Line != want[0] || d.Column != want[1] || strings.Contains(d.Stack, "script") || strings.Contains(d.Stack, "eval at") {
					c.t.Errorf("%s: %+v; want %v", script, d, want)
				}
			}
			for _, source := range []string{"zzz.y", "(() => zzz.y)()", "x y"} {
				e := c.refused("javascript_error", "page.wait", p.with(m{"function": source}))
				if text := fmt.Sprintf("%s", e.Data); strings.Contains(text, "answer") || strings.Contains(text, "settled") || !strings.Contains(text, `"line":1`) {
					c.t.Errorf("%s: %v", source, text)
				}
			}
		},
		"a script that awaits has a completion value, and leaves no name": func(c *client) {
			p := c.open("/pages/blank")
			before := p.raw("Object.getOwnPropertyNames(window).sort().join()")
			p.js("window.own = 1; 1")
			for range 2 {
				for script, want := range map[string]string{
					"const r = await 5; r": "5", "await 1; [1,2].map(x => x * 2)": "[2,4]", "await 5;": "5", "if (1) { await 5 }": "5", "for (const x of [1, 2]) await x": "2",
					"var v = await 4; v + 1": "5", "var {a, b: [w]} = await {a: 1, b: [2]}; a + w": "3", "await 1; { var deep = 6 } deep": "6", "await 1; var own = 2; own": "2",
					"function f() { return 3 } await 1; f()": "3", "await 1; if (1) { function g() {} } typeof g": `"undefined"`, "class K {} await 1; typeof K": `"function"`,
					"await 1; await Promise.resolve(7)": "7", "await 1; Promise.resolve(8)": "8", "await 1; NaN": "null", "await 1; document.body": "{}", "await 1; -0": "0",
					"'use strict'; await 1; (function() { return this === undefined })()": "true", "if (0) return 1; await 2; return 3": "3", "for await (const x of [1]) x": "1",
					"await 1; undefined": "null", "await 1; typeof $0 + typeof $_": `"undefinedundefined"`, "const h = async () => { return 4 }; await h(); 'return'": `"return"`,
				} {
					if got := p.raw(script); got != want {
						c.t.Errorf("%s gave %s; want %s", script, got, want)
					}
				}
			}
			p.is("own", 1)
			p.js("delete window.own")
			if after := p.raw("Object.getOwnPropertyNames(window).sort().join()"); after != before {
				c.t.Errorf("the page has %s; it had %s", after, before)
			}
			p.is("typeof r + typeof v + typeof f + typeof g + typeof K", strings.Repeat("undefined", 5))
		},
		"a script whose caller has gone is ended": func(c *client) {
			p := c.open("/pages/blank")
			for _, script := range []string{"for (;;);", "await 1; for (;;);"} {
				ctx, cancel := context.WithTimeout(c.t.Context(), 300*time.Millisecond)
				gone, leave := context.WithCancel(context.Background())
				context.AfterFunc(ctx, leave)
				began := time.Now()
				params, _ := json.Marshal(p.with(m{"script": script, "timeout_ms": 25000}))
				if _, err := p.CallRaw(gone, "page.javascript", params); err == nil {
					c.t.Errorf("%s has a value", script)
				}
				cancel()
				p.is("1", 1)
				if took := time.Since(began); took > 15*time.Second {
					c.t.Errorf("%s kept the tab for %v", script, took)
				}
			}
		},
		"a script that waits ends nothing but itself when its time is over": func(c *client) {
			p := c.open("/pages/blank")
			other := make(chan error, 1)
			ready, begun := c.told()
			go func() {
				var v any
				other <- c.try("page.javascript", p.with(m{"script": fmt.Sprintf("await fetch(%q, {mode: 'no-cors'}); for (const end = Date.now() + 3000; Date.now() < end;); 7", ready), "timeout_ms": 20000}), &v)
			}()
			<-begun
			c.refused("timeout", "page.javascript", p.with(m{"script": "await new Promise(() => {})", "timeout_ms": 300}))
			if err := <-other; err != nil {
				c.t.Errorf("the other script: %v", err)
			}
			p.js("setTimeout(() => { for (const end = Date.now() + 3000; Date.now() < end;); window.finished = true }, 200); 1")
			c.refused("timeout", "page.wait", p.with(m{"function": "window.never", "timeout_ms": 400}))
			p.until(m{"function": "window.finished", "timeout_ms": 20000})
		},
		"scripts of one name at once leave none": func(c *client) {
			p := c.open("/pages/blank")
			for range 10 {
				var calls sync.WaitGroup
				for range 4 {
					calls.Go(func() {
						var v any
						if err := c.try("page.javascript", p.with(m{"script": "var total = await 3; total"}), &v); err != nil || fmt.Sprint(v) != "3" {
							c.t.Errorf("%v, %v", v, err)
						}
					})
				}
				calls.Wait()
				p.is("Object.hasOwn(window, 'total')", false)
			}
		},
		"a long script that awaits costs few parses": func(c *client) {
			p := c.open("/pages/blank")
			var long, wide strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&long, "const name%d = %d; ", i, i)
				fmt.Fprintf(&wide, "var name%d = %d; ", i, i)
			}
			p.is("var first = await 1; "+long.String()+"first + name1999", 2000)
			p.js(wide.String() + "await 1") // so many are a function's
			p.is("typeof name1", "undefined")
		},
		"what a script throws is forgotten": func(c *client) {
			p := c.open("/pages/blank")
			for _, script := range []string{"throw keep()", "await 1; throw keep()", "Promise.reject(keep())", "await 1; keep()"} {
				p.js("window.kept = []; window.keep = () => { const o = [new Array(1000)]; kept.push(new WeakRef(o)); return o }; 1")
				for range 5 {
					_ = c.try("page.javascript", p.with(m{"script": script}), nil)
				}
				for range 2 {
					c.call("browser.cdp", p.with(m{"method": "HeapProfiler.collectGarbage"}), nil)
				}
				p.is("kept.length + ' ' + kept.filter((r) => r.deref()).length", "5 0")
			}
		},
		"what does not end is stopped, and the tab goes on": func(c *client) {
			p, other := c.open("/pages/blank"), c.open("/pages/blank")
			for _, script := range []string{"for (;;);", "await null; for (;;);", "new Promise(() => {})", "setTimeout(() => { for (;;); }); new Promise(() => {})", "({toJSON() { for (;;); }})", "while (true) try { for (;;); } catch {}"} {
				began := time.Now()
				c.refused("timeout", "page.javascript", p.with(m{"script": script, "timeout_ms": 500}))
				if took := time.Since(began); took > patience/2 {
					c.t.Errorf("%s took %v", script, took)
				}
				other.is("1", 1)
				p.is("2", 2)
			}
		},
		"a page's policy, its own JSON and eval are not in the way": func(c *client) {
			p := c.open("/csp")
			p.is("1 + 1", 2)
			p.is("await Promise.resolve('awaited')", "awaited")
			p.is("eval('2 + 2')", 4)
			p.does("click", sel("#here"))
			p.does("fill", sel("#field", "value", "x"))
			p.noted("violation,violation") // the page's own two, and none of ours
			p = c.open("/pages/blank")
			p.is("JSON.stringify = () => '1'; ({a: 1})", m{"a": 1.0})
			p.is("JSON.stringify({b: 2})", "1") // it is the page's world: its scripts get what it has put there
			for _, change := range []string{
				"JSON = null", "eval = () => { throw new Error('mine') }", "Function = SyntaxError = RangeError = null", "Node = class { static [Symbol.hasInstance]() { return true } }",
				"Promise.prototype.then = null", "Object.prototype.then = (done) => done('mine')", "performance = undefined", "Date = null", "const P = Promise; Promise = {resolve: (v) => P.resolve(v)}",
				"requestAnimationFrame = () => {}", "setTimeout = clearTimeout = () => {}", "RegExp.prototype.test = RegExp.prototype.exec = () => { throw 1 }",
				"String.prototype.includes = Array.prototype.map = null", "Object.defineProperty(window, 'vant', {get() { throw 1 }})",
			} {
				p.is(change+"; ({a: 1})", m{"a": 1.0})
				p.is("await Promise.resolve(2)", 2)
				p.is("const s = await 2; s", 2)
				p.is("return 3", 3)
				p.until(m{"function": "true"})
				p.until(m{"function": "window.turns = (window.turns ?? 0) + 1, turns % 3 == 0"})
				if e, d := p.failed("const x = 1;\nnothere()", nil); e.Message == "" || d.Line != 2 {
					c.t.Errorf("after %s: %v %+v", change, e, d)
				}
			}
			q := c.open("/pages/frames-same")
			q.js("document.querySelector('iframe').contentWindow.JSON.stringify = () => '1'")
			var v any
			if c.call("page.javascript", q.with(m{"frame": q.frames()[1].ID, "script": "({a: 1})"}), &v); fmt.Sprint(v) != "map[a:1]" {
				c.t.Errorf("in a frame: %v", v)
			}
			p.snapshot(nil)
			p.does("press", m{"value": "a"})
			c.call("page.inspect", p.with(m{"kind": "metadata"}), &v)
		},
		"scripts run in the frame that is named": func(c *client) {
			p := c.open("/pages/frames-cross")
			p.find("button", "Other site")
			var frames []struct{ ID, URI string }
			c.call("page.frames", p.with(nil), &frames)
			var v any
			for _, f := range frames {
				c.call("page.javascript", p.with(m{"script": "location.href", "frame": f.ID}), &v)
				if v != f.URI {
					c.t.Errorf("the frame of %s is at %v", f.URI, v)
				}
			}
			c.refused("not_found", "page.javascript", p.with(m{"script": "1", "frame": "NONE"}))
		},
		"a navigation during the call ends it": func(c *client) {
			p := c.open("/pages/blank")
			_, d := p.failed("location = '/pages/form'; new Promise(() => {})", m{"timeout_ms": 30000})
			if d.Reason != "navigated" {
				c.t.Errorf("%+v", d)
			}
			p.until(m{"text": "I agree"})
		},
	})
}

func TestWaits(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"each kind is seen when it comes": func(c *client) {
			for _, condition := range []m{{"text": "Came late"}, {"selector": "#late"}, {"function": "window.ready"}, {"text": "Going away", "gone": true}, {"selector": "#first", "gone": true}} {
				p := c.open("/pages/wait")
				p.does("click", sel("#go"))
				p.until(condition)
				p.is("ready", true)
			}
			p := c.open("/pages/wait")
			ref := p.ref("button", "Go")
			p.until(m{"ref": ref})
			p.js("setTimeout(() => document.getElementById('go').remove(), 200)")
			p.until(m{"ref": ref, "gone": true})
			p.until(m{"load": true})
			p.until(m{"url": "/pages/wait"})
			p.js("setTimeout(() => history.pushState(0, '', '?there'), 200)")
			p.until(m{"url": "*?there"})
			p = c.open("/pages/portal")
			p.until(m{"text": "Small"})
			p.until(m{"function": "new Promise(done => setTimeout(done, 50, true))"})
		},
		"waits and readings look into closed shadow roots": func(c *client) {
			const closed = `(() => { const r = host.attachShadow({mode: "closed"}); r.innerHTML = "<i>hidden words</i><button id=in>B</button><a href=/l>L</a><div id=inner></div>";
				r.querySelector("#inner").attachShadow({mode: "closed"}).innerHTML = "<b id=deep>deeper</b>"; window.root = r; return 1 })()`
			for _, condition := range []m{{"text": "hidden words"}, {"selector": "#in"}, {"text": "deeper"}, {"selector": "#deep"}} {
				p := c.page(`<p>page</p><div id=host></div>`)
				p.js(closed)
				p.until(condition)
				p.js("setTimeout(() => root.replaceChildren(), 200); 1")
				p.until(m{"text": condition["text"], "selector": condition["selector"], "gone": true})
				p = c.page(`<p>page</p><div id=host></div>`)
				p.js("setTimeout(() => " + closed + ", 300); 1") // it comes while it is waited for
				p.until(condition)
			}
			p := c.page(`<p>page</p><div id=host></div>`)
			p.js(closed)
			if err := c.try("page.wait", p.with(m{"text": "hidden words", "gone": true, "timeout_ms": 100}), nil); err == nil || !strings.Contains(err.Error(), "timeout") {
				c.t.Errorf("what is seen has gone: %v", err)
			}
			for kind, want := range map[string]string{"text": "deeper", "html": "hidden words", "markdown": "hidden words", "links": "/l"} {
				p := c.page(`<p>page</p><div id=host></div>`)
				p.js(closed)
				var out any
				c.call("page.inspect", p.with(m{"kind": kind}), &out)
				if !strings.Contains(fmt.Sprint(out), want) {
					c.t.Errorf("%s: %v", kind, out)
				}
			}
		},
		"a wait goes on in the page's next document": func(c *client) {
			for _, condition := range []m{{"text": "I agree"}, {"selector": "#agree"}, {"function": "document.title === 'Form'"}, {"url": "/pages/form"}} {
				p := c.open("/pages/blank")
				p.js("setTimeout(() => { location = '/pages/form' }, 300)")
				p.until(condition)
			}
			p := c.open("/pages/wait")
			ref := p.ref("button", "Go")
			p.js("setTimeout(() => { location = '/pages/form' }, 300)")
			p.until(m{"ref": ref, "gone": true})
			e := c.refused("invalid_params", "page.wait", p.with(m{"ref": ref, "timeout_ms": 30000}))
			if !strings.Contains(fmt.Sprintf("%s", e.Data), "navigated") {
				c.t.Errorf("it gave %v %v", e, e.Data)
			}
		},
		"what does not come in time is a timeout, 0 looks once": func(c *client) {
			p := c.open("/pages/wait")
			for _, condition := range []m{{"text": "Never"}, {"selector": "#never"}, {"url": "/never"}, {"function": "false"}, {"text": "Going away", "gone": true}} {
				for _, ms := range []int{0, 150} {
					params := m{"timeout_ms": ms}
					for k, v := range condition {
						params[k] = v
					}
					began := time.Now()
					c.refused("timeout", "page.wait", p.with(params))
					if took := time.Since(began); took > patience/4 {
						c.t.Errorf("%v took %v", params, took)
					}
				}
			}
			var v any
			for _, condition := range []m{{"text": "Going away"}, {"selector": "#go"}, {"function": "true"}, {"url": "wait"}, {"load": true}, {"text": "Nowhere", "gone": true}} {
				condition["timeout_ms"] = 0
				c.call("page.wait", p.with(condition), &v)
			}
		},
		"a wait without time leaves the page's timers alone": func(c *client) {
			p := c.open("/slow?ms=0&type=text/html&body=" + url.QueryEscape(`<script>var polls = 0, timer = setInterval(() => polls++, 10)</script>`))
			p.is("timer", 1)
			c.refused("timeout", "page.wait", p.with(m{"function": "false", "timeout_ms": 0}))
			p.until(m{"function": "true", "timeout_ms": 0})
			p.until(m{"function": fmt.Sprintf("polls > %v", p.js("polls")), "timeout_ms": 5000})
		},
		"conditions that mean nothing are refused": func(c *client) {
			p := c.open("/pages/wait")
			for _, bad := range []m{
				{}, {"text": "a", "selector": "b"}, {"url": "a", "load": true}, {"selector": "p["}, {"gone": true}, {"load": true, "gone": true}, {"function": "true", "gone": true},
				{"ref": "@e1"}, {"ref": "@e999999_1"}, {"text": "a", "ref": "@e1_1", "function": "b"},
			} {
				c.refused("invalid_params", "page.wait", p.with(bad))
			}
			c.refused("javascript_error", "page.wait", p.with(m{"function": "nothere.x"}))
			c.refused("javascript_error", "page.wait", p.with(m{"function": "("}))
		},
		"a wait ends with its tab": func(c *client) {
			p := c.open("/pages/wait")
			var v any
			go func() { _ = c.try("browser.tab.close", p.with(nil), &v) }()
			c.refused("not_found", "page.wait", p.with(m{"text": "Never", "timeout_ms": 30000}))
		},
	})
}

func TestInspection(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"each kind shows the page, and one element": func(c *client) {
			p := c.open("/pages/form")
			get := func(params m) (v any) {
				c.t.Helper()
				c.call("page.inspect", p.with(params), &v)
				return v
			}
			if text := get(m{"kind": "text"}).(string); !strings.Contains(text, "I agree") || strings.Contains(text, "<") {
				c.t.Errorf("text: %s", text)
			}
			if html := get(m{"kind": "html"}).(string); !strings.HasPrefix(html, "<!DOCTYPE html><html") || !strings.Contains(html, `id="agree"`) {
				c.t.Errorf("html: %s", html)
			}
			if md := get(m{"kind": "markdown"}).(string); !strings.HasPrefix(md, "# Form") {
				c.t.Errorf("markdown: %s", md)
			}
			forms := get(m{"kind": "forms"}).([]any)
			if len(forms) != 1 || len(forms[0].(m)["fields"].([]any)) != 12 || forms[0].(m)["action"] != site+"/submit" {
				c.t.Errorf("forms: %v", forms)
			}
			if styles := get(m{"kind": "styles", "ref": p.ref("button", "Send")}).(m); styles["display"] != "inline-block" {
				c.t.Errorf("styles: %v", styles)
			}
			send := p.ref("button", "Send")
			if text := get(m{"kind": "text", "ref": send}); text != "Send" {
				c.t.Errorf("text: %v", text)
			}
			if html := get(m{"kind": "html", "ref": send}); html != `<button id="send">Send</button>` {
				c.t.Errorf("html: %v", html)
			}
			p.js("getSelection().selectAllChildren(document.querySelector('h1'))")
			if text := get(m{"kind": "selection"}); text != "Form" {
				c.t.Errorf("selection: %v", text)
			}
			p.does("fill", sel("#name", "value", "chosen text"))
			p.js("document.getElementById('name').setSelectionRange(0, 6)")
			if text := get(m{"kind": "selection"}); text != "chosen" {
				c.t.Errorf("selection: %v", text)
			}
			p = c.open("/pages/navigate")
			links := get(m{"kind": "links"}).([]any)
			if len(links) != 4 || links[0].(m)["href"] != site+"/pages/blank?link" || links[0].(m)["text"] != "Link" {
				c.t.Errorf("links: %v", links)
			}
			p = c.open("/pages/tall")
			p.js("scrollTo(0, 300)")
			meta := get(m{"kind": "metadata"}).(m)
			want := fmt.Sprintf("map[document:map[height:3000 width:%v] language:en scroll:map[x:0 y:300] title:Tall url:%s/pages/tall viewport:map[height:%v scale:1 width:1280] zoom:1]",
				p.js("document.scrollingElement.scrollWidth"), site, p.js("innerHeight"))
			if fmt.Sprint(meta) != want {
				c.t.Errorf("metadata: %v; want %s", meta, want)
			}
		},
		"a value that is cut says so at its end": func(c *client) {
			p := c.open("/big?mb=1&type=text/html")
			for _, kind := range []string{"text", "html", "markdown"} {
				var v string
				c.call("page.inspect", p.with(m{"kind": kind, "max_bytes": 1000}), &v)
				if len(v) > 1100 || len(v) < 900 || !strings.HasSuffix(v, "\n… [cut at 1000 bytes: raise max_bytes, or give a ref]") {
					c.t.Errorf("%s: %d bytes, ends in %q", kind, len(v), v[max(0, len(v)-20):])
				}
			}
			p = c.open("/pages/links-20000?n=3000")
			var links []any
			c.call("page.inspect", p.with(m{"kind": "links", "max_bytes": 1000}), &links)
			if n := len(links); n < 2 || n > 20 || fmt.Sprint(links[n-1]) != "map[truncated:true]" {
				c.t.Errorf("%d links, the last %v", n, links[n-1])
			}
			var v string
			c.call("page.inspect", p.with(m{"kind": "text", "max_bytes": 1}), &v)
			if !strings.Contains(v, "\n… [cut at 1 bytes") {
				c.t.Errorf("one byte: %q", v)
			}
		},
		"kinds and refs that do not exist are refused": func(c *client) {
			p := c.open("/pages/form")
			c.refused("invalid_params", "page.inspect", p.with(m{"kind": "smell"}))
			c.refused("invalid_params", "page.inspect", p.with(nil))
			c.refused("invalid_params", "page.inspect", p.with(m{"kind": "text", "ref": "@e1"}))
			ref := p.ref("button", "Send")
			p.js("send.remove()")
			e := c.refused("invalid_params", "page.inspect", p.with(m{"kind": "text", "ref": ref}))
			if !strings.Contains(fmt.Sprintf("%s", e.Data), "detached") {
				c.t.Errorf("it gave %v", e.Data)
			}
		},
	})
}
