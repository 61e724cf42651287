package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/client"
	"github.com/vant-run/vant/sdk/plugintest"
)

// built are the programs that the tests run, made once.
var built struct{ vantd, vant, net, faulty string }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "vantd-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, p := range []struct {
		to        *string
		name, pkg string
	}{
		{&built.vantd, "vantd", "./cmd/vantd"}, {&built.vant, "vant", "./cmd/vant"},
		{&built.net, "vant-plugin-net", "./plugins/net"}, {&built.faulty, "vant-plugin-faulty", "./plugins/internal/faulty"},
	} {
		*p.to = filepath.Join(dir, p.name)
		args := []string{"build", "-o", *p.to}
		if raced && p.name == "vantd" {
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, p.pkg)...)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", p.pkg, err, out)
			return 1
		}
	}
	return m.Run()
}

// faulty copies the faulty plugin under another name.
func faulty(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(built.faulty)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "vant-plugin-"+name)
	if err := os.WriteFile(file, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// section is the configuration that makes a faulty plugin of a name and mode.
func section(name, mode string, env ...string) string {
	s := fmt.Sprintf("  %s:\n    host:\n      env:\n        VANT_FAULTY_NAME: %s\n        VANT_FAULTY_MODE: %s\n", name, name, mode)
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		s += fmt.Sprintf("        %s: %q\n", k, v)
	}
	return s
}

func start(t *testing.T, o plugintest.HostOptions) *plugintest.RunningHost {
	t.Helper()
	o.Program = built.vantd
	return plugintest.HostWith(t, o)
}

// faults starts a host with one faulty plugin in normal mode.
func faults(t *testing.T) *plugintest.RunningHost {
	t.Helper()
	return start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", d, what)
		}
	}
}

// status is a row of plugins.list.
type status struct {
	Name, State, Reason string
	Pid                 int
	Generation          uint64
	InFlight            int `json:"in_flight"`
}

func plugins(t *testing.T, h *plugintest.RunningHost) map[string]status {
	t.Helper()
	var list []status
	if err := h.Call(within(t, 10*time.Second), "plugins.list", map[string]any{"all": true}, &list); err != nil {
		t.Fatal(err)
	}
	rows := map[string]status{}
	for _, s := range list {
		rows[s.Name] = s
	}
	return rows
}

func code(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// A zombie that nobody reaped yet has ended.
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("pid %d", pid)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// soon bounds what follows from a change of a file, on a machine that has more
// to do.
const soon = 15 * time.Second

// variant gives the n-th build of the faulty plugin: each has another checksum.
func variant(t *testing.T, n byte) []byte {
	t.Helper()
	b, err := os.ReadFile(built.faulty)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, n)
}

func writeTo(t *testing.T, path string, b []byte, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, b, mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// moveTo puts a whole file in place by a rename.
func moveTo(t *testing.T, path string, b []byte) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), ".new")
	writeTo(t, temp, b, 0o755)
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits for a plugin's state, and gives its row.
func becomes(t *testing.T, h *plugintest.RunningHost, name, what string, ok func(status) bool) status {
	t.Helper()
	var row status
	eventually(t, soon, fmt.Sprintf("%s: %s", name, what), func() bool {
		row = plugins(t, h)[name]
		return ok(row)
	})
	return row
}

func serves(t *testing.T, h *plugintest.RunningHost, name string, generation uint64) status {
	t.Helper()
	return becomes(t, h, name, fmt.Sprintf("serving as generation %d", generation), func(s status) bool {
		return s.State == "ready" && s.Generation == generation
	})
}

func gone(t *testing.T, h *plugintest.RunningHost, name string) {
	t.Helper()
	becomes(t, h, name, "gone", func(s status) bool { return s.State == "" })
}

// cli runs vant against a host.
func cli(t *testing.T, h *plugintest.RunningHost, args ...string) (status int, output string) {
	t.Helper()
	cmd := exec.CommandContext(within(t, time.Minute), built.vant, args...)
	cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket(), "VANT_PLUGIN_PATH="+h.Plugins)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
