package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/proto/envelope"
)

// serveConn lives as long as a connection.
func (s *Server) serveConn(fd int) {
	c := s.open(fd)
	c.serve()
	s.connections.Add(-1)
	s.taskDone()
}

func (c *conn) serve() {
	if !c.admit() {
		c.release()
		return
	}
	line, more, fault := c.readLine()
	switch fault {
	case faultNone:
	case faultGone:
		c.close()
		return
	default:
		if c.write(c.faultReply(fault, line)) == nil {
			c.linger(c.s.bounds.lingerBytes, c.s.bounds.lingerTime)
		}
		c.close()
		return
	}
	reply, ok := c.call(line)
	if cap(reply) > cap(c.out) {
		c.out = reply[:0]
	}
	if ok && c.write(reply) == nil && more {
		c.linger(c.s.bounds.lingerBytes, c.s.bounds.lingerTime)
	}
	c.close()
}

// admit says whether the client may be served.
func (c *conn) admit() bool {
	peer, err := socket.PeerOf(c.fd)
	if err != nil {
		c.s.log.Error("cannot learn who a client is; closing its connection", "error", err)
		return false
	}
	if peer.UID != c.s.uid {
		c.s.log.Warn("refused a client of another user", "uid", peer.UID, "pid", peer.PID)
		return false
	}
	c.pid = peer.PID
	return true
}

// fault is why there is no line to handle.
type fault int

const (
	faultNone     fault = iota
	faultGone           // the client left, said nothing or took too long
	faultTooLarge       // no newline within the limit
	faultHTTP           // another protocol
)

// readLine gives the request without its newline. More says that the client
// sent something after it, or may have.
func (c *conn) readLine() (line []byte, more bool, _ fault) {
	n := 0
	due := func() time.Time {
		if c.accepted.IsZero() {
			c.accepted = time.Now()
		}
		if n == 0 {
			return c.accepted.Add(c.s.bounds.firstByte)
		}
		return c.accepted.Add(c.s.bounds.request)
	}
	for {
		got, err := c.read(c.in[n:], due)
		if errors.Is(err, io.EOF) && n > 0 {
			return c.in[:n], false, faultNone
		}
		if err != nil {
			return nil, false, faultGone
		}
		chunk := c.in[n : n+got]
		n += got
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			end := n - got + i
			if end > envelope.MaxRequestBytes {
				return c.in[:envelope.MaxRequestBytes], true, faultTooLarge
			}
			line, more = c.in[:end], end+1 < n || n == len(c.in)
			if isHTTP(line) {
				return nil, more, faultHTTP
			}
			return line, more, faultNone
		}
		if isHTTP(c.in[:n]) {
			return nil, true, faultHTTP
		}
		if n > envelope.MaxRequestBytes {
			return c.in[:envelope.MaxRequestBytes], true, faultTooLarge
		}
		if n == len(c.in) {
			// One byte beyond the limit tells a line that is too long.
			grown := make([]byte, min(4*n, envelope.MaxRequestBytes+1))
			copy(grown, c.in)
			c.in = grown
		}
	}
}

func isHTTP(line []byte) bool {
	return len(line) > 0 && line[0] != '{' && envelope.LooksLikeHTTP(line)
}

// faultReply is the line that answers a fault. What is there of a line that is
// too long may tell its id.
func (c *conn) faultReply(f fault, line []byte) []byte {
	if f == faultHTTP {
		return c.s.http
	}
	return envelope.AppendError(c.out[:0], requestID(line), envelope.ErrTooLarge(), nil)
}

// call runs the handler, under watch if it takes long. ok says that there is
// still a client to answer.
func (c *conn) call(line []byte) (reply []byte, ok bool) {
	ctx, cancel := context.WithCancel(c.s.base)
	defer cancel()
	c.watch.begin(cancel)
	reply = c.handle(ctx, line)
	return reply, c.watch.end()
}

// handle calls the handler and turns what it must not do into internal_error.
func (c *conn) handle(ctx context.Context, line []byte) (reply []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("a request made the host panic", "panic", panicText(p), "stack", string(debug.Stack()))
			reply = c.internal(line)
		}
	}()
	reply = c.s.handler.Serve(ctx, c.pid, line, c.out[:0])
	if n := len(reply); n == 0 || reply[n-1] != '\n' {
		c.s.log.Error("the handler gave no reply line", "bytes", n)
		reply = c.internal(line)
	}
	return reply
}

func (c *conn) internal(line []byte) []byte {
	return envelope.AppendError(nil, requestID(line), envelope.ErrInternal("the host failed at this request; its log says more"), nil)
}

// panicText says what a panic was about. Values other than the runtime's own
// may hold what a client sent, so only their type is given.
func panicText(p any) string {
	var fault runtime.Error
	if err, ok := p.(error); ok && errors.As(err, &fault) {
		return fault.Error()
	}
	return fmt.Sprintf("%T", p)
}

// requestID reads the id of a request that cannot be handled.
func requestID(line []byte) (id []byte) {
	defer func() {
		if recover() != nil { // what failed once may fail again
			id = nil
		}
	}()
	req, _ := envelope.Decode(line)
	return req.ID
}

func busyError(limit int64) *envelope.Error {
	err := envelope.ErrBusy()
	if limit != envelope.MaxConnections {
		err.Message = "the host serves " + strconv.FormatInt(limit, 10) + " connections already; try again"
	}
	return err
}
