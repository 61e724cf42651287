package launch

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// BenchmarkInvoke compares a call through Process with one over a connection
// that plain gRPC makes with its defaults.
func BenchmarkInvoke(b *testing.B) {
	bench := newBench(b)
	p := bench.started("good")
	sockets, err := filepath.Glob(filepath.Join(bench.dir, "*", "*"))
	if err != nil || len(sockets) != 1 {
		b.Fatalf("sockets %v, %v", sockets, err)
	}
	conn, err := grpc.NewClient("passthrough:///plugin",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", sockets[0])
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	direct := pluginv1.NewPluginClient(conn)
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		req := &pluginv1.InvokeRequest{Method: "zeros", Params: []byte(strconv.Itoa(size))}
		name := fmt.Sprintf("%dB", size)
		b.Run(name+"/process", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Invoke(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/direct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := direct.Invoke(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCost reports what one more plugin costs the host, and how long a
// start and a stop take.
func BenchmarkCost(b *testing.B) {
	bench := newBench(b)
	var ps []supervise.Process
	ps = append(ps, bench.started("good")) // what is made once
	base := hostCost(b)
	var start time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		p, err := bench.launch(spec("good"))
		if err != nil {
			b.Fatal(err)
		}
		start += time.Since(began)
		ps = append(ps, p)
		call(b, p, "echo", "1")
		n++
	}
	now := hostCost(b)
	b.ReportMetric(float64(now.goroutines-base.goroutines)/float64(n), "goroutines/plugin")
	b.ReportMetric(float64(now.heap-base.heap)/float64(n)/1024, "heap-KiB/plugin")
	b.ReportMetric(float64(now.stack-base.stack)/float64(n)/1024, "stack-KiB/plugin")
	b.ReportMetric(float64(now.rss-base.rss)/float64(n), "rss-KiB/plugin")
	b.ReportMetric(float64(now.rss), "rss-KiB")
	b.ReportMetric(float64(start.Microseconds())/float64(n)/1000, "start-ms")
	began := time.Now()
	for _, p := range ps {
		p.Stop(time.Second)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/float64(n+1)/1000, "stop-ms")
}

type cost struct{ goroutines, heap, stack, rss int }

func hostCost(b *testing.B) cost {
	b.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c := cost{goroutines: runtime.NumGoroutine(), heap: int(m.HeapAlloc), stack: int(m.StackInuse)}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return c // not Linux
	}
	for l := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(l, "VmRSS: %d kB", &c.rss); err == nil {
			break
		}
	}
	return c
}
