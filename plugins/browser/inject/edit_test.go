package inject_test

import (
	"strings"
	"testing"
)

// fill fills a field as Go does: edit, what it asks for, and the value read back.
func (p *tab) fill(selector, action, value string) arg {
	p.t.Helper()
	a := p.call("edit", find(selector, "action", action, "value", value))
	if a["ok"] != true {
		return a
	}
	switch a["how"] {
	case "whole":
		p.call("edit", find(selector, "action", action, "value", value, "set", true))
	case "insert":
		p.insert(value)
	case "delete":
		p.key("Delete", "Delete", 46)
	case "keys":
		for _, r := range value {
			p.Call("Input.dispatchKeyEvent", `{"type":"keyDown","text":"`+string(r)+`"}`)
			p.Call("Input.dispatchKeyEvent", `{"type":"keyUp"}`)
		}
	}
	back := find(selector, "expect", value)
	if a["token"] != nil {
		back["token"] = a["token"]
	}
	return p.call("value", back)
}

func (p *tab) key(key, code string, virtual int) {
	p.t.Helper()
	params, _ := jsonText(arg{"type": "rawKeyDown", "key": key, "code": code, "windowsVirtualKeyCode": virtual})
	p.Call("Input.dispatchKeyEvent", params)
	params, _ = jsonText(arg{"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": virtual})
	p.Call("Input.dispatchKeyEvent", params)
}

func TestEachKindOfFieldHoldsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<form>
		<input id="text" value="old"> <input id="search" type="search"> <input id="email" type="email" value="old@x"> <input id="tel" type="tel">
		<input id="url" type="url"> <input id="number" type="number" value="3"> <textarea id="area">old
lines</textarea> <input id="short" maxlength="4">
		<input id="date" type="date"> <input id="time" type="time"> <input id="local" type="datetime-local"> <input id="month" type="month">
		<input id="week" type="week"> <input id="color" type="color"> <input id="range" type="range" min="0" max="100" step="5">
		<label id="label">Named <input id="named"></label></form>
		<div id="rich" contenteditable>Old <b>bold</b></div> <div id="plain" contenteditable="plaintext-only">Old</div>
		<div contenteditable id="outer"><p id="part">Part</p><p id="rest">Rest</p></div>`)
	for _, c := range []struct{ selector, action, value, want string }{
		{"#text", "fill", "new \U0001F600 é", "new \U0001F600 é"},
		{"#text", "fill", "again", "again"},
		{"#text", "type", "!", "again!"},
		{"#text", "clear", "", ""},
		{"#text", "clear", "", ""},
		{"#search", "fill", "find", "find"},
		{"#email", "fill", "a@b.example", "a@b.example"},
		{"#email", "type", "s", "a@b.examples"},
		{"#tel", "fill", "+49 1", "+49 1"},
		{"#url", "fill", "https://x.example/", "https://x.example/"},
		{"#number", "fill", "-1.5e3", "-1.5e3"},
		{"#number", "type", "2", "-1.5e32"},
		{"#number", "clear", "", ""},
		{"#area", "fill", "one\ntwo", "one\ntwo"},
		{"#short", "fill", "abcdef", "abcd"},
		{"#date", "fill", "2026-02-28", "2026-02-28"},
		{"#date", "clear", "", ""},
		{"#time", "fill", "23:59", "23:59"},
		{"#local", "fill", "2026-02-28 10:00", "2026-02-28T10:00"},
		{"#month", "fill", "2026-02", "2026-02"},
		{"#week", "fill", "2026-W07", "2026-W07"},
		{"#color", "fill", "#FF0080", "#ff0080"},
		{"#range", "fill", "35", "35"},
		{"#label", "fill", "by label", "by label"},
		{"#rich", "fill", "Rich text", "Rich text"},
		{"#rich", "type", "!", "Rich text!"},
		{"#rich", "clear", "", ""},
		{"#plain", "fill", "Plain", "Plain"},
		{"#part", "fill", "Other", "Other"},
	} {
		a := p.fill(c.selector, c.action, c.value)
		p.want(c.action+" "+c.selector+" "+c.value, []any{a["ok"], a["value"], a["blocked"]}, []any{true, c.want, nil})
	}
	p.want("a field that cuts says so", p.fill("#short", "fill", "abcdef")["matches"], false)
	p.want("the rest of an editor", p.Main("rest.textContent"), `"Rest"`)
	p.want("the label's field", p.Main("named.value"), `"by label"`)
	for _, event := range []string{"input date", "change date", "input color", "change range", "input rich"} {
		if !strings.Contains(p.log(), event) {
			t.Errorf("there was no %s", event)
		}
	}
}

func TestAMalformedValueChangesNothing(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="date" type="date" value="2026-01-01"><input id="time" type="time" value="10:00"><input id="color" type="color" value="#00ff00">
		<input id="range" type="range" min="0" max="10" value="5"><input id="number" type="number" value="5"><input id="month" type="month" value="2026-01">`)
	before := p.Main(`[...document.querySelectorAll('input')].map((e) => e.value).join()`)
	for selector, value := range map[string]string{
		"#date": "2026-02-30", "#time": "25:00", "#color": "red", "#range": "11", "#number": "ten", "#month": "January",
	} {
		a := p.fill(selector, "fill", value)
		p.want(selector, []any{a["error"], a["reason"]}, []any{"not_editable", "malformed"})
		if a["expected"] == nil {
			t.Errorf("%s: nothing says what was expected", selector)
		}
	}
	p.want("a range has no empty value", p.fill("#range", "clear", "")["reason"], "malformed")
	p.want("the values", p.Main(`[...document.querySelectorAll('input')].map((e) => e.value).join()`), before)
	p.want("the page saw nothing", p.log(), "")
}

