package inject_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	_, w := open(t, "<body>")
	for _, c := range []struct {
		name, html      string
		visible, hidden []string
	}{
		{"native controls", `<button>B</button><a href=/>L</a><a>no</a><input aria-label=I><input type=hidden><textarea aria-label=T></textarea>
			<select aria-label=S><option>o</select><details><summary>M</summary></details>`,
			[]string{"button B", "link L", "textbox I", "textbox T", "combobox S", "button M"}, nil},
		{"roles, tabindex and editing hosts", `<p role=button>a</p><div role="nonsense link">b</div><div tabindex=0>c</div><div tabindex=-1>no</div>
			<div contenteditable aria-label=d>x</div><div role=list>no</div><h1 tabindex=-1>no</h1>`,
			[]string{"button a", "link b", "generic c", "textbox d"}, nil},
		{"onclick, and the outermost pointer", `<div onclick="1">a</div><div style="cursor:pointer">b<span>c</span><div style="cursor:default">x
			<span style="cursor:pointer">d</span></div></div>`, []string{"generic a", "generic bc x d", "generic d"}, nil},
		{"icons that are clickable", `<div style="cursor:pointer"><svg width=24 height=24><circle cx=12 cy=12 r=9 /></svg></div>`, []string{"generic"}, nil},
		{"a pointer on the body is no button", `<style>body{cursor:pointer}</style><div>a</div><button>b</button>`, []string{"button b"}, nil},
		{"a pointer inside a button or link says nothing", `<a href=/><span style="cursor:pointer">a</span></a>
			<button style="cursor:default"><i style="cursor:pointer">b</i></button>`, []string{"link a", "button b"}, nil},
		{"a label stands for its control", `<label style="cursor:pointer">Yes <input type=checkbox style="display:none"></label>
			<label for=r onclick="1">No</label><input id=r type=radio hidden><label style="cursor:pointer">alone</label>`,
			[]string{"checkbox Yes", "radio No", "generic alone"}, nil},
		{"a hidden label does not show its control", `<div hidden><label>Yes <input type=checkbox></label></div>`, nil, []string{"checkbox Yes"}},
		{"ways to be hidden", `<button style="display:none">a</button><button style="visibility:hidden">b</button><button hidden>c</button>
			<div style="visibility:hidden">x<button style="visibility:visible">d</button></div><details><summary>e</summary><button>f</button></details>
			<div style="content-visibility:hidden"><button>g</button></div><button style="opacity:0">h</button><div inert><button>i</button></div>
			<a href=/ style="display:block;width:0;height:0"></a><div style="display:contents"><button>j</button></div>
			<div aria-hidden=true><button>k</button></div><div style="display:none"><div style="cursor:pointer">no</div></div>`,
			[]string{"button d", "button e", "button h", "button j", "button k"},
			[]string{"button a", "button b", "button c", "button f", "button g", "button i", "link"}},
		{"display:contents with something to see", `<a href=/ style="display:contents"><b>a</b></a><a href=/ style="display:contents">b</a>
			<a href=/ style="display:contents"><b hidden>c</b></a>`, []string{"link a", "link b"}, []string{"link"}},
		{"an area is where its image is", `<map name=m><area href=/ alt=a shape=rect coords=0,0,9,9></map><img usemap=#m width=20 height=20 src=x>
			<map name=n><area href=/ alt=b></map>`, []string{"link a"}, []string{"link b"}},
		{"slots in their order", `<div><template shadowrootmode=open><slot name=z></slot><button>s</button><slot></slot></template>
			<button>d</button><i>x</i><button slot=z>z</button><button slot=gone>no</button></div>`, []string{"button z", "button s", "button d"}, nil},
		{"nested shadow roots", `<div><template shadowrootmode=open><p><template shadowrootmode=open><button>deep</button></template></p></template></div>`,
			[]string{"button deep"}, nil},
		{"names that forms take", `<form><input name=nextElementSibling aria-label=a><input name=firstElementChild aria-label=b>
			<input name=hasAttribute aria-label=c><input name=nodeType><input name=shadowRoot></form><button>d</button><img name=body><form name=title></form><form name=activeElement></form>`,
			[]string{"textbox a", "textbox b", "textbox c", "textbox", "textbox", "button d"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.Eval(fmt.Sprintf(`document.body.setHTMLUnsafe(%q.replaceAll('\\t', ' '))`, c.html))
			s := snapshot(t, w, nil)
			diff(t, "visible", append([]string{}, c.visible...), short(t, s.Visible))
			diff(t, "hidden", append([]string{}, c.hidden...), short(t, s.Hidden))
			if want := len(c.visible) + len(c.hidden); s.Head.Total != want || s.Head.Left != 0 {
				t.Errorf("the header counts %+v, want %d", s.Head, want)
			}
		})
	}
}

func TestLinesSayWhatThereIsToSay(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<input value=v required aria-label=a autofocus><input type=checkbox checked disabled aria-label=b>
		<a href="x?y#z">c</a><a href="data:text/html,`+strings.Repeat("x", 500)+`">d</a><div role=tab aria-selected=true aria-expanded=false>e</div>
		<select aria-label=f multiple><option selected>x<option selected>y</select><input type=range value=3 max=5 aria-label=g>`)
	p.Main(`document.querySelector('input').focus()`)
	s := snapshot(t, w, nil)
	base := s.Head.URL[:strings.LastIndex(s.Head.URL, "/")]
	diff(t, "lines", []string{
		`{"ref":"@e1_1","role":"textbox","name":"a","visible":true,"disabled":false,"value":"v","required":true,"focused":true}`,
		`{"ref":"@e1_2","role":"checkbox","name":"b","visible":true,"disabled":true,"checked":true}`,
		`{"ref":"@e1_3","role":"link","name":"c","visible":true,"disabled":false,"href":"` + base + `/x?y#z"}`,
		`{"ref":"@e1_4","role":"link","name":"d","visible":true,"disabled":false,"href":"data:text/html,` + strings.Repeat("x", 48) + `…"}`,
		`{"ref":"@e1_5","role":"tab","name":"e","visible":true,"disabled":false,"expanded":false,"selected":true}`,
		`{"ref":"@e1_6","role":"listbox","name":"f","visible":true,"disabled":false,"value":"x, y"}`,
		`{"ref":"@e1_7","role":"slider","name":"g","visible":true,"disabled":false,"value":"3"}`,
	}, s.Visible)
	diff(t, "header", head{Title: "T", URL: s.Head.URL, Total: 7, Next: 8}, s.Head)
}

func TestDetailTellsWhereOneIs(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<main><h2>H</h2><ul><li>one<li></li></ul><img alt=P src='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>' width=9 height=9><img src=x><select aria-label=S><option>o</select></main>`)
	s := snapshot(t, w, options{"detail": true})
	diff(t, "visible", []string{"main", "heading H", "listitem one", "img P", "combobox S"}, short(t, s.Visible))
	diff(t, "hidden", []string{"option o"}, short(t, s.Hidden))
	if e := parse(t, s.Visible[3]); e.Bounds == nil || e.Bounds.Width != 9 {
		t.Errorf("the image is at %+v", e.Bounds)
	}
	if e := parse(t, s.Visible[1]); e.Level != 2 {
		t.Errorf("the heading has level %d", e.Level)
	}
}

