package router

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// launcher starts processes that live in this one.
type launcher struct {
	mu     sync.Mutex
	latest *process
	delay  time.Duration
}

func (l *launcher) Launch(ctx context.Context, spec supervise.Spec) (supervise.Process, error) {
	select {
	case <-time.After(l.delay):
	case <-ctx.Done():
		return nil, &supervise.StartError{Step: "launch", Err: ctx.Err()}
	}
	p := &process{name: spec.Name, exited: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = p
	return p, nil
}

// crash ends the process that was started last.
func (l *launcher) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest.Stop(0)
}

// process is a plugin with a method that echoes and one that calls another.
type process struct {
	name   string
	once   sync.Once
	exited chan struct{}
	link   supervise.LinkHandler
	linked sync.Mutex // guards link
}

func (p *process) Pid() int                       { return 1 }
func (p *process) Resources() supervise.Resources { return supervise.Resources{} }
func (p *process) Health(context.Context) error   { return nil }

func (p *process) Describe(context.Context) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Name: p.name, Version: "1", Methods: []*pluginv1.Method{
		{Name: p.name + ".echo", Summary: "Echoes.", ParamsSchema: []byte(`{"type":"object"}`)},
		{Name: p.name + ".hold", Summary: "Waits.", ParamsSchema: []byte(`{"type":"object"}`)},
		{Name: p.name + ".again", Summary: "Calls itself.", ParamsSchema: []byte(`{"type":"object"}`)},
	}}, nil
}

func (p *process) Configure(context.Context, *pluginv1.ConfigureRequest) error { return nil }

func (p *process) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	select {
	case <-p.exited:
		return nil, status.Error(codes.Unavailable, "gone")
	default:
	}
	switch req.GetMethod() {
	case p.name + ".hold":
		select {
		case <-p.exited:
			return nil, status.Error(codes.Unavailable, "gone")
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	case p.name + ".again":
		p.linked.Lock()
		link := p.link
		p.linked.Unlock()
		out := link.Call(ctx, &pluginv1.Call{Id: 1, Method: req.GetMethod(), Parent: req.GetContext().GetCallId()})
		return &pluginv1.InvokeResponse{Result: out.GetResult(), Error: out.GetError()}, nil
	}
	return &pluginv1.InvokeResponse{
		Result: req.GetParams(), Events: []*pluginv1.Event{{Type: "echo.done"}},
	}, nil
}

func (p *process) Link(ctx context.Context, h supervise.LinkHandler) error {
	p.linked.Lock()
	p.link = h
	p.linked.Unlock()
	select {
	case <-ctx.Done():
	case <-p.exited:
	}
	return nil
}

func (p *process) Drain(context.Context, time.Duration) error { return nil }
func (p *process) Stop(time.Duration)                         { p.once.Do(func() { close(p.exited) }) }
func (p *process) Exited() <-chan struct{}                    { return p.exited }
func (p *process) Exit() supervise.Exit                       { return supervise.Exit{Code: 3} }

// supervised is a router on a real supervisor that runs plugin "one".
func supervised(t *testing.T, l *launcher) (*Router, Options) {
	t.Helper()
	opt := options()
	var r *Router
	s := supervise.New(supervise.Options{
		Launcher: l, Policy: supervise.DefaultPolicy(), Emit: opt.Events.Append,
		Call: func(ctx context.Context, from supervise.Origin, call *pluginv1.Call) *pluginv1.CallResult {
			return r.CallFrom(ctx, from, call)
		},
		Publish: func(list []supervise.Registered) { r.SetPlugins(list) },
	})
	opt.Plugins = s
	r = New(opt)
	s.Apply([]supervise.Spec{{Name: "one", SHA256: "aa"}}, nil)
	t.Cleanup(func() { s.Stop(context.Background()) })
	return r, opt
}

func TestCallWaitsForARealFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, opt := supervised(t, &launcher{delay: 3 * time.Second})
		begun := time.Now()
		got := serve(t, r, `{"version":1,"id":1,"method":"one.echo","params":{"a":1.50}}`)
		if want := `{"version":1,"id":1,"ok":true,"result":{"a":1.50}}`; got != want || time.Since(begun) < 3*time.Second {
			t.Errorf("after %v: %s", time.Since(begun), got)
		}
		if types := ringTypes(opt.Events); !slices.Contains(types, "echo.done") {
			t.Errorf("the call's own event is not there with its reply: %v", types)
		}
		begun = time.Now()
		if got := serve(t, r, `{"version":1,"id":1,"method":"one.ecko"}`); !strings.Contains(got, "near: one.echo") || time.Since(begun) != 0 {
			t.Errorf("unknown method after %v: %s", time.Since(begun), got)
		}
	})
}

func TestCrashIsPluginUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &launcher{}
		r, _ := supervised(t, l)
		<-r.Settled()
		l.delay = time.Minute // the next start takes long
		go func() {
			time.Sleep(time.Second)
			l.crash()
		}()
		begun := time.Now()
		got := serve(t, r, `{"version":1,"id":1,"method":"one.hold"}`)
		if took := time.Since(begun); !strings.HasPrefix(got, failed("1", "plugin_unavailable")) || took > 1100*time.Millisecond {
			t.Errorf("after %v: %s", took, got)
		}
		var reply struct {
			Error struct {
				Data struct {
					Plugin, State string
					RetryAfterMS  int64 `json:"retry_after_ms"`
				}
			}
		}
		if err := json.Unmarshal([]byte(got), &reply); err != nil || reply.Error.Data.Plugin != "one" ||
			reply.Error.Data.State == "" || reply.Error.Data.RetryAfterMS <= 0 {
			t.Errorf("data %+v, %v: %s", reply.Error.Data, err, got)
		}
		synctest.Wait()
		// Its methods stay, with the state.
		if got := serve(t, r, `{"version":1,"id":1,"method":"describe","params":{"name":"one.echo"}}`); strings.Contains(got, `"state":"ready"`) ||
			!strings.Contains(got, `"ok":true`) {
			t.Errorf("describe after the crash: %s", got)
		}
	})
}

func TestPluginsThatCallInACircleAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := supervised(t, &launcher{})
		<-r.Settled()
		synctest.Wait() // the link is up
		got := serve(t, r, `{"version":1,"id":1,"method":"one.again"}`)
		if !strings.HasPrefix(got, failed("1", "permission_denied")) {
			t.Errorf("got %s", got)
		}
	})
}

func TestRestartLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := supervised(t, &launcher{delay: 50 * time.Millisecond})
		<-r.Settled()
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						if got := serve(t, r, `{"version":1,"id":1,"method":"one.echo"}`); !strings.Contains(got, `"ok":true`) {
							t.Errorf("a call failed: %s", got)
						}
					}
				}
			})
		}
		for want := uint64(2); want < 6; want++ {
			type generation struct{ Generation uint64 }
			if got := resultOf[generation](t, r, "plugins.restart", `{"name":"one"}`); got.Generation != want {
				t.Errorf("generation %d, want %d", got.Generation, want)
			}
		}
		close(stop)
		callers.Wait()
	})
}
