package sdk_test

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
	"github.com/vant-run/vant/sdk"
)

// BenchmarkInvoke is one unary call through the socket, payload both ways.
func BenchmarkInvoke(b *testing.B) {
	p := startProcess(b)
	if _, err := p.client.Configure(b.Context(), &pluginv1.ConfigureRequest{Config: []byte("{}")}); err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		params := []byte(`"` + strings.Repeat("x", size-2) + `"`)
		req := &pluginv1.InvokeRequest{Method: "greeter.echo", Params: params, Context: &pluginv1.CallContext{CallId: 1}}
		for _, clients := range []int{1, 8} {
			b.Run(strconv.Itoa(size)+"B/clients="+strconv.Itoa(clients), func(b *testing.B) {
				b.SetBytes(int64(2 * size))
				b.SetParallelism(clients)
				one := func() {
					if _, err := p.client.Invoke(context.Background(), req); err != nil {
						b.Error(err)
					}
				}
				if clients == 1 {
					for b.Loop() {
						one()
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						one()
					}
				})
			})
		}
	}
}

// BenchmarkServer is what the SDK adds to a call, without a network: raw
// passes JSON through, typed decodes and encodes it.
func BenchmarkServer(b *testing.B) {
	type params struct {
		Name string `json:"name"`
		N    int    `json:"n" default:"3" clamp:"1,9"`
	}
	p := sdk.New("t", "1", "")
	sdk.HandleRaw(p, "t.raw", "", echo)
	sdk.Handle(p, "t.typed", "", func(_ context.Context, in params) (params, error) { return in, nil })
	s := service(p)
	for _, name := range []string{"raw", "typed"} {
		b.Run(name, func(b *testing.B) {
			req := &pluginv1.InvokeRequest{Method: "t." + name, Params: []byte(`{"name":"you","n":4}`)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Invoke(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStart is from fork to handshake.
func BenchmarkStart(b *testing.B) {
	dir := shortDir(b)
	for b.Loop() {
		cmd := command(b, "plugin", "PLUGIN_UNIX_SOCKET_DIR="+dir)
		start(b, cmd)
		b.StopTimer()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		b.StartTimer()
	}
}

func start(b *testing.B, cmd *exec.Cmd) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
}