func TestAModalDialogHidesTheRest(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<button>under</button><dialog id=d><button>in</button></dialog>`)
	p.Main(`d.showModal()`)
	s := snapshot(t, w, nil)
	diff(t, "visible", []string{"button in"}, short(t, s.Visible))
	diff(t, "hidden", []string{"button under"}, short(t, s.Hidden))
	p.Main(`d.close()`)
	diff(t, "closed", []string{"button under"}, short(t, snapshot(t, w, nil).Visible))
}

func TestAModalDialogOfAShadowRootHidesTheRest(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]string{
		"what it is given":     `<dialog><slot></slot></dialog>`,
		"its own":              `<dialog><button>in</button></dialog>`,
		"nothing to focus":     `<dialog><p>text</p></dialog>`,
		"one in another's one": `<p><template shadowrootmode=open><dialog><button>in</button></dialog></template></p>`,
	} {
		p, w := open(t, `<button>under</button><x-d><template shadowrootmode=open>`+inside+`</template><button>in</button></x-d><button>after</button>`)
		p.Main(`(() => { let root = document.querySelector("x-d").shadowRoot; root = root.querySelector("p")?.shadowRoot ?? root; window.d = root.querySelector("dialog"); d.showModal() })()`)
		for _, focus := range []string{"1", "document.activeElement.shadowRoot?.activeElement?.blur(), document.activeElement.blur(), 1"} {
			p.Main(focus)
			s := snapshot(t, w, nil)
			want := []string{"button in"}
			if name == "nothing to focus" {
				want = []string{}
			}
			diff(t, name+": visible", want, short(t, s.Visible))
			if hidden := strings.Join(short(t, s.Hidden), ","); !strings.Contains(hidden, "button under") || !strings.Contains(hidden, "button after") {
				t.Errorf("%s: hidden %s", name, hidden)
			}
		}
		p.Main(`d.close()`)
		if s := snapshot(t, w, nil); len(s.Visible) < 2 {
			t.Errorf("%s: closed: %v", name, s.Visible)
		}
	}
}

func TestScopeAndFilter(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<button>Out</button><div id=s aria-disabled=true><button>In</button><a href=/>Inner</a></div>`)
	s := snapshot(t, w, options{"scope": options{"selector": "#s"}})
	diff(t, "scope", []string{"button In", "link Inner"}, short(t, s.Visible))
	if !parse(t, s.Visible[0]).Disabled {
		t.Error("what is above the scope does not count")
	}
	ref := parse(t, s.Visible[1]).Ref
	diff(t, "scope by ref", []string{"link Inner"}, short(t, snapshot(t, w, options{"scope": options{"ref": ref}}).Visible))
	diff(t, "text", []string{"button In", "link Inner"}, short(t, snapshot(t, w, options{"filter": options{"text": "iN"}}).Visible))
	role := snapshot(t, w, options{"filter": options{"role": "link"}})
	diff(t, "role", []string{"link Inner"}, short(t, role.Visible))
	if role.Head.Total != 1 {
		t.Errorf("the total is %d", role.Head.Total)
	}
	for scope, want := range map[string]string{"#gone": "stale_or_missing", "a[": "invalid_selector"} {
		if got := snapshot(t, w, options{"scope": options{"selector": scope}}); got.Head.Error != want || (got.Head.Reason == "missing") != (scope == "#gone") || len(got.Visible) != 0 {
			t.Errorf("%s: %+v", scope, got)
		}
	}
	if got := snapshot(t, w, options{"scope": options{"ref": "@e9_9"}}).Head; got.Error != "stale_or_missing" || got.Reason != "unknown" {
		t.Errorf("an unknown ref: %+v", got)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<style>.m{-webkit-text-security:disc}</style><input type=password value=hunter2><input autocomplete=one-time-code value=hunter2>
		<input autocomplete="section-x billing cc-number" value=hunter2><select autocomplete=cc-exp-month><option>1<option selected>2</select>
		<input class=m value=hunter2><textarea class=m>hunter2</textarea><div class=m contenteditable>hunter2</div>
		<input autocomplete=current-password value=hunter2><input id=shown type=password value=hunter2>
		<label>of a label <input type=password value=hunter2></label><p id=p>x</p>`)
	check := func(what string) {
		for _, o := range []options{nil, {"detail": true}, {"format": "outline"}, {"filter": options{"text": "hunter"}},
			{"format": "outline", "filter": options{"role": "link"}}} {
			s := snapshot(t, w, o)
			if all := strings.Join(append(s.Visible, s.Hidden...), "\n"); strings.Contains(all, "hunter2") || strings.Contains(all, "selected") {
				t.Errorf("%s, %v:\n%s", what, o, all)
			}
		}
	}
	check("as it is")
	p.Main(`document.querySelector('#shown').type = 'text'`)
	check("shown by the page")
	if got := snapshot(t, w, options{"filter": options{"text": "hunter"}}); got.Head.Total != 0 {
		t.Error("the filter tells what a secret holds")
	}
}

func TestTextIsWellFormedAndCutAtGraphemes(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<button id=a></button><button id=b></button><input id=c aria-label=c><a id=d>d</a>`)
	family := "👨‍👩‍👧‍👦"
	p.Main(fmt.Sprintf(`(a.textContent = 'x\ud800y', b.textContent = 'ab'.repeat(95) + %q.repeat(20), c.value = '\udc00'.repeat(3) + 'é'.repeat(900),
		d.href = '/', d.textContent = '\ud83d', document.title = '\ud83dT', 1)`, family))
	s := snapshot(t, w, nil)
	if s.Head.Title != "\ufffdT" {
		t.Errorf("the title is %q", s.Head.Title)
	}
	if got := parse(t, s.Visible[0]).Name; got != "x\ufffdy" {
		t.Errorf("a lone surrogate is %q", got)
	}
	if got := parse(t, s.Visible[1]).Name; got != strings.Repeat("ab", 95)+"…" {
		t.Errorf("cut inside of a grapheme: %q", got)
	}
	value := parse(t, s.Visible[2]).Value
	if n := utf8.RuneCountInString(value); n != 500 || !strings.HasSuffix(value, "é…") {
		t.Errorf("the value has %d characters: %.40q", n, value)
	}
	for _, line := range s.Visible {
		if !utf8.ValidString(line) || strings.Contains(line, `\ud`) {
			t.Errorf("not well-formed: %q", line)
		}
	}
}

