package python

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

const (
	folder   = "examples/vant-plugin-pyecho"
	program  = folder + "/vant-plugin-pyecho"
	patience = 30 * time.Second
)

type plugin struct {
	cmd    *exec.Cmd
	client pluginv1.PluginClient
	conn   *grpc.ClientConn
	exited chan struct{}
	err    error // of Wait

	mu  sync.Mutex // guards log
	log bytes.Buffer
}

// Write collects standard error.
func (p *plugin) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *plugin) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start runs the plugin as a host does.
func start(t *testing.T, dir string) *plugin {
	t.Helper()
	p := &plugin{cmd: exec.Command("./" + program), exited: make(chan struct{})}
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "PLUGIN_UNIX_SOCKET_DIR=" + dir,
		pluginv1.MagicCookieKey + "=" + pluginv1.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=1",
	}
	p.cmd.Stderr = p
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait()
		t.Fatalf("no handshake: %v; its log:\n%s", err, p.text())
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) != 5 || strings.Join(parts[:3], "|") != "1|1|unix" || parts[4] != "grpc" {
		t.Fatalf("handshake is %q", line)
	}
	p.conn, err = grpc.NewClient("unix:"+parts[3], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(17<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.conn.Close() })
	p.client = pluginv1.NewPluginClient(p.conn)
	return p
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "py")
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

func TestPythonPluginFulfilsTheContract(t *testing.T) {
	dir := shortDir(t)
	p := start(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	h, err := healthv1.NewHealthClient(p.conn).Check(ctx, &healthv1.HealthCheckRequest{Service: pluginv1.HealthService})
	if err != nil || h.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	d, err := p.client.Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil || d.GetName() != "pyecho" || len(d.GetMethods()) != 3 {
		t.Fatalf("describe: %v, %v", d, err)
	}
	if _, err := p.client.Configure(ctx, &pluginv1.ConfigureRequest{Config: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	link, err := p.client.Link(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := link.Recv(); err != nil || m.GetEvent().GetType() != "pyecho.linked" {
		t.Errorf("link: %v, %v", m, err)
	}
	large := `{"x":"` + strings.Repeat("x", 8<<20) + `"}`
	for _, tc := range []struct{ method, params, result, code string }{
		{"pyecho.echo", `{"n": 9007199254740993 }`, `{"n": 9007199254740993 }`, ""},
		{"pyecho.echo", large, large, ""},
		{"pyecho.add", `{"a":9007199254740993,"b":1}`, `9007199254740994`, ""},
		{"pyecho.add", `{}`, "", "internal_error"},
		{"pyecho.fail", `{}`, "", "pyecho_failed"},
	} {
		out, err := p.client.Invoke(ctx, &pluginv1.InvokeRequest{Method: tc.method, Params: []byte(tc.params)})
		if err != nil {
			t.Fatalf("%s: %v", tc.method, err)
		}
		if string(out.GetResult()) != tc.result || out.GetError().GetCode() != tc.code {
			t.Errorf("%s %.40s: result %.40s, error %v", tc.method, tc.params, out.GetResult(), out.GetError())
		}
		if tc.result != "" && tc.method == "pyecho.add" && (len(out.GetEvents()) != 1 || out.GetEvents()[0].GetType() != "pyecho.added") {
			t.Errorf("events are %v", out.GetEvents())
		}
	}
	if _, err := p.client.Drain(ctx, &pluginv1.DrainRequest{TimeoutMs: 2000}); err != nil {
		t.Error(err)
	}
	if _, err := p.client.Invoke(ctx, &pluginv1.InvokeRequest{Method: "pyecho.echo"}); status.Code(err) != codes.Unavailable {
		t.Errorf("a call after drain: %v", err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		t.Fatal("it does not end")
	}
	if p.err != nil {
		t.Errorf("it ended with %v; its log:\n%s", p.err, p.text())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestPythonPluginLeavesInterruptsToTheHost(t *testing.T) {
	p := start(t, shortDir(t))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Describe(ctx, &pluginv1.DescribeRequest{}); err != nil {
		t.Error(err)
	}
}

func TestPythonPluginEndsWhenTheHostIsGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The shell is the host; the second command keeps it from becoming the plugin.
	host := exec.Command("/bin/sh", "-c", "./"+program+"; true")
	host.Env = []string{
		"PATH=" + os.Getenv("PATH"), "PLUGIN_UNIX_SOCKET_DIR=" + shortDir(t),
		pluginv1.MagicCookieKey + "=" + pluginv1.MagicCookieValue,
	}
	host.Stderr = w // the plugin holds it too: its end is the pipe's
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("no handshake: %v", err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil {
		t.Errorf("3 s later the plugin lives: %v; its log:\n%s", err, text)
	}
	_ = host.Wait() // it was killed
}

func TestPythonPluginRunByHandSaysWhatItIs(t *testing.T) {
	cmd := exec.Command("./" + program)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "vant plugin install") {
		t.Errorf("it says %q, %v", out, err)
	}
}

func TestGeneratedPythonIsUpToDate(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("protoc", "-I", "../../proto/plugin/v1", "--python_out="+dir, "plugin.proto")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "plugin_pb2.py"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "plugin_pb2.py"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("plugin_pb2.py is not what protoc makes of plugin.proto now: run protoc as the plugin's head says")
	}
}
