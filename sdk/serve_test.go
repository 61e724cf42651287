package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// process is a plugin process of a test.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	addr   string
	conn   *grpc.ClientConn
	client pluginv1.PluginClient
	waited chan struct{}
	silent chan struct{} // closed when standard output has ended
	err    error         // of Wait

	mu     sync.Mutex // guards stderr
	stderr bytes.Buffer
	grew   chan struct{} // closed and replaced when stderr grows
}

// command is the test binary in another role, with a host's environment.
func command(t testing.TB, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{
		roleEnv + "=" + role, pluginv1.MagicCookieKey + "=" + pluginv1.MagicCookieValue,
		"PLUGIN_PROTOCOL_VERSIONS=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"),
	}, env...)
	return cmd
}

// startProcess starts the test plugin as a host does and connects to it.
func startProcess(t testing.TB, env ...string) *process {
	t.Helper()
	return startCommand(t, command(t, "plugin", append([]string{"PLUGIN_UNIX_SOCKET_DIR=" + shortDir(t)}, env...)...))
}

func startCommand(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, waited: make(chan struct{}), silent: make(chan struct{}), grew: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("no handshake: %v; stderr: %s", err, p.log())
	}
	go func() {
		defer close(p.waited)
		_, _ = io.Copy(io.Discard, out)
		close(p.silent)
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) != 5 || parts[0] != "1" || parts[1] != "1" || parts[2] != "unix" || parts[4] != "grpc" {
		t.Fatalf("handshake is %q", line)
	}
	p.addr = parts[3]
	if p.conn, err = grpc.NewClient("unix:"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.conn.Close() })
	p.client = pluginv1.NewPluginClient(p.conn)
	return p
}

func TestStandardOutputEndsWithTheHandshake(t *testing.T) {
	p := startProcess(t)
	select {
	case <-p.silent:
	case <-time.After(10 * time.Second):
		t.Error("who reads the handshake must go on reading")
	}
	p.configure() // it serves all the same
}

func (p *process) configure() {
	p.t.Helper()
	if _, err := p.client.Configure(p.t.Context(), &pluginv1.ConfigureRequest{Config: []byte("{}"), LogLevel: "info"}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) invoke(ctx context.Context, method, params string) (*pluginv1.InvokeResponse, error) {
	return p.client.Invoke(ctx, &pluginv1.InvokeRequest{Method: method, Params: []byte(params), Context: &pluginv1.CallContext{CallId: 1}})
}

// Write collects standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.grew)
	p.grew = make(chan struct{})
	return p.stderr.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// waitLog waits until standard error has a text.
func (p *process) waitLog(text string) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		has, grew := strings.Contains(p.stderr.String(), text), p.grew
		p.mu.Unlock()
		if has {
			return
		}
		select {
		case <-grew:
		case <-timeout:
			p.t.Fatalf("%q is not in the log:\n%s", text, p.log())
		}
	}
}

