package main

import (
	"fmt"
	"os"
	"path/filepath"
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
			if title := p.js("document.title"); title != "b" {
				c.t.Errorf("it shows %v", title)
			}
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
