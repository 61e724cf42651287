package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk/plugintest"
)

// tree lists all that a host has on disk, so that a test sees what is left.
func tree(t *testing.T, dir string) (paths []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && !strings.Contains(path, "/log/") {
			paths = append(paths, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	return paths
}

func TestVerifySaysWhatTheHostWouldDoAndLeavesNothing(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{built.faulty},
		Config:   "plugins:\n  net:\n    no_such_key: 1\n",
	})
	serves(t, h, "faulty", 1)
	elsewhere := t.TempDir()
	at := func(name string, b []byte, mode fs.FileMode) string {
		path := filepath.Join(elsewhere, name)
		writeTo(t, path, b, mode)
		return path
	}
	rival := filepath.Join(elsewhere, "vant-plugin-rival")
	must(t, os.Mkdir(rival, 0o755))
	writeTo(t, filepath.Join(rival, "real"), variant(t, 0), 0o755)
	writeTo(t, filepath.Join(rival, "vant-plugin-rival"), []byte("#!/bin/sh\n"+
		"VANT_FAULTY_NAME=rival VANT_FAULTY_CLAIM=faulty.echo exec \"$(dirname \"$0\")/real\"\n"), 0o755)
	first := filepath.Join(elsewhere, "vant-plugin-an-early")
	must(t, os.CopyFS(first, os.DirFS(rival)))
	must(t, os.Remove(filepath.Join(first, "vant-plugin-rival")))
	writeTo(t, filepath.Join(first, "vant-plugin-an-early"), []byte("#!/bin/sh\n"+
		"VANT_FAULTY_NAME=an-early VANT_FAULTY_CLAIM=faulty.echo exec \"$(dirname \"$0\")/real\"\n"), 0o755)
	net, err := os.ReadFile(built.net)
	must(t, err)
	before := tree(t, h.Dir)
	list := plugins(t, h)
	for _, tt := range []struct {
		what, path string
		status     int
		says       []string
	}{
		{"what runs", filepath.Join(h.Plugins, "vant-plugin-faulty"), 0, []string{"nothing to do: faulty 1.0.0", "this very plugin"}},
		{"another build of it", at("vant-plugin-faulty", variant(t, 1), 0o755), 0, []string{"would replace what runs: faulty 1.0.0", "faulty.echo"}},
		{"not executable", at("vant-plugin-mode", variant(t, 1), 0o644), 1, []string{"refused: " + elsewhere + "/vant-plugin-mode is not executable", "chmod +x"}},
		{"no plugin's name", at("weather", variant(t, 1), 0o755), 1, []string{"vant-plugin-<name>"}},
		{"nothing, and no plugin's name", filepath.Join(elsewhere, "none"), 1, []string{"not_found", "there is no file " + elsewhere + "/none"}},
		{"below a file", filepath.Join(elsewhere, "weather", "x"), 1, []string{"not_found", "there is no file"}},
		{"a key's name", at("vant-plugin-lock", variant(t, 1), 0o755), 1, []string{"has the name lock", "rename"}},
		{"no plugin", at("vant-plugin-sh", []byte("#!/bin/sh\necho hello\n"), 0o755), 1, []string{"would not start", "hello"}},
		{"no plugin, and silent", at("vant-plugin-quiet", []byte("#!/bin/sh\nexit 7\n"), 0o755), 1, []string{"would not start", "7"}},
		{"another's name", at("vant-plugin-wrong", variant(t, 1), 0o755), 1, []string{`calls itself "faulty"`}},
		{"another's method", rival, 1, []string{"faulty.echo", `already claimed by plugin "faulty"`}},
		{"what would take another's method", first, 0, []string{"would start: an-early", "note: plugin faulty would be refused"}},
		{"a configuration that it does not take", at("vant-plugin-net", net, 0o755), 1, []string{"would not start: configure", "no_such_key"}},
		{"nothing", filepath.Join(elsewhere, "vant-plugin-none"), 1, []string{"not_found", "vant-plugin-none"}},
	} {
		status, out := cli(t, h, "plugin", "verify", tt.path)
		if status != tt.status {
			t.Errorf("%s: status %d: %s", tt.what, status, out)
		}
		for _, want := range tt.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: does not say %q: %s", tt.what, want, out)
			}
		}
	}
	if got := code(h.Call(within(t, soon), "plugins.verify", map[string]any{"path": "vant-plugin-faulty"}, nil)); got != "invalid_params" {
		t.Errorf("a relative path: %s", got)
	}
	if diff := cmp.Diff(before, tree(t, h.Dir)); diff != "" {
		t.Errorf("something is left: %s", diff)
	}
	if diff := cmp.Diff(list, plugins(t, h)); diff != "" {
		t.Errorf("what runs has changed: %s", diff)
	}
}

