package main

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
)

// late says that so much time has passed that what was to be quick was not.
const late = "setTimeout(() => { window.late = true }, 12000); 1"

// inFrame gives the value of a script in the frame that shows a page.
func (t *tab) inFrame(page, script string) any {
	t.t.Helper()
	for _, f := range t.frames() {
		if at, err := url.Parse(f.URI); err == nil && at.Path == page {
			var v any
			t.call("page.javascript", t.with(m{"frame": f.ID, "script": script}), &v)
			return v
		}
	}
	t.t.Fatalf("no frame is at %s: %v", page, t.frames())
	return nil
}

func TestSelectorsMeanWhatAnyFrameHas(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"what only a frame has is found at once": func(c *client) {
			for _, page := range []string{"/pages/frames-same", "/pages/frames-cross", "/pages/frames-nested", "/pages/frames-scaled"} {
				p := c.open(page)
				p.js(late)
				p.until(m{"selector": "#field"})
				p.does("fill", sel("#field", "value", "found", "timeout_ms", 30000))
				p.does("click", sel("#inner", "timeout_ms", 30000))
				p.fails("stale_or_missing", "missing", "click", sel("#nowhere", "timeout_ms", 0))
				p.is("window.late === true", false)
			}
		},
		"a frame that comes later, or fills itself later, is waited for": func(c *client) {
			p := c.open("/pages/blank")
			p.js(late)
			p.js(`setTimeout(() => { const f = document.createElement('iframe'); f.id = 'f'; document.body.append(f); f.src = elsewhere('/pages/frame-child?name=Later') }, 400); 1`)
			p.does("click", sel("#inner", "timeout_ms", 30000))
			p.js(`setTimeout(() => { f.src = '/pages/form' }, 400); 1`)
			p.does("fill", sel("#note", "value", "x", "timeout_ms", 30000))
			p.inFrame("/pages/form", `setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<button id="new" onclick="window.hit = 1">New</button>'), 400); 1`)
			p.does("click", sel("#new", "timeout_ms", 30000))
			if hit := p.inFrame("/pages/form", "window.hit"); number(hit) != 1 {
				c.t.Errorf("it hit %v", hit)
			}
			p.is("window.late === true", false)
		},
		"the page goes before its frames, and a nearer frame before another": func(c *client) {
			p := c.open("/pages/frames-nested")
			p.find("button", "Level 0")
			if out := p.does("focus", sel("#inner")); out["hit"].(m)["name"] != "Level 2" {
				c.t.Errorf("it gave %v", out)
			}
			p.js(`document.body.insertAdjacentHTML('beforeend', '<button id="inner">Of the page</button>'); 1`)
			if out := p.does("focus", sel("#inner")); out["hit"].(m)["name"] != "Of the page" {
				c.t.Errorf("it gave %v", out)
			}
		},
	})
}

func TestActionsHoldInScaledFrames(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a drag ends where it was to": func(c *client) {
			p := c.open("/pages/frames-scaled?to=/pages/drag-pointer")
			p.until(m{"selector": "#ball"})
			p.does("drag", sel("#ball", "to", m{"selector": "#goal"}))
			if v := p.inFrame("/pages/drag-pointer", "log.findLast(e => e.type === 'dropped').inside"); v != true {
				c.t.Errorf("it was dropped inside: %v", v)
			}
		},
		"a drag to where the page covers the frame is refused": func(c *client) {
			p := c.open("/pages/frames-scaled?to=/pages/drag-pointer")
			p.until(m{"selector": "#ball"})
			p.js(`document.body.insertAdjacentHTML('beforeend', '<div id="cover" style="position:fixed;left:170px;top:160px;right:0;bottom:0"></div>'); 1`)
			if out := p.fails("covered", "", "drag", sel("#ball", "to", m{"selector": "#goal"}, "timeout_ms", 500)); out["which"] != "to" {
				c.t.Errorf("it gave %v", out)
			}
			if v := p.inFrame("/pages/drag-pointer", "log.some(e => e.type === 'pointerdown')"); v != false {
				c.t.Error("it was begun")
			}
		},
		"clicks and pictures meet their elements": func(c *client) {
			p, dir := c.open("/pages/frames-scaled"), c.t.TempDir()
			p.until(m{"selector": "#inner"})
			ref := p.find("button", "In the frame")
			p.does("click", m{"ref": ref, "timeout_ms": 10000})
			size, _ := p.inFrame("/pages/frame-child", "(r => [r.width, r.height])(document.getElementById('inner').getBoundingClientRect())").([]any)
			w, h := float64(number(size[0]))*0.8*0.6, float64(number(size[1]))*0.9*0.6
			turn := 8 * math.Pi / 180
			want := [2]float64{w*math.Cos(turn) + h*math.Sin(turn), w*math.Sin(turn) + h*math.Cos(turn)}
			out, _ := p.shoot(dir, m{"ref": ref})
			if math.Abs(float64(out.Width)-want[0]) > 3 || math.Abs(float64(out.Height)-want[1]) > 3 {
				c.t.Errorf("its picture is %d×%d; want %v", out.Width, out.Height, want)
			}
			_, shown := p.shoot(dir, m{"annotate": true, "ref": ref})
			drawn := 0
			for x := range out.Width {
				for y := range out.Height {
					if like(shown.At(x, y), 200, 0, 60) {
						drawn++
					}
				}
			}
			if drawn < 50 {
				c.t.Errorf("%d points are drawn on it", drawn)
			}
		},
	})
}

