package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocalFiles(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"inside/a.html": `<title>a</title><a id=b href=b.html>b</a><a id=out href=../out.html>out</a><iframe src=../out.html></iframe>`,
		"inside/b.html": `<title>b</title>`, "out.html": `<title>out</title>secret`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	group(t, fmt.Sprintf(`{"allow_file":[%q]}`, inside), map[string]func(c *client){
		"one below an allowed folder is opened, and its page may open others there": func(c *client) {
			p := c.open("file://" + inside + "/a.html")
			p.do("click", map[string]any{"selector": "#b"})
			p.until(m{"function": "document.title == 'b'"}) // a click waits for the commit
		},
		"a local page cannot open one outside": func(c *client) {
			p := c.open("file://" + inside + "/a.html")
			p.do("click", map[string]any{"selector": "#out"})
			var text string
			p.call("page.inspect", p.with(map[string]any{"kind": "text"}), &text)
			if title := p.js("document.title"); title == "out" || text == "secret" {
				c.t.Errorf("it shows %v: %s", title, text)
			}
		},
		"nor show one in a frame": func(c *client) {
			p := c.open("file://" + inside + "/a.html")
			var frames []struct{ URI string }
			p.call("page.frames", p.with(nil), &frames)
			for _, f := range frames {
				if f.URI == "file://"+dir+"/out.html" {
					c.t.Errorf("it shows %v", frames)
				}
			}
		},
		"a caller cannot open one outside": func(c *client) {
			c.refused("navigation_rejected", "browser.tab.new", map[string]any{"uri": "file://" + dir + "/out.html"})
		},
	})
}

func TestLocalFilesAreOpenedBelowTheirFolders(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(root, "in"), filepath.Join(root, "out")
	for path, text := range map[string]string{
		filepath.Join(in, "page.html"):     "<title>Inside</title><a id=out href=../out/page.html>out</a><a id=in href=sub/page.html>in</a>",
		filepath.Join(in, "a b#c.html"):    "<title>Odd</title>",
		filepath.Join(in, "sub/page.html"): "<title>Below</title>",
		filepath.Join(in, "frame.html"):    "<title>Frame</title><iframe src=../out/page.html></iframe><iframe src=sub/page.html></iframe>",
		filepath.Join(out, "page.html"):    "<title>Outside</title><h1>Secret</h1>",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, filepath.Join(in, "link")); err != nil {
		t.Fatal(err)
	}
	c := alone(t, fmt.Sprintf(`{"allow_file":[%q]}`, in))
	p := c.open("about:blank")
	for path, title := range map[string]string{"page.html": "Inside", "sub/page.html": "Below", "a b%23c.html": "Odd"} {
		if info := p.goTo("file://"+in+"/"+path, nil); info.Title != title || info.Loading {
			t.Errorf("%s: %+v", path, info)
		}
	}
	for _, path := range []string{out + "/page.html", in + "/../out/page.html", in + "/%2e%2e/out/page.html", in + "/link/page.html", in + "/none.html", "/etc/passwd", in + "x"} {
		c.refused("navigation_rejected", "browser.navigate", p.with(map[string]any{"uri": "file://" + path}))
	}
	// Nor does a page that was let in get there by itself.
	p.goTo("file://"+in+"/page.html", nil)
	for _, script := range []string{
		"document.getElementById('out').click()", "location = '../out/page.html'", fmt.Sprintf("location = 'file://%s/page.html'", out), "location = 'link/page.html'",
	} {
		before := len(p.loads())
		if err := c.try("page.javascript", p.with(map[string]any{"script": script}), nil); err != nil && !strings.Contains(err.Error(), "another document") {
			t.Errorf("%s: %v", script, err)
		}
		await(t, script+" comes to something", func() bool {
			list := p.loads()[before:]
			return len(list) > 1 && (list[len(list)-1] == 3 || list[len(list)-1] == -1)
		})
		if title := p.info().Title; title == "Outside" {
			t.Errorf("%s led out", script)
		}
		p.goTo("file://"+in+"/page.html", nil)
	}
	p.goTo("file://"+in+"/page.html", nil)
	p.js("document.getElementById('in').click()")
	c.call("page.wait", p.with(map[string]any{"function": "document.title == 'Below'", "timeout_ms": 30000}), nil)
	p.goTo("file://"+in+"/frame.html", nil)
	var text string
	c.call("page.inspect", p.with(map[string]any{"kind": "text"}), &text)
	var frames []struct{ ID, URI string }
	c.call("page.frames", p.with(nil), &frames)
	for _, f := range frames {
		var value any
		if err := c.try("page.javascript", p.with(map[string]any{"frame": f.ID, "script": "document.body?.innerText ?? ''"}), &value); err == nil && strings.Contains(fmt.Sprint(value), "Secret") {
			t.Errorf("frame %s shows what is outside", f.URI)
		}
	}
}
