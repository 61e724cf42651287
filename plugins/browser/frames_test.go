package main

import (
	"fmt"
	"strings"
	"testing"
)

type frameInfo struct{ ID, Parent, Name, URI string }

func (t *tab) frames() []frameInfo {
	t.t.Helper()
	var list []frameInfo
	t.call("page.frames", t.with(nil), &list)
	return list
}

// named waits for an element of a name and gives it.
func (t *tab) named(name string) element {
	t.t.Helper()
	var found element
	await(t.t, "the snapshot shows "+name, func() bool {
		for _, e := range t.snapshot(nil) {
			if e.Name == name {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func (t *tab) lacks(name string) {
	t.t.Helper()
	await(t.t, "the snapshot has no "+name, func() bool {
		for _, e := range t.snapshot(nil) {
			if e.Name == name {
				return false
			}
		}
		return true
	})
}

func TestFrames(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"frames of the same and of another site are seen and driven": func(c *client) {
			for page, names := range map[string][]string{
				"/pages/frames-same": {"One", "From srcdoc"}, "/pages/frames-cross": {"Other site"}, "/pages/frames-nested": {"Level 2", "Level 1", "Level 0"},
			} {
				p := c.open(page)
				for _, name := range names {
					e := p.named(name)
					if out := p.do("click", map[string]any{"ref": e.Ref, "timeout_ms": 20000}); out["ok"] != true {
						c.t.Errorf("%s: a click on %s gives %v", page, name, out)
					}
				}
				list := p.frames()
				if len(list) != len(names)+1 || list[0].Parent != "" || list[0].URI != site+page {
					c.t.Errorf("%s has %+v", page, list)
				}
				known := map[string]bool{"": true}
				for _, f := range list {
					if !known[f.Parent] {
						c.t.Errorf("%s: %+v comes before its parent", page, f)
					}
					known[f.ID] = true
					var url string
					c.call("page.javascript", p.with(map[string]any{"frame": f.ID, "script": "location.href"}), &url)
					if url != f.URI {
						c.t.Errorf("%s: the frame %s is at %s", page, f.URI, url)
					}
				}
			}
		},
		"a frame that changes its process keeps its place": func(c *client) {
			p := c.open("/pages/frames-cross")
			p.named("Other site")
			id := p.frames()[1].ID
			for i := range 4 {
				name := fmt.Sprint("Turn ", i)
				url := "/pages/frame-child?name=" + strings.ReplaceAll(name, " ", "%20")
				script := fmt.Sprintf("cross.src = %q", url)
				if i%2 == 1 {
					script = fmt.Sprintf("cross.src = elsewhere(%q)", url)
				}
				p.js(script)
				p.named(name)
				list := p.frames()
				if len(list) != 2 || list[1].ID != id || !strings.HasSuffix(list[1].URI, url) {
					c.t.Errorf("%s: the frames are %+v", name, list)
				}
				var title string
				c.call("page.javascript", p.with(map[string]any{"frame": id, "script": "document.title"}), &title)
				if title != "Child" {
					c.t.Errorf("%s: the title is %q", name, title)
				}
			}
		},
		"frames that are removed are gone": func(c *client) {
			for _, page := range []string{"/pages/frames-same", "/pages/frames-cross", "/pages/frames-nested"} {
				p := c.open(page)
				await(c.t, "the frames are there", func() bool { return len(p.frames()) > 1 })
				e := p.snapshot(nil)
				p.js("document.querySelectorAll('iframe').forEach(f => f.remove())")
				await(c.t, page+" has one frame", func() bool { return len(p.frames()) == 1 })
				for _, e := range e {
					if e.Frame != "" {
						if out := p.do("click", map[string]any{"ref": e.Ref}); out["ok"] != false || out["error"] != "stale_or_missing" {
							c.t.Errorf("%s: a click in a frame that is gone gives %v", page, out)
						}
					}
				}
				c.refused("not_found", "page.javascript", p.with(map[string]any{"frame": "none", "script": "1"}))
			}
		},
		"frames that never load hold nothing up": func(c *client) {
			p := c.open("about:blank")
			for _, page := range []string{"/pages/frame-lazy-never", "/pages/frame-hang"} {
				p.goTo(page, map[string]any{"wait": "dom"})
				p.named("Here")
				p.frames()
			}
		},
		"frames of odd kinds are seen": func(c *client) {
			p := c.open("/pages/frames-odd")
			// No script has renamed the sandboxed frame's button.
			for _, name := range []string{"Zero", "In the frame", "From a blob", "From data"} {
				p.named(name)
			}
		},
		"frames that come and go do not disturb": func(c *client) {
			p := c.open("/pages/frame-churn")
			for range 10 {
				p.named("Here")
				p.frames()
			}
			p.goTo("/pages/blank", nil)
			if list := p.frames(); len(list) != 1 {
				c.t.Errorf("after all the frames are %+v", list)
			}
		},
	})
}
