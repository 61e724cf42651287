package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const patience = 20 * time.Second

// runEnv makes the test binary the plugin itself.
const runEnv = "FAULTY_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// faulty is a process under test. Its pipes are read from their start.
type faulty struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *bufio.Reader
	client         pluginv1.PluginClient
	health         healthv1.HealthClient
	ctx            context.Context
}

// start runs a mode; the handshake is not read yet.
func start(t *testing.T, mode string, env ...string) *faulty {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "fy")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{
		runEnv + "=1", "VANT_FAULTY_MODE=" + mode, "PLUGIN_PROTOCOL_VERSIONS=1", "TMPDIR=" + dir,
		"PLUGIN_UNIX_SOCKET_DIR=" + dir, pluginv1.MagicCookieKey + "=" + pluginv1.MagicCookieValue,
	}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(func() {
		cancel()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_, _ = cmd.Process.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return &faulty{t: t, cmd: cmd, stdout: bufio.NewReader(out), stderr: bufio.NewReader(errs), ctx: ctx}
}

// line reads a line of standard output.
func (f *faulty) line() string {
	f.t.Helper()
	line, err := f.stdout.ReadString('\n')
	if err != nil {
		rest, _ := io.ReadAll(f.stderr)
		f.t.Fatalf("no line on standard output: %v; standard error: %s", err, rest)
	}
	return strings.TrimSuffix(line, "\n")
}

// connect reads the handshake and connects where it says.
func (f *faulty) connect() (handshake []string) {
	f.t.Helper()
	parts := strings.Split(f.line(), "|")
	if len(parts) != 5 {
		f.t.Fatalf("handshake is %q", parts)
	}
	target := parts[3]
	if parts[2] == "unix" {
		target = "unix:" + target
	} else {
		target = "passthrough:///" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = conn.Close() })
	f.client, f.health = pluginv1.NewPluginClient(conn), healthv1.NewHealthClient(conn)
	return parts
}

