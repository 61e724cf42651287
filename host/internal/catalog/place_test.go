package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// place installs what the bench's plugin is into dir.
func place(t *testing.T, c Candidate, dir string) {
	t.Helper()
	s, err := Stage(c, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Place(), s.Discard()); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestInstalledPluginIsTheOneThatWasJudged(t *testing.T) {
	b := newBench(t)
	program := func() { write(t, b.path("vant-plugin-x"), script, 0o755) }
	tree := func() {
		folder(t, b.path("vant-plugin-x"))
		write(t, b.path("vant-plugin-x/vant-plugin-x"), script, 0o755)
		write(t, b.path("vant-plugin-x/data.txt"), "data", 0o644)
		symlink(t, "data.txt", b.path("vant-plugin-x/link"))
	}
	into := filepath.Join(t.TempDir(), "made", "plugins")
	// Every kind over every kind, the first over nothing.
	for _, kind := range []func(){program, program, tree, tree, program} {
		remove(t, b.path("vant-plugin-x"))
		kind()
		c := b.accepted()
		remove(t, b.path("vant-plugin-x")) // the copy is what counts
		place(t, c, into)
		if diff := cmp.Diff([]string{"vant-plugin-x"}, entries(t, into)); diff != "" {
			t.Error(diff)
		}
		res := b.scan(func(o *Options) { o.Dirs = []string{into} })
		if len(res.Accepted) != 1 || res.Accepted[0].SHA256 != c.SHA256 || res.Accepted[0].Dir != c.Dir {
			t.Errorf("installed %+v, found %+v", c, res)
		}
	}
	checkMode(t, filepath.Join(into, "vant-plugin-x"), 0o755)
	if err := Uninstall("x", into); err != nil {
		t.Error(err)
	}
	if left := entries(t, into); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := Uninstall("x", into); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of what is not there: %v", err)
	}
}

func TestInstallReplacesALinkAndNotWhatItLeadsTo(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	c := b.accepted()
	into := t.TempDir()
	write(t, filepath.Join(into, "kept"), "kept", 0o644)
	symlink(t, "kept", filepath.Join(into, "vant-plugin-x"))
	place(t, c, into)
	checkContent(t, filepath.Join(into, "kept"), "kept")
	checkContent(t, filepath.Join(into, "vant-plugin-x"), script)
	symlink(t, "kept", filepath.Join(into, "vant-plugin-y"))
	if err := Uninstall("y", into); err != nil {
		t.Error(err)
	}
	checkContent(t, filepath.Join(into, "kept"), "kept")
}

func TestInstallClearsWhatTheDeadLeft(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	c := b.accepted()
	into := t.TempDir()
	for name, age := range map[string]time.Duration{".vant-old": 2 * time.Hour, ".vant-new": 0} {
		dir := filepath.Join(into, name)
		mkdir(t, dir, 0o700)
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	place(t, c, into)
	if diff := cmp.Diff([]string{".vant-new", "vant-plugin-x"}, entries(t, into)); diff != "" {
		t.Error(diff)
	}
}

func TestOwnDirIsTheFirstThatTheUserMayFill(t *testing.T) {
	top := t.TempDir()
	mine, bad, file := filepath.Join(top, "mine"), filepath.Join(top, "bad"), filepath.Join(top, "file")
	mkdir(t, mine, 0o755)
	mkdir(t, bad, 0o777)
	write(t, file, "", 0o644)
	missing := filepath.Join(mine, "not", "yet")
	for _, tt := range []struct {
		name string
		dirs []string
		want string
		says string
	}{
		{"one that is there", []string{mine, top}, mine, ""},
		{"one that can be made", []string{missing, mine}, missing, ""},
		{"not below a file", []string{filepath.Join(file, "x"), mine}, mine, ""},
		{"not one that others can change", []string{bad, mine}, "", "chmod o-w " + bad},
		{"none", []string{filepath.Join(file, "x")}, "", "plugins.dirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := OwnDir(tt.dirs)
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// Who gives up an installation may do so while it is made.
func TestAPluginIsPlacedWholeOrNotAtAll(t *testing.T) {
	b := newBench(t)
	folder(t, b.path("vant-plugin-y"))
	c := b.scan().Accepted[0]
	dir := t.TempDir()
	place := filepath.Join(dir, "vant-plugin-y")
	placed := 0
	for range 100 {
		s, err := Stage(c, dir)
		if err != nil {
			t.Fatal(err)
		}
		outcome := make(chan error)
		go func() { outcome <- s.Place() }()
		if placed%2 == 1 {
			runtime.Gosched()
		}
		if err := s.Discard(); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err == nil {
			placed++
		} else if !strings.Contains(err.Error(), "given up") {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(place, "vant-plugin-y"))
		if whole := err == nil; whole != (placed > 0) {
			t.Fatalf("placed %d times, and what is there is whole: %v (%v)", placed, whole, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	s, err := Stage(c, dir)
	if err := errors.Join(err, s.Discard()); err != nil {
		t.Fatal(err)
	}
	if err := s.Place(); err == nil {
		t.Error("what was given up was placed")
	}
}
