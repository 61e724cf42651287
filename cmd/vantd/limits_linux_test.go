package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/sdk/plugintest"
)

// limits is what plugins.info says of them.
type limits struct {
	MemoryMax int64  `json:"memory_max"`
	MemoryBy  string `json:"memory_by"`
	CPUWeight int    `json:"cpu_weight"`
	CPUBy     string `json:"cpu_by"`
	NoFile    int    `json:"nofile"`
	RSS       int64  `json:"rss_bytes"`
}

func limitsOf(t *testing.T, h *plugintest.RunningHost, name string) limits {
	t.Helper()
	var info struct{ Limits limits }
	if err := h.Call(within(t, 10*time.Second), "plugins.info", map[string]any{"name": name}, &info); err != nil {
		t.Fatal(err)
	}
	return info.Limits
}

// bounded is the section of a plugin with limits.
const bounded = "plugins:\n  faulty:\n    host:\n      memory_max: 200MiB\n      cpu_weight: 50\n      nofile: 128\n"

func TestLimitsOfTheConfigurationAreInForce(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}, Config: bounded})
	l := limitsOf(t, h, "faulty")
	if l.RSS < 1<<20 || l.RSS > 200<<20 {
		t.Errorf("%d bytes in memory", l.RSS)
	}
	l.RSS = 0
	if want := (limits{MemoryMax: 200 << 20, MemoryBy: "sampling", CPUWeight: 50, CPUBy: "nice", NoFile: 128}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	var opened int
	if err := h.Call(within(t, 10*time.Second), "faulty.open", map[string]any{"count": 500}, &opened); err != nil || opened < 64 || opened > 128 {
		t.Errorf("%d files were opened, %v", opened, err)
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Both as the system call gives it: 20 less the value.
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, plugins(t, h)["faulty"].Pid); err != nil || nice != own-3 {
		t.Errorf("nice is %d, the test's own %d, %v", 20-nice, 20-own, err)
	}
}

func TestAPluginThatEatsMemoryIsRestartedWithTheReason(t *testing.T) {
	for method, params := range map[string]map[string]any{
		"faulty.alloc": {"mb": 300}, "faulty.spawn": {"setsid": true, "mb": 300},
	} {
		t.Run(method, func(t *testing.T) {
			h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, built.net}, Config: bounded})
			before := plugins(t, h)
			_ = h.Call(within(t, 10*time.Second), method, params, nil) // it may come before the end
			var info struct {
				Exits []struct{ Exit, Reason string }
			}
			eventually(t, 15*time.Second, "serving again", func() bool {
				if err := h.Call(within(t, 5*time.Second), "plugins.info", map[string]any{"name": "faulty"}, &info); err != nil {
					t.Fatal(err)
				}
				return len(info.Exits) > 0 && plugins(t, h)["faulty"].State == "ready"
			})
			if e := info.Exits[0]; !strings.HasPrefix(e.Reason, "its memory of ") || !strings.HasSuffix(e.Reason, " MiB exceeded memory_max 200 MiB") || e.Exit != "signal: killed" {
				t.Errorf("got %+v", e)
			}
			if l := limitsOf(t, h, "faulty"); l.RSS > 200<<20 {
				t.Errorf("%d bytes are still in memory", l.RSS)
			}
			if now := plugins(t, h)["net"]; now.Pid != before["net"].Pid {
				t.Error("another plugin was hit")
			}
		})
	}
}

func TestAChangedLimitIsAppliedByAReload(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}, Config: bounded})
	file := filepath.Join(h.Dir, "config", "vant.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(bounded, "128", "256", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(within(t, 10*time.Second), "host.reload", nil, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "a new generation", func() bool { return plugins(t, h)["faulty"].Generation == 2 })
	if l := limitsOf(t, h, "faulty"); l.NoFile != 256 {
		t.Errorf("got %+v", l)
	}
}

// grandchild has the plugin leave a process that is in another session and
// whose parent has ended.
func grandchild(t *testing.T, h *plugintest.RunningHost, clean bool) int {
	t.Helper()
	var child struct{ Pid int }
	if err := h.Call(within(t, 10*time.Second), "faulty.spawn", map[string]any{"setsid": true, "clean": clean}, &child); err != nil {
		t.Fatal(err)
	}
	if !alive(child.Pid) {
		t.Fatalf("the grandchild %d does not live", child.Pid)
	}
	return child.Pid
}