func TestAFrameworkThatTracksValuesSeesTheText(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="a"><input id="d" type="date"><script>
		for (const el of [a, d]) {
			const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
			let known = '';
			Object.defineProperty(el, 'value', {get() { return own.get.call(this); }, set(v) { known = v; own.set.call(this, v); }});
			el.addEventListener('input', () => { if (own.get.call(el) !== known) { known = own.get.call(el); log.push('state ' + known); } });
		}</script>`)
	p.fill("#a", "fill", "seen")
	p.fill("#d", "fill", "2026-01-02")
	for _, state := range []string{"state seen", "state 2026-01-02"} {
		if !strings.Contains(p.log(), state) {
			t.Errorf("the framework did not get %q: %s", state, p.log())
		}
	}
}

func TestTextNeverGoesIntoAnotherField(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="a"><input id="b" value="kept"><input id="jumps" onfocus="b.focus()">`)
	a := p.call("edit", find("#a", "action", "fill", "value", "text"))
	p.want("how", a["how"], "insert")
	p.Main("b.focus()")
	p.insert("text")
	back := p.call("value", find("#a", "token", a["token"], "expect", "text"))
	p.want("the answer", []any{back["value"], back["matches"], at(back, "blocked", "covered_by", "id")}, []any{"", false, "b"})
	p.want("the other field", p.Main("b.value"), `"kept"`)
	p.want("focus taken away", p.call("edit", find("#jumps", "action", "fill", "value", "x"))["reason"], "focus_moved")
	p.insert("late")
	p.want("after it", p.Main("b.value"), `"latekept"`)
}

func TestSecretsAreComparedAndNotTold(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="p" type="password" value="hunter2"><input id="c" autocomplete="cc-number" value="4111">
		<select id="m" autocomplete="cc-exp-month"><option value="01">January<option value="02">February</select>`)
	p.want("right", p.call("value", find("#p", "expect", "hunter2")), arg{"ok": true, "secret": true, "matches": true})
	p.want("wrong", p.call("value", find("#c", "expect", "42")), arg{"ok": true, "secret": true, "matches": false})
	p.want("filled", p.fill("#p", "fill", "new"), arg{"ok": true, "secret": true, "matches": true})
	a := p.call("select", find("#m", "value", "02"))
	p.want("chosen", []any{a["ok"], a["value"], a["labels"], a["secret"]}, []any{true, nil, nil, true})
}

func TestOptionsAreChosenByValueOrLabel(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<label id="label">One <select id="one"><option value="1">One<option value="2">  The
		second <option value="3" disabled>Three<option value="one" id="last">Last</select></label>
		<select id="many" multiple><option value="a">A<option value="b" selected>B<option value="c">C</select>
		<select id="group"><optgroup label="G" disabled><option>Stone</optgroup><option>Air</select>
		<select id="off" disabled><option>x<option>y</select> <select id="late"><option>Loading</select>
		<div id="aria" role="listbox"><div role="option">First</div></div>
		<script>setTimeout(() => { late.innerHTML = '<option value="">Choose<option value="x">Came late' }, 200)</script>`)
	for _, c := range []struct {
		selector string
		value    any
		want     any
	}{
		{"#one", "2", "2"},
		{"#one", "2", "2"},
		{"#one", "One", "1"},
		{"#one", "The second", "2"},
		{"#label", "1", "1"},
		{"#last", nil, "one"},
		{"#one", 2, "2"},
		{"#many", []string{"a", "C"}, []string{"a", "c"}},
		{"#many", "b", []string{"b"}},
		{"#many", []string{}, []string{}},
	} {
		a := p.call("select", find(c.selector, "value", c.value))
		p.want(c.selector, []any{a["ok"], a["value"]}, []any{true, c.want})
	}
	if n := strings.Count(p.log(), "change one"); n != 6 {
		t.Errorf("%d changes of the first list: %s", n, p.log())
	}
	for _, c := range []struct {
		selector    string
		value       any
		err, reason string
	}{
		{"#one", "Three", "no_option", "disabled"},
		{"#one", "Four", "no_option", "missing"},
		{"#one", []string{"1", "2"}, "wrong_element", "takes one value"},
		{"#group", "Stone", "no_option", "disabled"},
		{"#off", "y", "disabled", ""},
		{"#aria", "First", "wrong_element", "not a select: click it, then the option"},
	} {
		a := p.call("select", find(c.selector, "value", c.value))
		p.want(c.selector, []any{a["error"], a["reason"]}, []any{c.err, orNil(c.reason)})
	}
	options, _ := p.call("select", find("#one", "value", "Four"))["options"].([]any)
	p.want("what there is instead", len(options), 4)
	p.want("the second is named", options[1], arg{"value": "2", "label": "The second"})
	p.want("an option that comes late", p.call("select", find("#late", "value", "Came late", "timeout", 2000))["value"], "x")
}

