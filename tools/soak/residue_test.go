package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachKindOfResidueIsSeen(t *testing.T) {
	base := snapshot{descriptors: 20, processes: 6, sockets: 6, files: 12, rss: 30}
	if err := base.exceeds(base); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := (snapshot{}).exceeds(base); err != nil {
		t.Errorf("less of all: %v", err)
	}
	for what, change := range map[string]func(*snapshot){
		"descriptors": func(s *snapshot) { s.descriptors++ },
		"processes":   func(s *snapshot) { s.processes++ },
		"sockets":     func(s *snapshot) { s.sockets++ },
		"files":       func(s *snapshot) { s.files++ },
		"MiB":         func(s *snapshot) { s.rss += spareMemory + 1 },
	} {
		more := base
		change(&more)
		if err := more.exceeds(base); err == nil || !strings.Contains(err.Error(), what) || (what == "processes" || what == "MiB") && strings.Contains(err.Error(), "\n") {
			t.Errorf("more %s: %v", what, err)
		}
		// A check that sees all but one kind is as good as none.
		blind := snapshot{descriptors: 21, processes: 7, sockets: 7, files: 13, rss: 31}
		if err := base.unseen(blind); err != nil {
			t.Errorf("all kinds are seen: %v", err)
		}
		switch what {
		case "descriptors":
			blind.descriptors = base.descriptors
		case "processes":
			blind.processes = base.processes
		case "sockets":
			blind.sockets = base.sockets
		case "files":
			blind.files = base.files
		case "MiB":
			blind.rss = base.rss
		}
		if err := base.unseen(blind); err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s are not seen: %v", what, err)
		}
	}
}

func TestWhatAStoppedHostLeavesIsFound(t *testing.T) {
	s := &stage{dir: t.TempDir()}
	for _, dir := range []string{s.run(), s.tmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path()+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.nothingLeft(); err != nil {
		t.Errorf("a lock alone: %v", err)
	}
	for _, file := range []string{s.path(), filepath.Join(s.tmp(), "x"), filepath.Join(s.run(), "vant")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.nothingLeft(); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s is left: %v", file, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}