func (f *faulty) configure() {
	f.t.Helper()
	if _, err := f.client.Configure(f.ctx, &pluginv1.ConfigureRequest{Config: []byte("{}")}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *faulty) describe() *pluginv1.DescribeResponse {
	f.t.Helper()
	d, err := f.client.Describe(f.ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

func (f *faulty) invoke(method, params string) (*pluginv1.InvokeResponse, error) {
	return f.client.Invoke(f.ctx, &pluginv1.InvokeRequest{Method: "faulty." + method, Params: []byte(params)})
}

func (f *faulty) check(ctx context.Context) error {
	_, err := f.health.Check(ctx, &healthv1.HealthCheckRequest{Service: pluginv1.HealthService})
	return err
}

// short is a context for what must hang.
func (f *faulty) short() context.Context {
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	f.t.Cleanup(cancel)
	return ctx
}

func (f *faulty) wantCode(err error, want codes.Code) {
	f.t.Helper()
	if status.Code(err) != want {
		f.t.Errorf("error %v, want code %v", err, want)
	}
}

// wait waits for the process's end.
func (f *faulty) wait() *os.ProcessState {
	f.t.Helper()
	state := make(chan *os.ProcessState, 1)
	go func() {
		s, _ := f.cmd.Process.Wait()
		state <- s
	}()
	select {
	case s := <-state:
		return s
	case <-f.ctx.Done():
		f.t.Fatal("the process does not end")
		return nil
	}
}

// stopped waits until the process is stopped by a signal.
func (f *faulty) stopped() {
	f.t.Helper()
	var ws syscall.WaitStatus
	done := make(chan error, 1)
	go func() {
		_, err := syscall.Wait4(f.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil || !ws.Stopped() {
			f.t.Errorf("wait status %v, %v", ws, err)
		}
	case <-f.ctx.Done():
		f.t.Fatal("the process was not stopped")
	}
}

// silent checks that nothing comes on standard output for a moment.
func (f *faulty) silent() {
	f.t.Helper()
	got := make(chan string, 1)
	go func() {
		line, _ := f.stdout.ReadString('\n')
		got <- line
	}()
	select {
	case line := <-got:
		f.t.Errorf("it said %q or ended", line)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestEveryModeMisbehavesAsItsTableSays(t *testing.T) {
	tests := map[string]func(*testing.T, *faulty){
		"normal": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			if out, err := f.invoke("echo", `{"a": 1}`); err != nil || string(out.GetResult()) != `{"a": 1}` {
				t.Errorf("echo: %v, %v", out, err)
			}
		},
		"banner": func(t *testing.T, f *faulty) {
			if line := f.line(); !strings.HasPrefix(line, "Loading") {
				t.Errorf("first line is %q", line)
			}
			f.connect()
			f.describe()
		},
		"garbage-handshake": func(t *testing.T, f *faulty) {
			if line := f.line(); line != "a|b|c|d" {
				t.Errorf("first line is %q", line)
			}
			f.silent()
		},
		"hang-handshake": func(_ *testing.T, f *faulty) { f.silent() },
		"exit-early": func(t *testing.T, f *faulty) {
			text, err := io.ReadAll(f.stderr)
			if err != nil || !strings.Contains(string(text), "cannot open its database") {
				t.Errorf("standard error is %q, %v", text, err)
			}
			if code := f.wait().ExitCode(); code != 3 {
				t.Errorf("exit status %d", code)
			}
		},
		"wrong-version": func(t *testing.T, f *faulty) {
			if parts := f.connect(); parts[1] != "99" {
				t.Errorf("handshake is %v", parts)
			}
		},
		"liar-tcp": func(t *testing.T, f *faulty) {
			if parts := f.connect(); parts[2] != "tcp" {
				t.Errorf("handshake is %v", parts)
			}
			f.describe()
		},
		"liar-socket": func(t *testing.T, f *faulty) {
			if parts := f.connect(); filepath.Dir(parts[3]) == strings.TrimPrefix(f.cmd.Env[4], "PLUGIN_UNIX_SOCKET_DIR=") {
				t.Errorf("handshake is %v", parts)
			}
			f.describe()
		},
		"no-health": func(_ *testing.T, f *faulty) {
			f.connect()
			f.wantCode(f.check(f.ctx), codes.Unimplemented)
			f.describe()
		},
		"hang-health": func(_ *testing.T, f *faulty) {
			f.connect()
			for f.check(f.short()) == nil { // until it begins to hang
			}
			f.wantCode(f.check(f.short()), codes.DeadlineExceeded)
			f.describe()
		},
		"hang-describe": func(_ *testing.T, f *faulty) {
			f.connect()
			_, err := f.client.Describe(f.short(), &pluginv1.DescribeRequest{})
			f.wantCode(err, codes.DeadlineExceeded)
			f.wantCode(f.check(f.ctx), codes.OK)
		},
		"big-describe": func(t *testing.T, f *faulty) {
			f.connect()
			if n := len(f.describe().GetSummary()); n < 10<<20 {
				t.Errorf("summary of %d bytes", n)
			}
		},
		"bad-names": func(t *testing.T, f *faulty) {
			f.connect()
			if n := len(f.describe().GetMethods()); n != 6 {
				t.Errorf("%d methods", n)
			}
		},
		"claims-builtin": func(t *testing.T, f *faulty) {
			f.connect()
			if name := f.describe().GetMethods()[1].GetName(); name != "status" {
				t.Errorf("method is %q", name)
			}
		},
		"wrong-name": func(t *testing.T, f *faulty) {
			f.connect()
			if name := f.describe().GetName(); name != "somebody-else" {
				t.Errorf("name is %q", name)
			}
		},
		"bad-schema": func(t *testing.T, f *faulty) {
			f.connect()
			if s := string(f.describe().GetMethods()[0].GetParamsSchema()); s != `{"type":17}` {
				t.Errorf("schema is %s", s)
			}
		},
		"hang-configure": func(_ *testing.T, f *faulty) {
			f.connect()
			_, err := f.client.Configure(f.short(), &pluginv1.ConfigureRequest{})
			f.wantCode(err, codes.DeadlineExceeded)
		},
		"fail-configure": func(t *testing.T, f *faulty) {
			f.connect()
			_, err := f.client.Configure(f.ctx, &pluginv1.ConfigureRequest{})
			f.wantCode(err, codes.FailedPrecondition)
			if !strings.Contains(status.Convert(err).Message(), "licence key") {
				t.Errorf("message is %q", err)
			}
		},
		"liar-events": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			if out, err := f.invoke("echo", "{}"); err != nil || out.GetLinkEvents() != 1<<63 {
				t.Errorf("echo: %v, %v", out, err)
			}
			link, err := f.client.Link(f.short())
			if err != nil {
				t.Fatal(err)
			}
			_, err = link.Recv()
			f.wantCode(err, codes.DeadlineExceeded)
		},
		"broken-link": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			for n := range uint64(2) {
				if out, err := f.invoke("echo", "{}"); err != nil || out.GetLinkEvents() != n+1 {
					t.Errorf("echo: %v, %v", out, err)
				}
			}
			link, err := f.client.Link(f.short())
			if err != nil {
				t.Fatal(err)
			}
			_, err = link.Recv()
			f.wantCode(err, codes.Internal)
		},
		"crash-loop": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			if code := f.wait().ExitCode(); code != 4 {
				t.Errorf("exit status %d", code)
			}
		},
		"logbomb": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			text := f.until(f.stderr, "logbomb is over\n")
			if len(text) < 4<<20 || !strings.Contains(text, `{"@message":1}`) || !strings.Contains(text, strings.Repeat("\x00", 4096)) {
				t.Errorf("the bomb has %d bytes", len(text))
			}
		},
		"stdout-flood": func(t *testing.T, f *faulty) {
			f.connect()
			f.configure()
			line := f.line()
			if len(line) != 70<<10 {
				t.Errorf("first line has %d bytes", len(line))
			}
			if n, err := io.CopyN(io.Discard, f.stdout, 3<<20); err != nil {
				t.Errorf("flood of %d bytes: %v", n, err)
			}
			if _, err := f.invoke("echo", "{}"); err != nil {
				t.Errorf("echo beside the flood: %v", err)
			}
		},
		"ignore-term": func(_ *testing.T, f *faulty) {
			f.connect()
			f.configure()
			if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				f.t.Fatal(err)
			}
			f.wantCode(f.check(f.ctx), codes.OK)
		},
		"hang-drain": func(_ *testing.T, f *faulty) {
			f.connect()
			f.configure()
			_, err := f.client.Drain(f.short(), &pluginv1.DrainRequest{TimeoutMs: 100})
			f.wantCode(err, codes.DeadlineExceeded)
		},
		"stop-self": func(_ *testing.T, f *faulty) {
			f.connect()
			f.configure()
			f.stopped()
		},
	}
	for name := range modes {
		if tests[name] == nil {
			t.Errorf("mode %s has no test", name)
		}
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		if !bytes.Contains(source, []byte("\n//\t"+name+" ")) {
			t.Errorf("mode %s is not in the table", name)
		}
		t.Run(name, func(t *testing.T) { test(t, start(t, name, "VANT_FAULTY_BYTES=4194304")) })
	}
}

