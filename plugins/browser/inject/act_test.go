package inject_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/plugins/browser/inject"
)

func TestAClickReachesItsElement(t *testing.T) {
	t.Parallel()
	for name, html := range map[string]string{
		"a button":               `<button id="b">Save</button>`,
		"what is in a button":    `<button><span id="b">Save</span> all</button>`,
		"behind a pseudo":        `<style>.card { position: relative } .card::after { content: ""; position: absolute; inset: 0 }</style><a class="card" href="#x">See <b id="b">more</b></a>`,
		"off the screen":         `<p style="height:3000px"></p><button id="b">Far</button><p style="height:3000px"></p>`,
		"in a scroller":          `<div style="height:100px;overflow:auto"><p style="height:900px"></p><button id="b">In</button></div>`,
		"under a sticky header":  `<div style="position:sticky;top:0;height:70vh;background:#eee">Head</div><p style="height:1500px"></p><button id="b">Under</button><p style="height:3000px"></p><script>onload = () => scrollTo(0, b.offsetTop - 20)</script>`,
		"half covered":           `<div style="position:relative;width:200px;height:40px"><button id="b" style="width:200px;height:40px">B</button><i style="position:absolute;left:80px;width:40px;height:40px"></i></div>`,
		"broken over lines":      `<p style="width:80px">some <a id="b" href="#x">text that goes on over lines</a></p>`,
		"rotated":                `<button id="b" style="margin:80px;transform:rotate(50deg)">Turned</button>`,
		"transparent":            `<button id="b" style="opacity:0">Clear</button>`,
		"display contents":       `<div id="b" role="button" style="display:contents" onclick=""><em>In</em></div>`,
		"in display contents":    `<div style="display:contents"><button id="b">In</button></div>`,
		"in a form with names":   `<form onsubmit="return false"><input name="id" hidden><input name="parentNode" hidden><input name="matches" hidden><input name="scrollTop" hidden><input name="getAnimations" hidden><button id="b">Go</button></form>`,
		"in a named document":    `<img name="elementFromPoint"><img name="scrollingElement"><img name="documentElement"><button id="b">Go</button>`,
		"in content-visibility":  `<p style="height:3000px"></p><div style="content-visibility:auto;contain-intrinsic-size:10px 500px"><p style="height:400px"></p><button id="b">Lazy</button></div>`,
		"with a fixed bar below": `<div style="position:fixed;bottom:0;height:70vh;width:100%;background:#ccc"></div><p style="height:calc(100vh - 60px)"></p><button id="b">Low</button><p style="height:2000px"></p>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, html)
			out := p.click("#b")
			p.want("blocked", out["blocked"], nil)
			if !strings.Contains(p.log(), "click") {
				t.Errorf("the page saw no click: %s", p.log())
			}
		})
	}
}

func TestAClickReachesItsElementInShadowRoots(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<div id="host"></div><my-button id="like"></my-button><script>
		const outer = host.attachShadow({mode: 'open'});
		outer.innerHTML = '<div id="inner"></div><div style="position:fixed;inset:0;z-index:-1"></div><slot></slot>';
		outer.querySelector('#inner').attachShadow({mode: 'open'}).innerHTML = '<button id="deep">Deep</button>';
		host.innerHTML = '<b id="slotted">Slotted</b>';
		like.attachShadow({mode: 'closed'}).innerHTML = '<button>Closed</button>';
	</script>`)
	for _, id := range []string{"deep", "slotted", "like"} {
		out := p.click("#" + id)
		p.want(id+" blocked", out["blocked"], nil)
		p.want(id+" hit", at(out, "hit", "id"), id)
	}
}

func TestWhatCannotBeActedOnIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	p := openTab(t, `
		<button id="none" style="display:none">None</button> <button id="invisible" style="visibility:hidden">Invisible</button>
		<button id="away" style="position:fixed;left:-9999px">Away</button>
		<button id="off" disabled>Off</button> <button id="aria" aria-disabled="true">Aria</button> <button disabled><i id="in">In</i></button>
		<fieldset disabled><legend><button id="legend">Legend</button></legend><button id="set">Set</button></fieldset>
		<div inert><button id="inert">Inert</button></div>
		<div><button id="pen" style="pointer-events:none">No pointer</button></div>
		<div style="position:relative"><button id="under">Under</button><div id="over" style="position:absolute;inset:0"></div></div>
		<select id="list"><option id="option">One</select> <input type="radio" id="radio" checked> <div id="div">Text</div>
		<input id="fixed" readonly value="v"> <input id="text"> <textarea id="area" readonly></textarea> <input type="file" id="file">`)
	for _, c := range []struct{ selector, action, err, reason string }{
		{"#gone", "click", "stale_or_missing", "missing"},
		{"#none", "click", "hidden", ""},
		{"#invisible", "click", "hidden", ""},
		{"#away", "click", "hidden", "outside_viewport"},
		{"#off", "click", "disabled", ""},
		{"#aria", "click", "disabled", ""},
		{"#in", "click", "disabled", ""},
		{"#set", "click", "disabled", ""},
		{"#inert", "click", "disabled", "inert"},
		{"#pen", "click", "covered", "pointer_events_none"},
		{"#under", "click", "covered", ""},
		{"#under", "hover", "covered", ""},
		{"#option", "click", "wrong_element", "an option of a closed list is chosen with select"},
		{"#div", "check", "wrong_element", "not a checkbox, radio button or switch"},
		{"#radio", "uncheck", "wrong_element", "a radio button is unchecked by checking another"},
		{"#fixed", "fill", "readonly", ""},
		{"#area", "type", "readonly", ""},
		{"#div", "fill", "not_editable", ""},
		{"#file", "fill", "not_editable", "use upload"},
		{"#list", "fill", "not_editable", "use select"},
		{"#off", "fill", "disabled", ""},
	} {
		a := p.check(c.selector, c.action)
		p.want(c.action+" "+c.selector, []any{a["ok"], a["error"], a["reason"]}, []any{false, c.err, orNil(c.reason)})
	}
	p.want("the cover", p.check("#under", "click")["covered_by"], arg{"tag": "div", "id": "over"})
	p.want("an invalid selector", p.check("#a[", "click")["error"], "invalid_selector")
	p.want("a ref never given", p.call("check", arg{"target": arg{"ref": "@e1_1"}, "action": "click"})["reason"], "unknown")
	for _, c := range []string{"#legend", "#text"} {
		p.good(c, "click")
	}
	p.want("nothing happened", p.log(), "")
	p.want("the page is where it was", p.Main("scrollY"), "0")
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func TestARefIsOneElementUnderOneName(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b">Delete A</button>`)
	diff(t, "snapshot", []string{"button Delete A"}, short(t, snapshot(t, p.world, options{"gen": 7}).Visible))
	click := arg{"target": arg{"ref": "@e7_1"}, "action": "click", "timeout": 5000}
	p.want("as it was", at(p.press(p.call("check", click)), "hit", "name"), "Delete A")
	p.Main(`(b.textContent = 'Delete B', 1)`)
	click["timeout"] = 1 << 30 // what cannot come back is not waited for
	p.want("renamed", []any{p.call("check", click)["error"], p.call("check", click)["reason"]}, []any{"stale_or_missing", "changed"})
	p.Main(`(b.outerHTML = '<button>Delete A</button>', 1)`)
	p.want("replaced", p.call("check", click)["reason"], "detached")
}

func TestALinkSavesUnlessThePageKeepsItsClick(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<a id="saves" href="/none" download>Save</a> <a id="kept" href="/none" download onclick="event.preventDefault()">Keep</a>`)
	for id, want := range map[string]bool{"saves": true, "kept": false} {
		a := p.good("#"+id, "click")
		p.want(id+" may save", a["saves"], true)
		p.press(a)
		p.want(id+" saves", p.call("saving", nil)["saves"], want)
	}
}

func TestAModalDialogIsNamedAsTheCover(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b">B</button><dialog id="d" aria-label="Cookies"><button id="ok">OK</button></dialog><script>d.showModal()</script>`)
	a := p.check("#b", "click")
	p.want("behind", []any{a["error"], at(a, "covered_by", "id"), at(a, "covered_by", "name")}, []any{"covered", "d", "Cookies"})
	p.want("inside", at(p.click("#ok"), "hit", "id"), "ok")
}

