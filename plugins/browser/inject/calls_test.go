package inject_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/inject"
)

// waiting are the questions that wait in the page, each for something that is not
// so, and what makes it so. undone is true of a page where nothing was done.
var waiting = map[string]struct {
	html, name  string
	arg         arg
	then        string
	undone      string
	alwaysBegun bool // it has nothing to do but answer
}{
	"a click":       {`<button id="b" disabled>B</button>`, "check", find("#b", "action", "click"), `b.disabled = false`, `scrollY === 0`, true},
	"a tick":        {`<input type="checkbox" id="b" disabled>`, "check", find("#b", "action", "check"), `b.disabled = false`, `!b.checked`, true},
	"a drag":        {`<p id="a">A</p><p id="b" hidden>B</p>`, "drag", find("#a", "to", arg{"selector": "#b"}), `b.hidden = false`, `scrollY === 0`, true},
	"a text":        {`<input id="b" readonly value="old">`, "edit", find("#b", "action", "fill", "value", "new"), `b.readOnly = false`, `document.activeElement !== b`, false},
	"a date":        {`<input id="b" readonly type="date">`, "edit", find("#b", "action", "fill", "value", "2026-01-01", "set", true), `b.readOnly = false`, `b.value === ''`, false},
	"keys":          {`<input id="b" disabled>`, "edit", find("#b", "action", "type", "value", "x"), `b.disabled = false`, `document.activeElement !== b`, false},
	"a choice":      {`<select id="b"><option>1</select>`, "select", find("#b", "value", "2"), `b.add(new Option('2'))`, `b.value === '1'`, false},
	"a focus":       {`<button id="b" disabled>B</button>`, "focusOn", find("#b"), `b.disabled = false`, `document.activeElement !== b`, false},
	"a scroll":      {`<p style="height:3000px"></p><p id="b" hidden>B</p>`, "scroll", find("#b"), `b.hidden = false`, `scrollY === 0`, false},
	"a scroll by":   {`<p style="height:3000px"></p><p id="b" hidden>B</p>`, "scroll", find("#b", "dy", 100), `b.hidden = false`, `scrollY === 0`, false},
	"a way out":     {`<iframe id="b" hidden></iframe><p style="height:3000px"></p>`, "through", arg{"frame": "F", "x": 1, "y": 1}, `b.hidden = false`, `scrollY === 0`, true},
	"what it shows": {`<p id="b" hidden>B</p>`, "wait", arg{"selector": "#b"}, `b.hidden = false`, `true`, true},
}

// ready opens a page that a question of waiting waits in.
func ready(t *testing.T, html string) *tab {
	t.Helper()
	p := openTab(t, html)
	p.world.Eval(`(() => { const f = document.querySelector('iframe'); if (f) __vant.bindFrame(f, 'F'); })()`)
	return p
}

func ask(t *testing.T, id int64, until time.Time, name string, a arg) string {
	t.Helper()
	expression, err := inject.Ask(id, until, name, a)
	if err != nil {
		t.Fatal(err)
	}
	return expression
}

// frames lets the page draw some frames.
const frames = `new Promise((done) => { let n = 20; (function next() { if (n--) requestAnimationFrame(next); else done('drawn'); })(); })`

func TestAQuestionThatIsStoppedDoesNothingMore(t *testing.T) {
	t.Parallel()
	for name, c := range waiting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, c.html)
			a := maps.Clone(c.arg)
			a["timeout"] = 1 << 30
			p.world.Eval(`(globalThis.answer = ` + ask(t, 7, time.Time{}, c.name, a) + `, 1)`)
			p.world.Eval(inject.Stop(6)) // another's
			p.world.Eval(inject.Stop(7))
			p.Main(`(` + c.then + `, 1)`)
			p.want("the answer", p.world.Eval(`answer`), inject.Stopped)
			p.world.Eval(frames)
			p.want("it was left alone", p.Main(c.undone), "true")
			p.want("the page saw", p.log(), "")
		})
	}
}

func TestAQuestionEndsAtItsTime(t *testing.T) {
	t.Parallel()
	for name, c := range waiting {
		if c.name == "wait" {
			continue // it does nothing in the page, and has a time of its own
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, c.html)
			a := maps.Clone(c.arg)
			a["timeout"] = 1 << 30
			p.want("the answer", p.world.Eval(ask(t, 7, time.Now().Add(200*time.Millisecond), c.name, a)), inject.Stopped)
			p.Main(`(` + c.then + `, 1)`)
			p.world.Eval(frames)
			p.want("it was left alone", p.Main(c.undone), "true")
		})
	}
}