func TestGrandchildrenInAnotherSessionEndWithTheirPlugin(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *plugintest.RunningHost){
		"restart": func(t *testing.T, h *plugintest.RunningHost) {
			if err := h.Call(within(t, 10*time.Second), "plugins.restart", map[string]any{"name": "faulty"}, nil); err != nil {
				t.Fatal(err)
			}
		},
		"crash": func(t *testing.T, h *plugintest.RunningHost) {
			if got := code(h.Call(within(t, 10*time.Second), "faulty.crash", nil, nil)); got != "plugin_unavailable" {
				t.Fatal(got)
			}
		},
		"down": func(t *testing.T, h *plugintest.RunningHost) {
			cmd := exec.Command(built.vant, "down")
			cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket())
			begun := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil || time.Since(begun) > 10*time.Second {
				t.Fatalf("after %v: %v: %s", time.Since(begun), err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := faulty(t, "other")
			h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, other}, Config: "plugins:\n" + section("other", "normal")})
			var foreign struct{ Pid int }
			if err := h.Call(within(t, 10*time.Second), "other.spawn", map[string]any{"setsid": true}, &foreign); err != nil {
				t.Fatal(err)
			}
			pid := grandchild(t, h, false)
			end(t, h)
			eventually(t, 5*time.Second, "the grandchild gone", func() bool { return !alive(pid) })
			if alive(foreign.Pid) == (name == "down") {
				t.Errorf("the other plugin's grandchild lives: %t", alive(foreign.Pid))
			}
		})
	}
}

func TestTheNextHostEndsWhatMovedToAnotherSession(t *testing.T) {
	h := faults(t)
	pid := grandchild(t, h, false)
	h.Kill()
	if !alive(pid) {
		t.Fatal("it ended with its host: nothing is left to clear")
	}
	next := exec.Command(built.vantd, "--socket", h.Socket())
	next.Env = append(os.Environ(), "HOME="+h.Dir, "XDG_RUNTIME_DIR="+filepath.Dir(h.Socket()), "VANT_PLUGIN_PATH="+h.Plugins)
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the grandchild gone", func() bool { return !alive(pid) })
	if err := next.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := next.Wait(); err != nil {
		t.Error(err)
	}
}

// delegated makes a control group as a service manager delegates one, and a
// program that runs the host in it.
func delegated(t *testing.T) (program string, ok bool) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		w := strings.Fields(line)
		if len(w) < 3 || w[2] != "cgroup2" {
			continue
		}
		dir := filepath.Join(w[1], fmt.Sprintf("vantd-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			return "", false
		}
		t.Cleanup(func() {
			_ = os.Remove(filepath.Join(dir, "vantd")) // there is one where controllers are
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		if unix.Setxattr(dir, "user.delegate", []byte("1"), 0) != nil {
			return "", false
		}
		program := filepath.Join(t.TempDir(), "vantd")
		script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs || exit 1\nexec %s \"$@\"\n", dir, built.vantd)
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		return program, true
	}
	return "", false
}

