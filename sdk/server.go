package sdk

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
	"github.com/vant-run/vant/sdk/internal/inprocess"
)

// server is a plugin being served: the generated service in front of the
// author's functions. One server serves one plugin process's life.
type server struct {
	pluginv1.UnimplementedPluginServer
	plugin  *Plugin
	methods map[string]*method
	log     hclog.Logger
	link    *link
	dirs    atomic.Pointer[Dirs]
	calls   *gate
	drops   drops

	// life is the context of background work; end closes it.
	life context.Context
	end  context.CancelFunc

	// again lets Configure be called more than once: hosts come and go while a
	// plugin is debugged.
	again bool

	configured atomic.Bool // Configure has begun
	started    atomic.Bool // and has succeeded
	stopped    onceDone
}

func newServer(p *Plugin, log hclog.Logger) *server {
	s := &server{
		plugin:  p,
		methods: make(map[string]*method, len(p.methods)),
		log:     log,
		link:    newLink(),
		calls:   newGate(),
	}
	for _, m := range p.methods {
		s.methods[m.name] = m
	}
	s.dirs.Store(&Dirs{})
	s.stopped.done = make(chan struct{})
	s.life, s.end = context.WithCancel(context.WithValue(context.Background(), scopeKey{}, &scope{server: s}))
	return s
}

// InProcess gives the plugin's service to package plugintest, and what ends
// the contexts of its background work.
func (p *Plugin) InProcess(_ inprocess.Key, log hclog.Logger) (service pluginv1.PluginServer, end func()) {
	s := newServer(p, log)
	return s, s.end
}

// Describe implements the service.
func (s *server) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return s.plugin.describe(), nil
}

// Configure implements the service.
func (s *server) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	first := s.configured.CompareAndSwap(false, true)
	if !first && !s.again {
		return nil, status.Error(codes.FailedPrecondition, "the plugin is configured already")
	}
	s.dirs.Store(&Dirs{State: req.GetStateDir(), Cache: req.GetCacheDir(), Data: req.GetDataDir()})
	if level := hclog.LevelFromString(req.GetLogLevel()); level != hclog.NoLevel {
		s.log.SetLevel(level)
	}
	if s.plugin.configure != nil {
		config := req.GetConfig()
		if len(config) == 0 {
			config = []byte("{}")
		}
		if err := s.guard("config", func() error { return s.plugin.configure(s.life, config) }); err != nil {
			return nil, status.Error(codes.InvalidArgument, clip(err.Error()))
		}
	}
	for _, hook := range s.plugin.start {
		if !first {
			break // what they began runs
		}
		if err := s.guard("start", func() error { return hook(s.life) }); err != nil {
			return nil, status.Error(codes.FailedPrecondition, clip(err.Error()))
		}
	}
	s.started.Store(true)
	return &pluginv1.ConfigureResponse{}, nil
}

// guard runs a hook; its panic is an error.
func (s *server) guard(what string, hook func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic in a hook", "hook", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic in the %s hook, see the plugin's log", what)
		}
	}()
	return hook()
}

// Invoke implements the service.
func (s *server) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	m := s.methods[req.GetMethod()]
	if m == nil {
		return nil, status.Errorf(codes.Unimplemented, "plugin %s has no such method", s.plugin.name)
	}
	outer := ctx
	ctx, id, ok := s.calls.enter(ctx)
	if !ok {
		return nil, s.stopping()
	}
	defer s.calls.leave(id)
	c := &call{method: m, info: req.GetContext()}
	out := &pluginv1.InvokeResponse{}
	ctx = context.WithValue(ctx, scopeKey{}, &scope{server: s, call: c})
	out.Result, out.Error = s.run(ctx, m, req.GetParams())
	var dropped int
	out.Events, out.Theme, dropped = c.end()
	out.LinkEvents = s.link.events()
	if dropped > 0 {
		Logger(ctx).Error("events dropped: a call has at most 2048, and 4 MiB of them", "dropped", dropped)
	}
	if out.Error != nil && ctx.Err() != nil && outer.Err() == nil {
		return nil, s.stopping() // it failed because the drain cancelled it
	}
	return out, nil
}

// stopping is the status by which the host sees that a call must go to the
// next process.
func (s *server) stopping() error {
	return status.Errorf(codes.Unavailable, "plugin %s is stopping", s.plugin.name)
}

// run runs the author's function; whatever it does stays within this call.
func (s *server) run(ctx context.Context, m *method, params []byte) (result []byte, failure *pluginv1.Error) {
	defer func() {
		if r := recover(); r != nil {
			Logger(ctx).Error("panic in a method", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			result, failure = nil, internal("the method panicked, see the plugin's log")
		}
	}()
	result, err := m.run(ctx, params)
	if err != nil {
		failure, text := s.plugin.wireError(ctx, err)
		if text != "" {
			Logger(ctx).Error("method failed", "error", text)
		}
		return nil, failure
	}
	if result == nil {
		result = []byte("null")
	}
	return result, nil
}

// Link implements the service.
func (s *server) Link(stream pluginv1.Plugin_LinkServer) error {
	return s.link.serve(stream, s.life.Done())
}

// dropped takes note of an event that cannot be published.
func (s *server) dropped(reason, typ string, args ...any) {
	s.drops.add(s.log, reason, typ, args...)
}
