package router

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a fake method does.
type answer func(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error)

// fakePlugin runs methods in this process.
type fakePlugin map[string]answer

func (f fakePlugin) Failed(string) {}

func (f fakePlugin) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	return f[req.GetMethod()](ctx, req)
}

func result(text string) answer {
	return func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		return &pluginv1.InvokeResponse{Result: []byte(text)}, nil
	}
}

func pluginFails(code, message, data string) answer {
	return func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		return &pluginv1.InvokeResponse{Error: &pluginv1.Error{Code: code, Message: message, Data: []byte(data)}}, nil
	}
}

func hostFails(err error) answer {
	return func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) { return nil, err }
}

func echo(_ context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	return &pluginv1.InvokeResponse{Result: bytes.Clone(req.GetParams())}, nil
}

func hang(ctx context.Context, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// newMethod makes a method whose parameters are described by the members of
// "properties" and a list of the required ones.
func newMethod(t testing.TB, name, schema string, bound time.Duration) *method.Method {
	t.Helper()
	compiled, err := wire.Compile([]byte(schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &method.Method{
		Name: name, Summary: "Does " + name + ".", ParamsSchema: []byte(schema), ResultSchema: []byte("true"),
		ParamsShort: []byte("{}"), ReturnsShort: "any", Timeout: bound, Since: "1.0.0", Params: compiled,
	}
}

// demo is a plugin with a method for every kind of answer.
func demo(t testing.TB) source {
	t.Helper()
	fake := fakePlugin{
		"demo.echo":  echo,
		"demo.slow":  hang,
		"demo.null":  result("null"),
		"demo.none":  result(""),
		"demo.wide":  result("{ \"a\" : [ 1,\n 2 ] }"),
		"demo.torn":  result(`{"a":`),
		"demo.utf8":  result("\"\xff\""),
		"demo.two":   result("1 2"),
		"demo.exact": result(`[9007199254740993,1.0,1e400,"\ud83d"]`),

		"demo.own":      pluginFails("demo_broken", "the demo is broken", `{"part":7}`),
		"demo.proto":    pluginFails("not_found", "tab 7 is closed", ""),
		"demo.timeout":  pluginFails("timeout", "nothing came in 5 s", "null"),
		"demo.foreign":  pluginFails("other_code", "kept message", ""),
		"demo.reserved": pluginFails("plugin_busy", "kept message", ""),
		"demo.nocode":   pluginFails("", "", ""),
		"demo.baddata":  pluginFails("not_found", "no data", "{"),
		"demo.gapdata":  pluginFails("not_found", "data", "{ \"a\": 1 }"),

		"demo.down": hostFails(&supervise.UnavailableError{
			Plugin: "demo", State: supervise.Backoff, Reason: "exit status 3", RetryAfter: 1500*time.Millisecond + 1,
		}),
		"demo.full":     hostFails(&supervise.BusyError{Plugin: "demo", Limit: 64}),
		"demo.huge":     hostFails(supervise.ErrResultTooLarge),
		"demo.fault":    hostFails(&supervise.PluginFault{Plugin: "demo", Message: "panic: index out of range"}),
		"demo.late":     hostFails(context.DeadlineExceeded),
		"demo.dropped":  hostFails(context.Canceled),
		"demo.surprise": hostFails(errors.New("a surprise")),
		"demo.panics": func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
			panic("secret-of-the-panic")
		},
		"demo.context": func(_ context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
			c := req.GetContext()
			b := wire.AppendString(nil, c.GetRequestId()+" "+c.GetCaller()+" "+c.GetTraceparent())
			return &pluginv1.InvokeResponse{Result: b}, nil
		},
		"demo.events": func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
			return &pluginv1.InvokeResponse{Result: []byte("true"), Events: []*pluginv1.Event{
				{Type: "tab.created", Data: []byte(`{"tab_id":1}`)},
				{Type: "tab.closed", Data: []byte("{ \"tab_id\" : 1 }")},
				{Type: "page.load"},
			}}, nil
		},
	}
	set := &method.Set{
		Name: "demo", Version: "1.2.0", Namespaces: []string{"demo"}, Features: []string{"alpha", "zeta"},
		ErrorCodes: map[string]bool{"demo_broken": true},
	}
	for name := range fake {
		schema, bound := `{"type":"object"}`, envelope.DefaultTimeout
		switch name {
		case "demo.echo":
			schema = `{"type":"object","properties":{"text":{"type":"string"},"timeout_ms":{"type":"integer"},` +
				`"kind":{"enum":["a","b"]},"tabs":{"type":"array","items":{"type":"integer"}}},"required":["text"]}`
		case "demo.slow":
			bound = 2 * time.Second
		}
		set.Methods = append(set.Methods, newMethod(t, name, schema, bound))
	}
	slices.SortFunc(set.Methods, func(a, b *method.Method) int { return strings.Compare(a.Name, b.Name) })
	return source{set: set, invoke: fake, sha256: "ab12", generation: 3, state: supervise.Ready}
}

// gone is a plugin that is not running.
func gone(t testing.TB) source {
	t.Helper()
	m := newMethod(t, "gone.ask", `{"type":"object"}`, envelope.DefaultTimeout)
	m.Deprecated, m.ReadOnly, m.Errors = "use demo.echo", true, []string{"not_found"}
	return source{
		set: &method.Set{
			Name: "gone", Version: "0.9.0", Methods: []*method.Method{m},
			Namespaces: []string{"gone"}, Features: []string{"never-shown"},
		},
		invoke: fakePlugin{"gone.ask": hostFails(&supervise.UnavailableError{Plugin: "gone", State: supervise.Quarantined})},
		sha256: "cd34", generation: 9, state: supervise.Quarantined,
	}
}

// fakeSupervisor is what the router asks about plugins.
type fakeSupervisor struct {
	rows    []supervise.Status
	settled chan struct{}
	restart func(ctx context.Context, name string, now bool) (uint64, error)
}

func newFakeSupervisor() *fakeSupervisor {
	f := &fakeSupervisor{settled: make(chan struct{})}
	close(f.settled)
	f.rows = []supervise.Status{
		{
			Name: "demo", Version: "1.2.0", State: supervise.Ready, File: "/p/vant-plugin-demo", SHA256: "ab12",
			Pid: 71, Generation: 3, UptimeMS: 1200, Methods: 5, InFlight: 1, Calls: 40, Errors: 2, P50US: 90, P99US: 800,
		},
		{
			Name: "gone", Version: "0.9.0", State: supervise.Quarantined, Reason: "8 failures in 10 min <exit>",
			File: "/p/vant-plugin-gone", SHA256: "cd34", Generation: 9, Restarts: 8,
		},
	}
	return f
}

func (f *fakeSupervisor) Accepted() int {
	return len(slices.DeleteFunc(slices.Clone(f.List(false)), func(s supervise.Status) bool { return s.State == supervise.Stopped }))
}

func (f *fakeSupervisor) List(all bool) []supervise.Status {
	rows := slices.Clone(f.rows)
	if all {
		rows = append(rows, supervise.Status{Name: "mean", State: supervise.Refused, Reason: "not executable", File: "/p/vant-plugin-mean"})
	}
	return rows
}

func (f *fakeSupervisor) find(name string) (supervise.Status, error) {
	for _, s := range f.rows {
		if s.Name == name {
			return s, nil
		}
	}
	return supervise.Status{}, &supervise.NotFoundError{Name: name}
}

func (f *fakeSupervisor) Info(name string) (supervise.Info, bool) {
	s, err := f.find(name)
	return supervise.Info{
		Status: s, Summary: "A demo.", Config: []byte(`{"key":"…"}`), Limits: supervise.Limits{MaxInFlight: 64, MaxQueue: 64},
	}, err == nil
}

func (f *fakeSupervisor) Restart(ctx context.Context, name string, now bool) (uint64, error) {
	if f.restart != nil {
		return f.restart(ctx, name, now)
	}
	s, err := f.find(name)
	if err != nil {
		return 0, err
	}
	return s.Generation + 1, nil
}

func (f *fakeSupervisor) Reset(_ context.Context, name string) error {
	_, err := f.find(name)
	return err
}

func (f *fakeSupervisor) Settled() <-chan struct{} { return f.settled }

// fakeLogs has three lines of demo.
type fakeLogs struct{}

func (fakeLogs) Read(ctx context.Context, plugin string, after uint64, limit int, wait time.Duration) ([]observe.Line, uint64, bool) {
	if plugin != "demo" {
		return nil, 0, false
	}
	var lines []observe.Line
	for seq := after + 1; seq <= 3 && len(lines) < limit; seq++ {
		lines = append(lines, observe.Line{Seq: seq, Level: "info", Text: "<line>"})
	}
	if len(lines) == 0 && wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return lines, 4, true
}

type fakeCatalog struct{}

func (fakeCatalog) Rescan(context.Context) (Rescan, error) {
	return Rescan{Started: []string{"new"}, Refused: []RefusedFile{{File: "/p/x", Reason: "not executable"}}}, nil
}

func (fakeCatalog) Verify(_ context.Context, path string) (Verdict, error) {
	switch path {
	case "/missing":
		return Verdict{}, &envelope.Error{Code: envelope.NotFound, Message: "no such file"}
	case "/bad":
		return Verdict{}, errors.New("a folder cannot be verified")
	}
	return Verdict{OK: true, Action: "start", File: path, Name: "new", Version: "1", SHA256: "ef", Methods: []string{"new.a"}}, nil
}

func (fakeCatalog) Install(_ context.Context, path string) (Verdict, error) {
	return Verdict{Action: "refuse", Reason: "not executable", File: path}, nil
}

func (fakeCatalog) Remove(context.Context, string) error { return nil }
func (fakeCatalog) Lock(context.Context) (LockFile, error) {
	return LockFile{File: "/c/plugins.lock"}, nil
}
func connections() int { return 2 }
func reload(context.Context) (Reloaded, error) {
	return Reloaded{Applied: []string{"log.level"}}, nil
}

// options are those of a host with everything in it.
func options() Options {
	return Options{
		Version:     Version{Vant: "1.0.0", Go: "go1.26", Commit: "c0ffee"},
		Socket:      "/run/s.sock",
		Started:     time.Now(),
		Connections: connections,
		Events:      events.New(64),
		Plugins:     newFakeSupervisor(),
		Logs:        fakeLogs{},
		Catalog:     fakeCatalog{},
		Host:        HostControl{Stop: func(time.Duration) {}, Reload: reload},
	}
}

// newDemo is a router with both fake plugins.
func newDemo(t testing.TB, opt Options) *Router {
	t.Helper()
	r := New(opt)
	r.set([]source{gone(t), demo(t)})
	return r
}

// serve is one exchange, without the newline of the reply.
func serve(t testing.TB, r *Router, line string) string {
	t.Helper()
	reply := r.Serve(t.Context(), 4242, []byte(line), nil)
	if !bytes.HasSuffix(reply, []byte("\n")) || bytes.Count(reply, []byte("\n")) != 1 {
		t.Fatalf("the reply is not one line: %q", reply)
	}
	return string(reply[:len(reply)-1])
}
