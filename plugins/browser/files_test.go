package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// tree makes files with their names in them, and links to where their texts say.
func tree(t *testing.T, files []string, links map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesComeFromAndGoToTheirFoldersAlone(t *testing.T) {
	t.Parallel()
	dir := tree(t, []string{"in/a.txt", "in/sub/b.txt", "out/c.txt", "inner/d.txt"},
		map[string]string{"in/file": "out/c.txt", "in/folder": "out", "in/own": "in/sub", "door": "in", "in/new.png": "out/new.png", "in/there": "in/sub/b.txt", "in/later": "in/sub/later.png"})
	c := alone(t, fmt.Sprintf(`{"upload_from":[%q,%q],"write_to":[%q]}`, dir+"/missing", dir+"/door", dir+"/in"))
	p := c.open("/pages/upload-visible")
	p.js("document.body.innerHTML = '<input id=f type=file multiple>'; 1")
	upload := func(name string) map[string]any {
		return sel("#f", "action", "upload", "files", []string{dir + "/" + name})
	}
	set := func(name string) map[string]any {
		var doc struct{ Root struct{ NodeID int } }
		c.call("browser.cdp", p.with(m{"method": "DOM.getDocument"}), &doc)
		var node struct{ NodeID int }
		c.call("browser.cdp", p.with(m{"method": "DOM.querySelector", "params": m{"nodeId": doc.Root.NodeID, "selector": "#f"}}), &node)
		return m{"method": "DOM.setFileInputFiles", "params": m{"nodeId": node.NodeID, "files": []string{dir + "/" + name}}}
	}
	const text = "f.files.length ? f.files[0].text() : ''"
	for name, want := range map[string]string{
		"in/a.txt": "in/a.txt", "in/sub/b.txt": "in/sub/b.txt", "in/own/b.txt": "in/sub/b.txt", "door/a.txt": "in/a.txt", "out/../in/a.txt": "in/a.txt",
	} {
		p.js("f.value = ''; 1")
		if out := p.do("upload", upload(name)); out["ok"] != true {
			t.Errorf("%s: %v", name, out)
		}
		p.is(text, want)
		p.js("f.value = ''; 1")
		c.call("browser.cdp", p.with(set(name)), nil)
		p.is(text, want)
	}
	p.js("f.value = ''; 1")
	for _, name := range []string{"out/c.txt", "in/file", "in/folder/c.txt", "in/../out/c.txt", "inner/d.txt", "out/none.txt", "out"} {
		c.refused("permission_denied", "page.interact", p.with(upload(name)))
		c.refused("permission_denied", "browser.cdp", p.with(set(name)))
	}
	c.refused("permission_denied", "page.interact", p.with(sel("#f", "action", "upload", "files", []string{dir + "/in/a.txt", "/etc/passwd"})))
	c.refused("invalid_params", "page.interact", p.with(upload("in/none.txt")))
	c.refused("invalid_params", "browser.cdp", p.with(m{"method": "DOM.setFileInputFiles", "params": m{"files": dir + "/out/c.txt"}}))
	p.is(text, "")

	for name, at := range map[string]string{"in/x.png": "in/x.png", "in/own/x.png": "in/sub/x.png", "door/y.png": "in/y.png", "in/there": "in/sub/b.txt", "in/later": "in/sub/later.png"} {
		var out struct{ Path string }
		c.call("page.screenshot", p.with(m{"path": dir + "/" + name}), &out)
		if out.Path != filepath.Join(dir, at) {
			t.Errorf("%s was written to %s", name, out.Path)
		}
		if info, err := os.Lstat(filepath.Join(dir, at)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", at, info, err)
		}
	}
	for _, name := range []string{"out/x.png", "in/new.png", "in/file", "in/folder/x.png", "in/../x.png", "inner/x.png", "none/x.png", "x.png"} {
		c.refused("permission_denied", "page.screenshot", p.with(m{"path": dir + "/" + name}))
	}
	c.refused("screenshot_error", "page.screenshot", p.with(m{"path": dir + "/in/none/x.png"}))
	c.refused("screenshot_error", "page.screenshot", p.with(m{"path": "x.png"}))
	for _, name := range []string{"out/new.png", "out/x.png", "x.png", "inner/x.png"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

func TestWithoutFoldersFilesAreTheUsers(t *testing.T) {
	dir := tree(t, []string{"a.txt"}, map[string]string{"link": "a.txt"})
	var any folders
	if got, err := any.readable([]string{dir + "/link"}); err != nil || got[0] != dir+"/link" {
		t.Errorf("a file is %v, %v", got, err)
	}
	if got, err := any.writable(dir + "/link"); err != nil || got != dir+"/a.txt" {
		t.Errorf("a file is %v, %v", got, err)
	}
	none := folders{"write_to", []string{}}
	if _, err := none.writable(dir + "/x"); err == nil {
		t.Error("no folders are all folders")
	}
}
