package inject_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/plugins/browser/inject"
)

func jsonText(a arg) (string, error) {
	text, err := json.Marshal(a)
	return string(text), err
}

// bare is a page without the head of the others.
func bare(t testing.TB, html string) *tab {
	t.Helper()
	p := browsertest.Open(t, html)
	return &tab{p, p.World(inject.Source()), t}
}

func (p *tab) inspect(kind string, more ...any) any {
	p.t.Helper()
	a := arg{"kind": kind}
	for i := 0; i+1 < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	answer := p.call("inspect", a)
	if answer["ok"] != true {
		p.t.Fatalf("%s: %v", kind, answer)
	}
	return answer["value"]
}

// ref gives an element a ref, as one that can have the focus.
func (p *tab) ref(selector string) string {
	p.t.Helper()
	p.Main(`(document.querySelector(` + strconv.Quote(selector) + `).tabIndex = 0, 1)`)
	all := snapshot(p.t, p.world, options{"from": int(p.num("performance.now()")) + 1, "scope": arg{"selector": selector}})
	for _, line := range append(all.Visible, all.Hidden...) {
		return parse(p.t, line).Ref
	}
	p.t.Fatalf("%s has no ref", selector)
	return ""
}

func TestTextIsWhatIsRendered(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><title>T</title><style>i { display: none }</style><h1>Head</h1><p>One <b>bold</b>
		line<br>and another</p><p>Two <i>no</i><span hidden>no</span><span style="visibility:hidden">no <u style="visibility:visible">yes</u></span></p>
		<div>a</div><div>b</div><ul><li>x</li><li>y</li></ul><table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>
		<pre>  kept
    as is</pre><details><summary>More</summary>folded</details><script>var no</script><textarea>no</textarea><select><option>first<option selected>chosen</select>
		<p style="text-transform:uppercase">loud</p><div id="h">slotted</div><div style="content-visibility:hidden">no</div><script>h.attachShadow({mode: 'open'}).innerHTML = '<p>in <slot></slot> shadow</p><style>p{}</style>'</script>`)
	want := "Head\n\nOne bold line\nand another\n\nTwo yes\n\na\nb\nx\ny\n1\t2\n3\t4\n  kept\n    as is\nMore\nchosen\n\nLOUD\n\nin slotted shadow"
	if diff := cmp.Diff(want, p.inspect("text")); diff != "" {
		t.Error(diff)
	}
	p.want("of one element", p.inspect("text", "ref", p.ref("ul")), "x\ny")
	p.want("of a hidden one", p.inspect("text", "ref", p.ref("i")), "")
}

func TestHTMLHasShadowRootsAndNoSecrets(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><html><head><title>T &amp; T</title></head><body><div id="h">light</div><input type="password" value="hunter2"><input autocomplete="cc-number" value="4111" name="c">
<svg viewBox="0 0 1 1"><path d="M0"/></svg><img alt="a &quot;b&quot; &lt;"><template><b>in</b></template><!-- note --></body></html>`)
	p.Main(`(h.attachShadow({mode: 'open'}).innerHTML = '<p>in</p>', 1)`)
	want := `<!DOCTYPE html><html><head><title>T &amp; T</title></head><body><div id="h"><template shadowrootmode="open"><p>in</p></template>light</div>` +
		`<input type="password"><input autocomplete="cc-number" name="c">` + "\n" +
		`<svg viewBox="0 0 1 1"><path d="M0"></path></svg><img alt="a &quot;b&quot; &lt;"><template><b>in</b></template><!-- note --></body></html>`
	if diff := cmp.Diff(want, p.inspect("html")); diff != "" {
		t.Error(diff)
	}
}

