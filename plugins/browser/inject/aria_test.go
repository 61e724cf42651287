package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vant-run/vant/plugins/browser/inject"
)

// naming are elements, by id t, with the role and the name they have.
var naming = []struct{ html, role, name string }{
	// Buttons.
	{`<button id=t>Save</button>`, "button", "Save"},
	{`<button id=t>  Save
		all  </button>`, "button", "Save all"},
	{`<button id=t>Save <b>all</b> of <i>it</i></button>`, "button", "Save all of it"},
	{`<button id=t><span>a</span><span>b</span></button>`, "button", "ab"},
	{`<button id=t><div>a</div><div>b</div></button>`, "button", "a b"},
	{`<button id=t>a<br>b</button>`, "button", "a b"},
	{`<button id=t><img src=x alt=Pic></button>`, "button", "Pic"},
	{`<button id=t><svg><title>Bin</title><path d="M0 0h9v9z"/></svg></button>`, "button", "Bin"},
	{`<button id=t title=Tip></button>`, "button", "Tip"},
	{`<button id=t title=Tip>Text</button>`, "button", "Text"},
	{`<button id=t aria-label="Close">x</button>`, "button", "Close"},
	{`<button id=t aria-label="   ">x</button>`, "button", "x"},
	{`<button id=t>a<span hidden>b</span></button>`, "button", "a"},
	{`<button id=t>a<span style="visibility:hidden">b</span></button>`, "button", "a"},
	{`<button id=t>a<span aria-hidden=true>b</span></button>`, "button", "a"},
	{`<button id=t>a<span style="display:contents">b</span></button>`, "button", "ab"},
	{`<button id=t>a<script>b</script><style>c</style></button>`, "button", "a"},
	{`<label for=t>L</label><button id=t>x</button>`, "button", "L"},
	{`<button id=t role=none>x</button>`, "button", "x"},
	{`<button id=t role=tab>x</button>`, "tab", "x"},
	{`<button id=t role="nonsense switch">x</button>`, "switch", "x"},
	{`<button id=t role=widget>x</button>`, "button", "x"},
	{`<input id=t type=submit>`, "button", "Submit"},
	{`<input id=t type=reset>`, "button", "Reset"},
	{`<input id=t type=submit value=Go>`, "button", "Go"},
	{`<input id=t type=button value=Go>`, "button", "Go"},
	{`<input id=t type=button title=Tip>`, "button", "Tip"},
	{`<input id=t type=image alt=Go src=x>`, "button", "Go"},
	{`<input id=t type=image title=Go src=x>`, "button", "Go"},
	{`<input id=t type=image src=x>`, "button", "Submit"},
	{`<input id=t type=file>`, "button", "Choose File"},
	{`<label>CV <input id=t type=file></label>`, "button", "CV"},
	{`<label>L <button id=t>x</button></label>`, "button", "L"},
	{`<button id=t aria-labelledby="t f">x</button><i id=f>file</i>`, "button", "x file"},
	{`<details><summary id=t>More</summary>x</details>`, "button", "More"},
	{`<details><summary>a</summary><summary id=t>b</summary></details>`, "generic", "b"},
	{`<details><summary id=t></summary>x</details>`, "button", "Details"},
	{`<summary id=t>alone</summary>`, "generic", "alone"},
	// Pseudo-elements.
	{`<style>#t::before{content:"Pre "}#t::after{content:" post"}</style><button id=t>x</button>`, "button", "Pre x post"},
	{`<style>.a::before{content:"\f015"}</style><button id=t class=a>Home</button>`, "button", "Home"},
	{`<style>.a::before{content:"\2713" / "Done"}</style><button id=t class=a></button>`, "button", "Done"},
	{`<style>.a::before{content:attr(data-x)}</style><button id=t class=a data-x=Att></button>`, "button", "Att"},
	{`<style>.a::before{content:"a,b(c)"}</style><button id=t><span class=a>d</span></button>`, "button", "a,b(c)d"},
	{`<style>.a::before{content:"n";display:none}</style><button id=t class=a>x</button>`, "button", "x"},
	{`<style>.p{.a::after{content:"!"}}</style><div class=p><button id=t class=a>x</button></div>`, "button", "x!"},
	{`<style>@media all{.a:is(.b,.c)::after{content:"!"}}</style><button id=t class="a c">x</button>`, "button", "x!"},
	// Links.
	{`<a id=t href=/x>Link</a>`, "link", "Link"},
	{`<a id=t>no link</a>`, "generic", "no link"},
	{`<a id=t href="">empty</a>`, "link", "empty"},
	{`<a id=t href=/x><img src=x alt=""></a>`, "link", ""},
	{`<a id=t href=/x title=Tip><img src=x></a>`, "link", "Tip"},
	{`<a id=t href=/x role=button>B</a>`, "button", "B"},
	{`<a id=t href=/x role=presentation>B</a>`, "link", "B"},
	{`<svg><a id=t href=/x><title>Sv</title><text>y</text></a></svg>`, "link", "Sv"},
	{`<map name=m><area id=t href=/x alt=Part></map><img usemap=#m src=x>`, "link", "Part"},
	{`<div id=t role=link>x</div>`, "link", "x"},
	// Text fields.
	{`<input id=t>`, "textbox", ""},
	{`<input id=t placeholder=Ph>`, "textbox", "Ph"},
	{`<input id=t title=Ti placeholder=Ph>`, "textbox", "Ti"},
	{`<label for=t>La</label><input id=t title=Ti>`, "textbox", "La"},
	{`<label>La <input id=t value=v></label>`, "textbox", "La"},
	{`<label>La <input id=t value=v> th</label>`, "textbox", "La th"},
	{`<label for=t>One</label><label for=t>Two</label><input id=t>`, "textbox", "One Two"},
	{`<label for=t aria-label=Al>x</label><input id=t>`, "textbox", "Al"},
	{`<label for=t hidden>Hid</label><input id=t>`, "textbox", "Hid"},
	{`<label for=t>a <span hidden>b</span></label><input id=t>`, "textbox", "a"},
	{`<input id=t aria-label=Al placeholder=Ph>`, "textbox", "Al"},
	{`<input id=t aria-placeholder=Ap>`, "textbox", "Ap"},
	{`<input id=t type=email>`, "textbox", ""},
	{`<input id=t type=password aria-label=Pw>`, "textbox", "Pw"},
	{`<input id=t type=search>`, "searchbox", ""},
	{`<input id=t type=number>`, "spinbutton", ""},
	{`<input id=t type=range>`, "slider", ""},
	{`<input id=t type=date>`, "textbox", ""},
	{`<input id=t type=color>`, "textbox", ""},
	{`<input id=t type=nonsense>`, "textbox", ""},
	{`<input id=t list=d><datalist id=d><option>x</datalist>`, "combobox", ""},
	{`<input id=t list=gone>`, "textbox", ""},
	{`<input id=t role=combobox aria-label=C>`, "combobox", "C"},
	{`<textarea id=t>held</textarea>`, "textbox", ""},
	{`<label>N<textarea id=t>held</textarea></label>`, "textbox", "N"},
	{`<div id=t contenteditable aria-label=Ed>text</div>`, "textbox", "Ed"},
	{`<div id=t contenteditable=false>text</div>`, "generic", "text"},
	{`<div id=t role=textbox aria-label=Ed>text</div>`, "textbox", "Ed"},
	{`<div id=t role=textbox>text</div>`, "textbox", ""},
	// Choices.
	{`<input id=t type=checkbox>`, "checkbox", ""},
	{`<label><input id=t type=checkbox> Agree</label>`, "checkbox", "Agree"},
	{`<input id=t type=checkbox switch>`, "switch", ""},
	{`<input id=t type=radio title=R>`, "radio", "R"},
	{`<div id=t role=checkbox>Ck</div>`, "checkbox", "Ck"},
	{`<select id=t><option>a</select>`, "combobox", ""},
	{`<select id=t size=4><option>a</select>`, "listbox", ""},
	{`<select id=t multiple><option>a</select>`, "listbox", ""},
	{`<label>Se <select id=t><option>a</select></label>`, "combobox", "Se"},
	{`<select><option id=t>Op</select>`, "option", "Op"},
	{`<select><option id=t label=La>Op</select>`, "option", "La"},
	{`<select><optgroup id=t label=Og><option>a</optgroup></select>`, "group", "Og"},
	{`<div id=t role=option>Op</div>`, "option", "Op"},
	{`<div id=t role=menuitem>Mi</div>`, "menuitem", "Mi"},
	{`<div id=t role=menuitemcheckbox>Mi</div>`, "menuitemcheckbox", "Mi"},
	{`<div id=t role=treeitem>Ti</div>`, "treeitem", "Ti"},
	{`<div id=t role=listbox>no</div>`, "listbox", ""},
	// Labels that hold controls.
	{`<label><input id=t type=checkbox> Flash <input value=3 aria-label=n> times</label>`, "checkbox", "Flash 3 times"},
	{`<label><input id=t type=checkbox> Take <select><option>one<option selected>two</select> now</label>`, "checkbox", "Take two now"},
	{`<label><input id=t type=checkbox> At <input type=range value=7 max=9> of 9</label>`, "checkbox", "At 7 of 9"},
	{`<label><input id=t type=checkbox> Key <input type=password value=hunter2></label>`, "checkbox", "Key"},
	{`<label><input id=t type=checkbox> Code <input autocomplete=one-time-code value=123456></label>`, "checkbox", "Code"},
	// aria-labelledby.
	{`<span id=a>One</span><span id=b>Two</span><input id=t aria-labelledby="b a">`, "textbox", "Two One"},
	{`<span id=a hidden>Hid <i>den</i></span><input id=t aria-labelledby=a>`, "textbox", "Hid den"},
	{`<span id=a>x <i hidden>y</i></span><input id=t aria-labelledby=a>`, "textbox", "x"},
	{`<input id=t aria-labelledby="gone" aria-label=Al>`, "textbox", "Al"},
	{`<button id=t aria-label=Delete aria-labelledby="t f">x</button><i id=f>file</i>`, "button", "Delete file"},
	{`<span id=a aria-label=Al>x</span><button id=t aria-labelledby=a>y</button>`, "button", "Al"},
	{`<span id=a aria-labelledby=b>x</span><i id=b>no</i><button id=t aria-labelledby=a>y</button>`, "button", "x"},
	{`<span id=a aria-hidden=true>ah</span><button id=t aria-labelledby=a>y</button>`, "button", "ah"},
	{`<input id=a value=held><button id=t aria-labelledby=a>y</button>`, "button", "held"},
	{`<input id=a type=password value=hunter2><button id=t aria-labelledby=a>y</button>`, "button", "y"},
	{`<button id=t aria-owns=o>y</button><i id=o> owned</i>`, "button", "y owned"},
	// Structure.
	{`<h2 id=t>He</h2>`, "heading", "He"},
	{`<div id=t role=heading>He</div>`, "heading", "He"},
	{`<h1 id=t role=none>x</h1>`, "none", ""},
	{`<main id=t>x</main>`, "main", ""},
	{`<nav id=t aria-label=Na>x</nav>`, "navigation", "Na"},
	{`<header id=t>x</header>`, "banner", ""},
	{`<footer id=t>x</footer>`, "contentinfo", ""},
	{`<article><header id=t>x</header></article>`, "generic", "x"},
	{`<div role=region aria-label=r><footer id=t>x</footer></div>`, "generic", "x"},
	{`<section id=t>x</section>`, "generic", "x"},
	{`<section id=t aria-label=Se>x</section>`, "region", "Se"},
	{`<div id=t role=region>x</div>`, "generic", "x"},
	{`<aside id=t>x</aside>`, "complementary", ""},
	{`<section><aside id=t>x</aside></section>`, "generic", "x"},
	{`<form id=t>x</form>`, "generic", "x"},
	{`<form id=t aria-label=Fo>x</form>`, "form", "Fo"},
	{`<search id=t>x</search>`, "search", ""},
	{`<fieldset id=t><legend>Le</legend>x</fieldset>`, "group", "Le"},
	{`<figure id=t><img src=x><figcaption>Fc</figcaption></figure>`, "figure", "Fc"},
	{`<dialog id=t open aria-label=Di>x</dialog>`, "dialog", "Di"},
	{`<details id=t open><summary>s</summary>x</details>`, "group", ""},
	{`<ul id=t><li>x</ul>`, "list", ""},
	{`<ul><li id=t>x</ul>`, "listitem", ""},
	{`<ul role=none><li id=t>x</ul>`, "none", ""},
	{`<div><li id=t>x</li></div>`, "generic", "x"},
	{`<hr id=t>`, "separator", ""},
	{`<p id=t>x</p>`, "paragraph", ""},
	{`<progress id=t value=.5 title=Pr></progress>`, "progressbar", "Pr"},
	{`<label>Me <meter id=t value=.5></meter></label>`, "meter", "Me"},
	{`<output id=t>x</output>`, "status", ""},
	{`<iframe id=t title=Fr></iframe>`, "iframe", "Fr"},
	{`<video id=t controls title=Vi></video>`, "video", "Vi"},
	// Tables.
	{`<table id=t><caption>Ca</caption><tr><td>x</table>`, "table", "Ca"},
	{`<table id=t summary=Su><tr><td>x</table>`, "table", "Su"},
	{`<table><tr id=t><td>x<td>y</table>`, "row", "x y"},
	{`<table><tr><td id=t>x</table>`, "cell", "x"},
	{`<table role=grid><tr><td id=t>x</table>`, "gridcell", "x"},
	{`<table role=none><tr><td id=t>x</table>`, "none", ""},
	{`<table role=none><tr id=t><td>x</table>`, "none", ""},
	{`<table><tr><th id=t scope=row>x</table>`, "rowheader", "x"},
	{`<table><tr><th id=t scope=col>x</table>`, "columnheader", "x"},
	{`<table><tr><th id=t>x<th>y</table>`, "columnheader", "x"},
	{`<table><tr><th id=t>x<td>y</table>`, "rowheader", "x"},
	{`<table><thead><tr><th id=t>x<td>y</thead></table>`, "columnheader", "x"},
	// Images.
	{`<img id=t src=x alt=Pic>`, "img", "Pic"},
	{`<img id=t src=x alt="">`, "none", ""},
	{`<img id=t src=x alt="" aria-label=Al>`, "img", "Al"},
	{`<img id=t src=x alt="" title=Ti>`, "img", "Ti"},
	{`<img id=t src=x title=Ti>`, "img", "Ti"},
	{`<img id=t src=x>`, "img", ""},
	{`<svg id=t><title>Sv</title></svg>`, "img", "Sv"},
	{`<div id=t role=image aria-label=Im></div>`, "img", "Im"},
	// Presentation gives way to focus and to what is said.
	{`<div id=t role=none aria-label=x>y</div>`, "generic", "x"},
	{`<h1 id=t role=none tabindex=0>y</h1>`, "heading", "y"},
	{`<h1 id=t role=none aria-live=polite>y</h1>`, "heading", "y"},
	// Shadow trees.
	{`<div id=t role=button><template shadowrootmode=open>a <slot></slot> c</template>b</div>`, "button", "a b c"},
	{`<div id=t role=button><template shadowrootmode=open><slot>back</slot></template></div>`, "button", "back"},
	{`<div id=t role=button><template shadowrootmode=open>only</template>unslotted</div>`, "button", "only"},
	// Forms that take the names of things.
	{`<form id=t aria-label=Fo><input name=localName><input name=getAttribute><input name=parentNode><input name=role></form>`, "form", "Fo"},
}