func TestTextsComeAsTheyAre(t *testing.T) {
	t.Parallel()
	const text = `> Größe ~ 007e “x” 日本 😀 \\ back`
	_, w := open(t, `<meta charset=utf-8><p>`+text+`</p><button>`+text+`</button><input aria-label=v value="`+text+`">
		<a href="#é~`+"`"+`">1</a><a href="/a%20b">2</a><a href="https://other.test/ü">3</a>`)
	s := snapshot(t, w, nil)
	diff(t, "names", []string{"button " + text, "textbox v", "link 1", "link 2", "link 3"}, short(t, s.Visible))
	diff(t, "value", text, parse(t, s.Visible[1]).Value)
	for i, script := range []string{"0", "1", "2"} {
		diff(t, "address", w.Eval(`document.links[`+script+`].href`), parse(t, s.Visible[2+i]).Href)
	}
	diff(t, "outline", text, snapshot(t, w, options{"format": "outline"}).Visible[0])
}

func TestTheBudgetIsInBytesOfUTF8(t *testing.T) {
	t.Parallel()
	_, w := open(t, strings.Repeat(`<button>日本語</button>`, 100)+`<button hidden>h</button>`)
	s := snapshot(t, w, options{"maxBytes": 1000})
	size := len(strings.Join(s.Visible, "\n"))
	if size > 1000 || size < 800 {
		t.Errorf("the lines have %d bytes", size)
	}
	if s.Head.Total != 101 || s.Head.Left != 101-len(s.Visible) || len(s.Hidden) != 0 {
		t.Errorf("%+v with %d lines", s.Head, len(s.Visible))
	}
	if s = snapshot(t, w, options{"maxBytes": 1}); len(s.Visible) != 0 || s.Head.Left != 101 {
		t.Errorf("no room: %+v", s)
	}
}

func TestHiddenOnesComeAfterAllThatAreVisible(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<button hidden>a</button><button>b</button><button hidden>c</button><button>d</button>`)
	for limit, want := range map[int][2]int{4: {2, 2}, 3: {2, 1}, 2: {2, 0}, 1: {1, 0}} {
		s := snapshot(t, w, options{"limit": limit})
		if got := [2]int{len(s.Visible), len(s.Hidden)}; got != want || s.Head.Total != 4 || s.Head.Left != 4-limit {
			t.Errorf("limit %d: %v, %+v", limit, got, s.Head)
		}
	}
}

func TestTwentyThousandLinks(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<ul id=u></ul>`)
	p.Main(`(u.innerHTML = Array.from({length: 20000}, (_, i) => '<li><a href="/p/' + i + '">Item ' + i + '</a>').join(''), 1)`)
	s := snapshot(t, w, options{"maxBytes": 1 << 20})
	if len(s.Visible) != 500 || s.Head.Total != 20000 || s.Head.Left != 19500 || s.Head.Next != 501 {
		t.Errorf("%d lines, %+v", len(s.Visible), s.Head)
	}
	s = snapshot(t, w, options{"filter": options{"text": "item 1999"}})
	if len(s.Visible) != 11 || s.Head.Total != 11 {
		t.Errorf("the filter finds %d, %+v", len(s.Visible), s.Head)
	}
}

func TestWhatIsBeyondTheLimitIsCounted(t *testing.T) {
	t.Parallel()
	p, w := open(t, "<!doctype html>")
	const style = `<style>.p{cursor:pointer}.q>i{cursor:var(--c)}.q{--c:pointer}</style>`
	repeat := func(n int, html string) string { return style + strings.Repeat(html, n) }
	for html, total := range map[string]int{
		repeat(10, `<div class=p>z</div>`):                                                                         10,
		repeat(10, `<div class=p>z<b class=p>y</b></div>`):                                                         10,
		repeat(10, `<p class=q><i>z</i></p>`):                                                                      10,
		repeat(10, `<div style="cursor:pointer">z</div>`):                                                          10,
		repeat(10, `<button class=p>z<i class=p>y</i></button>`):                                                   10,
		repeat(5, `<a href=/x>z</a><div class=p>y</div>`):                                                          10,
		repeat(10, `<div class=p>z</div><div class=p hidden>y</div><p class=p></p>`):                               10,
		repeat(10, `<label class=p>z<input></label>`):                                                              10,
		repeat(10, `<div class=p tabindex=0>z</div>`):                                                              10,
		repeat(10, `<div class=p><button>z</button>y</div>`):                                                       20,
		repeat(10, `<div><template shadowrootmode=open><style>b{cursor:pointer}</style><b>z</b></template></div>`): 10,
		repeat(10, `<div><template shadowrootmode=open><style>:host{cursor:pointer}</style>z</template></div>`):    10,
		`<style>main{& div{cursor:pointer}}</style><main>` + repeat(10, `<div>z</div>`) + `</main>`:                10,
	} {
		p.Main(fmt.Sprintf("document.body.setHTMLUnsafe(%q)", html))
		for _, format := range []string{"list", "outline"} {
			for _, limit := range []int{1, 4, total - 1, total, 500} {
				s := snapshot(t, w, options{"limit": limit, "format": format})
				if s.Head.Total != total || s.Head.Left != max(0, total-limit) {
					t.Errorf("%.90s as %s, limit %d: total %d, left %d; want %d of %d", html[len(style):], format, limit, s.Head.Total, s.Head.Left, max(0, total-limit), total)
				}
			}
		}
		whole := snapshot(t, w, options{"filter": options{"text": "z"}})
		if s := snapshot(t, w, options{"limit": 2, "filter": options{"text": "z"}}); s.Head.Total != len(whole.Visible) || s.Head.Left != len(whole.Visible)-2 {
			t.Errorf("%.90s by its text: %+v of %d", html[len(style):], s.Head, len(whole.Visible))
		}
	}
	p.Main(fmt.Sprintf("document.body.setHTMLUnsafe(%q)", repeat(15000, `<div class=p>z</div>`)))
	if s := snapshot(t, w, nil); s.Head.Total != 15000 || len(s.Visible) != 500 {
		t.Errorf("%d of %d", len(s.Visible), s.Head.Total)
	}
}

