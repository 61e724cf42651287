package server

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vant-run/vant/host/internal/hosttest"
	"github.com/vant-run/vant/host/internal/socket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerFunc is a Handler without a pid.
type handlerFunc func(ctx context.Context, line, dst []byte) []byte

func (f handlerFunc) Serve(ctx context.Context, _ int, line, dst []byte) []byte {
	return f(ctx, line, dst)
}

// echo replies with the line itself.
var echo = handlerFunc(func(_ context.Context, line, dst []byte) []byte {
	return append(append(dst, line...), '\n')
})

// fixture is a server that runs, and what it logged.
type fixture struct {
	*Server
	t        *testing.T
	listener *socket.Listener
	served   chan error
	log      hosttest.Log
}

// start runs a server until the test ends; change may set its bounds before.
func start(t *testing.T, h Handler, change func(*Server)) *fixture {
	t.Helper()
	f := &fixture{t: t, served: make(chan error, 1)}
	f.Server = New(Options{Handler: h, Log: f.log.Logger()})
	if change != nil {
		change(f.Server)
	}
	f.listener = listen(t)
	go func() { f.served <- f.Serve(f.listener) }()
	t.Cleanup(func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-f.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

func listen(t *testing.T) *socket.Listener {
	t.Helper()
	l, err := socket.Listen(t.Context(), socket.Options{Path: filepath.Join(t.TempDir(), "s")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// dial connects a client that gives up after a while.
func (f *fixture) dial() *net.UnixConn {
	f.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: f.listener.Path(), Net: "unix"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { hangUp(c) })
	if err := c.SetDeadline(time.Now().Add(hosttest.Patience)); err != nil {
		f.t.Fatal(err)
	}
	return c
}

// send connects and writes text, which must be taken whole.
func (f *fixture) send(text string) *net.UnixConn {
	f.t.Helper()
	c := f.dial()
	if _, err := io.WriteString(c, text); err != nil {
		f.t.Fatalf("write: %v", err)
	}
	return c
}

// readAll reads to the end of file; a reset fails the test.
func readAll(t *testing.T, c net.Conn) string {
	t.Helper()
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("after %d bytes: %v, want a clean end", len(got), err)
	}
	return string(got)
}

// errorOf reads a failure: its id as it came, and its code.
func errorOf(t *testing.T, line string) (id, code string) {
	t.Helper()
	var reply struct {
		ID    json.RawMessage
		OK    *bool
		Error struct{ Code, Message string }
	}
	if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &reply) != nil {
		t.Fatalf("not a reply line: %q", line)
	}
	if reply.OK == nil || *reply.OK || reply.Error.Message == "" {
		t.Fatalf("not a failure: %s", line)
	}
	return string(reply.ID), reply.Error.Code
}

func (f *fixture) none() bool { return f.Connections() == 0 }

// hangUp closes what a client has; its errors tell nothing about the server.
func hangUp(c io.Closer) { _ = c.Close() }
