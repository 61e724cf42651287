package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hinted waits for a hint.
func hinted(t *testing.T, w *Watcher, after string) {
	t.Helper()
	select {
	case <-w.C():
	case <-time.After(5 * time.Second):
		t.Errorf("no hint after: %s", after)
	}
}

// silent says that what was done so far gave no hint: a hint that the kernel
// was told of later has come, and it is the only one.
func silent(t *testing.T, w *Watcher, dir, after string) {
	t.Helper()
	select {
	case <-w.C():
		t.Errorf("a hint after: %s", after)
	case <-time.After(50 * time.Millisecond):
	}
	write(t, filepath.Join(dir, "vant-plugin-probe"), "", 0o644)
	hinted(t, w, "a file was made")
	remove(t, filepath.Join(dir, "vant-plugin-probe"))
	hinted(t, w, "a file was removed")
	drainHints(w)
}

// drainHints takes what is still on its way.
func drainHints(w *Watcher) {
	for {
		select {
		case <-w.C():
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func newWatcher(t *testing.T, dirs, files []string) *Watcher {
	t.Helper()
	w := NewWatcher()
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	again(t, w, dirs, files)
	return w
}

func again(t *testing.T, w *Watcher, dirs, files []string) {
	t.Helper()
	for quiet := false; !quiet; {
		if err := w.Watch(dirs, files); err != nil {
			t.Fatal(err)
		}
		select { // a hint that comes now asks for another look, as it does of a host
		case <-w.C():
		case <-time.After(50 * time.Millisecond):
			quiet = true
		}
	}
}

func TestWatcherHintsAtWhatAScanWouldSee(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	dir, missing, link, lock := at("plugins"), at("later", "deep", "plugins"), at("link"), at("plugins.lock")
	mkdir(t, dir, 0o700)
	mkdir(t, at("v1"), 0o700)
	mkdir(t, at("v2"), 0o700)
	symlink(t, "v1", link)
	mkdir(t, at("plugins", "vant-plugin-tree"), 0o700)
	mkdir(t, at("plugins", "vant-plugin-tree", "lib"), 0o700)
	mkdir(t, at("plugins", "real"), 0o700)
	write(t, at("plugins", "real", "prog"), script, 0o755)
	symlink(t, "real/prog", at("plugins", "vant-plugin-linked"))
	dirs, files := []string{dir, missing, link}, []string{lock}
	w := newWatcher(t, dirs, files)

	steps := []struct {
		what string
		do   func()
	}{
		{"a file was made", func() { write(t, at("plugins", "vant-plugin-a"), script, 0o755) }},
		{"it was changed", func() { write(t, at("plugins", "vant-plugin-a"), script+"#", 0o755) }},
		{"its mode was changed", func() {
			if err := os.Chmod(at("plugins", "vant-plugin-a"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"another was renamed over it", func() {
			write(t, at("plugins", ".new"), script, 0o755)
			rename(t, at("plugins", ".new"), at("plugins", "vant-plugin-a"))
		}},
		{"it was moved away", func() { rename(t, at("plugins", "vant-plugin-a"), at("gone")) }},
		{"a folder plugin's file was made", func() { write(t, at("plugins", "vant-plugin-tree", "data"), "1", 0o644) }},
		{"a file deep in it was made", func() { write(t, at("plugins", "vant-plugin-tree", "lib", "x"), "1", 0o644) }},
		{"it was changed", func() { write(t, at("plugins", "vant-plugin-tree", "lib", "x"), "22", 0o644) }},
		{"what a link leads to was changed", func() { write(t, at("plugins", "real", "prog"), script+"#", 0o755) }},
		{"the lock file was made", func() { write(t, lock, "", 0o644) }},
		{"the lock file was replaced", func() { write(t, at("new"), "#", 0o644); rename(t, at("new"), lock) }},
		{"a directory's link was turned", func() { symlink(t, "v2", at("turned")); rename(t, at("turned"), link) }},
		{"a file was made where it leads now", func() { write(t, at("v2", "vant-plugin-b"), script, 0o755) }},
		{"the first folder towards a missing directory was made", func() { mkdir(t, at("later"), 0o700) }},
		{"the rest of the way was made", func() { mkdir(t, at("later", "deep"), 0o700); mkdir(t, missing, 0o700) }},
		{"a file was made there", func() { write(t, filepath.Join(missing, "vant-plugin-c"), script, 0o755) }},
		{"the directory was removed", func() { remove(t, dir) }},
		{"it was made again", func() { mkdir(t, dir, 0o700) }},
		{"a file was made in it", func() { write(t, at("plugins", "vant-plugin-d"), script, 0o755) }},
		{"another directory took its name", func() {
			mkdir(t, at("other"), 0o700)
			rename(t, dir, at("old"))
			rename(t, at("other"), dir)
		}},
		{"a file was made in that", func() { write(t, at("plugins", "vant-plugin-e"), script, 0o755) }},
		{"it went away and came back", func() { rename(t, dir, at("away")); rename(t, at("away"), dir) }},
		{"a file was made after that", func() { write(t, at("plugins", "vant-plugin-f"), script, 0o755) }},
	}
	for _, s := range steps {
		s.do()
		hinted(t, w, s.what)
		again(t, w, dirs, files)
	}
	for what, do := range map[string]func(){
		"another file was made":            func() { write(t, at("plugins", "README"), "", 0o644) },
		"a copy in progress was made":      func() { write(t, at("plugins", "vant-plugin-x.part"), "", 0o644) },
		"a file beside the lock file":      func() { write(t, at("vant.yaml"), "", 0o644) },
		"the directory that was moved off": func() { write(t, at("old", "vant-plugin-y"), "", 0o644) },
	} {
		do()
		silent(t, w, dir, what)
	}
}

// What appears between the look at a missing directory and the watch for it is
// found all the same: Watch looks again after each watch that it has added.
func TestWatcherFollowsAWayThatGrowsMeanwhile(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "a", "b", "plugins")
	w := newWatcher(t, []string{dir}, nil)
	for i := range 20 {
		grown := make(chan struct{})
		go func() {
			defer close(grown)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Error(err)
			}
		}()
		if err := w.Watch([]string{dir}, nil); err != nil {
			t.Fatal(err)
		}
		<-grown
		// As the host does: each hint leads to another look.
		for range 4 {
			select {
			case <-w.C():
				if err := w.Watch([]string{dir}, nil); err != nil {
					t.Fatal(err)
				}
			case <-time.After(20 * time.Millisecond):
			}
		}
		write(t, filepath.Join(dir, fmt.Sprintf("vant-plugin-p%d", i)), "", 0o644)
		hinted(t, w, "a file was made in the directory that grew")
		remove(t, filepath.Join(top, "a"))
		again(t, w, []string{dir}, nil)
	}
}

func TestWatcherSaysWhenItCannotWatchEverything(t *testing.T) {
	dir := t.TempDir()
	for i := range maxWatches + 1 {
		if err := os.MkdirAll(filepath.Join(dir, "vant-plugin-x", fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWatcher()
	defer w.Close()
	if err := w.Watch([]string{dir}, nil); err == nil || !strings.Contains(err.Error(), "more than 1024 folders") {
		t.Errorf("got %v", err)
	}
	remove(t, filepath.Join(dir, "vant-plugin-x"))
	if err := w.Watch([]string{dir}, nil); err != nil {
		t.Errorf("with less: %v", err)
	}
}

// A machine that has no watch to give away may have one later.
func TestWatcherBeginsAnewWhenItCould(t *testing.T) {
	dir := t.TempDir()
	w := NewWatcher()
	defer w.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err := w.Watch([]string{dir}, nil)
	if rerr := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); rerr != nil {
		t.Fatal(rerr)
	}
	if err == nil {
		t.Error("it says that it watches")
	}
	again(t, w, []string{dir}, nil)
	write(t, filepath.Join(dir, "vant-plugin-x"), "", 0o644)
	hinted(t, w, "a file was made")
}
