package launch

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// serveBare serves what the contract asks for and nothing of go-plugin's own,
// as a plugin in another language does.
func serveBare(socket string) {
	l, err := net.Listen("unix", socket)
	must(err)
	s := grpc.NewServer(serverOptions()...)
	h := health.NewServer()
	h.SetServingStatus(pluginv1.HealthService, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(s, h)
	pluginv1.RegisterPluginServer(s, &pluginServer{})
	greet(socket)
	must(s.Serve(l))
}

func TestAPluginWithoutGoPluginsServicesRuns(t *testing.T) {
	defer goleak.VerifyNone(t, forkThread)
	b := newBench(t)
	p, err := b.launch(spec("bare"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.Health(ctx); err != nil {
		t.Error(err)
	}
	if got := string(call(t, p, "echo", "1").Result); got != "1" {
		t.Errorf("echo = %s", got)
	}
	if err := p.Link(ctx, handler{}); err != nil {
		t.Errorf("Link = %v", err)
	}
	began := time.Now()
	p.Stop(time.Minute)
	if d := time.Since(began); d > soon {
		t.Errorf("Stop took %v", d)
	}
	if e := exits(t, p, 0); e.Signal != "terminated" {
		t.Errorf("exit = %v", e)
	}
	b.noFiles()
}

func TestThePluginsTemporaryFolderDoesNotMatter(t *testing.T) {
	b := newBench(t)
	for name, env := range map[string][]string{
		"unset": nil, "missing": {"TMPDIR=/none/such"}, "read-only": {"TMPDIR=/proc"}, "long": {"TMPDIR=/" + strings.Repeat("x", 120)},
	} {
		p, err := b.launch(spec("good", env...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		call(t, p, "echo", "1")
		p.Stop(time.Second)
	}
}

func TestTheWorkingFolderIsThePluginsOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Log("working folders are read from /proc: nothing to see here")
		return
	}
	b := newBench(t)
	state := t.TempDir()
	for _, tc := range []struct{ given, want string }{{state, state}, {"", "/"}} {
		s := spec("good")
		s.StateDir = tc.given
		p, err := b.launch(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(p.Pid()), "cwd"))
		if err != nil || got != tc.want {
			t.Errorf("it works in %s, want %s (%v)", got, tc.want, err)
		}
		p.Stop(time.Second)
	}
}
