package launch

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestThePluginsMethodsAreCalled(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.Health(ctx); err != nil {
		t.Error(err)
	}
	if d, err := p.Describe(ctx); err != nil || d.Name != "test" || d.Version != "1.2.3" {
		t.Errorf("Describe = %v, %v", d, err)
	}
	if err := p.Configure(ctx, &pluginv1.ConfigureRequest{Config: []byte("{}")}); err != nil {
		t.Error(err)
	}
	if err := p.Configure(ctx, &pluginv1.ConfigureRequest{Config: []byte("bad")}); err == nil || !strings.Contains(err.Error(), "config is bad") {
		t.Errorf("Configure = %v", err)
	}
	if got := call(t, p, "echo", `{"x":1}`); string(got.Result) != `{"x":1}` {
		t.Errorf("echo = %s", got.Result)
	}
	if err := p.Drain(ctx, time.Second); err != nil {
		t.Error(err)
	}
	if got := call(t, p, "drained", ""); string(got.Result) != "true" {
		t.Errorf("drained = %s", got.Result)
	}
}

func TestAStoppedPluginFailsHealthAtTheDeadline(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	stopped(p)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := p.Health(ctx); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("Health = %v", err)
	}
}

func TestCancellationReachesThePlugin(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "wait"})
		failed <- err
	}()
	b.untilText(t, "waiting")
	cancel()
	if err := <-failed; status.Code(err) != codes.Canceled {
		t.Errorf("err = %v", err)
	}
	b.untilText(t, "wait over: context canceled")
}

func TestMessagesBeyondTheLimitFailTheirCallAlone(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r := call(t, p, "zeros", strconv.Itoa(envelope.MaxResultBytes)); len(r.Result) != envelope.MaxResultBytes {
		t.Errorf("%d bytes came", len(r.Result))
	}
	_, err := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "zeros", Params: []byte(strconv.Itoa(60 << 20))})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a result of 60 MiB: %v", err)
	}
	_, err = p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "echo", Params: make([]byte, maxMessage+1)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("parameters of %d bytes: %v", maxMessage+1, err)
	}
	if got := call(t, p, "echo", "1"); string(got.Result) != "1" {
		t.Errorf("echo = %s", got.Result)
	}
}

func TestBrokeredConnectionsCostTheHostNothing(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	call(t, p, "echo", "1")
	before := runtime.NumGoroutine()
	call(t, p, "broker", "200")
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestAnInvokeAllocatesNoMoreThanGRPCDoes(t *testing.T) {
	b := newBench(t)
	p := b.started("good").(*process)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req := &pluginv1.InvokeRequest{Method: "echo", Params: []byte(`{}`)}
	count := func(f func(context.Context, *pluginv1.InvokeRequest) error) float64 {
		return testing.AllocsPerRun(500, func() {
			if err := f(ctx, req); err != nil {
				t.Fatal(err)
			}
		})
	}
	direct := count(func(ctx context.Context, r *pluginv1.InvokeRequest) error {
		_, err := p.client.Invoke(ctx, r)
		return err
	})
	through := count(func(ctx context.Context, r *pluginv1.InvokeRequest) error { _, err := p.Invoke(ctx, r); return err })
	// The transport's goroutines allocate by their own clock: one is noise.
	if through > direct+1 {
		t.Errorf("%v allocations through Process, %v direct", through, direct)
	}
}

func TestCancelledCallsLeaveNothing(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	call(t, p, "echo", "1")
	before := runtime.NumGoroutine()
	const workers, each = 20, 500
	var cancelled atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithCancel(context.Background())
				go cancel() // before, while or after the plugin answers
				_, err := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "echo", Params: []byte("1")})
				switch status.Code(err) {
				case codes.OK:
				case codes.Canceled:
					cancelled.Add(1)
				default:
					t.Errorf("err = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if cancelled.Load() == 0 {
		t.Error("no call was cancelled")
	}
	settles(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
	if got := string(call(t, p, "echo", "2").Result); got != "2" {
		t.Errorf("echo = %s", got)
	}
}
