package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestStartFailuresSayWhy(t *testing.T) {
	defer goleak.VerifyNone(t, forkThread)
	b := newBench(t)
	for _, tc := range []struct {
		name, role, print string
		step              string
		permanent         bool
		want              []string
	}{
		{"banner", "print", "welcome to my plugin", "handshake", true, []string{`"welcome to my plugin"`, "standard output", "log to standard error"}},
		{"four letters", "print", "a|b|c|d", "handshake", true, []string{`"a|b|c|d"`}},
		{"control characters", "print", "\x1b[31mred\a", "handshake", true, []string{`"\x1b[31mred\a"`}},
		{"long line", "long-line", "", "handshake", true, []string{"not the handshake", "(4096 bytes)"}},
		{"core version", "handshake", "2|1|unix|%s|grpc", "handshake", true, []string{`version "2"`, "version 1"}},
		{"protocol version", "handshake", "1|7|unix|%s|grpc", "handshake", true, []string{`protocol "7"`, "protocol 1"}},
		{"net/rpc", "handshake", "1|1|unix|%s|netrpc", "handshake", true, []string{"gRPC"}},
		{"net/rpc by silence", "handshake", "1|1|unix|%s", "handshake", true, []string{"gRPC"}},
		{"tcp", "print", "1|1|tcp|127.0.0.1:80|grpc", "handshake", true, []string{`"tcp"`, `"127.0.0.1:80"`, "unix socket"}},
		{"foreign socket", "print", "1|1|unix|/run/other.sock|grpc", "handshake", true, []string{"/run/other.sock", "own folder"}},
		{"escaping socket", "handshake", "1|1|unix|%s/../../x|grpc", "handshake", true, []string{"own folder"}},
		{"linked socket", "linked-socket", "", "handshake", true, []string{"not a socket"}},
		{"certificate", "certificate", "", "handshake", true, []string{"TLS"}},
		{"no listener", "no-socket", "", "handshake", false, []string{"connection refused"}},
		{"not HTTP/2", "babbling-socket", "", "handshake", false, []string{"did not answer as a gRPC server"}},
		{"served by a stranger", "child-apart", "", "handshake", true, []string{"neither the plugin", "process group"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := spec(tc.role, "LAUNCH_TEST_PRINT="+tc.print)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			p, err := b.Launch(ctx, s)
			if err == nil {
				p.Stop(0)
				t.Fatal("it started")
			}
			var se *supervise.StartError
			if !errors.As(err, &se) || se.Step != tc.step || se.Permanent != tc.permanent {
				t.Errorf("step or permanence is wrong: %#v", se)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not say %s:\n%v", w, err)
				}
			}
			b.noFiles()
		})
	}
}

func TestAnEndBeforeTheHandshakeQuotesTheOutput(t *testing.T) {
	b := newBench(t)
	for _, tc := range []struct {
		code      string
		permanent bool
	}{{"3", false}, {"0", true}} {
		se := b.failed(spec("exit", "LAUNCH_TEST_CODE="+tc.code))
		if se.Step != "handshake" || se.Permanent != tc.permanent {
			t.Errorf("status %s: %#v", tc.code, se)
		}
		for _, w := range []string{"exit status " + tc.code, "cannot open the frobnicator"} {
			if !strings.Contains(se.Error(), w) {
				t.Errorf("error does not say %q: %v", w, se)
			}
		}
	}
}

func TestAPanicBeforeTheHandshakeIsQuotedFromItsBeginning(t *testing.T) {
	b := newBench(t)
	se := b.failed(spec("panic", "GOTRACEBACK=all"))
	if text := se.Error(); !strings.Contains(text, `its last output: "panic: the frobnicator is upside down" "goroutine 1 [`) {
		t.Errorf("err = %s", text)
	}
}