func TestASecretThatIsTextIsNotShown(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><p>Code:</p><div id="code" contenteditable autocomplete="one-time-code">123456</div><input id="pw" type="password" value="hunter2">`)
	p.Main(`(code.focus(), getSelection().selectAllChildren(code), 1)`)
	for _, kind := range []string{"text", "markdown", "html", "forms", "selection", "links", "metadata"} {
		text, _ := json.Marshal(p.inspect(kind))
		if strings.Contains(string(text), "123456") || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s tells it: %s", kind, text)
		}
	}
	p.Main(`(pw.focus(), pw.select(), 1)`)
	p.want("a selected password", p.inspect("selection"), "")
	p.want("its value", p.call("value", find("#code"))["value"], nil)
}

func TestMarkdownKeepsTheStructure(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><style>x{}</style><h1>Title <small>here</small></h1><p>A <strong>strong </strong>and <em>fine</em> <a href="https://x.example/a b(1)">link</a>, <code>code</code>.</p>
		<ul><li>one<li><p>two</p><ol start="3"><li>three<li>four</ol><li>five</ul><blockquote><p>Quoted</p><p>twice</p></blockquote>
		<pre><code class="language-go">func f() {
	x()
}</code></pre><table><thead><tr><th>K<th>V</thead><tr><td>a|b<td><b>1</b><tr><td>c</table><hr><p hidden>no</p><img alt="Logo" src="https://x.example/l.png">
		<div>last<br>line</div><table><tr><td><p>layout</p></table><script>no</script>`)
	want := "# Title here\n\nA **strong** and _fine_ [link](https://x.example/a%20b%281%29), `code`.\n\n- one\n- two\n  3. three\n  4. four\n- five\n\n" +
		"> Quoted\n>\n> twice\n\n```go\nfunc f() {\n\tx()\n}\n```\n\n| K | V |\n| --- | --- |\n| a\\|b | **1** |\n| c |  |\n\n---\n\n![Logo](https://x.example/l.png)\n\nlast\nline\n\nlayout"
	if diff := cmp.Diff(want, p.inspect("markdown")); diff != "" {
		t.Error(diff)
	}
}

func TestLinksFormsStylesSelectionAndMetadata(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><html lang="de"><title>Meta</title><body style="margin:0"><a href="/a">First</a><a href="#b" hidden>Hidden</a><div id="h"></div>
		<form name="login" action="/in" method="POST"><input name="elements"><label>User <input name="user" value="ann" required></label><input type="password" name="pw" value="hunter2">
		<input type="checkbox" name="keep" checked><select name="s"><option value="1">One</select><button>Go</button></form><input id="alone" value="select me"><p id="p">Some <b>chosen</b> text</p>
		<p id="red" style="color:rgb(255, 0, 0)">Red</p><p style="height:5000px"></p>`)
	p.Main(`(h.attachShadow({mode: 'open'}).innerHTML = '<a href="https://x.example/">Inner</a>', 1)`)
	base := strings.Trim(p.Main("location.origin"), `"`)
	p.want("links", p.inspect("links"), []arg{{"text": "First", "href": base + "/a"}, {"text": "Inner", "href": "https://x.example/"}})
	forms := p.inspect("forms")
	text, _ := json.Marshal(forms)
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a password is told: %s", text)
	}
	f, _ := forms.([]any)[0].(map[string]any)
	p.want("the form", []any{f["name"], f["action"], f["method"]}, []any{"login", base + "/in", "post"})
	fields, _ := f["fields"].([]any)
	p.want("a field", fields[1], arg{"name": "user", "type": "text", "label": "User", "value": "ann", "required": true})
	p.want("a secret", fields[2], arg{"name": "pw", "type": "password", "label": "", "secret": true})
	p.want("a box", at(arg{"f": fields[3]}, "f", "checked"), true)
	p.want("fields of no form", len(forms.([]any)), 2)
	p.want("styles", at(arg{"s": p.inspect("styles", "ref", p.ref("#red"))}, "s", "color"), "rgb(255, 0, 0)")
	p.Main(`(getSelection().setBaseAndExtent(p.firstChild, 2, p.lastChild, 3), 1)`)
	p.want("the selection", p.inspect("selection"), "me chosen te")
	p.Main(`(alone.focus(), alone.setSelectionRange(0, 6), 1)`)
	p.want("the selection in a field", p.inspect("selection"), "select")
	p.Main(`(scrollTo(0, 100), 1)`)
	m := arg{"m": p.inspect("metadata")}
	p.want("metadata", []any{at(m, "m", "title"), at(m, "m", "language"), at(m, "m", "scroll"), at(m, "m", "zoom")}, []any{"Meta", "de", arg{"x": 0, "y": 100}, 1})
	p.want("an unknown kind", p.call("inspect", arg{"kind": "toString"})["error"], "unknown_kind")
}

