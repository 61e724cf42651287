package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

var errEnded = errors.New("the plugin's process has ended")

// refusedError: somebody answers on the socket, but not the plugin.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// maxMessage bounds a gRPC message in bytes. A larger one fails its call with
// ResourceExhausted, before it is read into memory.
const maxMessage = pluginv1.MaxMessage

// Sizes in bytes of what gRPC keeps for a connection. The stream's window
// lets a message of 1 MiB and its envelope through without waiting for an
// update; being fixed, it also spares the pings that gRPC would measure the
// bandwidth with. The connection's bounds what a plugin can make the host hold
// unread.
const (
	readBuffer   = 16 << 10
	writeBuffer  = 16 << 10
	streamWindow = 2 << 20
	connWindow   = 4 << 20
)

// connectWait bounds connecting: the process has said that it listens.
const connectWait = 5 * time.Second

func dialOptions(d *dialer) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(d.dial),
		// A call after a quiet night must not find a connection to be made.
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage),
		),
		grpc.WithReadBufferSize(readBuffer),
		grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithDisableServiceConfig(),
		// The host never repeats a call by itself.
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: connectWait,
		}),
	}
}

// dialer connects to the one address that was checked, and can take the
// connection away.
type dialer struct {
	check func(*net.UnixConn) error

	mu      sync.Mutex
	addr    string
	conn    *trackedConn
	err     error // of the last attempt
	closing error // no more attempts
}

func (d *dialer) open(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr = addr
}

// failure is the last attempt's error, nil if it succeeded.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil && d.conn == nil {
		return errors.New("the plugin's socket was not reached")
	}
	return d.err
}

func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	d.mu.Lock()
	addr, closing := d.addr, d.closing
	d.mu.Unlock()
	if closing != nil {
		return nil, closing
	}
	c, err := d.connect(ctx, addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	if err != nil {
		return nil, err
	}
	if d.closing != nil {
		discard(c)
		return nil, d.closing
	}
	d.conn = c
	return c, nil
}

func (d *dialer) connect(ctx context.Context, addr string) (*trackedConn, error) {
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "unix", addr)
	if err != nil {
		return nil, fmt.Errorf("the plugin's socket cannot be reached: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		discard(c)
		return nil, fmt.Errorf("connection to a unix socket is a %T", c)
	}
	if err := d.check(uc); err != nil {
		discard(c)
		return nil, &refusedError{err}
	}
	return &trackedConn{UnixConn: uc, closed: make(chan struct{})}, nil
}

// shut closes the connection: calls in flight fail with Unavailable, and
// there is no other one.
func (d *dialer) shut(why error) {
	if c := d.forbid(why); c != nil {
		discard(c)
	}
}

// shutAfter is shut, but lets the connection end by itself for a moment, so
// that what the peer wrote last can still be read.
func (d *dialer) shutAfter(wait time.Duration, why error) {
	c := d.forbid(why)
	if c == nil {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-c.closed:
	case <-t.C:
		discard(c)
	}
}

func (d *dialer) forbid(why error) *trackedConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing == nil {
		d.closing = why
	}
	return d.conn
}

// trackedConn tells when it was closed.
type trackedConn struct {
	*net.UnixConn
	once   sync.Once
	closed chan struct{}
}

func (c *trackedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.UnixConn.Close()
}

// checkUser refuses a peer of another user.
func checkUser(c *net.UnixConn) error {
	uid, _, err := peerOf(c)
	if err != nil {
		return fmt.Errorf("who listens on the plugin's socket cannot be told: %w", err)
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the plugin's socket is served by a process of uid %d, not of %d", uid, os.Geteuid())
	}
	return nil
}

// checkPeer refuses a peer that is neither the leader of the group nor one of
// its processes.
func checkPeer(c *net.UnixConn, leader int) error {
	if err := checkUser(c); err != nil {
		return err
	}
	_, pid, err := peerOf(c)
	if err != nil {
		return fmt.Errorf("who listens on the plugin's socket cannot be told: %w", err)
	}
	if pid == leader {
		return nil
	}
	if group, err := groupOf(pid); err != nil || group != leader {
		return fmt.Errorf("the plugin's socket is served by process %d, which is neither the plugin (%d) nor in its process group", pid, leader)
	}
	return nil
}

// why is the reason for which there is no more connection, nil if there is.
func (d *dialer) why() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closing
}
