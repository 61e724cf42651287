package supervise

import (
	"context"
	"testing"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// instant is a process that costs nothing, to see what Invoke itself does.
type instant struct {
	*fakeProcess
	res pluginv1.InvokeResponse
}

func (p *instant) Invoke(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	return &p.res, nil
}

type instantLauncher struct{ fakeLauncher }

func (l *instantLauncher) Launch(ctx context.Context, spec Spec) (Process, error) {
	p, err := l.fakeLauncher.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &instant{fakeProcess: p.(*fakeProcess)}, nil
}

func readyPlugin(t testing.TB, exclusive bool) *Plugin {
	s := New(Options{Launcher: &instantLauncher{fakeLauncher{
		plan: func(Spec, int) script { return script{exclusive: exclusive} }, starts: map[string]int{},
	}}})
	t.Cleanup(func() { s.Stop(context.Background()) })
	s.Apply(specs("a"), nil)
	<-s.Settled()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plugins["a"]
}

func BenchmarkInvoke(b *testing.B) {
	p, req, ctx := readyPlugin(b, false), request(), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Invoke(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInvokeParallel(b *testing.B) {
	p, ctx := readyPlugin(b, false), context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := request()
		for pb.Next() {
			if _, err := p.Invoke(ctx, req); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func TestInvokeAllocatesNothing(t *testing.T) {
	p, req, ctx := readyPlugin(t, false), request(), context.Background()
	n := testing.AllocsPerRun(1000, func() {
		if _, err := p.Invoke(ctx, req); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkInvokeExclusive(b *testing.B) {
	p, req := readyPlugin(b, true), request()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Invoke(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}