func TestHugeAndDeepPages(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<button>first</button><div id=r></div><button>last</button>`)
	p.Main(`(r.innerHTML = '<p><i>x</i></p>'.repeat(40000), 1)`)
	s := snapshot(t, w, nil)
	diff(t, "far", []string{"button first", "button last"}, short(t, s.Visible))
	nest := `((depth, hidden) => { r.textContent = ''; r.hidden = hidden; let n = r;
		for (let i = 0; i < depth; i++) { const c = document.createElement('div'); n.append(c); n = c; }
		n.innerHTML = '<button>deep</button>'; })`
	p.Main(nest + `(1000, false)`)
	diff(t, "deep", []string{"button first", "button deep", "button last"}, short(t, snapshot(t, w, nil).Visible))
	if got := snapshot(t, w, options{"format": "outline"}).Visible; len(got) != 3 {
		t.Errorf("the outline is %q", got)
	}
	// Chromium itself cannot lay out what is nested much deeper.
	p.Main(nest + `(10000, true)`)
	s = snapshot(t, w, nil)
	diff(t, "hidden", []string{"button deep"}, short(t, s.Hidden))
	ref := parse(t, s.Hidden[0]).Ref
	if got := refState(t, w, ref); got != "ok" {
		t.Errorf("the ref of the deep one is %s", got)
	}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<style>.c{cursor:pointer}</style><main><h1>Head <a href=/h>more</a></h1><nav aria-label=Main><ul><li><a href="/a">A</a><li>plain <b>text</b> <a href=/b>B</a></ul></nav>
		<p>Some <b>bold</b> text<br>goes on. <button>Go</button> after</p><button hidden>no</button><div hidden>no</div><p style="visibility:hidden">no</p>
		<label>Mail <input value=me@x required></label><label><input type=checkbox checked> Yes</label>
		<table><caption>Cap</caption><tr><th>Name<th>Qty<tr><td>Pear<td>3</table><div aria-hidden=true>no</div><img alt=Pic src=x><div class=c>Card <b>x</b></div></main>`)
	s := snapshot(t, w, options{"format": "outline"})
	diff(t, "outline", strings.Split(`main
  heading 1 "Head more"
    link "more" @e1_1 /h
  navigation "Main"
    - link "A" @e1_2 /a
    - plain text
      link "B" @e1_3 /b
  Some bold text goes on.
  button "Go" @e1_4
  after
  textbox "Mail" @e1_5 = "me@x" required
  checkbox "Yes" @e1_6 checked
  table "Cap"
    Name | Qty
    Pear | 3
  img "Pic"
  generic "Card x" @e1_7`, "\n"), s.Visible)
	if s.Head.Total != 7 || s.Head.Left != 0 {
		t.Errorf("the header is %+v", s.Head)
	}
}

func TestOutlinesOfLists(t *testing.T) {
	t.Parallel()
	p, w := open(t, "<!doctype html>")
	for html, want := range map[string]string{
		`<ul><li>a<li>b</ul>after`:                                              "- a|- b|after",
		`<style>li{cursor:pointer}</style><ul><li>a<li>b</ul>after`:             `- listitem "a" @e1_1|- listitem "b" @e1_2|after`,
		`<ul><li onclick=1>a</ul>`:                                              `- listitem "a" @e1_1`,
		`<ul><li>a</ul><ul><li tabindex=0>b</ul><ul><li>c</ul>`:                 `- a|- listitem "b" @e1_1|- c`,
		`<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>`:                       "- a|  - b|    - c|- d",
		`<ul><li onclick=1>a<ul><li>b</ul></ul>`:                                `- listitem "a b" @e1_1`,
		`<ul><li>a<ul><li onclick=1>b</ul><li>c</ul>`:                           `- a|  - listitem "b" @e1_1|- c`,
		`<ul><li><ul><li>a</ul></ul>`:                                           "  - a",
		`<ul><li><div></div>a</ul>`:                                             "- a",
		`<ul><li><div>a</div><div>b</div></ul>`:                                 "- a|  b",
		`<ul><li><button>a</button><a href=/b>b</a></ul>`:                       `- button "a" @e1_1|  link "b" @e1_2 /b`,
		`<ul><li><h2>a</h2>b</ul>`:                                              `- heading 2 "a"|  b`,
		`<ul><li hidden>a</ul>b`:                                                "b",
		`<ul><li aria-hidden=true>a</ul>b`:                                      "b",
		`<ul><li inert>a</ul>b`:                                                 "b",
		`<ul><li></ul>b`:                                                        "b",
		`<ul><svg role=listitem></svg></ul>b`:                                   "b",
		`<ul><li style="visibility:hidden">a</ul>b`:                             "b",
		`<style>li{display:inline}</style><ul><li>a<li>b</ul>c`:                 "- a|- b|c",
		`<style>li{display:inline-block}</style><ul><li inert>a<li>b</ul>c`:     "- b|c",
		`<style>li{display:contents}</style><ul><li onclick=1>a<li>b</ul>c`:     `- listitem "a" @e1_1|- b|c`,
		`<span role=listitem>a</span><span role=listitem tabindex=0>b</span>c`:  `- a|- listitem "b" @e1_1|c`,
		`<nav><ul><li onclick=1>a<li>b</ul></nav>`:                              `navigation|  - listitem "a" @e1_1|  - b`,
		`<table><tr><td><ul><li onclick=1>a</ul><td>b</table>`:                  `table|  - listitem "a" @e1_1|  b`,
		`<fieldset><legend>L</legend><ul><li tabindex=0>a</ul></fieldset>`:      `group "L"|  - listitem "a" @e1_1`,
		`<details open><summary>s</summary><ul><li onclick=1>a</ul></details>b`: `button "s" @e1_1 expanded|- listitem "a" @e1_2|b`,
		`<div><template shadowrootmode=open><p><slot></slot></p></template><b role=listitem onclick=1>a</b><b role=listitem>b</b></div>`: `- listitem "a" @e1_1|- b`,
	} {
		p.Main(fmt.Sprintf("document.body.setHTMLUnsafe(%q)", html))
		diff(t, html, want, strings.Join(snapshot(t, w, options{"format": "outline"}).Visible, "|"))
	}
}

