package router

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/hosttest"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const nullLine = `{"version":1,"id":1,"method":"demo.null"}`

const (
	nullReply = `{"version":1,"id":1,"ok":true,"result":null}`
	noneReply = `{"version":1,"id":1,"ok":false,"error":{"code":"method_not_found","message":"no method \"demo.null\""}}`
)

// unsettled is a router whose plugins are making their first start.
func unsettled(t *testing.T) (*Router, *fakeSupervisor) {
	opt := options()
	sup := newFakeSupervisor()
	sup.settled = make(chan struct{})
	opt.Plugins = sup
	return New(opt), sup
}

func TestUnknownMethodWaitsForFirstStarts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(t *testing.T, r *Router, sup *fakeSupervisor) // runs beside the call
		want  string
		took  time.Duration
	}{
		{
			name: "its plugin comes",
			after: func(t *testing.T, r *Router, sup *fakeSupervisor) {
				time.Sleep(time.Second)
				r.set([]source{gone(t)}) // another plugin's coming does not end the wait
				time.Sleep(2 * time.Second)
				r.set([]source{gone(t), demo(t)})
			},
			want: nullReply, took: 3 * time.Second,
		},
		{
			name: "starts settle without it",
			after: func(t *testing.T, r *Router, sup *fakeSupervisor) {
				time.Sleep(4 * time.Second)
				close(sup.settled)
			},
			want: noneReply, took: 4 * time.Second,
		},
		{
			name: "it comes with the last start",
			after: func(t *testing.T, r *Router, sup *fakeSupervisor) {
				time.Sleep(4 * time.Second)
				r.set([]source{demo(t)})
				close(sup.settled)
			},
			want: nullReply, took: 4 * time.Second,
		},
		{
			name:  "starts never settle",
			after: func(*testing.T, *Router, *fakeSupervisor) {},
			want:  noneReply, took: 10 * time.Second,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sup := unsettled(t)
				go tt.after(t, r, sup)
				begun := time.Now()
				if got := serve(t, r, nullLine); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestParamsAreCheckedAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := unsettled(t)
		go func() {
			time.Sleep(time.Second)
			r.set([]source{demo(t)})
		}()
		got := serve(t, r, `{"version":1,"id":1,"method":"demo.echo","params":{"text":5}}`)
		if !strings.HasPrefix(got, failed("1", "invalid_param_type")) {
			t.Errorf("got %s", got)
		}
	})
}

func TestWaitForFirstStartsEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := unsettled(t)
		_, failed := r.Call(t.Context(), Call{Method: "demo.null", Timeout: 3 * time.Second})
		if failed == nil || failed.Code != envelope.Timeout || !strings.Contains(failed.Message, "3000 ms") {
			t.Errorf("got %v, want a timeout that names the bound", failed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, failed := r.Call(ctx, Call{Method: "demo.null"}); failed == nil || time.Since(begun) != time.Second {
			t.Errorf("got %v after %v, want a failure after 1s", failed, time.Since(begun))
		}
	})
}

func TestBuiltinsDoNotWaitForFirstStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := unsettled(t)
		begun := time.Now()
		for _, m := range []string{"status", "version", "capabilities", "describe", "events.since", "plugins.list"} {
			if got := serve(t, r, `{"version":1,"id":1,"method":"`+m+`"}`); !strings.Contains(got, `"ok":true`) {
				t.Errorf("%s: %s", m, got)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestWaitCountsAgainstTheBoundOfTheMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := unsettled(t)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			r.set([]source{demo(t)})
		}()
		begun := time.Now()
		serve(t, r, `{"version":1,"id":1,"method":"demo.slow"}`)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v, want the bound of 2s", took)
		}
	})
}

func TestTimeoutCancelsThePlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := options()
		r := New(opt)
		d := demo(t)
		var cause error
		d.invoke.(fakePlugin)["demo.slow"] = func(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
			deadline, ok := ctx.Deadline()
			if !ok || time.Until(deadline) != 2*time.Second {
				t.Errorf("deadline in %v, want 2s", time.Until(deadline))
			}
			resp, err := hang(ctx, req)
			cause = ctx.Err()
			return resp, err
		}
		r.set([]source{d})
		serve(t, r, `{"version":1,"id":1,"method":"demo.slow"}`)
		if cause != context.DeadlineExceeded {
			t.Errorf("the plugin's context ended with %v", cause)
		}
	})
}

func TestClientGoneCancelsThePlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDemo(t, options())
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		begun := time.Now()
		r.Serve(ctx, 1, []byte(`{"version":1,"id":1,"method":"demo.slow"}`), nil)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		// A long poll ends too.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		r.Serve(ctx, 1, []byte(`{"version":1,"id":1,"method":"events.since","params":{"wait_ms":20000}}`), nil)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the poll took %v, want 1s", took)
		}
	})
}

func TestLongPollWakesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := options()
		r := newDemo(t, opt)
		go func() {
			time.Sleep(time.Second)
			serve(t, r, `{"version":1,"id":1,"method":"demo.events"}`)
		}()
		begun := time.Now()
		got := serve(t, r, `{"version":1,"id":1,"method":"events.since","params":{"wait_ms":20000}}`)
		if took := time.Since(begun); took != time.Second || !strings.Contains(got, "tab.created") {
			t.Errorf("after %v: %s", took, got)
		}
		begun = time.Now()
		got = serve(t, r, `{"version":1,"id":1,"method":"events.since","params":{"after":3,"wait_ms":99000}}`)
		if took := time.Since(begun); took != 25*time.Second || !strings.Contains(got, `"events":[]`) {
			t.Errorf("after %v: %s", took, got)
		}
	})
}

// A call is checked by the table that it runs with, whatever comes between.
func TestCallKeepsItsTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(options())
		first, second := demo(t), demo(t)
		entered, leave := make(chan struct{}), make(chan struct{})
		first.invoke.(fakePlugin)["demo.null"] = func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
			close(entered)
			<-leave
			return &pluginv1.InvokeResponse{Result: []byte(`"first"`)}, nil
		}
		second.invoke.(fakePlugin)["demo.null"] = result(`"second"`)
		r.set([]source{first})
		var got string
		done := make(chan struct{})
		go func() { defer close(done); got = serve(t, r, nullLine) }()
		<-entered
		r.set([]source{second})
		if now := serve(t, r, nullLine); !strings.Contains(now, "second") {
			t.Errorf("after the swap: %s", now)
		}
		close(leave)
		<-done
		if !strings.Contains(got, "first") {
			t.Errorf("the call that had begun got %s", got)
		}
	})
}

// Two versions of a plugin, whose schemas exclude each other's parameters,
// take turns: no call may be checked by one and run by the other.
func TestCheckAndCallAreOfOneTable(t *testing.T) {
	r := New(options())
	var mixed atomic.Int64
	version := func(kind string) source {
		m := newMethod(t, "demo.null", `{"type":"object","properties":{"kind":{"const":"`+kind+`"}},"required":["kind"]}`, time.Minute)
		return source{
			set: &method.Set{Name: "demo", Methods: []*method.Method{m}},
			invoke: fakePlugin{"demo.null": func(_ context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				if string(req.GetParams()) != `{"kind":"`+kind+`"}` {
					mixed.Add(1)
				}
				return &pluginv1.InvokeResponse{Result: []byte("null")}, nil
			}},
		}
	}
	versions := []source{version("a"), version("b")}
	r.set(versions[:1])
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		line := []byte(`{"version":1,"id":1,"method":"demo.null","params":{"kind":"` + string(rune('a'+i%2)) + `"}}`)
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.Serve(t.Context(), 1, line, nil)
				}
			}
		})
	}
	for i := range 2000 {
		r.set(versions[i%2 : i%2+1])
	}
	close(stop)
	callers.Wait()
	if n := mixed.Load(); n > 0 {
		t.Errorf("%d calls ran with parameters that another table had checked", n)
	}
}

func TestCallLogHasNoParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := options()
		var got []Record
		opt.Done = func(r Record) { got = append(got, r) }
		r := newDemo(t, opt)
		start := time.Now()
		serve(t, r, `{"version":1,"id":1,"method":"demo.slow","params":{"a":"s3cret"}}`)
		serve(t, r, `{"version":1,"id":1,"method":"status"}`)
		serve(t, r, `{"version":1,"id":1}`)
		serve(t, r, `{"version":1,"id":1,"method":"no.such"}`)
		if _, failed := r.Call(t.Context(), Call{Method: "demo.null", Caller: "plugin:x"}); failed != nil {
			t.Error(failed)
		}
		end := start.Add(2 * time.Second)
		want := []Record{
			{Start: start, Duration: 2 * time.Second, Method: "demo.slow", Caller: "agent:4242", PID: 4242, Code: "timeout"},
			{Start: end, Method: "status", Caller: "agent:4242", PID: 4242},
			{Start: end, Caller: "agent:4242", PID: 4242, Code: "invalid_request"},
			{Start: end, Method: "no.such", Caller: "agent:4242", PID: 4242, Code: "method_not_found"},
			{Start: end, Method: "demo.null", Caller: "plugin:x"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

func TestStopIsAskedForAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for params, want := range map[string]time.Duration{
			`{}`: -1, `{"drain_ms":250}`: 250 * time.Millisecond, `{"drain_ms":-3}`: 0, `{"drain_ms":999999}`: 5 * time.Second,
		} {
			opt := options()
			var answered atomic.Bool
			release := make(chan struct{})
			stopped := make(chan time.Duration, 1)
			// A host stops by waiting for its requests: this one is among them.
			opt.Host.Stop = func(drain time.Duration) {
				<-release
				if !answered.Load() {
					t.Error("the host was gone before the reply")
				}
				stopped <- drain
			}
			got := serve(t, New(opt), `{"version":1,"id":1,"method":"host.stop","params":`+params+`}`)
			answered.Store(true)
			close(release)
			if want := `{"version":1,"id":1,"ok":true,"result":true}`; got != want {
				t.Errorf("got %s", got)
			}
			if drain := <-stopped; drain != want {
				t.Errorf("%s: drain %v, want %v", params, drain, want)
			}
		}
	})
}

func TestRestartIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := options()
		sup := newFakeSupervisor()
		sup.restart = func(ctx context.Context, _ string, _ bool) (uint64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		opt.Plugins = sup
		begun := time.Now()
		got := serve(t, New(opt), `{"version":1,"id":1,"method":"plugins.restart","params":{"name":"demo"}}`)
		if took := time.Since(begun); took != restartBound || !strings.HasPrefix(got, failed("1", "timeout")) {
			t.Errorf("after %v: %s", took, got)
		}
	})
}

func TestPanicIsOneCallsFailure(t *testing.T) {
	var log hosttest.Log
	opt := options()
	opt.Log = log.Logger()
	sup := newFakeSupervisor()
	sup.restart = func(context.Context, string, bool) (uint64, error) { panic("broken built-in") }
	opt.Plugins = sup
	r := New(opt)
	got := serve(t, r, `{"version":1,"id":1,"method":"plugins.restart","params":{"name":"demo"}}`)
	if !strings.HasPrefix(got, failed("1", "internal_error")) || strings.Contains(got, "broken built-in") {
		t.Errorf("got %s", got)
	}
	// The log has the place, but not the value: it may hold what a caller sent.
	if text := log.String(); strings.Contains(text, "broken built-in") || !strings.Contains(text, "pluginsRestart") {
		t.Errorf("the log lacks the panic's place, or has its value: %s", text)
	}
	if got := serve(t, r, `{"version":1,"id":1,"method":"status"}`); !strings.Contains(got, `"ok":true`) {
		t.Errorf("after the panic: %s", got)
	}
}

func TestStatusCountsNothingThatIsSwitchedOff(t *testing.T) {
	opt := options()
	f := newFakeSupervisor()
	f.rows = append(f.rows, supervise.Status{Name: "off", State: supervise.Stopped, Reason: "switched off"})
	opt.Plugins = f
	if got := serve(t, newDemo(t, opt), `{"version":1,"id":1,"method":"status"}`); !strings.Contains(got, `"plugins":{"ready":1,"total":2}`) {
		t.Errorf("got %s", got)
	}
}