func TestCheckWaitsInThePage(t *testing.T) {
	t.Parallel()
	for name, html := range map[string]string{
		"until it is there":           `<script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<button id="b">B</button>'), 150)</script>`,
		"until it is enabled":         `<button id="b" disabled>B</button><script>setTimeout(() => b.disabled = false, 150)</script>`,
		"until it is visible":         `<style>.x #b { display: none }</style><div class="x"><button id="b">B</button></div><script>setTimeout(() => b.parentNode.className = '', 150)</script>`,
		"until the cover is gone":     `<button id="b">B</button><div id="c" style="position:fixed;inset:0"></div><script>setTimeout(() => c.remove(), 150)</script>`,
		"until the animation ends":    `<style>@keyframes k { to { margin-left: 300px } } #b { animation: k 300ms forwards }</style><button id="b">B</button>`,
		"until the parent is still":   `<style>@keyframes k { to { transform: translateX(300px) } } div { animation: k 300ms forwards }</style><div><button id="b">B</button></div>`,
		"though it moves for ever":    `<style>@keyframes k { to { transform: translateX(40px) } } #b { animation: k 2s infinite alternate }</style><button id="b" style="width:300px">B</button>`,
		"though it glows for ever":    `<style>@keyframes k { to { background: red } } #b { animation: k 1s infinite }</style><button id="b">B</button>`,
		"although frames do not come": `<script>requestAnimationFrame = () => 0; setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<button id="b">B</button>'), 150)</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, html)
			out := p.press(p.good("#b", "click", "timeout", 20000))
			p.want("hit", []any{at(out, "hit", "id"), out["blocked"]}, []any{"b", nil})
		})
	}
	t.Run("and no longer than asked", func(t *testing.T) {
		t.Parallel()
		p := openTab(t, `<button id="b" disabled>B</button>`)
		began := time.Now()
		a := p.check("#b", "click", "timeout", 200)
		if took := time.Since(began); a["error"] != "disabled" || took < 200*time.Millisecond {
			t.Errorf("%v after %v", a, took)
		}
	})
}

func TestAnElementThatAScriptMovesIsLookedAtTwiceAfterAMiss(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b" style="position:absolute">B</button><script>
		const began = performance.now();
		(function move(t) { b.style.left = Math.min(300, t - began) + 'px'; if (t - began < 300) requestAnimationFrame(move); })(began);</script>`)
	a := p.good("#b", "click", "timeout", 2000, "again", true)
	if x := a["x"].(float64); x < 300 {
		t.Errorf("it was taken to stand still at %g", x)
	}
}

// missed are pages where something else comes under the pointer after the check.
var missed = map[string]struct{ html, after, by string }{
	"the button moved": {
		`<button id="b" style="position:absolute;left:10px;top:10px">Keep</button><button id="other" style="position:absolute;left:300px;top:10px">Delete</button>`,
		`(b.style.left = '300px', other.style.left = '10px')`, "other",
	},
	"a cover in mousemove": {
		`<button id="b">Pay</button><script>addEventListener('mousemove', () => { const d = document.createElement('div'); d.id = 'cover'; d.style.cssText = 'position:fixed;inset:0'; document.body.append(d); }, {once: true});</script>`,
		`1`, "cover",
	},
	"the document was opened anew": {
		`<button id="b">Old</button>`,
		`(document.open(), document.write('<body style="margin:0"><button id="new">New</button><script>var log = []; addEventListener("click", (e) => log.push("click " + e.target.id))<\/script>'), document.close(), 1)`, "new",
	},
	"it was replaced by its like": {
		`<div id="w"><button id="b">Delete A</button></div>`, `(w.innerHTML = '<button id="b2">Delete B</button>', 1)`, "b2",
	},
	"a checkbox took its place": {
		`<button id="b">Go</button>`, `(b.outerHTML = '<input id="box" type="checkbox" style="width:100px;height:40px">', 1)`, "box",
	},
	"a field took its place": {
		`<button id="b">Go</button>`, `(b.outerHTML = '<input id="field" style="width:100px;height:40px">', 1)`, "field",
	},
	"a list took its place": {
		`<button id="b">Go</button>`, `(b.outerHTML = '<select id="list" style="width:100px;height:40px"><option>1<option>2</select>', 1)`, "list",
	},
	"a link took its place": {
		`<button id="b">Go</button>`, `(b.outerHTML = '<a id="link" href="#went">Link</a>', 1)`, "link",
	},
}

