// Package clienttest is a scripted host for tests of clients: it listens on a
// socket of its own, records the request lines that come, and answers as a test
// tells it to. The tests of package client and of the vant command use it.
package clienttest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// connTimeout bounds the life of a connection, so that a test that goes wrong
// ends.
const connTimeout = 60 * time.Second

// Request is a request as it came.
type Request struct {
	Line   string // without its newline
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// Handler answers one request. It may write to the connection as it likes; the
// connection is closed when it returns.
type Handler func(conn net.Conn, r Request)

// Result answers with a result, raw JSON on one line.
func Result(raw string) Handler {
	return func(conn net.Conn, r Request) {
		fmt.Fprintf(conn, `{"version":1,"id":%s,"ok":true,"result":%s}`+"\n", r.ID, raw)
	}
}

// Failure answers with an error.
func Failure(code, message string) Handler {
	return func(conn net.Conn, r Request) {
		fmt.Fprintf(conn, `{"version":1,"id":%s,"ok":false,"error":{"code":%q,"message":%q}}`+"\n", r.ID, code, message)
	}
}

// Warned answers with a result and warnings, a JSON array.
func Warned(raw, warnings string) Handler {
	return func(conn net.Conn, r Request) {
		fmt.Fprintf(conn, `{"version":1,"id":%s,"ok":true,"result":%s,"warnings":%s}`+"\n", r.ID, raw, warnings)
	}
}

// Raw answers with bytes as they are.
func Raw(line string) Handler {
	return func(conn net.Conn, _ Request) { fmt.Fprint(conn, line) }
}

// Methods chooses the handler by the request's method; others do not exist.
func Methods(handlers map[string]Handler) Handler {
	return func(conn net.Conn, r Request) {
		h, ok := handlers[r.Method]
		if !ok {
			h = Failure("method_not_found", "no method "+r.Method)
		}
		h(conn, r)
	}
}

// Host is a running scripted host.
type Host struct {
	Socket string

	listener net.Listener
	handlers sync.WaitGroup

	mu       sync.Mutex // guards the fields that follow
	requests []Request
	conns    map[net.Conn]struct{}
	closed   bool
}

// Start starts a host on a socket in a new folder; it ends with the test.
func Start(t testing.TB, h Handler) *Host {
	t.Helper()
	// The test's own folder may have a longer path than a socket can.
	dir, err := os.MkdirTemp("", "vant")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return StartAt(t, filepath.Join(dir, "host.sock"), h)
}

// StartAt starts a host on the given socket.
func StartAt(t testing.TB, socket string, h Handler) *Host {
	t.Helper()
	host, err := Listen(socket, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Stop)
	return host
}

// Listen is StartAt outside of tests, as in a process that a test runs.
func Listen(socket string, h Handler) (*Host, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	host := &Host{Socket: socket, listener: l, conns: make(map[net.Conn]struct{})}
	host.handlers.Add(1)
	go host.accept(h)
	return host, nil
}

func (h *Host) accept(handler Handler) {
	defer h.handlers.Done()
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		if !h.add(conn) {
			conn.Close()
			return
		}
		h.handlers.Add(1)
		go func() {
			defer h.handlers.Done()
			defer h.remove(conn)
			h.serve(conn, handler)
		}()
	}
}

func (h *Host) add(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns[conn] = struct{}{}
	return true
}

func (h *Host) remove(conn net.Conn) {
	conn.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
}

func (h *Host) serve(conn net.Conn, handler Handler) {
	if conn.SetDeadline(time.Now().Add(connTimeout)) != nil {
		return
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	r := Request{Line: line[:len(line)-1]}
	if json.Unmarshal([]byte(line), &r) != nil {
		return
	}
	h.mu.Lock()
	h.requests = append(h.requests, r)
	h.mu.Unlock()
	handler(conn, r)
}

// Requests gives the requests that came so far, in order.
func (h *Host) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Request(nil), h.requests...)
}

// Forget drops the requests that came so far.
func (h *Host) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = nil
}

// Stop ends the host as a crash would: the socket goes and connections break.
// It returns when no handler runs any more.
func (h *Host) Stop() {
	h.listener.Close()
	h.mu.Lock()
	h.closed = true
	conns := h.conns
	h.conns = make(map[net.Conn]struct{})
	h.mu.Unlock()
	for conn := range conns {
		conn.Close()
	}
	h.handlers.Wait()
}