func TestWaitsLookInAllFrames(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"texts and selectors come and go in frames": func(c *client) {
			for _, page := range []string{"/pages/frames-same", "/pages/frames-cross", "/pages/frames-nested", "/pages/frames-scaled"} {
				p := c.open(page)
				p.until(m{"selector": "#clickable"})
				p.until(m{"text": "Clickable in the frame"})
				for _, f := range p.frames()[1:] {
					var v any
					c.call("page.javascript", p.with(m{"frame": f.ID, "script": `setTimeout(() => document.getElementById('clickable')?.remove(), 300); 1`}), &v)
				}
				c.refused("timeout", "page.wait", p.with(m{"text": "Clickable in the frame", "gone": true, "timeout_ms": 0}))
				p.until(m{"text": "Clickable in the frame", "gone": true})
				p.until(m{"selector": "#clickable", "gone": true})
				c.refused("timeout", "page.wait", p.with(m{"selector": "#clickable", "timeout_ms": 0}))
			}
		},
		"a frame that is hidden shows nothing": func(c *client) {
			for _, hide := range []string{"display = 'none'", "visibility = 'hidden'"} {
				p := c.open("/pages/frames-cross")
				p.until(m{"text": "Clickable in the frame"})
				p.js("cross.style." + hide + "; 1")
				p.until(m{"text": "Clickable in the frame", "gone": true})
				for _, condition := range []m{{"text": "Clickable in the frame"}, {"selector": "#clickable"}} {
					condition["timeout_ms"] = 200
					c.refused("timeout", "page.wait", p.with(condition))
				}
				p.js("setTimeout(() => { cross.style = '' }, 300); 1")
				p.until(m{"selector": "#clickable"})
				p.js("setTimeout(() => cross.remove(), 300); 1")
				p.until(m{"selector": "#clickable", "gone": true})
			}
		},
		"a frame that comes later is waited for, and one that goes on to another page": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`setTimeout(() => { const f = document.createElement('iframe'); f.id = 'f'; document.body.append(f); f.src = elsewhere('/pages/frame-child?name=Later') }, 300); 1`)
			p.until(m{"text": "Later"})
			p.js(`setTimeout(() => { f.src = '/pages/form' }, 300); 1`)
			p.until(m{"text": "I agree"})
			p.js(`setTimeout(() => { f.src = 'about:blank' }, 300); 1`)
			p.until(m{"text": "I agree", "gone": true})
		},
		"a state of a moment is seen": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`window.pulses = 0; setInterval(() => { window.up = true; pulses++; requestAnimationFrame(() => requestAnimationFrame(() => { window.up = false })) }, 400); 1`)
			for range 10 {
				before := number(p.js("pulses"))
				p.until(m{"function": "window.up"})
				if after := number(p.js("pulses")); after-before > 1 {
					c.t.Errorf("of %d pulses none was seen", after-before)
				}
			}
		},
		"the text of a page has that of its frames": func(c *client) {
			p := c.open("/pages/frames-nested")
			p.find("button", "Level 0")
			var text string
			c.call("page.inspect", p.with(m{"kind": "text"}), &text)
			last := -1
			for _, part := range []string{"Level 3", "Level 2", "Level 1", "Level 0"} {
				at := strings.Index(text, part)
				if at <= last {
					c.t.Errorf("%s is at %d of %q", part, at, text)
				}
				last = at
			}
			c.call("page.inspect", p.with(m{"kind": "text", "max_bytes": 30}), &text)
			if !strings.HasPrefix(text, "Level 3") || !strings.HasSuffix(text, "\n… [cut at 30 bytes: raise max_bytes, or give a ref]") || len(text) > 100 {
				c.t.Errorf("cut it is %q", text)
			}
			p.js("document.getElementById('top').hidden = true; 1")
			c.call("page.inspect", p.with(m{"kind": "text"}), &text)
			if strings.Contains(text, "Level 2") {
				c.t.Errorf("with a hidden frame it is %q", text)
			}
		},
	})
}