func TestAClickNeverHitsWhatCameUnderThePointer(t *testing.T) {
	t.Parallel()
	for name, c := range missed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, c.html)
			checked := p.good("#b", "click")
			p.Main(c.after)
			out := p.press(checked)
			p.want("hit", out["hit"], nil)
			p.want("covered by", at(out, "blocked", "covered_by", "id"), c.by)
			p.want("what the page saw", p.log(), "")
			p.want("what it did", p.Main("[location.hash, document.activeElement.localName, document.querySelector(':checked:not(option)') !== null]"), `["","body",false]`)
		})
	}
}

func TestTheGuardEndsWithItsAction(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b">B</button><button id="c" style="position:absolute;top:100px;left:0">C</button>`)
	p.click("#b")
	p.Click(5, 105)
	if !strings.HasSuffix(p.log(), "click c") {
		t.Errorf("a click after the action was stopped: %s", p.log())
	}
	p.good("#b", "click") // its input never comes
	p.Click(5, 105)
	if strings.Count(p.log(), "click c") != 1 {
		t.Errorf("the guard did not stop a click elsewhere: %s", p.log())
	}
	for end := browsertest.Within(t); strings.Count(p.log(), "click c") == 1; p.Click(5, 105) {
		if end.Err() != nil {
			t.Fatalf("clicks long after the check are stopped: %s", p.log())
		}
	}
	p.want("an unknown token", p.call("outcome", arg{"token": 99})["error"], "unknown_token")
}

func TestWhatComesOfInputIsToldWhenThePageHasDealtWithIt(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b" onclick="b.textContent += '+'; setTimeout(() => late = true)">B</button><input id="i">`)
	begin := func(name string, checked arg, more string) {
		p.world.Eval(fmt.Sprintf(`(globalThis.told = [], __vant.%s({token: %v, %s}).then((text) => told.push(text)), 1)`, name, checked["token"], more))
	}
	told := func() string { return fmt.Sprint(p.world.Eval(`told.join()`)) }
	until := func(what, part string) {
		for end := browsertest.Within(t); !strings.Contains(told(), part); {
			if end.Err() != nil {
				t.Fatalf("%s: %q", what, told())
			}
		}
	}
	a := p.good("#b", "dblclick")
	x, y := a["x"].(float64), a["y"].(float64)
	begin("outcome", a, "inputs: 2")
	p.Click(x, y)
	p.want("after one of two", told(), "")
	p.Click(x, y)
	until("after both", `"id":"b"`)
	p.want("the page", p.Main(`b.textContent`), `"B++"`)

	a = p.good("#b", "click")
	p.press(a)
	begin("outcome", a, "inputs: 1")
	until("asked for afterwards", `"ok":true`)

	a = p.call("edit", find("#i", "action", "fill", "value", "text"))
	begin("value", a, "inputs: 1, target: {selector: '#i'}, expect: 'text'")
	p.insert("text")
	until("what a field holds", `"matches":true`)

	a = p.good("#b", "click")
	p.world.Eval(fmt.Sprintf(`(globalThis.told = [], __vant.ask(77, 0, 'outcome', {token: %v, inputs: 1}).then((text) => told.push(text)), __vant.stop(77), 1)`, a["token"]))
	until("when nobody waits", inject.Stopped)
}

func TestEachPressOfADoubleClickIsJudged(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b" onclick="cover.hidden = false">B</button><div id="cover" hidden style="position:fixed;inset:0"></div>`)
	a := p.good("#b", "dblclick")
	x, y := a["x"].(float64), a["y"].(float64)
	p.Click(x, y)
	p.Click(x, y)
	out := p.call("outcome", arg{"token": a["token"]})
	p.want("the first", at(out, "hit", "id"), "b")
	p.want("the second", at(out, "blocked", "covered_by", "id"), "cover")
	if strings.Contains(p.log(), "cover") {
		t.Errorf("the cover was hit: %s", p.log())
	}
}