func TestFocusBlurScrollAndFiles(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="a"><p id="text">Text</p><div id="host"></div>
		<div id="box" style="height:100px;width:100px;overflow:auto"><p id="in" style="height:900px;width:900px">In</p></div><p style="height:3000px"></p>
		<button id="low">Low</button><input id="file" type="file" multiple accept=".txt" style="display:none"><button id="b">B</button>
		<script>host.attachShadow({mode: 'open', delegatesFocus: true}).innerHTML = '<input id="inner">'</script>`)
	p.want("focus", at(p.call("focusOn", find("#a")), "el", "id"), "a")
	p.want("no focus", p.call("focusOn", find("#text"))["reason"], "takes no focus")
	p.want("delegated focus", at(p.call("focusOn", find("#host")), "el", "id"), "inner")
	p.want("blur", at(p.call("blur", arg{}), "el", "id"), "inner")
	p.want("nothing to blur", p.call("blur", arg{})["el"], nil)

	p.want("the page", p.call("scroll", find("#a", "dy", 500))["moved"], arg{"x": 0, "y": 500})
	p.want("back to the top", p.call("scroll", find("#text", "to", "top"))["moved"], arg{"x": 0, "y": -500})
	p.want("no further", p.call("scroll", find("#a", "dy", -10))["moved"], arg{"x": 0, "y": 0})
	a := p.call("scroll", find("#in", "dy", 200))
	p.want("a box", []any{a["moved"], at(a, "el", "id")}, []any{arg{"x": 0, "y": 200}, "box"})
	a = p.call("scroll", find("#in", "to", "right"))
	p.want("to its right", at(a, "scroll", "x"), p.num("box.scrollWidth - box.clientWidth"))
	p.want("into view", p.call("scroll", find("#low"))["ok"], true)
	p.want("is in view", p.Main("low.getBoundingClientRect().bottom <= innerHeight"), "true")

	f := p.call("files", find("#file"))
	p.want("a file input", []any{f["file"], f["multiple"], f["directory"]}, []any{true, true, false})
	p.want("none", p.call("files", find("#b"))["file"], false)
}

func TestTypedTextIsComparedWithWhatTheFieldHolds(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<input id="plain" value="a"><input id="upper" oninput="this.value = this.value.toUpperCase()"><input id="short" maxlength="3">
		<textarea id="area">1</textarea><div id="rich" contenteditable>x</div><input id="stops" onkeydown="return false"><input id="secret" type="password">
		<form onsubmit="return false"><input id="form"></form><input id="gone" oninput="this.remove()">`)
	for _, c := range []struct {
		id, text string
		matches  any
	}{
		{"plain", "bc", true}, {"plain", "", true}, {"upper", "ab", false}, {"short", "abcd", false}, {"area", "2\n3", true}, {"rich", "yz", true},
		{"stops", "x", false}, {"secret", "s3", true}, {"form", "go\n", true}, {"gone", "x", nil},
	} {
		a := p.call("edit", find("#"+c.id, "action", "type", "value", c.text))
		for _, r := range c.text {
			if r == '\n' {
				p.Call("Input.dispatchKeyEvent", `{"type":"keyDown","key":"Enter","code":"Enter","windowsVirtualKeyCode":13,"text":"\r"}`)
			} else {
				p.Call("Input.dispatchKeyEvent", `{"type":"keyDown","text":"`+string(r)+`"}`)
			}
			p.Call("Input.dispatchKeyEvent", `{"type":"keyUp"}`)
		}
		back := p.call("value", find("#"+c.id, "typed", a["typed"]))
		p.want(c.id+" "+c.text, back["matches"], c.matches)
		if c.id == "secret" {
			p.want("a secret", back["value"], nil)
		}
	}
	p.want("of another", p.call("value", find("#plain", "typed", 1))["matches"], nil)
}