func TestMuchTextIsNotPutTogether(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><p>Seen</p><div id="hidden" style="display:none"></div><div id="shown"></div><div id="few"></div>`)
	p.Main(`(hidden.textContent = 'hidden text '.repeat(3500000), 1)`)
	p.want("text", p.inspect("text"), "Seen")
	p.want("markdown", p.inspect("markdown"), "Seen")
	p.want("a wait", p.call("wait", arg{"text": "hidden text"})["error"], "timeout")
	p.Main(`(shown.textContent = 'shown \ud800 ' + 'words text '.repeat(20000), shown.title = 'long'.repeat(1000000), few.textContent = 'few \u{1F469}\u200D\u{1F469}\u200D\u{1F467} '.repeat(5), 1)`)
	for _, kind := range []string{"text", "html", "markdown"} {
		a := p.call("inspect", arg{"kind": kind, "maxBytes": 10000})
		value, _ := a["value"].(string)
		if len(value) > 10000 || len(value) < 9900 || a["truncated"] != true || !utf8.ValidString(value) {
			t.Errorf("%s: %d bytes, truncated %v", kind, len(value), a["truncated"])
		}
	}
	const family = "\U0001F469\u200D\U0001F469\u200D\U0001F467"
	ref := p.ref("#few")
	for max := 7; max < 40; max++ {
		value, _ := p.inspect("text", "ref", ref, "maxBytes", max).(string)
		rest := strings.ReplaceAll(value, family, "")
		if len(value) > max || strings.ContainsAny(rest, "\U0001F469\u200D\U0001F467") {
			t.Errorf("%d bytes: %q", max, value)
		}
	}
}

func TestDeepNestingIsNoFault(t *testing.T) {
	t.Parallel()
	p := bare(t, `<!doctype html><p>Seen</p><div id="d"></div>`)
	p.Main(`(() => { let at = d; for (let i = 0; i < 1600; i++) at = at.appendChild(document.createElement('div')); at.textContent = 'deep'; return 1; })()`)
	for _, kind := range []string{"text", "html", "markdown"} {
		p.want(kind, p.call("inspect", arg{"kind": kind})["truncated"], true)
	}
	p.want("a wait", p.call("wait", arg{"text": "Seen"})["ok"], true)
}

func TestTextComesInPiecesAroundFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		html string
		want arg
	}{
		"between blocks": {`<p>Before</p><iframe></iframe><p>After</p>`, arg{"pieces": []string{"Before\n\n", "\n\nAfter"}, "frames": []string{"F0"}}},
		"in a line":      {`one <iframe></iframe> two`, arg{"pieces": []string{"one\n", "\ntwo"}, "frames": []string{"F0"}}},
		"alone":          {`<iframe></iframe>`, arg{"pieces": []string{"", ""}, "frames": []string{"F0"}}},
		"two":            {`a<iframe></iframe><iframe></iframe>b`, arg{"pieces": []string{"a\n", "\n", "\nb"}, "frames": []string{"F0", "F1"}}},
		"hidden":         {`a<iframe hidden></iframe>b<iframe style="visibility:hidden"></iframe><iframe height="0" style="border:0"></iframe>`, arg{"value": "ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := bare(t, `<!doctype html><title>T</title>`+c.html)
			p.world.Eval(`document.querySelectorAll('iframe').forEach((f, i) => __vant.bindFrame(f, 'F' + i))`)
			a := p.call("inspect", arg{"kind": "text"})
			for field, want := range c.want {
				p.want(field, a[field], want)
			}
		})
	}
	p := bare(t, `<!doctype html><p>Before</p><iframe></iframe>`)
	p.want("a frame that is not known", p.inspect("text"), "Before")
}

func TestNamesOfElementsStandForNothingOfTheDocument(t *testing.T) {
	t.Parallel()
	named := ""
	for _, name := range []string{"baseURI", "doctype", "title", "body", "documentElement", "activeElement", "scrollingElement", "styleSheets", "firstElementChild", "timeline", "hidden", "defaultView"} {
		named += `<img name="` + name + `" alt="">`
	}
	p := bare(t, `<!doctype html><title>T</title><base href="/base/"><form action="go" name="children"><button id="b">Go</button></form>
		<svg width="20" height="20"><a href="there"><text y="15">S</text></a></svg><math><mtext href="math" tabindex="0">M</mtext></math><form popovertarget="b"><input name="popoverTargetElement"><input name="popoverTargetElement"></form>`+named)
	base := strings.Trim(p.Main("location.origin"), `"`) + "/base/"
	if html, _ := p.inspect("html").(string); !strings.HasPrefix(html, "<!DOCTYPE html><html>") {
		t.Errorf("html: %.80s", html)
	}
	forms, _ := p.inspect("forms").([]any)
	p.want("an action", at(arg{"f": forms[0]}, "f", "action"), base+"go")
	p.want("the title", at(arg{"m": p.inspect("metadata")}, "m", "title"), "T")
	list := snapshot(t, p.world, nil)
	if len(list.Visible) < 4 || !strings.Contains(strings.Join(list.Visible, "\n"), `"href":"`+base+`there"`) {
		t.Errorf("the snapshot is %v", list.Visible)
	}
	p.good("#b", "click")
}