func TestHoverIsVerifiedWhereThePointerIs(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b" style="position:absolute;left:0">B</button><button id="c" style="position:absolute;left:300px">C</button>`)
	move := func(a arg) arg {
		p.Call("Input.dispatchMouseEvent", fmt.Sprintf(`{"type":"mouseMoved","x":%g,"y":%g}`, a["x"], a["y"]))
		return p.call("outcome", arg{"token": a["token"]})
	}
	p.want("hit", at(move(p.good("#b", "hover")), "hit", "id"), "b")
	a := p.good("#b", "hover")
	p.Main(`(b.style.left = '300px', c.style.left = '0', 1)`)
	p.want("missed", at(move(a), "blocked", "covered_by", "id"), "c")
}

func TestBoxesAreTickedThroughTheirLabels(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<style>.away { position: absolute; opacity: 0; width: 0; height: 0 } .drawn { position: relative; display: inline-block } .drawn input { opacity: 0; position: absolute; inset: 0 } .drawn span { position: relative }</style>
		<label id="l1"><input class="away" id="b1" type="checkbox"> I accept the <a href="#terms">terms and conditions of use</a> of it</label><br>
		<input id="b2" type="checkbox" style="display:none"><label id="l2" for="b2">Second</label><br>
		<label class="drawn" id="l3"><input id="b3" type="checkbox"><span>Third</span></label><br>
		<label id="l4"><input id="b4" type="checkbox" checked> Fourth</label>
		<div id="b5" role="switch" aria-checked="false" tabindex="0" onclick="this.setAttribute('aria-checked', 'true')">Fifth</div>`)
	for _, c := range []string{"#b1", "#b2", "#b3", "#b5"} {
		a := p.good(c, "check")
		p.want(c+" before", a["checked"], false)
		out := p.press(a)
		p.want(c+" blocked", out["blocked"], nil)
		p.want(c+" after", p.call("state", find(c))["checked"], true)
	}
	p.want("no link was followed", p.Main("location.hash"), `""`)
	for _, c := range []string{"#l1", "#l2", "#l3"} {
		p.press(p.good(c, "uncheck"))
		p.want(c+" after", p.call("state", find(c))["checked"], false)
	}
	p.Main(`(b1.disabled = true)`)
	p.want("disabled behind its label", p.check("#b1", "check")["error"], "disabled")
	a := p.good("#l4", "check")
	p.want("already so", []any{a["done"], a["checked"], a["token"]}, []any{true, true, nil})
}

func TestAPositionIsTakenFromTheElementsCorner(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<p style="height:500px"></p><canvas id="c" width="300" height="5000" style="display:block"></canvas>`)
	p.Main(`c.onclick = (e) => log.push('at ' + Math.round(e.offsetX) + ' ' + Math.round(e.offsetY))`)
	p.press(p.good("#c", "click", "position", arg{"x": 30, "y": 4200}))
	if !strings.Contains(p.log(), "at 30 4200") {
		t.Error(p.log())
	}
	p.want("outside", p.check("#c", "click", "position", arg{"x": 400, "y": 10})["error"], "covered")
}

