package launch

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// lastWords is how long a connection may outlive its process. Calls in flight
// fail at its end.
const lastWords = 50 * time.Millisecond

// process is one running plugin.
type process struct {
	s      *session
	child  child
	client pluginv1.PluginClient
	health healthpb.HealthClient
	exited chan struct{}
	exit   supervise.Exit // written before exited is closed
}

var _ supervise.Process = (*process)(nil)

func newProcess(s *session) *process {
	p := &process{
		s: s, child: s.peer.running(),
		client: pluginv1.NewPluginClient(s.conn),
		health: healthpb.NewHealthClient(s.conn),
		exited: make(chan struct{}),
	}
	go p.watch()
	return p
}

// watch releases what the process held as soon as it has ended, whether or
// not somebody asked for its end.
func (p *process) watch() {
	<-p.child.Done()
	e := p.child.Exit()
	p.exit = supervise.Exit{Code: e.Code, Signal: e.Signal, Time: e.Time, Reason: p.s.peer.reason()}
	close(p.exited)
	p.s.peer.sweep()
	p.s.dialer.shutAfter(lastWords, errEnded)
	p.s.release()
}

func (p *process) Pid() int { return p.child.Pid() }

// Resources asks the system.
func (p *process) Resources() supervise.Resources { return p.s.peer.resources() }

func (p *process) Exited() <-chan struct{} { return p.exited }

func (p *process) Exit() supervise.Exit {
	select {
	case <-p.exited:
		return p.exit
	default:
		return supervise.Exit{}
	}
}

// Stop: the process takes at most grace and a second and a half to end or to
// be given up, the release half a second.
func (p *process) Stop(grace time.Duration) {
	select {
	case <-p.child.Done():
	default:
		p.s.peer.foresee()
	}
	if !p.child.Stop(grace) {
		p.s.log.Error("a killed plugin does not end", "plugin", p.s.name, "pid", p.child.Pid())
		p.s.abandon()
		return
	}
	<-p.s.released
}

func (p *process) Health(ctx context.Context) error {
	r, err := p.health.Check(ctx, &healthpb.HealthCheckRequest{Service: pluginv1.HealthService})
	if err != nil {
		return p.failed(ctx, err)
	}
	if r.Status != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("health service answers %s for %q", r.Status, pluginv1.HealthService)
	}
	return nil
}

func (p *process) Describe(ctx context.Context) (*pluginv1.DescribeResponse, error) {
	r, err := p.client.Describe(ctx, &pluginv1.DescribeRequest{HostVersion: p.s.hostVersion})
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return r, nil
}

func (p *process) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) error {
	if _, err := p.client.Configure(ctx, req); err != nil {
		return p.failed(ctx, err)
	}
	return nil
}

func (p *process) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	r, err := p.client.Invoke(ctx, req)
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return r, nil
}

func (p *process) Drain(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := p.client.Drain(ctx, &pluginv1.DrainRequest{TimeoutMs: uint32(min(timeout.Milliseconds(), 1<<31))})
	if err == nil || status.Code(err) == codes.Unimplemented {
		return nil
	}
	return p.failed(ctx, err)
}

// failed gives the end of the process as the reason for what failed through
// it: gRPC would say that it is closing, or name a reset.
func (p *process) failed(ctx context.Context, err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled:
	default:
		return err
	}
	if ctx.Err() != nil || p.s.dialer.why() == nil {
		return err
	}
	select {
	case <-p.exited:
		return status.Errorf(codes.Unavailable, "the plugin's process has ended (%s)", p.exit)
	default:
		return status.Error(codes.Unavailable, errEnded.Error())
	}
}
