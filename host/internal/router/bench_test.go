package router

import (
	"context"
	"testing"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

var (
	statusLine = []byte(`{"version":1,"id":"req-42","method":"status","params":{}}`)
	echoLine   = []byte(`{"version":1,"id":"req-42","method":"demo.echo","params":{"text":"a","timeout_ms":5}}`)
)

// still answers with one response: what is measured is the router alone.
func still() answer {
	resp := &pluginv1.InvokeResponse{Result: []byte(`{"text":"a","timeout_ms":5}`)}
	return func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) { return resp, nil }
}

func newStill(t testing.TB) *Router {
	t.Helper()
	r := New(options())
	d := demo(t)
	d.invoke.(fakePlugin)["demo.echo"] = still()
	r.set([]source{d})
	return r
}

func BenchmarkServe(b *testing.B) {
	r := newStill(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, bm := range []struct {
		name string
		line []byte
	}{
		{"status", statusLine},
		{"plugin", echoLine},
		{"describe", []byte(`{"version":1,"id":1,"method":"describe","params":{}}`)},
		{"unknown", []byte(`{"version":1,"id":1,"method":"page.snapshto","params":{}}`)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			buf := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				buf = r.Serve(ctx, 4242, bm.line, buf[:0])
			}
		})
	}
	b.Run("plugin-parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			buf := make([]byte, 0, 4096)
			for pb.Next() {
				buf = r.Serve(ctx, 4242, echoLine, buf[:0])
			}
		})
	})
}