func TestDragNeedsBothEnds(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<div id="a" style="width:50px;height:50px">A</div><p style="height:300px"></p><div id="z" style="width:50px;height:50px">Z</div><p style="height:4000px"></p><div id="far">Far</div>`)
	d := p.call("drag", find("#a", "to", arg{"selector": "#z"}))
	p.want("the ends", []any{d["ok"], d["x"], d["y"], at(d, "to", "x"), at(d, "to", "y")}, []any{true, 25, 25, 25, p.num("z.getBoundingClientRect().y + 25")})
	d = p.call("drag", find("#a", "to", arg{"selector": "#gone"}))
	p.want("no end", []any{d["error"], d["which"]}, []any{"stale_or_missing", "to"})
	p.want("too far", p.call("drag", find("#a", "to", arg{"selector": "#far"}))["reason"], "not_in_view_together")
}

func TestAFramesPointIsCarriedOutward(t *testing.T) {
	t.Parallel()
	inner := browsertest.Serve(t, `<!doctype html><body style="margin:0"><button id="b" style="position:absolute;left:50px;top:70px;width:60px;height:20px" onclick="parent.log.push('hit')">B</button><p style="height:3000px">`)
	for name, style := range map[string]string{
		"plain":            ``,
		"with edges":       `border:7px solid;padding:11px`,
		"scaled":           `transform:scale(.5);transform-origin:0 0`,
		"rotated":          `transform:rotate(30deg);margin:120px`,
		"scale property":   `scale:.7 .9;rotate:10deg;margin:60px`,
		"zoomed":           `zoom:1.5`,
		"far down":         `margin-top:3000px`,
		"in a turned part": `margin:100px" data-x="`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := `<iframe id="f" width="300" height="200" style="border:0;` + style + `" src="` + inner + `"></iframe>`
			if name == "in a turned part" {
				outer = `<div style="transform:rotate(-20deg) skewX(10deg)"><div style="transform:scale(.8)">` + outer + `</div></div>`
			}
			p := openTab(t, outer)
			frame := p.frame()
			child := p.FrameWorld(inject.Source(), frame)
			p.world.Eval(`__vant.bindFrame(document.querySelector('iframe'), 'F')`)
			_ = child
			for _, covered := range []bool{false, true} {
				text, _ := inject.Call("check", find("#b", "action", "click"))
				checked := parseArg(t, child.Eval(text))
				a := p.call("through", arg{"frame": "F", "x": checked["x"], "y": checked["y"]})
				if a["ok"] != true {
					t.Fatal(a)
				}
				point := arg{"x": checked["x"], "y": checked["y"]}
				p.want("outside", p.call("outside", arg{"frame": "F", "points": []arg{point}})["points"], []arg{{"x": a["x"], "y": a["y"]}})
				onward := p.call("onward", arg{"frame": "F", "x": checked["x"], "y": checked["y"]})
				p.want("onward", []any{onward["x"], onward["y"]}, []any{a["x"], a["y"]})
				if covered {
					p.Main(`document.body.insertAdjacentHTML('beforeend', '<div id=cover style="position:fixed;inset:0;z-index:9">')`)
				}
				out := p.press(a)
				text, _ = inject.Call("outcome", arg{"token": checked["token"]})
				in := parseArg(t, child.Eval(text))
				if covered {
					p.want("stopped by the outer", at(out, "blocked", "covered_by", "id"), "cover")
					p.want("nothing inside", []any{in["ok"], in["hit"], in["blocked"]}, []any{true, nil, nil})
					for _, name := range []string{"through", "onward"} {
						p.want("covered", p.call(name, arg{"frame": "F", "x": checked["x"], "y": checked["y"]})["error"], "covered")
					}
				} else {
					p.want("inside", at(in, "hit", "id"), "b")
					p.want("nothing outside", []any{out["ok"], out["hit"], out["blocked"]}, []any{true, nil, nil})
				}
			}
			p.want("hits", p.Main(`log.filter((l) => l === 'hit' || /cover/.test(l)).length`), "1")
		})
	}
}

func TestACheckOfAStaticButtonIsQuick(t *testing.T) {
	p := openTab(t, strings.Repeat(`<div><div><p><button>Other</button></p></div></div>`, 300)+`<div><div><div><div><button id="b" style="position:fixed;top:0">B</button></div></div></div></div>`)
	got := p.world.Eval(`(async () => {
		const times = [];
		for (let i = 0; i < 300; i++) {
			const began = performance.now();
			const a = JSON.parse(await __vant.check({target: {selector: '#b'}, action: 'click', timeout: 1000}));
			times.push(performance.now() - began);
			__vant.outcome({token: a.token});
		}
		return Math.min(...times);
	})()`)
	var ms float64
	if _, err := fmt.Sscan(got, &ms); err != nil || ms > 1 {
		t.Errorf("the quickest of 300 checks takes %s ms", got)
	}
}
