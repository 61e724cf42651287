package server

import (
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// firstBuffer holds most requests and replies.
	firstBuffer = 4 << 10
	// keptBuffer is the largest buffer that stays with a connection for the
	// next one; large requests are rare and must not hold memory for ever.
	keptBuffer = 64 << 10
)

// conn is one connection and what is needed to serve it. It is used again for
// others, so nothing of it may be held after release.
//
// It belongs to the goroutine that serves it, except where fields say so.
type conn struct {
	s   *Server
	fd  int
	pid int    // the client's process
	in  []byte // for the line
	out []byte // for the reply

	// With the poller, once something had to be waited for; nil before.
	file *os.File
	raw  syscall.RawConn

	accepted time.Time // set by the first wait
	readEnd  time.Time // the deadline that is set; s.mu guards changes
	hasty    bool      // guarded by s.mu: a shutdown may shorten the deadline

	watch watch
}

func newConn(s *Server) *conn {
	c := &conn{s: s}
	c.watch.init(c)
	return c
}

// open begins to use c for a descriptor, which c then owns.
func (s *Server) open(fd int) *conn {
	c := s.conns.Get().(*conn)
	c.fd = fd
	if c.in == nil {
		c.in = make([]byte, firstBuffer)
	}
	if c.out == nil {
		c.out = make([]byte, 0, firstBuffer)
	}
	return c
}

// close ends the connection so that the client is not reset: see the package
// comment.
func (c *conn) close() {
	// Errors here say that the client has gone, which is what is wanted.
	if unix.Shutdown(c.fd, unix.SHUT_RDWR) == nil {
		for n := 1; n > 0; {
			n, _ = readFD(c.fd, c.in)
		}
	}
	c.release()
}

// release closes the descriptor and gives c back.
func (c *conn) release() {
	if c.file != nil {
		c.s.mu.Lock()
		delete(c.s.waiting, c)
		c.s.mu.Unlock()
		c.file.Close()
		c.file, c.raw = nil, nil
	} else {
		closeFD(c.fd)
	}
	c.fd, c.pid = -1, 0
	c.accepted, c.readEnd, c.hasty = time.Time{}, time.Time{}, false
	large := cap(c.out) > largeBuffer
	if cap(c.in) > keptBuffer {
		c.in = nil
	}
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	if large {
		c.s.reclaim.released()
	}
	c.s.conns.Put(c)
}

// register gives the descriptor to the poller.
func (c *conn) register() error {
	if c.file != nil {
		return nil
	}
	file := os.NewFile(uintptr(c.fd), "client")
	raw, err := file.SyscallConn()
	if err == nil {
		err = file.SetDeadline(time.Time{}) // fails when it cannot be polled
	}
	c.file, c.raw = file, raw
	c.s.mu.Lock()
	c.s.waiting[c] = struct{}{}
	c.s.mu.Unlock()
	return err
}

// read is one read of at least one byte; it waits until the deadline that due
// gives, which is asked only when there is nothing to read yet.
func (c *conn) read(p []byte, due func() time.Time) (int, error) {
	n, err := readFD(c.fd, p)
	if err != unix.EAGAIN { //nolint:errorlint // readFD gives the bare errno
		return n, err
	}
	if err := c.register(); err != nil {
		return 0, err
	}
	if err := c.readBy(due()); err != nil {
		return 0, err
	}
	return transfer(c.raw.Read, readFD, p)
}

// readBy sets the deadline of reads, or the one of the shutdown if that is
// sooner.
func (c *conn) readBy(t time.Time) error {
	if t.Equal(c.readEnd) {
		return nil
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.readEnd, c.hasty = t, true
	if c.s.cutOff {
		return os.ErrDeadlineExceeded
	}
	if end := c.s.deadline; !end.IsZero() && end.Before(t) {
		t = end
	}
	return c.file.SetReadDeadline(t)
}

// hurry applies the shutdown's deadline to a wait; s.mu is held.
func (c *conn) hurry() error {
	if !c.hasty || !c.s.deadline.Before(c.readEnd) {
		return nil
	}
	return c.file.SetReadDeadline(c.s.deadline)
}

// cut ends all waits; s.mu is held.
func (c *conn) cut() error { return c.file.SetDeadline(time.Unix(1, 0)) }

func (s *Server) complain(err error) {
	if err != nil {
		s.log.Error("cannot set the deadline of a connection", "error", err)
	}
}

// write sends all of p. Each wait for the client has a bound, and so have all
// of them together.
func (c *conn) write(p []byte) error {
	var end time.Time
	for {
		n, err := writeFD(c.fd, p)
		if err == unix.EAGAIN { //nolint:errorlint // writeFD gives the bare errno
			if end.IsZero() {
				end = time.Now().Add(c.s.bounds.reply)
			}
			n, err = c.waitWrite(p, end)
		}
		if err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}

func (c *conn) waitWrite(p []byte, end time.Time) (int, error) {
	if err := c.register(); err != nil {
		return 0, err
	}
	t := time.Now().Add(c.s.bounds.stall)
	if end.Before(t) {
		t = end
	}
	if err := c.writeBy(t); err != nil {
		return 0, err
	}
	return transfer(c.raw.Write, writeFD, p)
}

// writeBy sets the deadline of writes, unless the shutdown has run out of
// patience.
func (c *conn) writeBy(t time.Time) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.cutOff {
		return os.ErrDeadlineExceeded
	}
	return c.file.SetWriteDeadline(t)
}

// transfer repeats step, which moves bytes of p and does not wait, until the
// poller's wait has ended or some were moved.
func transfer(wait func(func(fd uintptr) bool) error, step func(fd int, p []byte) (int, error), p []byte) (n int, err error) {
	waited := wait(func(fd uintptr) bool {
		n, err = step(int(fd), p)
		return err != unix.EAGAIN //nolint:errorlint // readFD and writeFD give the bare errno
	})
	if waited != nil {
		return 0, waited
	}
	return n, err
}

// readFD reads without waiting: io.EOF at the end, else the bare errno.
func readFD(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// writeFD writes without waiting: at least one byte or the bare errno.
func writeFD(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Write(fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.ErrShortWrite
		}
		return n, nil
	}
}

// closeFD closes a client's descriptor. An error leaves nothing to do: it is
// closed either way.
func closeFD(fd int) { _ = unix.Close(fd) }