func TestSnapshotsCountWhatFramesHave(t *testing.T) {
	fill := func(n int) string {
		return fmt.Sprintf(`for (let i = 0; i < %d; i++) { const f = document.createElement('iframe'); f.width = f.height = 30; f.srcdoc = '<button>' + i + '</button>'; document.body.append(f) } 1`, n)
	}
	group(t, "", map[string]func(c *client){
		"frames beyond the limit of elements": func(c *client) {
			p := c.page(strings.Repeat(`<button>b</button>`, 20))
			p.js(fill(3))
			p.until(m{"text": "2"})
			out := p.list(m{"limit": 10})
			if len(out.Elements) != 10 || out.Total != 23 || out.Left != 13 || !out.Truncated {
				c.t.Errorf("%d elements, %+v", len(out.Elements), out)
			}
			out = p.list(m{"max_bytes": 1024})
			if out.Total != 23 || out.Left != 23-len(out.Elements) || !out.Truncated {
				c.t.Errorf("%d elements, %+v", len(out.Elements), out)
			}
		},
		"frames beyond what is looked into": func(c *client) {
			p := c.page("")
			p.js(fill(104))
			await(c.t, "all frames are there", func() bool { return len(p.frames()) == 105 })
			p.until(m{"function": "[...document.querySelectorAll('iframe')].every(f => f.contentDocument?.querySelector('button'))"})
			var out list
			await(c.t, "all frames are shown that are to be", func() bool {
				return c.try("page.snapshot", p.with(nil), &out) == nil && out.Total == 100
			})
			if out.Total != 100 || !out.Truncated || out.FramesLeft != 4 || !strings.Contains(out.More, "frames") {
				c.t.Errorf("%+v", out)
			}
		},
		"a frame that does not answer holds up nothing": func(c *client) {
			p := c.open("/pages/frames-cross")
			// Frames of one site share a process, in all tabs: this one is busy alone.
			p.js("cross.src = elsewhere('/pages/frame-child?name=Busy').replace('localhost', 'busy.localhost'); 1")
			p.find("button", "Busy")
			p.inFrame("/pages/frame-child", "setTimeout(() => { for (const end = Date.now() + 60000; Date.now() < end;); }, 0); 1")
			out := p.list(nil)
			if got := names(out.Elements, true); got != "button:Outside button:After" || out.FramesLeft != 1 || !out.Truncated {
				c.t.Errorf("it shows %s, %+v", got, out)
			}
			p.does("click", sel("#after"))
			p.fails("stale_or_missing", "missing", "click", sel("#nowhere", "timeout_ms", 0))
			p.until(m{"text": "Nowhere", "gone": true})
			c.refused("timeout", "page.wait", p.with(m{"text": "Nowhere", "timeout_ms": 0}))
		},
		"a process that does not answer holds up no other": func(c *client) {
			p := c.open("/pages/frames-cross")
			p.js(`document.body.insertAdjacentHTML('beforeend', '<iframe id="stuck"></iframe>');
				stuck.src = elsewhere('/pages/frame-child?name=Stuck').replace('localhost', 'stuck.localhost'); 1`)
			// ask runs a script in the frame of an address, unless it is not there yet.
			ask := func(part, script string) (v any) {
				for _, f := range p.frames() {
					if strings.Contains(f.URI, part) {
						_ = c.try("page.javascript", p.with(m{"frame": f.ID, "script": script}), &v)
					}
				}
				return v
			}
			const loaded = "document.readyState"
			await(c.t, "the frames are there", func() bool {
				return ask("name=Other", loaded) == "complete" && ask("name=Stuck", loaded) == "complete"
			})
			ask("name=Stuck", `deeper.innerHTML = '<iframe src="/pages/frame-child?name=Deeper"></iframe>'; 1`)
			await(c.t, "the one in a frame is there", func() bool { return ask("name=Deeper", loaded) == "complete" })
			ask("name=Stuck", "setTimeout(() => { for (const end = Date.now() + 60000; Date.now() < end;); }, 0); 1")
			out := p.list(nil)
			if got := names(out.Elements, true); got != "button:Outside button:Other site textbox:Frame field generic:Clickable in the frame button:After" || out.FramesLeft != 2 || !out.Truncated {
				c.t.Errorf("it shows %s, %+v", got, out)
			}
			var text string
			c.call("page.inspect", p.with(m{"kind": "text"}), &text)
			if !strings.Contains(text, "Clickable in the frame") || strings.Contains(text, "Deeper") {
				c.t.Errorf("the text is %q", text)
			}
		},
		"the bytes of frames' elements": func(c *client) {
			p := c.page("")
			p.js(fill(60))
			p.until(m{"text": "59"})
			raw, err := c.CallRaw(c.t.Context(), "page.snapshot", []byte(fmt.Sprintf(`{"tab_id":%d,"max_bytes":4096}`, p.id)))
			if err != nil {
				c.t.Fatal(err)
			}
			from, to := strings.Index(string(raw), `"elements":[`), strings.Index(string(raw), `],"total"`)
			if size := to - from - len(`"elements":[`); from < 0 || size > 4096 || size < 3500 {
				c.t.Errorf("the elements have %d bytes", size)
			}
		},
	})
}
