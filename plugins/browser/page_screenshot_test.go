package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// picture is an answer of page.screenshot.
type picture struct {
	Path                 string
	Width, Height, Bytes int
	Truncated            bool
	Scale                float64
}

// shoot takes a picture into dir, and decodes one that is no WebP.
func (t *tab) shoot(dir string, params m) (out picture, shown image.Image) {
	t.t.Helper()
	all := t.with(params)
	all["path"] = filepath.Join(dir, "shot")
	t.call("page.screenshot", all, &out)
	data, err := os.ReadFile(out.Path)
	if err != nil || len(data) != out.Bytes || out.Width == 0 || out.Height == 0 {
		t.t.Fatalf("%v: %+v has %d bytes, %v", params, out, len(data), err)
	}
	if params["format"] == "webp" {
		if !strings.HasPrefix(string(data), "RIFF") {
			t.t.Errorf("%v: no WebP", params)
		}
		return out, nil
	}
	shown, kind, err := image.Decode(bytes.NewReader(data))
	want := params["format"]
	if want == nil {
		want = "png"
	}
	if err != nil || kind != want || shown.Bounds().Dx() != out.Width || shown.Bounds().Dy() != out.Height {
		t.t.Fatalf("%v: %s, %+v, %v", params, kind, out, err)
	}
	return out, shown
}

func like(a color.Color, r, g, b uint8) bool {
	x, y, z, _ := a.RGBA()
	near := func(a uint32, b uint8) bool { return int(a>>8)-int(b) < 12 && int(b)-int(a>>8) < 12 }
	return near(x, r) && near(y, g) && near(z, b)
}