// outlines compares outlines, lines joined by |, with what they should be.
func outlines(t *testing.T, o options, cases map[string]string) {
	t.Helper()
	p, w := open(t, "<!doctype html>")
	with := options{"format": "outline"}
	maps.Copy(with, o)
	for html, want := range cases {
		p.Main(fmt.Sprintf(`(document.body.setHTMLUnsafe(%q), document.querySelectorAll('dialog').forEach((d) => d.showModal()), 1)`, html))
		diff(t, html, want, strings.Join(snapshot(t, w, with).Visible, "|"))
	}
}

func TestOutlinesOfModalDialogs(t *testing.T) {
	t.Parallel()
	const behind = `<h1>Behind</h1><p>text</p><button>Behind</button><ul><li>item</ul>`
	const dialog = `<dialog><p>Sure?</p><button autofocus>Yes</button></dialog>`
	const shown = `dialog|  Sure?|  button "Yes" @e1_1 focused`
	outlines(t, nil, map[string]string{
		behind + dialog: shown,
		`<main>before<table><tr><td>cell<td>` + behind + dialog + `</table>after</main>`:                               shown,
		`<ul><li>before` + dialog + `after</ul>`:                                                                       shown,
		`<nav aria-label=N tabindex=0>before` + dialog + behind + `</nav>`:                                             shown,
		`<div inert>` + behind + dialog + `</div>`:                                                                     shown,
		`<div><template shadowrootmode=open><p>before</p><slot></slot></template>` + dialog + behind + `</div>`:        shown,
		`<dialog aria-label=First>one` + `<dialog aria-label=Second>two<button autofocus>b</button></dialog></dialog>`: `dialog "Second"|  two|  button "b" @e1_1 focused`,
		`<dialog>one<p inert>no<button>no</button></p></dialog>` + behind:                                              `dialog|  one`,
		`<div hidden>` + dialog + `</div>` + behind:                                                                    ``,
		`<div role=dialog aria-modal=true>one</div><p>two</p>`:                                                         `dialog|  one|two`,
		`<div inert>` + behind + `</div>after`:                                                                         `after`,
	})
	p, w := open(t, behind+dialog)
	p.Main(`(document.querySelector('dialog').showModal(), 1)`)
	for selector, want := range map[string]string{"dialog": shown, "h1": "", "body": shown} {
		got := snapshot(t, w, options{"format": "outline", "scope": options{"selector": selector}}).Visible
		diff(t, selector, want, strings.Join(got, "|"))
	}
}

func TestOutlinesSayWhatNamesLeaveUnsaid(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 39)) + " end"
	outlines(t, nil, map[string]string{
		// Names that are given.
		`<div role=log tabindex=0 aria-label=Chat>Bob: the code is 4711</div>after`: `log "Chat" @e1_1|  Bob: the code is 4711|after`,
		`<div role=log tabindex=0 aria-label=Bob><p>Bob</p><p>hi</p></div>`:         `log "Bob" @e1_1|  Bob|  hi`,
		`<div tabindex=0 aria-label=Box>text <b>bold</b></div>`:                     `generic "Box" @e1_1|  text bold`,
		`<i id=n hidden>Box</i><div tabindex=0 aria-labelledby=n>text</div>`:        `generic "Box" @e1_1|  text`,
		`<span tabindex=0 role=note aria-label=N>in</span> after`:                   `note "N" @e1_1|  in|after`,
		// None at all.
		`<article style="cursor:pointer"><h3>Card title</h3><p>Card text $5</p></article>`: `article "" @e1_1|  heading 3 "Card title"|  Card text $5`,
		`<p onclick=1>Click para</p>`:                            `paragraph "" @e1_1|  Click para`,
		`<table tabindex=0><tr><td>a<td>b<tr><td>c<td>d</table>`: `table "" @e1_1|  a | b|  c | d`,
		`<nav tabindex=0>a</nav>`:                                `navigation "" @e1_1|  a`,
		`<ul tabindex=0><li>a<li>b</ul>`:                         `list "" @e1_1|  - a|  - b`,
		`<fieldset tabindex=0><legend>L</legend>a</fieldset>`:    `group "L" @e1_1|  a`,
		`<section tabindex=0 aria-label=S>a</section>`:           `region "S" @e1_1|  a`,
		`<blockquote tabindex=0>a</blockquote>`:                  `blockquote "" @e1_1|  a`,
		`<code onclick=1>a</code> <em onclick=1>b</em> c <strong onclick=1>d</strong> <time onclick=1>e</time>`: `code "" @e1_1|  a|emphasis "" @e1_2|  b|c|strong "" @e1_3|  d|time "" @e1_4|  e`,
		// Names that are the content.
		`<button>a <b>b</b></button><a href=/x><h3>c</h3><p>d</p></a><div onclick=1><p>e</p>f</div>`: `button "a b" @e1_1|link "c d" @e1_2 /x|generic "e f" @e1_3`,
		`<div contenteditable aria-label=T>text</div><textarea aria-label=U>text</textarea>`:         `textbox "T" @e1_1 = "text"|textbox "U" @e1_2 = "text"`,
		// Content that is called otherwise in the name around it.
		`<div onclick=1><div role=log aria-label=Chat>code 4711</div></div>`:         `generic "Chat" @e1_1|  code 4711`,
		`<div onclick=1>a<table><caption>Cap</caption><tr><td>b<td>c</table>d</div>`: `generic "a Cap d" @e1_1|  table "Cap"|    b | c`,
		`<div onclick=1><fieldset><legend>L</legend>a</fieldset></div>`:              `generic "L" @e1_1|  group "L"|    a`,
		`<div onclick=1><h3>a</h3><section aria-label=S>b</section></div>`:           `generic "a S" @e1_1|  region "S"|    b`,
		// A label instead of the content: what it has not is said.
		`<a href=/x aria-label="Read more about cats">Read more</a>`:                                                                                      `link "Read more about cats" @e1_1 /x`,
		`<a href=/x aria-label="Show offer"><h3>Offer</h3><p>Now $5</p></a> after`:                                                                        `link "Show offer" @e1_1 /x|  Now $5|after`,
		`<button aria-label=Close>×</button><button aria-label="Inbox, 12 new">Inbox <b>12</b></button><button aria-label=Inbox>Inbox <b>12</b></button>`: `button "Close" @e1_1|button "Inbox, 12 new" @e1_2|button "Inbox" @e1_3|  Inbox 12`,
		// A name that was cut goes on.
		`<a href=/x>` + long + ` and <b>more</b></a>`:                          `link "` + long + ` …" @e1_1 /x|  …and more`,
		`<div onclick=1><h3>a</h3><p>` + long + ` x</p><p>a</p><p>b</p></div>`: `generic "a ` + long[:197] + `…" @e1_1|  …end x|  a|  b`,
		`<ul><li onclick=1><p>` + long + `</p><p>one</p><p>word</p></ul>`:      `- listitem "` + long + ` …" @e1_1|  one|  word`,
		// Labels and titles.
		`a <label for=x>Mail</label> b <input id=x>`:                      `a b|textbox "Mail" @e1_1`,
		`<label>Mail <input></label>`:                                     `textbox "Mail" @e1_1`,
		`<label>Mail (work) <input aria-label=Mail></label>`:              `Mail (work)|textbox "Mail" @e1_1`,
		`<label id=l>Mail <input aria-labelledby=l></label>`:              `textbox "Mail" @e1_1`,
		`<table aria-label=T><caption>Cap</caption><tr><td>a</table>`:     `table "T"|  Cap|  a`,
		`<table role=none><caption>Cap</caption><tr><td>a</table>`:        `Cap|a`,
		`<figure><figcaption>` + long + ` and more</figcaption></figure>`: `figure "` + long + ` …"|  ` + long + ` and more`,
	})
}

