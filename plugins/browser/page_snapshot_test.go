package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// list is a whole answer of page.snapshot.
type list struct {
	Generation, Total, Left int
	FramesLeft              int `json:"frames_left"`
	Dialog                  m
	URL, Title, Outline     string
	More                    string
	Truncated               bool
	Elements                []element
}

func (t *tab) list(params m) list {
	t.t.Helper()
	var out list
	t.call("page.snapshot", t.with(params), &out)
	return out
}

func TestSnapshots(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"what can be used is listed, the visible before the hidden": func(c *client) {
			p := c.open("/pages/form")
			out := p.list(nil)
			want := "textbox:Name textbox:E-mail spinbutton:Number searchbox:Search textbox:Phone textbox:Note combobox:Choice " +
				"checkbox:I agree radio:Small radio:Large button:Send button:Reset"
			if got := names(out.Elements, true); got != want || out.Total != 12 || out.Truncated || out.URL != site+"/pages/form" || out.Title != "Form" {
				c.t.Errorf("it shows %s, %+v", got, out)
			}
			p = c.open("/pages/hidden")
			all := p.snapshot(nil)
			if len(named(all, "Seen")) != 1 || !named(all, "Seen")[0].Visible {
				c.t.Errorf("it shows %v", all)
			}
			hidden := false
			for _, e := range all {
				if hidden && e.Visible {
					c.t.Errorf("%s comes after what is hidden", e.Name)
				}
				hidden = hidden || !e.Visible
			}
			if outline := p.list(m{"format": "outline"}).Outline; strings.Contains(outline, "display none") || !strings.Contains(outline, `button "Seen" @e`) {
				c.t.Errorf("the outline is %s", outline)
			}
		},
		"an outline has what is in a frame below its line, in its place": func(c *client) {
			p := c.page(`<ul><li>Alice: <iframe srcdoc="<button>A</button>"></iframe><li>Bob: <iframe title=N srcdoc="before<iframe srcdoc='<button>B</button>'></iframe>after"></iframe>` +
				`</ul>before <iframe src="http://` + strings.Replace(strings.TrimPrefix(site, "http://"), "127.0.0.1", "localhost", 1) + `/pages/frame-child?name=Other"></iframe> after <button>C</button>`)
			p.until(m{"text": "Other"})
			for _, button := range []string{"A", "B"} {
				p.until(m{"text": button})
			}
			seen := regexp.MustCompile(` @e\d+_\d+`).ReplaceAllString(strings.TrimSpace(p.list(m{"format": "outline"}).Outline), "")
			want := "- Alice:\n  iframe\n    button \"A\"\n- Bob:\n  iframe \"N\"\n    before\n    iframe\n      button \"B\"\n    after\nbefore\niframe\n  "
			if !strings.HasPrefix(seen, want) || !strings.HasSuffix(seen, "\nafter\nbutton \"C\"") {
				c.t.Errorf("the outline is\n%s", seen)
			}
		},
		"limit, bytes, scope and filter cut it, and the answer says so": func(c *client) {
			p := c.open("/pages/form")
			out := p.list(m{"limit": 3})
			if len(out.Elements) != 3 || !out.Truncated || out.Left != 9 || out.Total != 12 || out.More == "" {
				c.t.Errorf("limit: %+v", out)
			}
			out = p.list(m{"max_bytes": 1024})
			raw, _ := json.Marshal(out.Elements)
			if n := len(out.Elements); n == 0 || n == 12 || !out.Truncated || out.Left != 12-n || out.Total != 12 {
				c.t.Errorf("bytes: %d elements of %d bytes, %+v", n, len(raw), out)
			}
			if got := names(p.snapshot(m{"scope": "fieldset"}), true); got != "radio:Small radio:Large" {
				c.t.Errorf("scope: %s", got)
			}
			if got := names(p.snapshot(m{"scope": p.ref("button", "Send")}), true); got != "button:Send" {
				c.t.Errorf("scope by ref: %s", got)
			}
			if got := names(p.snapshot(m{"filter": m{"role": "button"}}), true); got != "button:Send button:Reset" {
				c.t.Errorf("role: %s", got)
			}
			if got := names(p.snapshot(m{"filter": m{"text": "NUMB"}}), true); got != "spinbutton:Number" {
				c.t.Errorf("text: %s", got)
			}
			for _, bad := range []string{"fieldset[", "@e1", "@e999999_1", "#nowhere", ":nope"} {
				c.refused("invalid_params", "page.snapshot", p.with(m{"scope": bad}))
			}
			if out := p.list(m{"format": "outline", "max_bytes": 1024}); len(out.Outline) > 1024 || out.Outline == "" {
				c.t.Errorf("outline of %d bytes", len(out.Outline))
			}
			if e := p.snapshot(m{"detail": true, "filter": m{"role": "heading"}}); len(e) != 1 || e[0].Name != "Form" {
				c.t.Errorf("detail: %v", e)
			}
		},
		"frames are shown at their places, each with its id": func(c *client) {
			p := c.open("/pages/frames-cross")
			p.find("button", "Other site")
			all := p.snapshot(nil)
			if got := names(all, true); got != "button:Outside button:Other site textbox:Frame field generic:Clickable in the frame button:After" {
				c.t.Errorf("it shows %s", got)
			}
			var frames []struct{ ID, Parent, URI string }
			c.call("page.frames", p.with(nil), &frames)
			if len(frames) != 2 || all[1].Frame != frames[1].ID || all[0].Frame != "" || frames[1].Parent != frames[0].ID {
				c.t.Errorf("frames %+v, elements %+v", frames, all)
			}
			if got := p.list(m{"format": "outline"}).Outline; !strings.Contains(got, "Other site") || strings.Index(got, "Other site") > strings.Index(got, "After") {
				c.t.Errorf("the outline is %s", got)
			}
			p = c.open("/pages/frames-odd")
			for _, name := range []string{"From data", "In the frame", "Object", "From a blob"} {
				p.find("button", name)
			}
			for _, e := range p.snapshot(nil) {
				if e.Visible && (e.Name == "Hidden" || e.Name == "Zero") {
					c.t.Errorf("%+v is not to be seen", e)
				}
			}
			p = c.open("/pages/frame-churn")
			for range 5 {
				if len(named(p.snapshot(nil), "Here")) != 1 {
					c.t.Error("the button outside is not shown")
				}
			}
		},
		"closed shadow roots are looked into at once, also in each other": func(c *client) {
			for page, want := range map[string]string{
				"shadow-closed": "textbox:Name button:Inside", "consent?mode=closed": "link:Read more button:Accept all",
				"shadow-nested": "button:Level one button:Level two button:Level three", "shadow-slots": "button:First by slot button:Second by slot button:Fallback",
			} {
				p := c.open("/pages/" + page)
				all := p.snapshot(nil)
				if got := names(all, true); got != want {
					c.t.Errorf("%s shows %s", page, got)
				}
				if again := p.snapshot(nil); fmt.Sprint(again) != fmt.Sprint(all) {
					c.t.Errorf("%s: %v, then %v", page, all, again)
				}
				refs := make(map[string]bool)
				for _, e := range all {
					refs[e.Ref] = true
				}
				if len(refs) != len(all) {
					c.t.Errorf("%s: a ref is there twice: %v", page, all)
				}
			}
			p := c.open("/pages/consent?mode=closed")
			p.does("click", m{"ref": p.ref("button", "Accept all")})
			p.noted("accepted")
			p = c.open("/pages/blank")
			p.js(`for (let i = 0; i < 30; i++) { const d = document.createElement('div'); d.style.height = '5px'; document.body.append(d); const b = document.createElement('button'); b.textContent = 'b' + i; document.body.append(b);
				const r = d.attachShadow({mode: 'closed'}); r.innerHTML = '<button>c' + i + '</button>' }`)
			all := p.snapshot(nil)
			refs := make(map[string]bool)
			for _, e := range all {
				refs[e.Ref] = true
			}
			if len(all) != 60 || len(refs) != 60 {
				c.t.Errorf("%d elements, %d refs", len(all), len(refs))
			}
			p.does("click", m{"ref": named(all, "c17")[0].Ref})
		},
		"closed shadow roots are found however deep and many they are": func(c *client) {
			for name, make := range map[string]string{
				"deep":  `let at = document.body; for (let i = 0; i < 40; i++) { const d = document.createElement('div'); at.append(d); at = d.attachShadow({mode: 'closed'}); at.innerHTML = '<button>b' + i + '</button>' }`,
				"mixed": `let at = document.body; for (let i = 0; i < 40; i++) { const d = document.createElement('div'); at.append(d); at = d.attachShadow({mode: i % 3 ? 'closed' : 'open'}); at.innerHTML = '<button>b' + i + '</button>' }`,
				"wide":  `for (let i = 0; i < 700; i++) { const d = document.createElement('span'); document.body.append(d); if (i % 70 == 0) d.attachShadow({mode: 'closed'}).innerHTML = '<button>b' + i + '</button>'; else d.style.padding = '1px' }`,
			} {
				want := map[string]int{"deep": 40, "mixed": 40, "wide": 10}[name]
				p := c.open("/pages/blank")
				p.js(make)
				for end := time.Now().Add(patience); ; {
					began := time.Now()
					out := p.list(nil)
					buttons := slices.DeleteFunc(out.Elements, func(e element) bool { return e.Role != "button" })
					if len(buttons) == want && !out.Truncated {
						break
					}
					took := time.Since(began) // what takes longer than they are looked for says so, and the next goes on
					if took < 6*time.Second || !out.Truncated || out.More == "" || began.After(end) {
						c.t.Errorf("%s: %d of %d buttons after %v, and it says %+v", name, len(buttons), want, took, out)
						break
					}
				}
			}
		},
		"more that may have a closed shadow root than are asked for at once are told, and the next snapshot goes on": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`for (let i = 0; i < 4200; i++) document.body.append(document.createElement('span')); document.body.lastChild.attachShadow({mode: 'closed'}).innerHTML = '<button>Last</button>'`)
			if out := p.list(nil); !out.Truncated || out.More == "" {
				c.t.Errorf("it says %+v", out)
			}
			p.find("button", "Last")
		},
		"snapshots at once have what is in closed shadow roots, or say that they have not": func(c *client) {
			p := c.open("/pages/blank")
			for range 3 {
				p.js(`document.body.innerHTML = ''; for (let i = 0; i < 300; i++) { const d = document.createElement('div'); d.style.height = '5px'; document.body.append(d);
					if (i % 50 == 0) d.attachShadow({mode: 'closed'}).innerHTML = '<button>b</button>' }`)
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() {
						var out list
						if err := c.try("page.snapshot", p.with(m{}), &out); err != nil || len(out.Elements) != 6 && !strings.Contains(out.More, "closed") {
							c.t.Errorf("%d elements, %q: %v", len(out.Elements), out.More, err)
						}
					})
				}
				all.Wait()
			}
			if out := p.list(nil); len(out.Elements) != 6 || out.Truncated {
				c.t.Errorf("afterwards: %+v", out)
			}
		},
		"the first snapshot of many frames has them all": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`for (let i = 0; i < 60; i++) { const f = document.createElement('iframe'); f.width = 60; f.height = 30; f.srcdoc = '<button>b</button>'; document.body.append(f) }`)
			p.until(m{"function": "[...document.querySelectorAll('iframe')].every((f) => f.contentDocument?.querySelector('button'))", "timeout_ms": 30000})
			out := p.list(nil)
			frames := make(map[string]bool)
			for _, e := range out.Elements {
				frames[e.Frame] = true
			}
			if len(out.Elements) != 60 || len(frames) != 60 || out.Truncated {
				c.t.Fatalf("%d elements in %d frames, %d frames are left", len(out.Elements), len(frames), out.FramesLeft)
			}
			p.does("click", m{"ref": out.Elements[59].Ref})
		},
		"large and restless pages are answered within the limits": func(c *client) {
			p := c.open("/pages/links-20000")
			out := p.list(m{"max_bytes": 1 << 20})
			if len(out.Elements) != 500 || out.Total != 20000 || out.Left != 19500 {
				c.t.Errorf("%d of %d links, %d left", len(out.Elements), out.Total, out.Left)
			}
			if out := p.list(m{"limit": 100000, "max_bytes": 8 << 20}); len(out.Elements) != 20000 || out.Truncated {
				c.t.Errorf("%d of %d links", len(out.Elements), out.Total)
			}
			p = c.open("/pages/nodes-400000?n=150000")
			out = p.list(nil)
			if got := names(out.Elements, true); got != "button:Here button:Last" || !out.Truncated || !strings.Contains(out.More, "too large") {
				c.t.Errorf("many nodes show %s: truncated %t, %q", got, out.Truncated, out.More)
			}
			p = c.open("/pages/replace-every-frame")
			if all := p.snapshot(nil); len(named(all, "Same")) != 1 {
				c.t.Errorf("it shows %v", all)
			}
			p = c.open("/pages/deep-nesting?n=2000")
			if got := names(p.snapshot(nil), true); got != "button:Here button:Deep" {
				c.t.Errorf("deep nesting shows %s", got)
			}
			if got := p.list(m{"format": "outline"}).Outline; !strings.Contains(got, "Deep") {
				c.t.Errorf("deep nesting shows %s", got)
			}
		},
		"broken text comes well-formed, and hostile pages change nothing": func(c *client) {
			p := c.open("/pages/broken-unicode")
			raw, err := c.CallRaw(c.t.Context(), "page.snapshot", json.RawMessage(fmt.Sprintf(`{"tab_id":%d}`, p.id)))
			if err != nil || !utf8.Valid(raw) || strings.Contains(strings.ToLower(string(raw)), `\ud8`) || strings.Contains(strings.ToLower(string(raw)), `\udc`) {
				c.t.Errorf("%v: %s", err, raw)
			}
			if len(named(p.snapshot(nil), "high \ufffd")) != 1 || p.list(nil).Title != "title \ufffd" {
				c.t.Errorf("%s", raw)
			}
			p.is("1", 1)
			p = c.open("/pages/hostile")
			if got := names(p.snapshot(nil), true); got != "button:Here textbox:Field" {
				c.t.Errorf("a hostile page shows %s", got)
			}
			p.does("fill", sel("#field", "value", "safe"))
			p.does("click", sel("#here"))
			p = c.open("/pages/clobbered")
			if got := p.snapshot(nil); len(got) != 11 {
				c.t.Errorf("a clobbered form shows %v", got)
			}
			p.does("click", sel("#send"))
			p = c.open("/pages/watched")
			p.js("seen.length = 0")
			p.snapshot(nil)
			p.does("click", sel("#here"))
			p.list(m{"format": "outline"})
			var v any
			c.call("page.inspect", p.with(m{"kind": "markdown"}), &v)
			p.is("JSON.stringify([seen, added(), traps])", `[[],["traps"],0]`)
		},
		"generations count up and are never given twice": func(c *client) {
			p := c.open("/pages/blank")
			var all []int
			for range 5 {
				all = append(all, p.list(nil).Generation)
			}
			if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 5 {
				c.t.Errorf("generations %v", all)
			}
		},
	})
}
