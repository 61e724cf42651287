package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// child is a process, started or only attached to.
type child interface {
	Pid() int
	Done() <-chan struct{}
	Exit() proc.Exit
	Stop(grace time.Duration) bool
	Kill() bool
}

// peer is the other side of a session as go-plugin's runner.
type peer interface {
	// abort gives the start up and returns its failure.
	abort(cause error, after time.Duration) error
	// startFailure gives the reason why the start failed, err if unknown.
	startFailure(err error) error
	running() child
	// foresee notes what the process has started, before it is ended.
	foresee()
	// sweep ends what the process left; the channel is closed when that is done.
	sweep() <-chan struct{}
	// reason says why the host, or the system for its sake, ended the process;
	// "" when neither did.
	reason() string
	resources() supervise.Resources
	addr() string
	// finish lets go of everything but the socket folder.
	finish()
	// dir is the socket folder, empty if there is none.
	dir() string
}

// session is one go-plugin client with what belongs to it.
type session struct {
	name string
	log  hclog.Logger
	// hostVersion is told to the plugin.
	hostVersion string
	peer        peer
	sink        *sink
	dialer      *dialer
	client      *plugin.Client
	conn        *grpc.ClientConn // set by start
	stdio       [2]*lineWriter

	once     sync.Once
	released chan struct{}
}

// killWait bounds go-plugin's Kill, which has no bound of its own.
const killWait = 300 * time.Millisecond

func newSession(l *Launcher, name string, p peer, s *sink) *session {
	ses := &session{
		name: name, log: l.opts.Log, hostVersion: l.opts.HostVersion, peer: p, sink: s,
		dialer: &dialer{}, stdio: [2]*lineWriter{s.writer(), s.writer()},
		released: make(chan struct{}),
	}
	// A config is never used again: go-plugin writes into it.
	cfg := &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  pluginv1.ProtocolVersion,
			MagicCookieKey:   pluginv1.MagicCookieKey,
			MagicCookieValue: pluginv1.MagicCookieValue,
		},
		Plugins:          plugin.PluginSet{dispensed: &binding{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		// Off, not a null logger: only the level keeps it from parsing.
		Logger:      hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard}),
		SkipHostEnv: true,
		SyncStdout:  ses.stdio[0],
		SyncStderr:  ses.stdio[1],
		// The smallest: there is nothing to read.
		PluginLogBufferSize: 16,
		GRPCDialOptions:     dialOptions(ses.dialer),
	}
	switch p := p.(type) {
	case *procRunner:
		cfg.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: l.opts.RuntimeDir}
		// It must not fail: go-plugin would forget the folder that it has made.
		cfg.RunnerFunc = func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			p.env, p.socketDir = cmd.Env, dir
			return p, nil
		}
		ses.dialer.check = func(c *net.UnixConn) error { return checkPeer(c, p.running().Pid()) }
	case *attachedRunner:
		cfg.Reattach = p.config()
		ses.dialer.check = checkUser
	}
	ses.client = plugin.NewClient(cfg)
	return ses
}

// start runs the handshake and connects. Its failure is a *StartError; then
// the caller must release the session.
func (s *session) start() error {
	if _, err := s.client.Start(); err != nil {
		return s.peer.startFailure(err)
	}
	s.dialer.open(s.peer.addr())
	proto, err := s.client.Client()
	if err != nil {
		return s.peer.startFailure(err)
	}
	c, ok := proto.(*plugin.GRPCClient)
	if !ok {
		return s.peer.startFailure(fmt.Errorf("go-plugin made a client of type %T", proto))
	}
	s.conn = c.Conn
	// Handed the broker, the binding closes it: nobody may open connections
	// past the one that was checked.
	if _, err := c.Dispense(dispensed); err != nil {
		return s.peer.startFailure(err)
	}
	// go-plugin swallows a failure to connect.
	ready := connected(s.conn)
	if err := s.dialer.failure(); err != nil {
		var refused *refusedError
		return &supervise.StartError{Step: stepHandshake, Permanent: errors.As(err, &refused), Err: err}
	}
	if !ready {
		return s.peer.startFailure(errors.New("the plugin's socket did not answer as a gRPC server does"))
	}
	return nil
}

// connected says whether the first attempt to connect succeeded. It was made
// already; only the state may lag behind a little.
func connected(c *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(context.Background(), connectWait)
	defer cancel()
	for {
		s := c.GetState()
		switch s {
		case connectivity.Ready:
			return true
		case connectivity.TransientFailure, connectivity.Shutdown:
			return false
		}
		if !c.WaitForStateChange(ctx, s) {
			return false
		}
	}
}

// release lets go of everything that the session holds in the host, within
// half a second, and ends the process if it still runs. It may be called
// again and waits then for the first call.
func (s *session) release() {
	s.once.Do(func() {
		defer close(s.released)
		if c := s.peer.running(); c != nil {
			select {
			case <-c.Done():
			default:
				s.peer.foresee()
				c.Kill()
			}
		}
		swept := s.peer.sweep()
		deadline := time.NewTimer(sweepWait)
		defer deadline.Stop()
		s.dialer.shut(errEnded)
		if s.conn != nil {
			// Before go-plugin's Kill, which would call the plugin's Shutdown on
			// it, without a deadline.
			_ = s.conn.Close()
		}
		for _, w := range s.stdio {
			w.Flush()
		}
		s.peer.finish()
		done := make(chan struct{})
		go func() {
			s.client.Kill()
			close(done)
		}()
		t := time.NewTimer(killWait)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			s.log.Warn("go-plugin does not let go of a plugin", "plugin", s.name)
		}
		if dir := s.peer.dir(); dir != "" {
			if err := os.RemoveAll(dir); err != nil {
				s.log.Warn("a plugin's socket folder cannot be removed", "plugin", s.name, "error", err)
			}
		}
		select {
		case <-swept:
		case <-deadline.C:
			s.log.Warn("processes that a plugin left take long to end", "plugin", s.name)
		}
	})
}

// dispensed is the name under which go-plugin hands out the binding.
const dispensed = "vant"

// binding is what go-plugin wants to dispense; the connection is used
// directly.
type binding struct{ plugin.NetRPCUnsupportedPlugin }

func (*binding) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.ErrUnsupported }

func (*binding) GRPCClient(_ context.Context, b *plugin.GRPCBroker, _ *grpc.ClientConn) (any, error) {
	return nil, b.Close()
}

// abandon lets go of a process that cannot be ended, without waiting for it.
func (s *session) abandon() {
	s.dialer.shut(errEnded)
	go s.release()
}
