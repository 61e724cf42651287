package launch

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vant-run/vant/host/internal/cgroup"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
)

// descendant gives the process that a method of the plugin started. It is ended
// with the test, should nobody else do it.
func descendant(t *testing.T, p supervise.Process, method, params string) proc.Identity {
	t.Helper()
	pid, err := strconv.Atoi(string(call(t, p, method, params).Result))
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Signal(id, syscall.SIGKILL) })
	return id
}

func crash(t *testing.T, p supervise.Process) {
	t.Helper()
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	exits(t, p, soon)
	p.Stop(0)
}

func TestDescendantsThatLeftTheGroupEndWithThePlugin(t *testing.T) {
	for _, tc := range []struct {
		name, method string
		end          func(*testing.T, supervise.Process)
	}{
		{"stop", "apart", func(_ *testing.T, p supervise.Process) { p.Stop(time.Second) }},
		{"stop, environment forgotten", "hold", func(_ *testing.T, p supervise.Process) { p.Stop(time.Second) }},
		{"crash", "apart", crash},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, forkThread)
			b := newBench(t)
			p, err := b.launch(spec("good"))
			if err != nil {
				t.Fatal(err)
			}
			left := descendant(t, p, tc.method, "1")
			if !proc.Alive(left) {
				t.Fatal("it does not live")
			}
			began := time.Now()
			tc.end(t, p)
			if d := time.Since(began); d > soon {
				t.Errorf("it took %v", d)
			}
			settles(t, "it outlives the plugin", func() bool { return !proc.Alive(left) })
			b.noFiles()
		})
	}
}

func TestDescendantsOfAFailedStartEnd(t *testing.T) {
	b := newBench(t)
	se := b.failed(spec("leave"))
	_, rest, _ := strings.Cut(se.Error(), "left ")
	rest, _, _ = strings.Cut(rest, `\n`)
	pid, err := strconv.Atoi(strings.Trim(strings.Fields(rest)[0], `";:)`))
	if err != nil {
		t.Fatalf("%v in %v", err, se)
	}
	settles(t, "it is left", func() bool {
		id, err := proc.Identify(pid)
		return err != nil || !proc.Alive(id)
	})
}

func TestDescendantsOfOtherPluginsAndHostsLive(t *testing.T) {
	b, other := newBench(t), newBench(t)
	p, twin, foreign := b.started("good"), b.started("good"), other.started("good")
	mine := descendant(t, p, "apart", "1")
	others := []proc.Identity{descendant(t, twin, "apart", "1"), descendant(t, foreign, "apart", "1")}
	p.Stop(time.Second)
	settles(t, "the plugin's own descendant lives", func() bool { return !proc.Alive(mine) })
	for _, id := range others {
		if !proc.Alive(id) {
			t.Errorf("process %d of somebody else was ended", id.Pid)
		}
	}
	if got := string(call(t, twin, "echo", "7").Result); got != "7" {
		t.Errorf("echo = %s", got)
	}
}

// unified is where control groups of version 2 are mounted and may be made.
func unified(t *testing.T) (dir string, ok bool) {
	t.Helper()
	f, err := os.Open("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) > 2 && w[2] == "cgroup2" {
			dir := filepath.Join(w[1], "vant-test-"+strconv.Itoa(os.Getpid()))
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", false
			}
			t.Cleanup(func() {
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			})
			return dir, true
		}
	}
	return "", false
}

func TestAControlGroupEndsEveryDescendant(t *testing.T) {
	dir, ok := unified(t)
	if !ok {
		t.Log("control groups cannot be made here: package cgroup tests what is written")
		return
	}
	tree, err := cgroup.Open(dir, "ab12")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	l, err := New(Options{RuntimeDir: b.dir, Output: b.line, Cgroups: tree})
	if err != nil {
		t.Fatal(err)
	}
	b.Launcher = l
	groups := func() int {
		list, err := filepath.Glob(filepath.Join(dir, "ab12.*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for name, end := range map[string]func(*testing.T, supervise.Process){
		"stop": func(_ *testing.T, p supervise.Process) { p.Stop(time.Second) }, "crash": crash,
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, forkThread)
			p, err := b.launch(spec("good"))
			if err != nil {
				t.Fatal(err)
			}
			if groups() != 1 {
				t.Errorf("%d groups, want 1", groups())
			}
			// It left the process group, and its environment says nothing.
			left := descendant(t, p, "hold", "")
			end(t, p)
			settles(t, "it lives", func() bool { return !proc.Alive(left) })
			settles(t, "its group is left", func() bool { return groups() == 0 })
		})
	}
	t.Run("failed start", func(t *testing.T) {
		b.failed(spec("leave"))
		settles(t, "its group is left", func() bool { return groups() == 0 })
	})
	t.Run("next host", func(t *testing.T) {
		g, err := tree.New("old.demo.1", cgroup.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		old, err := proc.Start(proc.Command{Path: self, Env: []string{roleVar + "=hang"}, Cgroup: g.Folder()})
		if err != nil {
			t.Fatal(err)
		}
		defer old.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if _, err := l.Clear(ctx); err != nil {
			t.Error(err)
		}
		if proc.Alive(old.Identity()) || groups() != 0 {
			t.Errorf("alive: %t, groups: %d", proc.Alive(old.Identity()), groups())
		}
		if err := g.End(ctx); err != nil {
			t.Error(err)
		}
	})
}