func TestOutlinesShowOnlyWhatIsSeen(t *testing.T) {
	t.Parallel()
	const parts = `no<p>no</p><h2>no</h2><ul><li>no</ul><button>no</button><img alt=no src=x>`
	outlines(t, nil, map[string]string{
		`<details>` + parts + `<summary>s</summary>` + parts + `<summary>no</summary></details>yes`: `button "s" @e1_1 collapsed|yes`,
		`<details open><summary>s</summary>yes<p>yes</p></details>`:                                 `button "s" @e1_1 expanded|yes|yes`,
		`<details><summary>s</summary><details open><summary>no</summary>no</details></details>yes`: `button "s" @e1_1 collapsed|yes`,
		`<details>no</details>yes`:                                                                             `yes`,
		`<ul><li><details>no</details><li>yes</ul>`:                                                            `- yes`,
		`<style>.v{content-visibility:hidden}</style><div class=v>` + parts + `</div>yes`:                      `yes`,
		`<div style="content-visibility:hidden;height:9px" tabindex=0 aria-label=a>` + parts + `</div>`:        `generic "a" @e1_1`,
		`<span style="content-visibility:hidden">yes</span>`:                                                   `yes`,
		`<div style="content-visibility:hidden;display:contents">yes</div>`:                                    `yes`,
		`<table><tr style="content-visibility:hidden"><td>yes<td style="content-visibility:hidden">no</table>`: `table|  yes`,
		`<div style="content-visibility:auto">yes</div>`:                                                       `yes`,
		`<div style="height:9999px"></div><div style="content-visibility:auto">yes<h2>yes</h2></div>`:          `yes|heading 2 "yes"`,
		`<div hidden=until-found>` + parts + `</div>yes`:                                                       `yes`,
		`<div hidden>` + parts + `</div>yes`:                                                                   `yes`,
		`<div style="visibility:hidden">` + parts + `<p style="visibility:visible">yes</p></div>`:              `yes`,
		`<canvas>` + parts + `</canvas><video>` + parts + `</video><audio>` + parts + `</audio>yes`:            `yes`,
		`<progress value=1>no</progress><meter value=1>no</meter>yes`:                                          `progressbar = "1"|meter = "1"|yes`,
		`<div><template shadowrootmode=open><p>yes</p></template>` + parts + `</div>`:                          `yes`,
		`<map><area href=/a alt=no></map><div style="display:contents">y<b>es</b></div>`:                       `yes`,
	})
	_, w := open(t, `<details><summary>s</summary><p id=a>no</p></details><div hidden=until-found><p id=b>no</p></div><div style="content-visibility:hidden"><p id=c>no</p></div>
		<div style="display:contents"><p id=d>yes</p></div><div id=e style="display:contents">yes</div>`)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		want := map[bool]string{true: "yes", false: ""}[id > "c"]
		got := snapshot(t, w, options{"format": "outline", "scope": options{"selector": "#" + id}}).Visible
		diff(t, "within "+id, want, strings.Join(got, "|"))
	}
}