// end waits for the process's end and gives its exit status.
func (p *process) end() int {
	p.t.Helper()
	select {
	case <-p.waited:
	case <-time.After(patience):
		p.t.Fatalf("the process does not end; log:\n%s", p.log())
	}
	return exitOf(p.err)
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.waited
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// shortDir is a private folder whose path leaves room for a socket's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sdk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}

type anyPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements go-plugin's interface; nothing is served here.
func (anyPlugin) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

// GRPCClient implements go-plugin's interface.
func (anyPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return pluginv1.NewPluginClient(c), nil
}

func TestGoPluginClientStartsCallsAndEndsIt(t *testing.T) {
	dir, stopped := shortDir(t), filepath.Join(t.TempDir(), "stopped")
	cmd := command(t, "plugin", "TMPDIR="+dir, "SDK_TEST_STOPPED="+stopped)
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: pluginv1.ProtocolVersion,
			MagicCookieKey:  pluginv1.MagicCookieKey, MagicCookieValue: pluginv1.MagicCookieValue,
		},
		Plugins:          goplugin.PluginSet{"plugin": anyPlugin{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd:              cmd, SkipHostEnv: true,
		Logger: hclog.NewNullLogger(),
	})
	defer c.Kill()
	rpc, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := rpc.Ping(); err != nil {
		t.Fatalf("health: %v", err)
	}
	raw, err := rpc.Dispense("plugin")
	if err != nil {
		t.Fatal(err)
	}
	client := raw.(pluginv1.PluginClient)
	d, err := client.Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil || d.GetName() != "greeter" || len(d.GetMethods()) != 4 {
		t.Fatalf("describe: %v, %v", d, err)
	}
	if _, err := client.Configure(t.Context(), &pluginv1.ConfigureRequest{Config: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	out, err := client.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "greeter.hello", Params: []byte("{}")})
	if err != nil || string(out.GetResult()) != `"hello world"` {
		t.Fatalf("invoke: %v, %v", out, err)
	}
	c.Kill()
	if got, err := os.ReadFile(stopped); err != nil || string(got) != "stopped\n" {
		t.Errorf("the stop hook did not run: %q, %v", got, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	empty(t, dir)
}

func TestStrayOutputGoesToTheLog(t *testing.T) {
	p := startProcess(t)
	p.configure()
	if _, err := p.invoke(t.Context(), "greeter.hello", "{}"); err != nil {
		t.Fatal(err)
	}
	p.waitLog("a stray line on standard output")
}

func TestLogLinesAreJSONWithMethodAndRequest(t *testing.T) {
	p := startProcess(t)
	p.configure()
	if _, err := p.client.Invoke(t.Context(), &pluginv1.InvokeRequest{
		Method: "greeter.hello", Params: []byte("{}"), Context: &pluginv1.CallContext{RequestId: `"r1"`},
	}); err != nil {
		t.Fatal(err)
	}
	p.waitLog(`"@message":"greeting"`)
	for line := range strings.SplitSeq(p.log(), "\n") {
		if !strings.Contains(line, "greeting") {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["method"] != "greeter.hello" || fields["request_id"] != `"r1"` || fields["@module"] != "greeter" {
			t.Errorf("fields are %v", fields)
		}
	}
}

func TestTermLetsACallFinishAndRunsStopHooks(t *testing.T) {
	dir, stopped := shortDir(t), filepath.Join(t.TempDir(), "stopped")
	p := startProcess(t, "PLUGIN_UNIX_SOCKET_DIR="+dir, "SDK_TEST_STOPPED="+stopped)
	p.configure()
	type answer struct {
		out *pluginv1.InvokeResponse
		err error
	}
	got := make(chan answer, 1)
	go func() {
		out, err := p.invoke(context.Background(), "greeter.short", "{}")
		got <- answer{out, err}
	}()
	p.waitLog("waiting")
	p.signal(syscall.SIGTERM)
	if a := <-got; a.err != nil || string(a.out.GetResult()) != "true" {
		t.Errorf("the running call got %v, %v", a.out, a.err)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if _, err := os.Stat(stopped); err != nil {
		t.Errorf("the stop hook did not run: %v", err)
	}
	empty(t, dir)
}

func TestASecondTermEndsAtOnce(t *testing.T) {
	p := startProcess(t)
	p.configure()
	go func() { _, _ = p.invoke(context.Background(), "greeter.wait", "{}") }()
	p.waitLog("waiting")
	p.signal(syscall.SIGTERM)
	// Only a process that drains refuses calls: the first signal has arrived.
	for deadline := time.Now().Add(patience); ; {
		_, err := p.invoke(t.Context(), "greeter.echo", "{}")
		if status.Code(err) == codes.Unavailable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("calls are still taken: %v", err)
		}
	}
	start := time.Now()
	p.signal(syscall.SIGTERM)
	p.end()
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestATermThatComesLateChangesNothing(t *testing.T) {
	p := startProcess(t)
	p.configure()
	for {
		select {
		case <-p.waited:
			if code := p.end(); code != 0 {
				t.Errorf("exit status %d: %v", code, p.err)
			}
			return
		default:
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended this moment
		}
	}
}

func TestInterruptIsLeftToTheHost(t *testing.T) {
	p := startProcess(t)
	p.configure()
	p.signal(os.Interrupt)
	p.signal(os.Interrupt)
	if out, err := p.invoke(t.Context(), "greeter.echo", `{"a":1}`); err != nil || string(out.GetResult()) != `{"a":1}` {
		t.Errorf("after Ctrl-C: %v, %v", out, err)
	}
}

func TestABrokenLogPipeDoesNotEndIt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "plugin", "PLUGIN_UNIX_SOCKET_DIR="+shortDir(t))
	cmd.Stderr = w
	p := startCommand(t, cmd)
	w.Close()
	r.Close()
	p.configure()
	for range 3 {
		if _, err := p.invoke(t.Context(), "greeter.hello", "{}"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestItEndsWhenTheHostIsGone(t *testing.T) {
	for name, connect := range map[string]bool{"connected": true, "before the first connection": false} {
		t.Run(name, func(t *testing.T) {
			dir, stopped := shortDir(t), filepath.Join(t.TempDir(), "stopped")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := command(t, "middle", "PLUGIN_UNIX_SOCKET_DIR="+dir, "SDK_TEST_STOPPED="+stopped)
			cmd.Stderr = w // the plugin inherits it: its end is the pipe's
			host := startCommand(t, cmd)
			w.Close()
			if connect {
				host.configure()
			}
			host.kill()
			_ = host.conn.Close() // in a real host the connection dies with it
			if err := r.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if log, err := io.ReadAll(r); err != nil {
				t.Fatalf("3 s later the plugin lives: %v; log:\n%s", err, log)
			}
			if _, err := os.Stat(stopped); err != nil {
				t.Errorf("the stop hook did not run: %v", err)
			}
			empty(t, dir)
		})
	}
}

func TestRefusedStartsSayWhyAndExitWithOne(t *testing.T) {
	long := filepath.Join(shortDir(t), strings.Repeat("l", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ env, want string }{
		"socket path too long": {"PLUGIN_UNIX_SOCKET_DIR=" + long, "at most 104 are possible"},
		"no such folder":       {"PLUGIN_UNIX_SOCKET_DIR=/nonexistent", "cannot listen"},
		"TLS":                  {"PLUGIN_CLIENT_CERT=x", "AutoMTLS"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := command(t, "plugin", tc.env)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if code := exitOf(cmd.Run()); code != 1 {
				t.Errorf("exit status %d", code)
			}
			if stdout.Len() != 0 || !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestByHand(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		cookie bool
		code   int
		stdout string
		stderr string
	}{
		"nothing":              {nil, false, 1, "", "Install:    vant plugin install "},
		"methods":              {nil, false, 1, "", "greeter.hello  Says hello."},
		"version":              {[]string{"--version"}, false, 0, "greeter 1.0.0\n", ""},
		"describe":             {[]string{"--describe"}, false, 0, `"name": "greeter.hello"`, ""},
		"describe with cookie": {[]string{"--describe"}, true, 0, `"params_schema"`, ""},
		"unknown flag":         {[]string{"--what"}, false, 1, "", "This is a plugin of vant"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := command(t, "plugin")
			if !tc.cookie {
				cmd.Env = []string{roleEnv + "=plugin"}
			}
			cmd.Args = append(cmd.Args, tc.args...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if code := exitOf(cmd.Run()); code != tc.code {
				t.Errorf("exit status %d, want %d", code, tc.code)
			}
			if !strings.Contains(stdout.String(), tc.stdout) || (tc.stdout == "" && stdout.Len() > 0) {
				t.Errorf("stdout is %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), tc.stderr) || (tc.stderr == "" && stderr.Len() > 0) {
				t.Errorf("stderr is %q", stderr.String())
			}
			if name == "describe" && !json.Valid(stdout.Bytes()) {
				t.Errorf("the catalogue is no JSON: %s", stdout.String())
			}
		})
	}
}

func TestDebugServesWithoutAHost(t *testing.T) {
	dir := shortDir(t)
	cmd := command(t, "plugin")
	cmd.Env = []string{roleEnv + "=plugin", "TMPDIR=" + dir}
	cmd.Args = append(cmd.Args, "--debug")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "VANT_REATTACH='"), "'")
	var reattach map[string]struct{ Addr string }
	if err := json.Unmarshal([]byte(text), &reattach); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	conn, err := grpc.NewClient("unix:"+reattach["greeter"].Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := pluginv1.NewPluginClient(conn).Describe(t.Context(), &pluginv1.DescribeRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(cmd.Wait()); code != 0 {
		t.Errorf("exit status %d", code)
	}
	empty(t, dir)
}

func TestDebugServesHostAfterHostAtAPathOfChoice(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "dev.sock")
	// A process that was killed left its socket.
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	cmd := command(t, "plugin")
	cmd.Env = []string{roleEnv + "=plugin", "TMPDIR=" + dir}
	cmd.Args = append(cmd.Args, "--debug", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if want := fmt.Sprintf("VANT_REATTACH='{\"greeter\":{\"addr\":%q}}'\n", path); err != nil || line != want {
		t.Fatalf("got %q, %v; want %q", line, err, want)
	}
	for range 2 {
		conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pluginv1.NewPluginClient(conn).Configure(t.Context(), &pluginv1.ConfigureRequest{}); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	second := command(t, "plugin")
	second.Env, second.Args = cmd.Env, cmd.Args
	if code := exitOf(second.Run()); code != 1 {
		t.Errorf("a second process at the same path: exit status %d", code)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(cmd.Wait()); code != 0 {
		t.Errorf("exit status %d", code)
	}
	empty(t, dir)
}

func TestMessagesOfSixteenMiBPass(t *testing.T) {
	p := startProcess(t)
	p.configure()
	params := `"` + strings.Repeat("x", 16<<20-2) + `"`
	max := grpc.MaxCallRecvMsgSize(32 << 20)
	out, err := p.client.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "greeter.echo", Params: []byte(params)}, max)
	if err != nil || string(out.GetResult()) != params {
		t.Fatalf("16 MiB: %d bytes, %v", len(out.GetResult()), err)
	}
	_, err = p.client.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "greeter.echo", Params: make([]byte, pluginv1.MaxMessage+1)}, max)
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("larger than a message: %v", err)
	}
	if _, err := p.invoke(t.Context(), "greeter.echo", "{}"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAFailedStartHookFailsConfigure(t *testing.T) {
	p := startProcess(t, "SDK_TEST_FAIL=1")
	_, err := p.client.Configure(t.Context(), &pluginv1.ConfigureRequest{Config: []byte("{}")})
	if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != "told to fail" {
		t.Errorf("configure: %v", err)
	}
}

func TestEventsOfStopHooksLeaveOnLink(t *testing.T) {
	p := startProcess(t)
	p.configure()
	link, err := p.client.Link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTERM)
	m, err := link.Recv()
	if err != nil || m.GetEvent().GetType() != "greeter.stopped" {
		t.Fatalf("got %v, %v", m, err)
	}
	if _, err := link.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}