// opened is the script with its parts in reach.
func opened() string {
	return strings.Replace(inject.Source(), "{value: api,", "{value: Object.assign(api, {dom, aria, refs}),", 1)
}

func TestRolesAndNames(t *testing.T) {
	t.Parallel()
	p, _ := open(t, "")
	w := p.World(strings.Replace(opened(), "if (Object.hasOwn(globalThis, '__vant')) return;", "", 1))
	var pages []string
	for _, c := range naming {
		pages = append(pages, c.html)
	}
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	answer := w.Eval(`JSON.stringify(` + string(list) + `.map((html) => {
		document.body.setHTMLUnsafe(html);
		const {dom, aria} = __vant;
		dom.fresh();
		const el = dom.query('#t');
		return el ? [aria.role(el), aria.name(el)] : ['no element', ''];
	}))`)
	var got [][2]string
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range naming {
		if got[i] != [2]string{c.role, c.name} {
			t.Errorf("%s\n is %q %q, want %q %q", c.html, got[i][0], got[i][1], c.role, c.name)
		}
	}
}

// stating are elements, by id t, with what their states are.
var stating = []struct{ html, want string }{
	{`<input id=t type=checkbox checked>`, `{"checked":true,"disabled":false,"required":false,"readonly":false}`},
	{`<div id=t role=checkbox aria-checked=mixed>x</div>`, `{"checked":"mixed","disabled":false,"required":false,"readonly":false}`},
	{`<div id=t role=radio>x</div>`, `{"checked":false,"disabled":false,"required":false,"readonly":false}`},
	{`<button id=t aria-pressed=true>x</button>`, `{"checked":true,"disabled":false,"required":false,"readonly":false}`},
	{`<button id=t aria-expanded=false>x</button>`, `{"expanded":false,"disabled":false,"required":false,"readonly":false}`},
	{`<details open><summary id=t>x</summary></details>`, `{"expanded":true,"disabled":false,"required":false,"readonly":false}`},
	{`<button id=t popovertarget=p>x</button><div id=p popover>y</div>`, `{"expanded":false,"disabled":false,"required":false,"readonly":false}`},
	{`<div id=t role=tab aria-selected=true>x</div>`, `{"selected":true,"disabled":false,"required":false,"readonly":false}`},
	{`<select><option>a<option id=t selected>b</select>`, `{"selected":true,"disabled":false,"required":false,"readonly":false}`},
	{`<button id=t disabled>x</button>`, `{"disabled":true,"required":false,"readonly":false}`},
	{`<fieldset disabled><legend><button>a</button></legend><button id=t>x</button></fieldset>`, `{"disabled":true,"required":false,"readonly":false}`},
	{`<fieldset disabled><legend><button id=t>a</button></legend></fieldset>`, `{"disabled":false,"required":false,"readonly":false}`},
	{`<div aria-disabled=true><button id=t>x</button></div>`, `{"disabled":true,"required":false,"readonly":false}`},
	{`<div aria-disabled=true><button id=t aria-disabled=false>x</button></div>`, `{"disabled":false,"required":false,"readonly":false}`},
	{`<input id=t required>`, `{"disabled":false,"required":true,"readonly":false}`},
	{`<div id=t role=textbox aria-required=true aria-readonly=true></div>`, `{"disabled":false,"required":true,"readonly":true}`},
	{`<input id=t readonly>`, `{"disabled":false,"required":false,"readonly":true}`},
	{`<h3 id=t>x</h3>`, `{"disabled":false,"required":false,"readonly":false,"level":3}`},
	{`<div id=t role=heading aria-level=5>x</div>`, `{"disabled":false,"required":false,"readonly":false,"level":5}`},
}

func TestStates(t *testing.T) {
	t.Parallel()
	p, _ := open(t, "")
	w := p.World(strings.Replace(opened(), "if (Object.hasOwn(globalThis, '__vant')) return;", "", 1))
	for _, c := range stating {
		html, err := json.Marshal(c.html)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Eval(`(document.body.innerHTML = ` + string(html) + `, __vant.dom.fresh(), JSON.stringify(__vant.aria.states(__vant.dom.query('#t'))))`)
		if got != c.want {
			t.Errorf("%s\n is %s\nwant %s", c.html, got, c.want)
		}
	}
}
