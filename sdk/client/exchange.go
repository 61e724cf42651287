package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/vant-run/vant/proto/envelope"
)

const (
	firstRetry = 2 * time.Millisecond
	maxRetry   = 100 * time.Millisecond
	// backlogWait is how long to try a host whose queue of connections is
	// full: it is there, so this is no question of WaitForHost.
	backlogWait = 5 * time.Second
	// maxLine bounds a reply line; the newline is not counted in the limit.
	maxLine   = envelope.MaxResultBytes + 1
	firstRead = 4 << 10
)

// exchange makes one call on a connection of its own: connect for at most
// wait, send once, read one line; timeout bounds all of it.
func (c *Client) exchange(ctx context.Context, method string, params json.RawMessage, wait, timeout time.Duration) (*Reply, error) {
	id := c.requestID()
	if len(params) > 0 && !json.Valid(params) {
		return nil, fmt.Errorf("%s: parameters are not valid JSON", method)
	}
	line := envelope.AppendRequest(make([]byte, 0, 96+len(params)), id, method, params)

	deadline := time.Now().Add(timeout)
	conn, err := c.connect(ctx, wait, deadline)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}

	// A host that refuses a request answers before it has read all of it, and
	// stops reading: the reply counts, not the failed write.
	_, werr := conn.Write(line)
	text, err := readLine(conn)
	if err != nil {
		return nil, c.broken(ctx, method, timeout, werr, err)
	}
	return parse(text, id)
}

// connect gives a connection to a host of our own user.
func (c *Client) connect(ctx context.Context, wait time.Duration, deadline time.Time) (net.Conn, error) {
	addr := &net.UnixAddr{Net: "unix", Name: c.opt.Socket}
	began := time.Now()
	for pause := firstRetry; ; pause = min(2*pause, maxRetry) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		conn, err := net.DialUnix("unix", nil, addr)
		if err == nil {
			if err := checkPeer(conn, c.opt.Socket, c.uid); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return conn, nil
		}
		var left time.Duration
		switch {
		case errors.Is(err, syscall.EAGAIN):
			left = max(wait, backlogWait) - time.Since(began)
		case absent(err):
			left = wait - time.Since(began)
		default:
			return nil, fmt.Errorf("cannot connect to %s: %w", c.opt.Socket, cause(err))
		}
		left = min(left, time.Until(deadline))
		if left <= 0 {
			return nil, &NoHostError{Socket: c.opt.Socket, Err: cause(err)}
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// absent says whether connecting failed because no host listens.
func absent(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

// cause drops what net says about the address, which our messages say already.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readLine reads up to the first newline and gives what stands before it.
func readLine(r io.Reader) ([]byte, error) {
	buf := make([]byte, 0, firstRead)
	for {
		if len(buf) == cap(buf) {
			bigger := make([]byte, len(buf), min(2*cap(buf), maxLine))
			copy(bigger, buf)
			buf = bigger
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		fresh := buf[len(buf) : len(buf)+n]
		buf = buf[:len(buf)+n]
		if i := bytes.IndexByte(fresh, '\n'); i >= 0 {
			return buf[:len(buf)-n+i], nil
		}
		if len(buf) == maxLine {
			return nil, ErrReplyTooLarge
		}
		if err != nil {
			return nil, err
		}
	}
}

// broken says why there is no reply.
func (c *Client) broken(ctx context.Context, method string, timeout time.Duration, werr, rerr error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case errors.Is(rerr, ErrReplyTooLarge):
		return fmt.Errorf("%s: %w", method, rerr)
	case errors.Is(rerr, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: no reply from %s within %v; whether the call took effect is unknown: %w",
			method, c.opt.Socket, timeout, rerr)
	case werr != nil && !errors.Is(werr, syscall.EPIPE) && !errors.Is(werr, syscall.ECONNRESET):
		return fmt.Errorf("%s: sending: %w", method, cause(werr))
	case errors.Is(rerr, io.EOF) || errors.Is(rerr, syscall.ECONNRESET):
		return fmt.Errorf("%s: %w", method, ErrNoReply)
	}
	return fmt.Errorf("%s: reading the reply: %w", method, cause(rerr))
}

// parse reads the reply to the request with the given id. A host that could
// not read the id answers with an empty one.
func parse(line, id []byte) (*Reply, error) {
	r, err := envelope.ParseReply(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadReply, err)
	}
	if !bytes.Equal(r.ID, id) && string(r.ID) != `""` {
		return nil, fmt.Errorf("%w: it has the id %.64q, not %s", ErrBadReply, r.ID, id)
	}
	return &Reply{Line: line, OK: r.OK, Result: r.Result, Warnings: r.Warnings, failure: r.Error}, nil
}