func TestStartsThatWereNotWaitedForSaySoInWordsOfTheirOwn(t *testing.T) {
	b := newBench(t)
	for name, tt := range map[string]struct {
		role   string
		attach bool
		bound  time.Duration
		want   string // as a regular expression: how long was waited is told
		cause  error
	}{
		"no handshake in time": {"print-nothing", false, 300 * time.Millisecond, `no handshake within \d+ms, it printed nothing`, context.DeadlineExceeded},
		"no answer in time":    {"deaf-socket", false, 3 * time.Second, `the plugin's socket did not answer within 3(\.\d+)?s`, context.DeadlineExceeded},
		"no answer, attached":  {"", true, 300 * time.Millisecond, `did not answer within`, context.DeadlineExceeded},
		"given up before":      {"hang", false, time.Second, `the start was given up before it began`, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(tt.role)
			if tt.attach {
				path := filepath.Join(t.TempDir(), "s")
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer discard(l)
				s.Attach = path
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.bound)
			defer cancel()
			if errors.Is(tt.cause, context.Canceled) {
				cancel()
			}
			p, err := b.Launch(ctx, s)
			if err == nil {
				p.Stop(0)
				t.Fatal("it started")
			}
			text := err.Error()
			if !regexp.MustCompile(tt.want).MatchString(text) || !errors.Is(err, tt.cause) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
			if strings.Contains(text, "context ") {
				t.Errorf("it has Go's words: %s", text)
			}
		})
	}
}

func TestAHangingStartEndsWithItsContext(t *testing.T) {
	for _, role := range []string{"hang", "deaf-socket"} {
		t.Run(role, func(t *testing.T) {
			defer goleak.VerifyNone(t, forkThread)
			b := newBench(t)
			files := openFiles(t)
			ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := b.Launch(ctx, spec(role, "LAUNCH_TEST_MARK=hang-"+role))
			if over := time.Since(began) - 400*time.Millisecond; over > soon {
				t.Errorf("Launch returned %v after the end of its context", over)
			}
			var se *supervise.StartError
			if !errors.As(err, &se) || se.Step != "handshake" || se.Permanent || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("err = %v", err)
			}
			b.noFiles()
			if runtime.GOOS == "linux" {
				settles(t, "processes are left", func() bool {
					left, err := proc.FindMarked("LAUNCH_TEST_MARK=hang-" + role)
					return err == nil && len(left) == 0
				})
			}
			settles(t, "descriptors are left", func() bool { return openFiles(t) <= files })
		})
	}
}

func TestHangQuotesTheOutput(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() {
		b.untilText(t, "thinking")
		cancel()
	}()
	_, err := b.Launch(ctx, spec("hang"))
	if err == nil || !strings.Contains(err.Error(), "the start was given up after") || !strings.Contains(err.Error(), "thinking") ||
		strings.Contains(err.Error(), "context ") || !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestFilesThatCannotRunAreExplained(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name, path string
		permanent  bool
		want       string
	}{
		{"other machine", file("arm", foreignELF(), 0o755), true, "aarch64 (64-bit), this host is " + runtime.GOOS + "/" + runtime.GOARCH},
		{"text", file("text", "hello\n", 0o755), true, "#!"},
		{"windows", file("exe", "MZ\x90\x00\x03", 0o755), true, "Windows"},
		{"macOS", file("macho", "\xcf\xfa\xed\xfe\x07\x00", 0o755), true, "macOS"},
		{"empty", file("empty", "", 0o755), true, "empty"},
		{"binary noise", file("noise", "\x00\x01\x02", 0o755), true, "not known"},
		{"interpreter missing", file("script", "#!/opt/none/python9 -u\n", 0o755), true, `"/opt/none/python9" is missing`},
		{"interpreter with CR", file("crlf", "#!/bin/sh\r\necho\r\n", 0o755), true, "carriage return"},
		{"mode", file("mode", "#!/bin/sh\n", 0o644), true, "mode"},
		{"missing", filepath.Join(dir, "none"), false, "missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := spec("good")
			s.Exec = tc.path
			se := b.failed(s)
			if se.Step != "launch" || se.Permanent != tc.permanent || !strings.Contains(se.Error(), tc.want) {
				t.Errorf("permanent=%v %v", se.Permanent, se)
			}
		})
	}
	s := spec("good")
	s.StateDir = filepath.Join(dir, "no-state")
	if se := b.failed(s); se.Permanent || !strings.Contains(se.Error(), "no-state is missing") {
		t.Errorf("%v", se)
	}
}

// foreignELF is the header of a 64-bit ARM program.
func foreignELF() string {
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20] = 2, 183, 1
	h[52] = 64
	return string(h)
}

func TestAProcessOfTheGroupMayServe(t *testing.T) {
	b := newBench(t)
	p := b.started("child-in-group")
	if got := string(call(t, p, "echo", `"hi"`).Result); got != `"hi"` {
		t.Errorf("echo = %s", got)
	}
}