// until reads up to a text.
func (f *faulty) until(r *bufio.Reader, end string) string {
	f.t.Helper()
	var text strings.Builder
	for !strings.HasSuffix(text.String(), end) {
		line, err := r.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			f.t.Fatalf("%q did not come: %v", end, err)
		}
	}
	return text.String()
}

// running starts the normal mode, ready for calls.
func running(t *testing.T, env ...string) *faulty {
	t.Helper()
	f := start(t, "normal", env...)
	f.connect()
	f.configure()
	return f
}

func TestMethodsAnswer(t *testing.T) {
	f := running(t, "SECRET=x")
	for _, tc := range []struct{ method, params, want string }{
		{"sleep", `{"ms":1}`, "true"},
		{"big", `{"bytes":5}`, `"bbb"`},
		{"badjson", `{}`, `{"a":`},
		{"badutf8", `{}`, "\"\xff\xfe\""},
		{"pretty", `{}`, "{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}\n"},
		{"emit", `{"count":2}`, "2"},
		{"emit", `{"count":2,"link":true}`, "2"},
		{"alloc", `{"mb":2}`, "2"},
		{"open", `{"count":3}`, "3"},
		{"log", `{"kind":"stdout","lines":2}`, "2"},
	} {
		out, err := f.invoke(tc.method, tc.params)
		if err != nil || string(out.GetResult()) != tc.want {
			t.Errorf("%s: %q, %v, %v", tc.method, out.GetResult(), out.GetError(), err)
		}
		if n := len(out.GetEvents()) + int(out.GetLinkEvents()); tc.method == "emit" && n != 2 {
			t.Errorf("emit: %d events", n)
		}
	}
	for _, tc := range []struct{ method, params, code string }{
		{"error", `{}`, "faulty_own"},
		{"error", `{"code":"not_found"}`, "not_found"},
		{"error", `{"code":"nobody_knows"}`, "internal_error"},
		{"panic", `{}`, "internal_error"},
		{"big", `{"bytes":1}`, "invalid_params"},
	} {
		out, err := f.invoke(tc.method, tc.params)
		if err != nil || out.GetError().GetCode() != tc.code {
			t.Errorf("%s: %v, %v", tc.method, out, err)
		}
	}
	out, err := f.invoke("env", "{}")
	if err != nil || !bytes.Contains(out.GetResult(), []byte(`"SECRET=x"`)) {
		t.Errorf("env: %v, %v", out, err)
	}
	out, err = f.invoke("fds", "{}")
	var fds map[string]string
	if err != nil || json.Unmarshal(out.GetResult(), &fds) != nil || fds["0"] == "" || fds["2"] == "" {
		t.Errorf("fds: %v, %v", out, err)
	}
}

