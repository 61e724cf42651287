package server

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/proto/envelope"
)

// Handler answers requests.
type Handler interface {
	// Serve appends the reply line, newline included, to dst and returns it.
	// Pid is the client's process; its user is always the host's. Line is what
	// it sent, without the newline. Line and dst belong to the handler until
	// it returns, and not afterwards. ctx is cancelled when the client goes
	// away, when the server gives up on a shutdown, and when Serve has
	// returned. Serve is called concurrently; when it panics the client gets
	// internal_error.
	Serve(ctx context.Context, pid int, line, dst []byte) []byte
}

// Options configure a Server.
type Options struct {
	Handler Handler      // required
	Log     hclog.Logger // nil for nothing
	// MaxConnections served at once; zero means envelope.MaxConnections.
	MaxConnections int
}

// bounds are the limits in time and bytes of what a client may do.
type bounds struct {
	firstByte time.Duration // from accept to the first byte
	request   time.Duration // from accept to the end of the line
	stall     time.Duration // a write without progress
	reply     time.Duration // a whole reply, however steadily it is read

	lingerTime  time.Duration // for throwing away what a client still sends
	lingerBytes int
	refuseTime  time.Duration // the same for one that is refused
	refuseBytes int
	refusals    int64 // refused ones that are given that time, at once

	watchAfter time.Duration // how long a call runs unwatched
	lastRead   time.Duration // for requests on their way at a shutdown
	lastReply  time.Duration // for replies of calls that a shutdown cancelled
	lastCut    time.Duration // for connections that it cut
}

func defaultBounds() bounds {
	return bounds{
		firstByte:   envelope.FirstByteTimeout,
		request:     envelope.RequestTimeout,
		stall:       envelope.WriteTimeout,
		reply:       5 * time.Minute,
		lingerTime:  5 * time.Second,
		lingerBytes: 64 << 20,
		refuseTime:  time.Second,
		refuseBytes: 2 * envelope.MaxRequestBytes,
		refusals:    64,
		watchAfter:  2 * time.Millisecond,
		lastRead:    250 * time.Millisecond,
		lastReply:   time.Second,
		lastCut:     100 * time.Millisecond,
	}
}

// Server serves the connections of listeners. Its methods may be called
// concurrently.
type Server struct {
	handler Handler
	log     hclog.Logger
	max     int64
	uid     int // whom to serve
	bounds  bounds

	busy, http []byte // reply lines that never change

	base   context.Context // of all calls
	cancel context.CancelFunc
	stop   chan struct{} // closed by Shutdown
	idle   chan struct{} // gets a value when tasks falls to zero

	connections atomic.Int64 // being served
	refusals    atomic.Int64 // being refused with patience
	tasks       atomic.Int64 // Serve calls, connections and refusals
	conns       sync.Pool    // of *conn
	reclaim     reclaimer

	mu        sync.Mutex // guards the fields that follow
	listeners map[*socket.Listener]struct{}
	waiting   map[*conn]struct{} // those with the poller
	deadline  time.Time          // for their reads; zero before Shutdown
	cutOff    bool               // none may wait any more
}

// New makes a server that listens to nothing yet.
func New(o Options) *Server {
	s := &Server{
		handler:   o.Handler,
		log:       o.Log,
		max:       int64(o.MaxConnections),
		uid:       os.Geteuid(),
		bounds:    defaultBounds(),
		http:      envelope.AppendError(nil, nil, envelope.ErrHTTP(), nil),
		stop:      make(chan struct{}),
		idle:      make(chan struct{}, 1),
		listeners: make(map[*socket.Listener]struct{}),
		waiting:   make(map[*conn]struct{}),
		reclaim:   reclaimer{after: 5 * time.Second, free: debug.FreeOSMemory},
	}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.max <= 0 {
		s.max = envelope.MaxConnections
	}
	s.busy = envelope.AppendError(nil, nil, busyError(s.max), nil)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.conns.New = func() any { return newConn(s) }
	return s
}

// Connections is how many connections are being served.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Serve accepts from l until Shutdown or until l is retired or closed, and
// gives nil then. Connections may outlive it.
func (s *Server) Serve(l *socket.Listener) error {
	s.mu.Lock()
	select {
	case <-s.stop:
		s.mu.Unlock()
		return nil
	default:
	}
	s.listeners[l] = struct{}{}
	s.tasks.Add(1)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		s.taskDone()
	}()

	var pause backoff
	for {
		fd, err := l.Accept()
		switch {
		case err == nil:
			if pause.end() {
				s.log.Info("accepting connections again")
			}
			s.start(fd)
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSOCK):
			return err
		default:
			wait, first := pause.next()
			if first {
				s.log.Error("cannot accept connections, trying again; check the limit of open files", "error", err)
			}
			if !s.sleep(wait) {
				return nil
			}
		}
	}
}

// start gives a new connection a goroutine.
func (s *Server) start(fd int) {
	s.tasks.Add(1)
	if s.connections.Add(1) > s.max {
		s.connections.Add(-1)
		s.refuse(fd)
		return
	}
	go s.serveConn(fd)
}

func (s *Server) taskDone() {
	if s.tasks.Add(-1) == 0 {
		s.signalIdle()
	}
}

func (s *Server) signalIdle() {
	select {
	case s.idle <- struct{}{}:
	default:
	}
}

// sleep waits; false says that a shutdown came first.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop:
		return false
	}
}
