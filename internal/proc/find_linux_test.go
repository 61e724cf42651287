package proc_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/internal/proc"
)

func TestMarkedProcessesAreFoundWhereverTheyMoved(t *testing.T) {
	mark := "PROC_TEST_MARK=find-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	r := start(t, "leave-apart", mark)
	// childEnv's own marker comes later in the list; the given one decides.
	grandchild := r.pid()
	r.ends(2 * time.Second)
	found, err := proc.FindMarked(mark)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(found, grandchild) {
		t.Errorf("found %v, want %v among them", found, grandchild)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	killed, err := proc.KillMarked(ctx, mark)
	if err != nil || !slices.Contains(killed, grandchild) {
		t.Errorf("killed %v, %v", killed, err)
	}
	if proc.Alive(grandchild) {
		t.Error("it is alive")
	}
}

// A program that carries the mark may start a host: neither it nor what stands
// above it is a leftover.
func TestThoseAboveTheCallerAreNotFound(t *testing.T) {
	mark := "find-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	t.Setenv("PROC_TEST_MARK", mark)
	other := start(t, "stay")
	other.line()
	r := start(t, "find")
	if got := r.line(); got != "others 1" {
		t.Errorf("it says %q", got)
	}
}

func TestMarkerMustHaveAName(t *testing.T) {
	for _, m := range []string{"", "x", "=x"} {
		if _, err := proc.FindMarked(m); err == nil {
			t.Errorf("%q was accepted", m)
		}
	}
}

func TestDescendantsReachDown(t *testing.T) {
	r := start(t, "group")
	grandchild := r.pid()
	found, err := proc.Descendants(syscall.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []proc.Identity{r.Identity(), grandchild} {
		if !slices.Contains(found, want) {
			t.Errorf("found %v, want %v among them", found, want)
		}
	}
}

func TestAProcessThatExecutesAnotherProgramIsFound(t *testing.T) {
	mark := "PROC_TEST_MARK=exec-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Command{Path: script, Env: []string{mark}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	for i := range 300 {
		found, err := proc.FindMarked(mark)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].Pid != p.Pid() {
			t.Fatalf("look %d found %v", i, found)
		}
	}
}