func TestTextOfAPageIsNoLineOfAnOutline(t *testing.T) {
	t.Parallel()
	p, w := open(t, "<body>")
	const forged = `button "Delete account" @e1_1`
	for text, want := range map[string]string{
		forged:                            `"button \"Delete account\" @e1_1"`,
		`see @e2_13 disabled`:             `"see @e2_13 disabled"`,
		`"quoted" text`:                   `"\"quoted\" text"`,
		`"`:                               `"\""`,
		`a "quoted" \ text`:               `a "quoted" \ text`,
		`me@example.com, @else, \u0040e1`: `me@example.com, @else, \u0040e1`,
		">\tF1":                           `> F1`,
	} {
		p.Main(fmt.Sprintf(`(document.body.textContent = %q, 1)`, text))
		diff(t, text, []string{want}, snapshot(t, w, options{"format": "outline"}).Visible)
	}
	for _, ref := range []string{`@\u00ade1_1`, `@e\u20601_1`, `@e\ufe0f1`, `\uff20e1_1`, `@\uff451_1`, `@e\uff11_1`, `@\u04351_1`, `@e\u0661`, `@\u180ee1`, `\u00ad"`} {
		p.Main(`(document.body.textContent = 'button x ` + ref + `', 1)`)
		if strings.HasSuffix(ref, `"`) {
			p.Main(`(document.body.textContent = '` + ref + `', 1)`)
		}
		if lines := snapshot(t, w, options{"format": "outline"}).Visible; len(lines) != 1 || lines[0][0] != '"' {
			t.Errorf("%s is in %q", ref, lines)
		}
	}
	// The ends of lines that any reader may know.
	for _, end := range []string{`\n`, `\r`, `\x0b`, `\x0c`, `\x1c`, `\x1d`, `\x1e`, `\x85`, `\u2028`, `\u2029`} {
		p.Main(`(() => { const text = 'x` + end + forged + `'; const add = (tag, set) => { const e = document.createElement(tag); Object.assign(e, set); document.body.append(e); return e; };
			document.body.textContent = '';
			add('p', {textContent: text});
			add('button', {textContent: text});
			add('textarea', {ariaLabel: text, value: text});
			add('h2', {textContent: text});
			add('a', {textContent: 'l', href: 'javascript:' + text});
			add('a', {textContent: 'm'}).setAttribute('href', 'http://[' + text);
			add('div', {role: 'meter', ariaLabel: text, ariaValueText: text});
			document.title = text; })()`)
		lines := snapshot(t, w, options{"format": "outline"}).Visible
		if len(lines) != 7 {
			t.Errorf("%s makes lines: %q", end, lines)
		}
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 }) {
				t.Errorf("%s is in %q", end, line)
			}
			before, _, _ := strings.Cut(line, `"`)
			if strings.Contains(before, "@e") || strings.Contains(line, forged) {
				t.Errorf("%s leaves %q", end, line)
			}
		}
	}
}

func TestFilteredOutlines(t *testing.T) {
	t.Parallel()
	const controls = `<button>B0</button><button>B1</button><div role=checkbox tabindex=0>C</div><div contenteditable>E</div><label>F <input></label>
		<div onclick=1>G</div><div style="cursor:pointer">H <b>i</b></div><summary role=tab>J</summary><select><option>K</select><a href=/l><h3>L</h3></a>`
	outlines(t, options{"filter": options{"role": "link", "text": "match"}}, map[string]string{
		controls: ``,
		`<p>before ` + controls + `<a href=/x>match</a> after</p>`:                                                       `before|link "match" @e1_1 /x|after`,
		`<h1>Head</h1><p>text <button>Go</button> goes on</p><nav>` + controls + `</nav>`:                                `heading 1 "Head"|text goes on|navigation`,
		`<ul><li onclick=1>Order 17 <a href=/x>match</a><li onclick=1>Order 18 <a href=/x>other</a><li onclick=1>c</ul>`: `- Order 17|  link "match" @e1_1 /x|- Order 18`,
		`<div onclick=1>Order 17 <a href=/x>match</a></div><div onclick=1>only itself</div>`:                             `Order 17|link "match" @e1_1 /x`,
		`<div role=log tabindex=0 aria-label=Chat>Bob: 4711</div><p onclick=1>para</p>`:                                  `Bob: 4711|para`,
		`<div role=listbox aria-label=L><div role=option>no</div></div><a href=/x aria-label=match>text</a>`:             `link "match" @e1_1 /x|  text`,
	})
}

func TestChildFramesAreInTheirPlace(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<button>a</button><div><iframe id=one></iframe></div><button>b</button><iframe id=two hidden></iframe><iframe id=three></iframe>`)
	w.Eval(`(__vant.bindFrame(document.querySelector('#one'), 'F1'), __vant.bindFrame(document.querySelector('#two'), 'F2'),
		__vant.bindFrame(document.querySelector('#three'), 'F3'), 1)`)
	s := snapshot(t, w, nil)
	diff(t, "visible", []string{"button a", ">F1", "button b", ">F3"}, short(t, s.Visible))
	diff(t, "hidden", []string{">F2"}, short(t, s.Hidden))
	s = snapshot(t, w, options{"limit": 1})
	diff(t, "after the limit", []string{"button a", ">F1", ">F3"}, short(t, s.Visible))
	diff(t, "hidden after the limit", []string{">F2"}, short(t, s.Hidden))
	s = snapshot(t, w, options{"maxBytes": 1, "scope": options{"selector": "div"}})
	diff(t, "in a scope", []string{">F1"}, short(t, s.Visible))
	s = snapshot(t, w, options{"format": "outline"})
	diff(t, "outline", []string{`button "a" @e1_1`, "iframe", "  >F1", `button "b" @e1_2`, "iframe", "  >F3"}, s.Visible)
}

func TestClosedRootsThatAreGivenAreWalked(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<x-a id=a style="display:block;width:9px;height:9px"><button slot=s>light</button></x-a><x-b style="display:block">text</x-b><div id=e></div>`)
	p.Main(`(globalThis.r = a.attachShadow({mode: 'closed'}), r.innerHTML = '<div><button>inside</button></div>', 1)`)
	s := snapshot(t, w, nil)
	if s.Head.Closed != 2 { // what a root holds may be seen where its host has no size
		t.Fatalf("the header is %+v", s.Head)
	}
	offer := `(globalThis.offered = __vant.closedHosts(), offered.map((e) => e.id).join(''))`
	if got := w.Eval(offer); got != "ae" {
		t.Errorf("the hosts are %s", got)
	}
	if again := snapshot(t, w, nil); again.Head.Closed != 2 {
		t.Errorf("what was not answered is not offered again: %+v", again.Head)
	}
	if got := w.Eval(offer); got != "ae" {
		t.Errorf("the hosts are %s, the second time", got)
	}
	w.Eval(`(__vant.openRoots([], [], offered), 1)`)
	if again := snapshot(t, w, nil); again.Head.Closed != 0 {
		t.Errorf("what was answered is offered again: %+v", again.Head)
	}
	// A root of this world's own making stands for one that came over CDP.
	w.Eval(`(() => { const host = document.createElement('div'); document.body.append(host);
		const root = host.attachShadow({mode: 'closed'}); root.innerHTML = '<slot></slot><button>given</button>';
		host.innerHTML = '<button>slotted</button>'; __vant.openRoots([host], [root], [host]); })()`)
	diff(t, "lines", []string{"button slotted", "button given"}, short(t, snapshot(t, w, nil).Visible))
}

