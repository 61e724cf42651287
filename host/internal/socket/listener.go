package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// DefaultCheckEvery is how often a listener looks whether its path still leads
// to it.
const DefaultCheckEvery = time.Minute

// Options say where to listen.
type Options struct {
	// Path of the socket file. Ignored when systemd passes a socket.
	Path string
	// Log gets what happens to the socket later; nil for nothing.
	Log hclog.Logger
	// CheckEvery is the time between looks at the own path; zero means
	// DefaultCheckEvery.
	CheckEvery time.Duration
}

// Peer is the process at the other end of a connection, as the kernel says it
// was when it connected.
type Peer struct {
	UID int
	PID int
}

// Listener is a listening socket with its file and its lock. Accept belongs to
// one goroutine at a time; the other methods may be called concurrently.
type Listener struct {
	path      string
	log       hclog.Logger
	activated bool // the socket is systemd's: never unlinked, never bound again

	stopWatch chan struct{} // closed by Retire
	watchDone chan struct{} // closed when the watch has ended
	retire    sync.Once
	close     sync.Once
	closeErr  error

	mu      sync.Mutex // guards the fields that follow
	lock    *lock      // nil only with activation
	ends    []*endpoint
	retired bool
}

// endpoint is one listening descriptor. A listener has one, and while it
// changes to another also those before it.
type endpoint struct {
	file *os.File
	raw  syscall.RawConn
	id   inode // of the socket file

	// Where take leaves what it got; Accept's goroutine owns them.
	take func(fd uintptr) bool
	conn int
	err  error
}

// Listen opens the socket: the one that systemd passes, else one of its own at
// o.Path, of mode 0600 from its first moment. ctx bounds the start only. The
// error is a *HeldError when another host serves the path.
func Listen(ctx context.Context, o Options) (*Listener, error) {
	l := &Listener{
		path:      o.Path,
		log:       o.Log,
		stopWatch: make(chan struct{}),
		watchDone: make(chan struct{}),
	}
	if l.log == nil {
		l.log = hclog.NewNullLogger()
	}
	passed, err := inherited()
	if err != nil {
		return nil, err
	}
	if passed != nil {
		err = l.adopt(ctx, passed)
	} else {
		err = l.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	if l.activated {
		close(l.watchDone)
		return l, nil
	}
	every := o.CheckEvery
	if every <= 0 {
		every = DefaultCheckEvery
	}
	go l.watch(every)
	return l, nil
}

// create makes the listener's own socket.
func (l *Listener) create(ctx context.Context) (err error) {
	if l.path, err = checkPath(l.path); err != nil {
		return err
	}
	if err = checkParent(l.path); err != nil {
		return err
	}
	if l.lock, err = takeLock(ctx, l.path); err != nil {
		return err
	}
	e, err := l.bind()
	if err != nil {
		return errors.Join(err, l.lock.release())
	}
	l.ends = []*endpoint{e}
	return nil
}

// bind makes a socket at the listener's path. The lock is held.
func (l *Listener) bind() (*endpoint, error) {
	if err := makeRoom(l.path); err != nil {
		return nil, err
	}
	fd, id, err := bind(l.path)
	if err != nil {
		return nil, err
	}
	e, err := newEndpoint(fd, l.path, id)
	if err != nil {
		return nil, errors.Join(err, id.removeAt(l.path))
	}
	return e, nil
}

// newEndpoint takes fd over, also when it fails.
func newEndpoint(fd int, path string, id inode) (*endpoint, error) {
	// A file and not a net.Listener, whose descriptor can only be accepted
	// from at the price of a net.Conn for each connection.
	e := &endpoint{file: os.NewFile(uintptr(fd), path), id: id}
	var err error
	if e.raw, err = e.file.SyscallConn(); err == nil {
		err = e.file.SetReadDeadline(time.Time{}) // fails when it cannot be polled
	}
	if err != nil {
		e.file.Close()
		return nil, err
	}
	e.take = func(fd uintptr) bool {
		e.conn, e.err = accept(int(fd))
		return e.err != unix.EAGAIN //nolint:errorlint // accept gives the bare errno
	}
	return e, nil
}

// wake makes an Accept that is blocked at e look again. One that has given e
// up, which closes it, has looked already.
func (l *Listener) wake(e *endpoint) error {
	err := e.file.SetReadDeadline(time.Unix(1, 0))
	if err != nil && !l.holds(e) {
		return nil
	}
	return err
}

// Path is the absolute path of the socket file.
func (l *Listener) Path() string { return l.path }

// Activated says whether systemd owns the socket.
func (l *Listener) Activated() bool { return l.activated }

// Accept waits for a connection and gives its descriptor, which is
// non-blocking and closed on exec and belongs to the caller. After Retire it
// gives those that had connected before, then net.ErrClosed. Other errors are
// those of accept(2): running out of descriptors passes.
func (l *Listener) Accept() (fd int, err error) {
	for {
		e, last := l.front()
		if e == nil {
			return -1, net.ErrClosed
		}
		if last {
			err = e.raw.Read(e.take)
		} else {
			// Its path is gone: only those who connected before are left.
			err = e.raw.Control(func(fd uintptr) { e.take(fd) })
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // by wake
			continue
		case err != nil && !l.holds(e): // closed meanwhile
			return -1, net.ErrClosed
		case err != nil:
			return -1, err
		case e.err == nil:
			return e.conn, nil
		case !last && e.err == unix.EAGAIN: //nolint:errorlint // accept gives the bare errno
			l.drop(e)
			continue
		}
		return -1, os.NewSyscallError("accept", e.err)
	}
}

// front gives the endpoint to accept from and whether to wait for connections
// at it.
func (l *Listener) front() (e *endpoint, wait bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ends) == 0 {
		return nil, false
	}
	return l.ends[0], len(l.ends) == 1 && !l.retired
}

// holds says whether e is still open.
func (l *Listener) holds(e *endpoint) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.ends, e)
}

func (l *Listener) drop(e *endpoint) {
	l.mu.Lock()
	if len(l.ends) > 0 && l.ends[0] == e {
		l.ends = l.ends[1:]
	}
	l.mu.Unlock()
	e.file.Close()
}

// Retire lets no new client in: the socket file is removed if it is ours, and
// Accept ends once it has given those who already connected. Connections that
// wait at an activated socket are left to the host that systemd starts next.
// The lock is held on.
func (l *Listener) Retire() {
	l.retire.Do(func() {
		close(l.stopWatch)
		<-l.watchDone
		l.mu.Lock()
		e := l.ends[len(l.ends)-1]
		l.mu.Unlock()
		if !l.activated {
			if err := e.id.removeAt(l.path); err != nil {
				l.log.Error("cannot remove the socket file; remove it by hand", "path", l.path, "error", err)
			}
		}
		var unwanted []*endpoint
		l.mu.Lock()
		l.retired = true
		if l.activated {
			unwanted, l.ends = l.ends, nil
		}
		l.mu.Unlock()
		for _, e := range unwanted {
			e.file.Close()
		}
		if err := l.wake(e); err != nil {
			l.log.Error("cannot wake the accepting side; closing the socket", "error", err)
			e.file.Close()
		}
	})
}

// Close retires the listener, closes its descriptors and gives up the lock.
// Connections that nobody accepted are lost.
func (l *Listener) Close() error {
	l.close.Do(func() {
		l.Retire()
		l.mu.Lock()
		ends, lock := l.ends, l.lock
		l.ends, l.lock = nil, nil
		l.mu.Unlock()
		for _, e := range ends {
			e.file.Close()
		}
		if lock != nil {
			l.closeErr = lock.release()
		}
	})
	return l.closeErr
}