func TestVerifyGoesByTheFolderThatAFileLiesIn(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	serves(t, h, "faulty", 1)
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	must(t, os.Chmod(h.Plugins, 0o777))
	if status, out := cli(t, h, "plugin", "verify", file); status != 1 || !strings.Contains(out, "lies in "+h.Plugins+", which can be changed by every user") {
		t.Errorf("in a folder that everybody can write to: %d %s", status, out)
	}
	must(t, os.Chmod(h.Plugins, 0o755))
	if status, out := cli(t, h, "plugin", "verify", file); status != 0 {
		t.Errorf("once that is mended: %d %s", status, out)
	}
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o777))
	writeTo(t, filepath.Join(open, "vant-plugin-faulty"), variant(t, 1), 0o755)
	if status, out := cli(t, h, "plugin", "verify", filepath.Join(open, "vant-plugin-faulty")); status != 0 {
		t.Errorf("in another folder, out of which it would be installed: %d %s", status, out)
	}
}

func TestAVerifyThatAStopCutsOffIsNoVerdict(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	begun := filepath.Join(h.Dir, "begun")
	slow := filepath.Join(t.TempDir(), "vant-plugin-slow")
	writeTo(t, slow, []byte("#!/bin/sh\n: >"+begun+"\nexec sleep 60\n"), 0o755)
	type outcome struct {
		verdict struct {
			OK     bool
			Action string
		}
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = h.Call(within(t, 10*time.Second), "plugins.verify", map[string]any{"path": slow}, &o.verdict)
		done <- o
	}()
	eventually(t, 10*time.Second, "the plugin being tried", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	must(t, h.Call(within(t, soon), "host.stop", nil, nil))
	o := <-done
	if o.err == nil || code(o.err) == "invalid_params" || !strings.Contains(o.err.Error(), "stopping") {
		t.Errorf("verdict %+v, error %v", o.verdict, o.err)
	}
}

func TestVerifyStartsInASandbox(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Env:    []string{"API_SECRET=s3cret"},
		Config: "plugins:\n  spy:\n    host:\n      env_from: [API_SECRET]\n      env:\n        OWN: mine\n",
	})
	out := filepath.Join(h.Dir, "seen")
	spy := filepath.Join(t.TempDir(), "vant-plugin-spy")
	writeTo(t, spy, []byte("#!/bin/sh\nenv >"+out+"\n"), 0o755)
	if status, text := cli(t, h, "plugin", "verify", spy); status != 1 {
		t.Errorf("status %d: %s", status, text)
	}
	seen, err := os.ReadFile(out)
	must(t, err)
	for _, secret := range []string{"s3cret", "OWN=", "VANT_CONFIG"} {
		if bytes.Contains(seen, []byte(secret)) {
			t.Errorf("it sees %s", secret)
		}
	}
	for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		_, rest, ok := strings.Cut(string(seen), name+"=")
		folder, _, _ := strings.Cut(rest, "\n")
		if !ok || !strings.Contains(folder, "/try-") {
			t.Errorf("%s is %s", name, folder)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", folder, err)
		}
	}
}