func TestAQuestionThatComesTooLateIsNotBegun(t *testing.T) {
	t.Parallel()
	for name, c := range waiting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, c.html)
			p.Main(`(` + c.then + `, 1)`)
			p.want("the answer", p.world.Eval(ask(t, 7, time.Now().Add(-time.Second), c.name, c.arg)), inject.Stopped)
			p.world.Eval(frames)
			p.want("it was left alone", p.Main(c.undone), "true")
			later := ask(t, 8, time.Now().Add(time.Hour), c.name, c.arg)
			if answer := parseArg(t, p.world.Eval(later)); answer["ok"] != true {
				t.Errorf("in time it answers %v", answer)
			}
			if !c.alwaysBegun && p.Main(c.undone) != "false" {
				t.Error("in time it does nothing")
			}
		})
	}
}

// pressed presses and lets go at a point, and gives what the page saw.
func (p *tab) pressed(a arg) string {
	p.t.Helper()
	p.Click(a["x"].(float64), a["y"].(float64))
	return p.log()
}

func TestEventsOfAnActionThatIsOverDoNothing(t *testing.T) {
	t.Parallel()
	const button = `<button id="b" style="width:80px;height:40px">B</button>`
	t.Run("after its time", func(t *testing.T) {
		t.Parallel()
		p := openTab(t, button)
		for range 20 { // the page may come to the question after its time
			until := time.Now().Add(500 * time.Millisecond)
			answer := p.world.Eval(ask(t, 7, until, "check", find("#b", "action", "click")))
			if answer == inject.Stopped {
				continue
			}
			a := parseArg(t, answer)
			p.world.Eval(fmt.Sprintf(`(() => { while (Date.now() <= %d); return 1; })()`, until.UnixMilli()))
			p.want("the page saw", p.pressed(a), "")
			p.want("hit", p.call("outcome", arg{"token": a["token"]})["hit"], nil)
			return
		}
		t.Fatal("no question came in time")
	})
	t.Run("when it was left", func(t *testing.T) {
		t.Parallel()
		p := openTab(t, button)
		a := p.good("#b", "click")
		p.world.Eval(`(() => { const began = performance.now(); __vant.leave({token: ` + fmt.Sprint(a["token"]) + `}); return began; })()`)
		if got := p.pressed(a); !strings.HasSuffix(got, "click b") {
			t.Errorf("a person's click afterwards was stopped: %s", got)
		}
		p.want("an unknown one", p.world.Eval(`__vant.leave({token: 99})`), "")
	})
	t.Run("when it was left with the button down", func(t *testing.T) {
		t.Parallel()
		p := openTab(t, button)
		a := p.good("#b", "drag")
		mouse := func(kind string) {
			p.Call("Input.dispatchMouseEvent", fmt.Sprintf(`{"type":%q,"x":%g,"y":%g,"button":"left","clickCount":1}`, kind, a["x"], a["y"]))
		}
		mouse("mousePressed")
		p.world.Eval(`__vant.leave({token: ` + fmt.Sprint(a["token"]) + `, pressing: true})`)
		mouse("mouseReleased")
		p.want("the page saw", p.log(), "pointerdown b, mousedown b, focusin b, mouseup b")
		if got := p.pressed(a); !strings.HasSuffix(got, "click b") {
			t.Errorf("a person's click afterwards was stopped: %s", got)
		}
	})
}

func TestAGuardOutlivesABusyPage(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<button id="b" style="position:absolute;left:0;top:0;width:80px;height:40px">B</button><button id="c" style="position:absolute;left:200px;top:0;width:80px;height:40px">C</button>`)
	a := p.good("#b", "click")
	p.Main(`(addEventListener('mousemove', () => { for (const end = performance.now() + 2500; performance.now() < end;); b.style.left = '200px'; c.style.left = '0' }, {once: true}), 1)`)
	p.want("the page saw", p.pressed(a), "")
	p.want("covered by", at(p.call("outcome", arg{"token": a["token"]}), "blocked", "covered_by", "id"), "c")
}
