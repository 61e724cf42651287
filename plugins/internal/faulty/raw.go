package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// where is what the handshake says.
type where struct {
	version   int    // 0: the right one
	network   string // "": unix
	elsewhere bool   // a socket outside the host's folder
}

// raw is a plugin without package sdk, which would not let it lie.
type raw struct {
	pluginv1.UnimplementedPluginServer
	settings
	started              time.Time
	describe             func(context.Context, settings) (*pluginv1.DescribeResponse, error)
	noHealth, hangHealth bool
	hangDrain            bool
	link                 func(pluginv1.Plugin_LinkServer) error // nil: there is none
	events               func() uint64                          // what an answer says of Link; nil: nothing
}

// serveRaw serves until the process is ended from outside.
func serveRaw(s settings, r *raw, w where) {
	err := r.serve(w)
	fmt.Fprintln(os.Stderr, "faulty", s.mode, "ended:", err)
	os.Exit(1)
}

func (r *raw) serve(w where) error {
	if os.Getenv(pluginv1.MagicCookieKey) != pluginv1.MagicCookieValue {
		return errors.New("not started by a host")
	}
	r.started = time.Now()
	network, address := "unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), fmt.Sprintf("raw%d", os.Getpid()))
	if w.network != "" {
		network, address = w.network, "127.0.0.1:0"
	}
	if w.elsewhere {
		folder, err := os.MkdirTemp("", "liar")
		if err != nil {
			return err
		}
		address = filepath.Join(folder, "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	version := w.version
	if version == 0 {
		version = pluginv1.ProtocolVersion
	}
	if _, err := fmt.Printf("1|%d|%s|%s|grpc\n", version, network, l.Addr()); err != nil {
		return err
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(32<<20), grpc.MaxSendMsgSize(32<<20))
	pluginv1.RegisterPluginServer(g, r)
	if !r.noHealth {
		healthv1.RegisterHealthServer(g, &rawHealth{raw: r})
	}
	return g.Serve(l)
}

type rawHealth struct {
	healthv1.UnimplementedHealthServer
	raw *raw
}

// Check implements the health service.
func (h *rawHealth) Check(ctx context.Context, _ *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if h.raw.hangHealth && time.Since(h.raw.started) >= h.raw.after {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}, nil
}

// Describe implements the service.
func (r *raw) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	if r.describe != nil {
		return r.describe(ctx, r.settings)
	}
	return honest(r.settings), nil
}

// honest describes what serveRaw really serves.
func honest(s settings) *pluginv1.DescribeResponse {
	return &pluginv1.DescribeResponse{
		Name: s.name, Version: s.version, Summary: "misbehaves: " + s.mode, Exclusive: s.exclusive,
		Methods: []*pluginv1.Method{{Name: s.namespace + ".echo", Summary: "gives its parameters back"}},
	}
}

func hangDescribe(ctx context.Context, _ settings) (*pluginv1.DescribeResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func bigDescribe(_ context.Context, s settings) (*pluginv1.DescribeResponse, error) {
	d := honest(s)
	d.Summary = strings.Repeat("long ", 2<<20)
	return d, nil
}

func badNames(_ context.Context, s settings) (*pluginv1.DescribeResponse, error) {
	d := honest(s)
	for _, name := range []string{"Faulty.Echo", "echo", "faulty..echo", "faulty.echo\n", ""} {
		d.Methods = append(d.Methods, &pluginv1.Method{Name: name})
	}
	return d, nil
}

func claimsBuiltin(_ context.Context, s settings) (*pluginv1.DescribeResponse, error) {
	d := honest(s)
	d.Methods = append(d.Methods, &pluginv1.Method{Name: "status"})
	return d, nil
}

func wrongName(_ context.Context, s settings) (*pluginv1.DescribeResponse, error) {
	d := honest(s)
	d.Name = "somebody-else"
	return d, nil
}

func badSchema(_ context.Context, s settings) (*pluginv1.DescribeResponse, error) {
	d := honest(s)
	d.Methods[0].ParamsSchema = []byte(`{"type":17}`)
	return d, nil
}

// Configure implements the service.
func (r *raw) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return &pluginv1.ConfigureResponse{}, nil
}

// Invoke implements the service: every method is echo.
func (r *raw) Invoke(_ context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	out := &pluginv1.InvokeResponse{Result: req.GetParams()}
	if r.events != nil {
		out.LinkEvents = r.events()
	}
	return out, nil
}

// Link implements the service.
func (r *raw) Link(stream pluginv1.Plugin_LinkServer) error {
	if r.link == nil {
		return r.UnimplementedPluginServer.Link(stream)
	}
	return r.link(stream)
}

func hangLink(stream pluginv1.Plugin_LinkServer) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

func breakLink(pluginv1.Plugin_LinkServer) error {
	return status.Error(codes.Internal, "the link is broken")
}

// Drain implements the service.
func (r *raw) Drain(ctx context.Context, _ *pluginv1.DrainRequest) (*pluginv1.DrainResponse, error) {
	if r.hangDrain {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &pluginv1.DrainResponse{}, nil
}
