package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// lingerBuffer is what is thrown away at once: about what a socket queues.
const lingerBuffer = 64 << 10

// linger ends the replies' direction and throws away what the client still
// sends until it ends too, limit bytes have come or the time is over. The
// caller then closes.
func (c *conn) linger(limit int, patience time.Duration) {
	if unix.Shutdown(c.fd, unix.SHUT_WR) != nil {
		return // the client has gone
	}
	if len(c.in) != lingerBuffer {
		c.in = make([]byte, lingerBuffer) // a line that was too long goes at once
	}
	var end time.Time
	due := func() time.Time {
		if end.IsZero() {
			end = time.Now().Add(patience)
		}
		return end
	}
	for left := limit; left > 0; {
		n, err := c.read(c.in[:min(len(c.in), left)], due)
		if err != nil {
			return
		}
		left -= n
	}
}

// refuse answers a connection for which there is no room. The first ones get
// time to send their request, since clients that cannot send often do not read
// either; with many at once the others do without.
func (s *Server) refuse(fd int) {
	c := s.open(fd)
	if !c.admit() {
		c.release()
		s.taskDone()
		return
	}
	// The queue of a new connection has room for the line.
	_, err := writeFD(fd, s.busy)
	if err != nil || s.refusals.Add(1) > s.bounds.refusals {
		if err == nil {
			s.refusals.Add(-1)
		}
		c.close()
		s.taskDone()
		return
	}
	go func() {
		c.linger(s.bounds.refuseBytes, s.bounds.refuseTime)
		c.close()
		s.refusals.Add(-1)
		s.taskDone()
	}()
}