func TestEnvironmentIsTheSpecsAndGoPlugins(t *testing.T) {
	t.Setenv("LAUNCH_TEST_SECRET", "hush")
	out := &output{more: make(chan struct{}, 1)}
	b := newBench(t)
	l, err := New(Options{RuntimeDir: b.dir, Marker: "VANT_TEST_HOST=1", Output: out.line})
	if err != nil {
		t.Fatal(err)
	}
	b.Launcher = l
	p := b.started("good", "A=1", "PLUGIN_CLIENT_CERT=forged", "PLUGIN_MULTIPLEX_GRPC=true", "VANT_PLUGIN=forged", instanceVar+"=forged")
	var env []string
	if err := json.Unmarshal(call(t, p, "env", "").Result, &env); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if value == "forged" {
			t.Errorf("the spec could set %s", name)
		}
		names = append(names, name)
		if spec := name == "A" || name == roleVar || name == "VANT_TEST_HOST"; catalog.HostSet(name) == spec {
			t.Errorf("the configuration may set %s: %v", name, spec)
		}
	}
	slices.Sort(names)
	want := []string{"A", roleVar, "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS",
		"PLUGIN_UNIX_SOCKET_DIR", pluginv1.MagicCookieKey, "VANT_TEST_HOST", instanceVar}
	slices.Sort(want)
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func TestDescriptorsAreNullAndTwoPipes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("descriptors are read from /proc: nothing to see here")
		return
	}
	b := newBench(t)
	first := b.started("good") // its pipes and connection must not reach the second
	p := b.started("good")
	var fds []string
	if err := json.Unmarshal(call(t, p, "fds", "").Result, &fds); err != nil {
		t.Fatal(err)
	}
	mine := map[string]bool{}
	for _, f := range fds {
		fd, to, _ := strings.Cut(f, " ")
		if fd == "0" && to != os.DevNull {
			t.Errorf("standard input is %s", to)
		}
		mine[to] = true
	}
	hosts, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	shared := 0
	for _, f := range hosts {
		to, err := os.Readlink(f)
		if err == nil && mine[to] && strings.HasPrefix(to, "pipe:") {
			shared++
		}
		if err == nil && mine[to] && strings.HasPrefix(to, "socket:") {
			t.Errorf("the host's %s reached the plugin", to)
		}
	}
	if shared != 2 {
		t.Errorf("%d pipes lead to the host, want 2: %v", shared, fds)
	}
	first.Stop(time.Second)
}

func TestRuntimeDirIsChecked(t *testing.T) {
	dir := t.TempDir()
	loose := filepath.Join(dir, "loose")
	if err := os.Mkdir(loose, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("/tmp", fmt.Sprintf("vl-file-%d", os.Getpid()))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file) })
	long := "/tmp/" + strings.Repeat("x", MaxRuntimeDir-4)
	for _, tc := range []struct{ dir, want string }{
		{long, fmt.Sprintf("%s: its path has 70 bytes, at most 69", long)},
		{"relative", "absolute"},
		{"/tmp/../tmp/x", "shortest form"},
		{"/tmp/a|b", "must not contain"},
		{file, "not a directory"},
	} {
		if _, err := New(Options{RuntimeDir: tc.dir}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.dir, err)
		}
	}
	if len(loose) <= MaxRuntimeDir {
		if _, err := New(Options{RuntimeDir: loose}); err == nil || !strings.Contains(err.Error(), "mode 0755") {
			t.Errorf("loose folder: %v", err)
		}
	}
}

func TestTheLongestRuntimeDirWorks(t *testing.T) {
	dir := "/tmp/" + strings.Repeat("x", MaxRuntimeDir-5)
	l, err := New(Options{RuntimeDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := l.Launch(ctx, spec("good"))
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Second)
}

func TestClearRemovesWhatADeadHostLeft(t *testing.T) {
	b := newBench(t)
	mark := fmt.Sprintf("VANT_TEST_HOST=clear-%d", os.Getpid())
	l, err := New(Options{RuntimeDir: b.dir, Marker: mark})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "plugin-dir1", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	left, err := proc.Start(proc.Command{Path: self, Env: []string{roleVar + "=hang", mark}})
	if err != nil {
		t.Fatal(err)
	}
	defer left.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n, err := l.Clear(ctx)
	if err != nil || runtime.GOOS == "linux" && n != 1 {
		t.Errorf("Clear = %d, %v", n, err)
	}
	b.noFiles()
}