func TestElementsThatChangeAreAskedForClosedRootsAgain(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<x-later style="display:block;height:9px"></x-later><div></div><span style="display:block;height:9px"></span><svg><font-face></font-face></svg>`)
	answered := func() string {
		return fmt.Sprint(w.Eval(`(() => { const list = __vant.closedHosts(); __vant.openRoots([], [], list); return list.map((e) => e.localName).join(' '); })()`))
	}
	for _, step := range []struct{ change, asked string }{
		{"", "x-later div span"},
		{"", ""},
		{`customElements.define('x-later', class extends HTMLElement { constructor() { super(); this.attachShadow({mode: 'closed'}); } })`, "x-later"},
		{`document.querySelector('div').attachShadow({mode: 'closed'}).innerHTML = 'text'`, "div"},
		{`document.querySelector('span').style.transform = 'scale(2)'`, ""},
		{"", ""},
	} {
		p.Main(`(() => { ` + step.change + `; return 1; })()`)
		snapshot(t, w, nil)
		if got := answered(); got != step.asked {
			t.Errorf("after %q %q is asked for, not %q", step.change, got, step.asked)
		}
	}
	w.Eval(`(document.querySelector('span').style.height = '10px', 1)`)
	snapshot(t, w, nil)
	w.Eval(`(globalThis.list = __vant.closedHosts(), list[0].style.height = '11px', __vant.openRoots([], [], list), 1)`)
	if s := snapshot(t, w, nil); s.Head.Closed != 1 {
		t.Errorf("what changed while it was asked for is not asked for again: %+v", s.Head)
	}
}

func TestAPageThatIsNotWalkedWholeIsTold(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<body>`)
	for _, c := range []struct {
		spans   int
		unread  map[string]bool
		options options
	}{
		{40_000, map[string]bool{"list": false, "outline": false}, nil},
		{60_000, map[string]bool{"list": true, "outline": true}, nil},
		{60_000, map[string]bool{"list": false, "outline": false}, options{"scope": options{"selector": "button"}}},
		{60_000, map[string]bool{"list": false}, options{"limit": 0}},
	} {
		p.Main(fmt.Sprintf(`(document.body.innerHTML = '<button>b</button>' + '<span>x</span>'.repeat(%d), 1)`, c.spans))
		for format, want := range c.unread {
			o := options{"format": format}
			maps.Copy(o, c.options)
			if s := snapshot(t, w, o); s.Head.Unread != want {
				t.Errorf("%d spans, as %s with %v: %+v", c.spans, format, c.options, s.Head)
			}
		}
	}
}

func TestMoreHostsThanAreAskedForAreTold(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<body>`)
	p.Main(`(document.body.innerHTML = '<div></div>'.repeat(4096), 1)`)
	if s := snapshot(t, w, nil); s.Head.Closed != 4096 || s.Head.Unasked {
		t.Errorf("as many as are asked for: %+v", s.Head)
	}
	p.Main(`(document.body.append(document.createElement('div')), 1)`)
	for _, format := range []string{"list", "outline"} {
		if s := snapshot(t, w, options{"format": format}); s.Head.Closed != 4096 || !s.Head.Unasked {
			t.Errorf("one more, as %s: %+v", format, s.Head)
		}
	}
	w.Eval(`(() => { for (let list; (list = __vant.closedHosts()).length; ) __vant.openRoots([], [], list); return 1; })()`)
	if s := snapshot(t, w, nil); s.Head.Closed != 1 || s.Head.Unasked {
		t.Errorf("afterwards: %+v", s.Head)
	}
}

func TestThePageSeesNothing(t *testing.T) {
	t.Parallel()
	p, w := open(t, `<body><div><template shadowrootmode=open><button>a</button></template></div><label>x <input type=checkbox></label><iframe></iframe></body>`)
	before := p.Main(`document.documentElement.getHTML({serializableShadowRoots: true}) + Object.getOwnPropertyNames(globalThis).length`)
	p.Main(`(() => { globalThis.seen = []; const note = (m) => seen.push(...m.map((r) => r.type));
		new MutationObserver(note).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		for (const name of ['focusin', 'blur', 'scroll', 'slotchange', 'toggle']) addEventListener(name, () => seen.push(name), true);
		for (const [type, name] of [[Element, 'getAttribute'], [Element, 'checkVisibility'], [Node, 'getRootNode']])
			type.prototype[name] = () => { seen.push(name); };
		globalThis.getComputedStyle = () => { seen.push('getComputedStyle'); }; })()`)
	for _, o := range []options{nil, {"detail": true}, {"format": "outline"}, {"filter": options{"text": "a"}}} {
		if s := snapshot(t, w, o); s.Head.Total == 0 {
			t.Errorf("%v finds nothing", o)
		}
	}
	if got := p.Main(`seen`); got != "[]" {
		t.Errorf("the page saw %s", got)
	}
	after := p.Main(`document.documentElement.getHTML({serializableShadowRoots: true}) + (Object.getOwnPropertyNames(globalThis).length - 1)`)
	diff(t, "the page", before, after)
}

func TestASnapshotLeavesNoState(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<button>a</button><style id=s></style>`)
	first := snapshot(t, w, nil)
	diff(t, "again", first.Visible, snapshot(t, w, options{"from": 2}).Visible)
	w.Eval(`(document.querySelector('#s').textContent = 'button::before{content:"new "}', 1)`)
	if got := short(t, snapshot(t, w, options{"gen": 2}).Visible); got[0] != "button new a" {
		t.Errorf("a new style sheet is not seen: %v", got)
	}
}