func TestADelegatedControlGroupEndsWhatNothingElseFinds(t *testing.T) {
	program, ok := delegated(t)
	if !ok {
		t.Log("control groups cannot be made here: the tests of package cgroup stand for them")
		return
	}
	h := plugintest.HostWith(t, plugintest.HostOptions{Program: program, Binaries: []string{built.faulty}})
	if !strings.Contains(h.Log(), "plugins get control groups") {
		t.Fatalf("the host did not see that it may divide its group:\n%s", h.Log())
	}
	// No parent, no group and no environment lead to it.
	pid := grandchild(t, h, true)
	if err := h.Call(within(t, 10*time.Second), "plugins.restart", map[string]any{"name": "faulty"}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the grandchild gone", func() bool { return !alive(pid) })
	pid = grandchild(t, h, true)
	h.Stop()
	if alive(pid) {
		t.Error("a grandchild outlived the host")
	}
}

// debugged runs a plugin as a debugger would, and gives its process and what
// it says VANT_REATTACH must be.
func debugged(t *testing.T, socket string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(built.faulty, "--debug", socket)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	value, ok := strings.CutPrefix(strings.TrimSpace(line), "VANT_REATTACH='")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	return cmd, strings.TrimSuffix(value, "'")
}

func TestAPluginUnderADebuggerIsUsedInPlaceOfItsFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "vd")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "dev.sock")
	cmd, value := debugged(t, socket)
	o := plugintest.HostOptions{Binaries: []string{built.faulty}, Env: []string{"VANT_REATTACH=" + value}}
	h := start(t, o)
	if err := h.Call(within(t, 10*time.Second), "faulty.echo", raw(`{"a":1}`), nil); err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name, State, Reason, File string
		Pid                       int
	}
	rows := func() {
		list = nil
		if err := h.Call(within(t, 10*time.Second), "plugins.list", map[string]any{"all": true}, &list); err != nil {
			t.Fatal(err)
		}
	}
	rows()
	if len(list) != 2 {
		t.Fatalf("rows %+v", list)
	}
	for _, r := range list {
		switch r.State {
		case "ready":
			if r.File != "reattach:"+socket || r.Pid != cmd.Process.Pid {
				t.Errorf("got %+v", r)
			}
		case "refused":
			if !strings.Contains(r.Reason, socket) || !strings.Contains(r.Reason, "VANT_REATTACH") {
				t.Errorf("got %+v", r)
			}
		default:
			t.Errorf("got %+v", r)
		}
	}

	// Events that went to one host, or one generation, are not waited for by the
	// next; those that come are.
	events := func(who string) {
		t.Helper()
		if d := timed(t, h, "faulty.echo"); d > 700*time.Millisecond {
			t.Errorf("%s: a call that causes nothing took %v", who, d)
		}
		before := latest(t, h)
		must(t, h.Call(within(t, soon), "faulty.emit", map[string]any{"type": "test.link", "count": 3, "link": true}, nil))
		if n := emitted(t, h, before, "test.link"); n != 3 {
			t.Errorf("%s: %d events are there with the reply", who, n)
		}
	}
	events("the first generation")

	// A restart lets go and attaches again; the process goes on.
	if err := h.Call(within(t, 20*time.Second), "plugins.restart", map[string]any{"name": "faulty"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(within(t, 10*time.Second), "faulty.echo", nil, nil); err != nil || !alive(cmd.Process.Pid) {
		t.Fatalf("after a restart: %v, alive: %t", err, alive(cmd.Process.Pid))
	}
	events("the second")

	// Lost, and back.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, 5*time.Second, "noticed as lost", func() bool {
		return code(h.Call(within(t, 5*time.Second), "faulty.echo", nil, nil)) == "plugin_unavailable"
	})
	again, _ := debugged(t, socket)
	eventually(t, 10*time.Second, "attached again", func() bool {
		return plugins(t, h)["faulty"].Pid == again.Process.Pid && h.Call(within(t, 5*time.Second), "faulty.echo", nil, nil) == nil
	})

	// The host goes, the process stays and serves the next one.
	events("the first host")
	h.Stop()
	if !alive(again.Process.Pid) {
		t.Fatal("the host ended a process that is not its own")
	}
	h = start(t, o)
	if err := h.Call(within(t, 10*time.Second), "faulty.echo", nil, nil); err != nil {
		t.Errorf("the next host: %v", err)
	}
	events("the next host")
}

func TestAHostDoesNotStartWithAFaultyReattach(t *testing.T) {
	cmd := exec.Command(built.vantd, "--socket", filepath.Join(t.TempDir(), "s"))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), `VANT_REATTACH={"faulty":{"address":"/x"}}`)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "VANT_REATTACH") || !strings.Contains(string(out), "address") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheEndOfAKilledPluginIsInItsHistory(t *testing.T) {
	h := faults(t)
	signal(t, plugins(t, h)["faulty"].Pid, syscall.SIGKILL) // as the kernel does when memory is short
	var info struct{ Exits json.RawMessage }
	eventually(t, 10*time.Second, "in the history", func() bool {
		if err := h.Call(within(t, 5*time.Second), "plugins.info", map[string]any{"name": "faulty"}, &info); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(info.Exits), "signal: killed")
	})
	eventually(t, 10*time.Second, "serving again", func() bool { return h.Call(within(t, 5*time.Second), "faulty.echo", nil, nil) == nil })
	if got := code(h.Call(within(t, 10*time.Second), "faulty.exit", map[string]any{"code": 42}, nil)); got != "plugin_unavailable" {
		t.Errorf("got %s", got)
	}
	eventually(t, 10*time.Second, "in the history", func() bool {
		if err := h.Call(within(t, 5*time.Second), "plugins.info", map[string]any{"name": "faulty"}, &info); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(info.Exits), "exit status 42")
	})
}