func TestInstallAndRemove(t *testing.T) {
	own, later := t.TempDir(), t.TempDir()
	h := start(t, plugintest.HostOptions{Env: []string{"VANT_PLUGIN_PATH=" + own + ":" + later}})
	source := filepath.Join(t.TempDir(), "vant-plugin-faulty")
	install := func(want int, says string) {
		t.Helper()
		if status, out := cli(t, h, "plugin", "install", source); status != want || !strings.Contains(out, says) {
			t.Fatalf("install: %d %s", status, out)
		}
	}
	writeTo(t, source, variant(t, 1), 0o755)
	install(0, "installed: faulty 1.0.0")
	// It serves when install has answered.
	must(t, h.Call(within(t, soon), "faulty.echo", nil, nil))
	if info, err := os.Stat(filepath.Join(own, "vant-plugin-faulty")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the installed file: %v, %v", info, err)
	}
	install(0, "installed: faulty 1.0.0")
	if row := plugins(t, h)["faulty"]; row.Generation != 1 {
		t.Errorf("installing it again started it again: %+v", row)
	}
	writeTo(t, source, variant(t, 2), 0o755)
	install(0, "in place of what ran")
	if row := plugins(t, h)["faulty"]; row.Generation != 2 || row.State != "ready" {
		t.Errorf("got %+v", row)
	}
	writeTo(t, source, []byte("#!/bin/sh\nexit 1\n"), 0o755)
	install(1, "refused: ")
	if row := plugins(t, h)["faulty"]; row.Generation != 2 || row.State != "ready" {
		t.Errorf("what was refused has done harm: %+v", row)
	}

	// A folder over the file, and a file over the folder.
	must(t, os.Remove(source))
	must(t, os.Mkdir(source, 0o755))
	writeTo(t, filepath.Join(source, "real"), variant(t, 3), 0o755)
	writeTo(t, filepath.Join(source, "vant-plugin-faulty"), []byte("#!/bin/sh\nexec \"$(dirname \"$0\")/real\"\n"), 0o755)
	install(0, "in place of what ran")
	if row := plugins(t, h)["faulty"]; row.Generation != 3 || row.State != "ready" {
		t.Errorf("got %+v", row)
	}
	must(t, os.RemoveAll(source))
	writeTo(t, source, variant(t, 4), 0o755)
	install(0, "in place of what ran")
	serves(t, h, "faulty", 4)

	remove := func(name string, want int, says string) {
		t.Helper()
		if status, out := cli(t, h, "plugin", "remove", name); status != want || !strings.Contains(out, says) {
			t.Errorf("remove %s: %d %s", name, status, out)
		}
	}
	remove("faulty", 0, "the plugin is removed")
	if got := code(h.Call(within(t, soon), "faulty.echo", nil, nil)); got != "method_not_found" {
		t.Errorf("a call after that: %s", got)
	}
	remove("faulty", 1, own+" has no plugin faulty")
	remove("../x", 1, "invalid_params")
	if left, err := os.ReadDir(own); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	moveTo(t, filepath.Join(later, "vant-plugin-faulty"), variant(t, 5))
	becomes(t, h, "faulty", "serving", func(s status) bool { return s.State == "ready" })
	remove("faulty", 1, "it lies at "+later+"/vant-plugin-faulty")
	install(0, "in place of what ran")
	var list []struct{ State, File string }
	must(t, h.Call(within(t, soon), "plugins.list", nil, &list))
	if len(list) != 1 || list[0].State != "ready" || list[0].File != filepath.Join(own, "vant-plugin-faulty") {
		t.Errorf("got %+v", list)
	}
	if status, out := cli(t, h, "plugin", "verify", filepath.Join(later, "vant-plugin-faulty")); status != 1 || !strings.Contains(out, "comes from "+own) {
		t.Errorf("verify of what is hidden: %d %s", status, out)
	}
}
