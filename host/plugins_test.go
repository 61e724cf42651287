package host

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/supervise"
)

// noLauncher starts nothing.
type noLauncher struct{}

func (noLauncher) Launch(context.Context, supervise.Spec) (supervise.Process, error) {
	return nil, &supervise.StartError{Step: "launch", Permanent: true, Err: errors.New("not in this test")}
}

// applier is a host that can apply what was found, and what it logs.
func applier(t *testing.T) (*Host, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	var log bytes.Buffer
	h := &Host{log: hclog.New(&hclog.LoggerOptions{Output: &log})}
	h.config.Store(&config.Config{})
	h.paths = paths{state: filepath.Join(dir, "state"), cache: filepath.Join(dir, "cache"), data: filepath.Join(dir, "data")}
	h.logs = observe.NewLogs(observe.Options{})
	h.supervisor = supervise.New(supervise.Options{Launcher: noLauncher{}})
	t.Cleanup(func() {
		h.supervisor.Stop(context.Background())
		if err := h.logs.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, &log
}

func candidate(file, sha string) catalog.Candidate {
	return catalog.Candidate{Name: strings.TrimPrefix(filepath.Base(file), catalog.Prefix), File: file, SHA256: sha}
}

func TestWhatCannotBeJudgedNowGoesOn(t *testing.T) {
	h, _ := applier(t)
	a, b := candidate("/one/vant-plugin-a", "1"), candidate("/two/vant-plugin-b", "1")
	for _, step := range []struct {
		what  string
		found catalog.Result
		want  supervise.Changes
	}{
		{"both are there", catalog.Result{Accepted: []catalog.Candidate{a, b}}, supervise.Changes{Started: []string{"a", "b"}}},
		{"one is written over", catalog.Result{Accepted: []catalog.Candidate{b}, Pending: []catalog.Pending{{Name: "a", File: a.File}}}, supervise.Changes{}},
		{"and goes on being", catalog.Result{Accepted: []catalog.Candidate{b}, Pending: []catalog.Pending{{Name: "a", File: a.File}}}, supervise.Changes{}},
		{"the other's directory cannot be read", catalog.Result{Accepted: []catalog.Candidate{a}, Unread: []string{"/two"}}, supervise.Changes{}},
		{"the other's name is found elsewhere", catalog.Result{Accepted: []catalog.Candidate{a, candidate("/three/vant-plugin-b", "2")}, Unread: []string{"/two"}}, supervise.Changes{Replaced: []string{"b"}}},
		{"one is refused", catalog.Result{Accepted: []catalog.Candidate{candidate("/three/vant-plugin-b", "2")}, Refused: []catalog.Refusal{{Name: "a", File: a.File, Reason: "is bad"}}}, supervise.Changes{Removed: []string{"a"}}},
		{"the other is gone", catalog.Result{}, supervise.Changes{Removed: []string{"b"}}},
	} {
		if diff := cmp.Diff(step.want, h.apply(step.found).changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
		h.discovery.notes.turn()
	}
}

func TestEveryLookThatChangesNothingClearsTheStore(t *testing.T) {
	h, _ := applier(t)
	dir := t.TempDir()
	var err error
	if h.store, err = catalog.OpenStore(dir); err != nil {
		t.Fatal(err)
	}
	a := catalog.Result{Accepted: []catalog.Candidate{candidate("/one/vant-plugin-a", "1")}}
	left := func() (names []string) {
		entries, err := os.ReadDir(filepath.Join(dir, "bin"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for _, step := range []struct {
		what string
		made string // a copy that the look has made
		want []string
	}{
		{"the plugin starts", "1", []string{"1"}},
		{"nothing is new", "", []string{"1"}},
		{"a copy was made of what is not run", "2", []string{"1"}},
		{"and once more", "3", []string{"1"}},
	} {
		if step.made != "" {
			if err := os.Mkdir(filepath.Join(dir, "bin", step.made), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		h.tidy(a, h.apply(a).changes)
		if diff := cmp.Diff(step.want, left()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}

func TestSameRefusalIsLoggedOnce(t *testing.T) {
	h, log := applier(t)
	bad := func(reason string) catalog.Result {
		return catalog.Result{Refused: []catalog.Refusal{{Name: "a", File: "/p/vant-plugin-a", Reason: reason}}}
	}
	for i, step := range []struct {
		found catalog.Result
		lines int // logged so far
	}{{bad("is bad"), 1}, {bad("is bad"), 1}, {bad("is worse"), 2}, {catalog.Result{}, 2}, {bad("is worse"), 3}} {
		h.apply(step.found)
		h.discovery.notes.turn()
		if n := strings.Count(log.String(), "\n"); n != step.lines {
			t.Errorf("after look %d: %d lines, want %d:\n%s", i+1, n, step.lines, log)
		}
	}
}
