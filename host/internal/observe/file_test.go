package observe

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

func TestLinesReachTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	l := NewLogs(Options{Dir: dir})
	l.Append("p", noon, hclog.Info, "one")
	l.Append("p", noon, hclog.Error, "two")
	closeLogs(t, l)
	got, err := os.ReadFile(filepath.Join(dir, "p.log"))
	if err != nil {
		t.Fatal(err)
	}
	want := "2001-02-03T12:00:00.004Z info  one\n2001-02-03T12:00:00.004Z error two\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	checkMode(t, dir, fs.ModeDir|0o700)
	checkMode(t, filepath.Join(dir, "p.log"), 0o600)
	l.Append("p", noon, hclog.Info, "after close")
	if lines, _, _ := l.Read(t.Context(), "p", 2, 0, 0); len(lines) != 1 {
		t.Error("a late line is not in memory")
	}
	closeLogs(t, l) // twice is harmless
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
}

func TestFilesRotate(t *testing.T) {
	dir := t.TempDir()
	f := newLogFile(newRotating(filepath.Join(dir, "p.log"), Rotation{MaxSizeMB: 1, MaxFiles: 2}))
	batch := []byte(strings.Repeat("x", 99) + "\n")
	batch = bytes.Repeat(batch, 2000)
	for range 20 { // 4 MB
		if _, err := f.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// Old files are removed behind the writer's back.
	deadline := time.Now().Add(10 * time.Second)
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 2 {
			for _, e := range entries {
				checkMode(t, filepath.Join(dir, e.Name()), 0o600)
				if info, err := e.Info(); err != nil || info.Size() > 1<<20 {
					t.Errorf("%s: %v, %v", e.Name(), info, err)
				}
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files are left", len(entries))
		}
	}
}

func TestLogFileTightensAndRefuses(t *testing.T) {
	dir := t.TempDir()
	loose := filepath.Join(dir, "loose.log")
	if err := os.WriteFile(loose, []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := newLogFile(newRotating(loose, Rotation{}))
	if _, err := f.Write([]byte("new\n")); err != nil {
		t.Fatal(err)
	}
	checkMode(t, loose, 0o600)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(loose); err != nil || string(got) != "old\nnew\n" {
		t.Errorf("got %q, %v", got, err)
	}

	link := filepath.Join(dir, "link.log")
	if err := os.Symlink(loose, link); err != nil {
		t.Fatal(err)
	}
	if _, err := newLogFile(newRotating(link, Rotation{})).Write([]byte("x")); err == nil {
		t.Error("followed a link")
	}
}

func TestLogFileComesBackAfterRemoval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "p.log")
	f := newLogFile(newRotating(path, Rotation{}))
	for range 2 {
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "line\n" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