func TestScreenshots(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"each format shows the viewport, the whole page or one element": func(c *client) {
			p, dir := c.open("/pages/tall"), c.t.TempDir()
			height := number(p.js("innerHeight"))
			for _, format := range []string{"png", "jpeg", "webp"} {
				out, shown := p.shoot(dir, m{"format": format})
				if out.Width != number(p.js("document.documentElement.clientWidth")) || out.Height != height || shown != nil && !like(shown.At(300, 300), 255, 0, 0) {
					c.t.Errorf("%s: %+v", format, out)
				}
				out, shown = p.shoot(dir, m{"format": format, "full_page": true})
				if out.Height != 3000 || shown != nil && !like(shown.At(300, 2500), 0, 0, 255) {
					c.t.Errorf("the whole page as %s: %+v", format, out)
				}
			}
			ref := p.ref("button", "Last")
			out, shown := p.shoot(dir, m{"ref": ref})
			if out.Width > 100 || out.Height > 50 || like(shown.At(out.Width/2, out.Height/2), 0, 0, 255) {
				c.t.Errorf("one element: %+v", out)
			}
			if again, _ := p.shoot(dir, m{"selector": "button", "ref": "@e1_1"}); again.Width != out.Width || again.Height != out.Height {
				c.t.Errorf("the same by a selector: %+v", again)
			}
			p.is("scrollY", 0)
			p.js("scrollTo(0, 1500)")
			if _, shown := p.shoot(dir, nil); !like(shown.At(300, 300), 0, 255, 0) {
				c.t.Errorf("scrolled: %v", shown.At(300, 300))
			}
			if _, shown := p.shoot(dir, m{"full_page": true}); !like(shown.At(300, 300), 255, 0, 0) {
				c.t.Errorf("the whole page, scrolled: %v", shown.At(300, 300))
			}
			small, _ := p.shoot(dir, m{"format": "jpeg", "quality": 1})
			if large, _ := p.shoot(dir, m{"format": "jpeg", "quality": 100}); large.Bytes <= small.Bytes {
				c.t.Errorf("quality 100 has %d bytes, 1 has %d", large.Bytes, small.Bytes)
			}
		},
		"a page is laid out afterwards as it was": func(c *client) {
			dir := c.t.TempDir()
			for name, html := range map[string]string{
				"scrolls": `<!doctype html><body style="margin:0"><div style="height:9000px"><button>b</button></div>`, "fits": `<!doctype html><button>b</button>`,
				"both ways": `<!doctype html><div style="width:5000px;height:5000px"><button>b</button></div>`, "always": `<!doctype html><html style="overflow:scroll"><button>b</button>`,
				"full height": `<!doctype html><html style="padding:3px"><body style="margin:0;min-height:150vh"><button>b</button>`, "quirks": `<div style="height:3000px"><button>b</button></div>`,
			} {
				p := c.open("/pages/blank")
				p.js(fmt.Sprintf("document.open(); document.write(%q); document.close()", html))
				p.js(`scrollTo(0, 100); globalThis.changes = 0; new MutationObserver((list) => { changes += list.length }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
					document.addEventListener('animationstart', () => changes++, true)`)
				const layout = `(e => [e.clientWidth, e.clientHeight, e.scrollWidth, e.scrollHeight, innerWidth, innerHeight, scrollY, devicePixelRatio, document.getAnimations().length, changes])(document.documentElement)`
				before := fmt.Sprint(p.js(layout))
				for _, shot := range []m{{"full_page": true}, {"ref": p.ref("button", "b")}, {"full_page": true, "annotate": true, "format": "jpeg"}, nil} {
					p.shoot(dir, shot)
					if after := fmt.Sprint(p.js(layout)); after != before {
						c.t.Errorf("%s, %v: it is %s, and was %s", name, shot, after, before)
					}
				}
			}
		},
		"a page is laid out as it was also when nobody waits for its picture": func(c *client) {
			p := c.page(`<div style="width:3000px;height:15000px;background:linear-gradient(red, blue)"></div>`)
			p.js("scrollTo(0, 100); 1")
			const layout = `(e => [e.clientWidth, e.clientHeight, innerWidth, innerHeight, scrollY])(document.documentElement)`
			before := fmt.Sprint(p.js(layout))
			for _, ms := range []int{10, 30, 60, 100, 200, 400} {
				ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(ms)*time.Millisecond)
				_ = c.Call(ctx, "page.screenshot", p.with(m{"path": c.t.TempDir() + "/x.png", "full_page": true}), nil) // it may have been in time
				cancel()
				await(c.t, "it is as it was", func() bool { return fmt.Sprint(p.js(layout)) == before })
			}
		},
		"refs are drawn at their elements, in frames too": func(c *client) {
			p, dir := c.open("/pages/frames-cross"), c.t.TempDir()
			p.find("button", "Other site")
			var frames []struct{ ID string }
			c.call("page.frames", p.with(nil), &frames)
			var v any
			c.call("page.javascript", p.with(m{"frame": frames[len(frames)-1].ID, "script": `document.body.insertAdjacentHTML('afterbegin', '<div id="only-in-a-frame" style="width:40px;height:30px"></div>')`}), &v)
			for _, id := range []string{"outer", "cross"} {
				at := p.js("(r => ({x: Math.round(r.x), y: Math.round(r.y), w: Math.round(r.width), h: Math.round(r.height)}))(" + id + ".getBoundingClientRect())").(m)
				_, shown := p.shoot(dir, m{"annotate": true})
				drawn := 0
				for x := number(at["x"]); x < number(at["x"])+number(at["w"]); x++ {
					for y := number(at["y"]); y < number(at["y"])+number(at["h"]); y++ {
						if like(shown.At(x, y), 200, 0, 60) {
							drawn++
						}
					}
				}
				if drawn < 50 {
					c.t.Errorf("%d points are drawn on %s", drawn, id)
				}
			}
			if out, _ := p.shoot(dir, m{"selector": "#only-in-a-frame"}); out.Width != 40 || out.Height != 30 {
				c.t.Errorf("an element of a frame: %+v", out)
			}
			if _, shown := p.shoot(dir, m{"annotate": true, "format": "jpeg", "full_page": true}); shown == nil {
				c.t.Error("there is no picture")
			}
			c.refused("invalid_params", "page.screenshot", p.with(m{"path": dir + "/x", "annotate": true, "format": "webp"}))
		},
		"only what can be used is drawn around": func(c *client) {
			p, dir := c.page(`<main><form style="padding:20px"><h1>Title</h1><button type="button">Go</button></form></main>`), c.t.TempDir()
			around := func(selector string) bool {
				r := p.js("(r => ({x: Math.round(r.x), y: Math.round(r.y), w: Math.round(r.width)}))(document.querySelector('" + selector + "').getBoundingClientRect())").(m)
				_, shown := p.shoot(dir, m{"annotate": true})
				return like(shown.At(number(r["x"])+number(r["w"])/2, number(r["y"])), 200, 0, 60)
			}
			for selector, want := range map[string]bool{"main": false, "form": false, "h1": false, "button": true} {
				if around(selector) != want {
					c.t.Errorf("%s: drawn around %v", selector, !want)
				}
			}
		},
		"what cannot be written or shown says why, and leaves nothing": func(c *client) {
			p, dir := c.open("/pages/buttons"), c.t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "folder", "in"), 0o700); err != nil {
				c.t.Fatal(err)
			}
			for _, path := range []string{"relative.png", "./x.png", "~/x.png", filepath.Join(dir, "none", "x.png"), filepath.Join(dir, "folder"), "/proc/x.png", "/dev/null/x.png", ""} {
				e := c.refused("screenshot_error", "page.screenshot", p.with(m{"path": path}))
				if e.Message == "" || strings.Contains(e.Message, ".vant-") {
					c.t.Errorf("%q: %s", path, e.Message)
				}
			}
			kinds := map[string]func(path string) error{
				"fifo": func(path string) error { return syscall.Mkfifo(path, 0o600) },
				"link": func(path string) error { return os.Symlink(filepath.Join(dir, "folder"), path) },
			}
			for name, make := range kinds {
				path := filepath.Join(dir, "folder", name)
				if err := make(path); err != nil {
					c.t.Fatal(err)
				}
				was, _ := os.Lstat(path)
				if e := c.refused("screenshot_error", "page.screenshot", p.with(m{"path": path})); !strings.Contains(e.Message, "is not replaced") {
					c.t.Errorf("%s: %s", name, e.Message)
				}
				if now, err := os.Lstat(path); err != nil || now.Mode() != was.Mode() {
					c.t.Errorf("%s is now %v, %v", name, now, err)
				}
			}
			to := filepath.Join(dir, "folder", "to") // a link is followed
			if err := os.Symlink(filepath.Join(dir, "folder", "file"), to); err != nil {
				c.t.Fatal(err)
			}
			c.call("page.screenshot", p.with(m{"path": to}), nil)
			if link, err := os.Readlink(to); err != nil || link != filepath.Join(dir, "folder", "file") {
				c.t.Errorf("the link leads to %s, %v", link, err)
			}
			if info, err := os.Lstat(filepath.Join(dir, "folder", "file")); err != nil || !info.Mode().IsRegular() {
				c.t.Errorf("where it leads to: %v, %v", info, err)
			}
			c.refused("invalid_params", "page.screenshot", p.with(nil))
			c.refused("invalid_params", "page.screenshot", p.with(m{"path": dir + "/x", "format": "gif"}))
			for words, params := range map[string]m{
				"no snapshot": {"ref": "@e1"}, "nothing fits the selector": {"selector": "#nope"}, "selector": {"selector": "###"},
			} {
				params["path"] = dir + "/x"
				if e := c.refused("invalid_params", "page.screenshot", p.with(params)); !strings.Contains(e.Message, words) {
					c.t.Errorf("%v: %s", params, e.Message)
				}
			}
			p.js("off.style.display = 'none'")
			for _, e := range p.snapshot(nil) {
				if e.Name == "Disabled" {
					c.refused("screenshot_error", "page.screenshot", p.with(m{"path": dir + "/x", "ref": e.Ref}))
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				c.t.Errorf("left: %v %v", left, err)
			}
		},
		"a page that is longer than a picture is cut, and the answer says so": func(c *client) {
			p, dir := c.page(`<div style="width:100px;height:20000px;background:#0f0"></div>`), c.t.TempDir()
			for _, params := range []m{{"full_page": true}, {"full_page": true, "annotate": true}} {
				if out, _ := p.shoot(dir, params); out.Height != 16384 || !out.Truncated || out.Scale != 0 {
					c.t.Errorf("%v: %+v", params, out)
				}
			}
			var raw any
			c.call("browser.cdp", p.with(m{"method": "Emulation.setDeviceMetricsOverride", "params": m{"width": 800, "height": 600, "deviceScaleFactor": 2, "mobile": false}}), &raw)
			p.js("document.body.firstChild.style.height = '9000px'; 1")
			if out, _ := p.shoot(dir, m{"full_page": true}); out.Height != 16384 || !out.Truncated {
				c.t.Errorf("a dense one: %+v", out)
			}
			if out, _ := p.shoot(dir, nil); out.Truncated || out.Scale != 0 {
				c.t.Errorf("what is in view: %+v", out)
			}
			huge := c.page(`<div style="width:20000px;height:30000px;background:linear-gradient(red,blue)"></div>`)
			if out, _ := huge.shoot(dir, m{"full_page": true}); !out.Truncated || out.Scale == 0 || out.Width != out.Height {
				c.t.Errorf("a huge one: %+v", out)
			}
		},
		"a tab behind others gives its own picture": func(c *client) {
			p, dir := c.open("/pages/tall"), c.t.TempDir()
			c.open("/pages/blank")
			if _, shown := p.shoot(dir, nil); !like(shown.At(300, 300), 255, 0, 0) {
				c.t.Errorf("it shows %v", shown.At(300, 300))
			}
		},
		"a reader never sees half a picture": func(c *client) {
			p, dir := c.open("/pages/tall"), c.t.TempDir()
			p.shoot(dir, nil)
			stop := make(chan struct{})
			var work sync.WaitGroup
			work.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					data, err := os.ReadFile(filepath.Join(dir, "shot"))
					if err == nil {
						_, _, err = image.Decode(bytes.NewReader(data))
					}
					if err != nil {
						c.t.Errorf("a reader got %d bytes: %v", len(data), err)
						return
					}
				}
			})
			for range 5 {
				p.shoot(dir, nil)
			}
			close(stop)
			work.Wait()
		},
		"a tab that crashes says so in every call, and comes back by a reload": func(c *client) {
			p, other := c.open("/pages/buttons"), c.open("/pages/blank")
			ref := p.ref("button", "Save")
			c.refused("tab_crashed", "page.javascript", p.with(m{"script": "let d = document.body; for (let i = 0; i < 20000; i++) d = d.appendChild(document.createElement('div')); document.body.offsetHeight"}))
			for method, params := range map[string]m{
				"page.javascript": {"script": "1"}, "page.snapshot": {}, "page.inspect": {"kind": "text"}, "page.wait": {"text": "x"},
				"page.interact": {"ref": ref, "action": "click"}, "page.screenshot": {"path": c.t.TempDir() + "/x.png"},
			} {
				if method == "page.interact" {
					var out m
					if err := c.try(method, p.with(params), &out); err == nil && out["error"] != "stale_or_missing" || err != nil && !strings.Contains(err.Error(), "tab_crashed") {
						c.t.Errorf("%s: %v %v", method, out, err)
					}
					continue
				}
				c.refused("tab_crashed", method, p.with(params))
			}
			other.is("1", 1)
			var v any
			c.call("page.diagnostics", p.with(nil), &v)
			c.call("browser.reload", p.with(nil), &v)
			p.does("click", m{"ref": p.ref("button", "Save")})
			p.fails("stale_or_missing", "navigated", "click", m{"ref": ref})
		},
	})
}