func TestCallGoesThroughTheHost(t *testing.T) {
	f := running(t)
	link, err := f.client.Link(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		m, err := link.Recv()
		if err != nil {
			return // the test fails by its own deadline
		}
		_ = link.Send(&pluginv1.LinkRequest{Message: &pluginv1.LinkRequest_CallResult{
			CallResult: &pluginv1.CallResult{Id: m.GetCall().GetId(), Result: m.GetCall().GetParams()}}})
	}()
	out, err := f.invoke("call", `{"method":"other.echo","params":{"n":9007199254740993}}`)
	if err != nil || string(out.GetResult()) != `{"n":9007199254740993}` {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestEnvironmentNamesThePlugin(t *testing.T) {
	f := start(t, "normal", "VANT_FAULTY_NAME=my-own", "VANT_FAULTY_VERSION=2", "VANT_FAULTY_EXCLUSIVE=1", "VANT_FAULTY_CLAIM=x.y")
	f.connect()
	d := f.describe()
	names := make(map[string]bool)
	for _, m := range d.GetMethods() {
		names[m.GetName()] = true
	}
	if d.GetName() != "my-own" || d.GetVersion() != "2" || !d.GetExclusive() || !names["my_own.echo"] || !names["x.y"] {
		t.Errorf("description is %v", d)
	}
}

func TestUnknownModeIsRefused(t *testing.T) {
	f := start(t, "no-such")
	if code := f.wait().ExitCode(); code != 2 {
		t.Errorf("exit status %d", code)
	}
}

func TestMethodsThatEndTheProcess(t *testing.T) {
	for method, want := range map[string]string{"exit": "exit status 1", "crash": "signal: killed"} {
		t.Run(method, func(t *testing.T) {
			f := running(t)
			_, err := f.invoke(method, "{}")
			f.wantCode(err, codes.Unavailable)
			if got := f.wait().String(); got != want {
				t.Errorf("it ended with %q, want %q", got, want)
			}
		})
	}
}

func TestStopMethodStopsTheProcess(t *testing.T) {
	f := running(t)
	go func() { _, _ = f.invoke("stop", "{}") }()
	f.stopped()
}

func TestSpawnedProcessesOutliveThePluginAndHoldItsPipes(t *testing.T) {
	for _, setsid := range []bool{false, true} {
		t.Run(fmt.Sprintf("setsid=%v", setsid), func(t *testing.T) {
			f := running(t)
			out, err := f.invoke("spawn", fmt.Sprintf(`{"setsid":%v}`, setsid))
			if err != nil || out.GetError() != nil {
				t.Fatal(err, out.GetError())
			}
			var child spawnResult
			if err := json.Unmarshal(out.GetResult(), &child); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := syscall.Kill(child.Pid, syscall.SIGKILL); err != nil {
					t.Errorf("the process is gone: %v", err)
				}
			}()
			if err := f.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			f.wait()
			if err := syscall.Kill(child.Pid, 0); err != nil {
				t.Errorf("the process ended with the plugin: %v", err)
			}
			f.silent() // no end of file: somebody holds the pipe
			group, err := syscall.Getpgid(child.Pid)
			if err != nil || (group == f.cmd.Process.Pid) == setsid {
				t.Errorf("its group is %d, the plugin's %d, %v", group, f.cmd.Process.Pid, err)
			}
		})
	}
}

func TestDescendantsOfTheTestEnd(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{runEnv + "=1", childEnv + "=hold"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("it ended with %v", err)
	}
}
