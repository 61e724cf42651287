package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

// try is dial for goroutines other than the test's.
func (f *fixture) try() (net.Conn, error) {
	c, err := net.DialTimeout("unix", f.listener.Path(), hosttest.Patience)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(hosttest.Patience))
}

func TestAPanicFailsItsRequestAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		panics func()
		logs   string
	}{
		{"runtime error", func() { var none []int; none[len(os.Args)] = 1 }, "index out of range"},
		{"value that may be a secret", func() { panic("hunter2") }, "panic=string"},
		{"error that may hold a secret", func() { panic(errors.New("hunter2")) }, "errorString"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, handlerFunc(func(_ context.Context, line, dst []byte) []byte {
				if strings.Contains(string(line), "bad") {
					_ = append(dst, "half a reply"...)
					c.panics()
				}
				return append(dst, "fine\n"...)
			}), nil)
			id, code := errorOf(t, readAll(t, f.send(`{"version":1,"id":"a\u0062","method":"bad"}`+"\n")))
			if code != "internal_error" || id != `"a\u0062"` {
				t.Errorf("%s for id %s", code, id)
			}
			if got := readAll(t, f.send("{}\n")); got != "fine\n" {
				t.Errorf("the next one got %q", got)
			}
			log := f.log.String()
			if !strings.Contains(log, c.logs) || !strings.Contains(log, "handler_test.go") {
				t.Errorf("log names neither fault nor place:\n%s", log)
			}
			if strings.Contains(log, "hunter2") {
				t.Error("log has the panic's value")
			}
		})
	}
}

func TestAHandlerWithoutAReplyLineIsAnInternalError(t *testing.T) {
	for name, reply := range map[string]string{"nothing": "", "no newline": "{}"} {
		t.Run(name, func(t *testing.T) {
			f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
				return append(dst, reply...)
			}), nil)
			if _, code := errorOf(t, readAll(t, f.send("{}\n"))); code != "internal_error" {
				t.Error(code)
			}
		})
	}
}

func TestTheContextEndsWithTheCall(t *testing.T) {
	contexts := make(chan context.Context, 1)
	f := start(t, handlerFunc(func(ctx context.Context, _, dst []byte) []byte {
		contexts <- ctx
		return append(dst, '\n')
	}), nil)
	readAll(t, f.send("{}\n"))
	hosttest.Receive(t, (<-contexts).Done(), "the context ends")
}

// call is one that waits in its handler.
type call struct {
	line    string
	ctx     context.Context
	release chan struct{}
}

// blocking hands each call out and waits for its release, or for its context.
func blocking(calls chan *call) Handler {
	return handlerFunc(func(ctx context.Context, line, dst []byte) []byte {
		c := &call{string(line), ctx, make(chan struct{})}
		calls <- c
		select {
		case <-c.release:
			return append(dst, "released\n"...)
		case <-ctx.Done():
			return append(dst, "cancelled\n"...)
		}
	})
}

func TestAClientThatGoesCancelsItsCallAndAHalfCloseDoesNot(t *testing.T) {
	for name, watchAfter := range map[string]time.Duration{"watched at once": 0, "watched later": 2 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			calls := make(chan *call, 1)
			f := start(t, blocking(calls), func(s *Server) { s.bounds.watchAfter = watchAfter })

			half := f.send("half\n")
			stays := hosttest.Receive(t, calls, "the call of the one that stays")
			if err := half.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			full := f.send("full\n")
			goes := hosttest.Receive(t, calls, "the call of the one that goes")
			hosttest.Eventually(t, "both are watched", func() bool { return waits(f.Server) == 2 })
			hangUp(full)
			hosttest.Receive(t, goes.ctx.Done(), "its context ends")

			if stays.ctx.Err() != nil {
				t.Error("a half-close cancelled the call")
			}
			close(stays.release)
			if got := readAll(t, half); got != "released\n" {
				t.Errorf("got %q", got)
			}
			hosttest.Eventually(t, "the connections end", f.none)
		})
	}
}

func TestAClientThatHalfClosesAndThenGoesCancelsItsCall(t *testing.T) {
	calls := make(chan *call, 1)
	f := start(t, blocking(calls), nil)
	c := f.send("{}")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	running := hosttest.Receive(t, calls, "the call")
	hosttest.Eventually(t, "it is watched", func() bool { return waits(f.Server) == 1 })
	hangUp(c)
	hosttest.Receive(t, running.ctx.Done(), "its context ends")
}

func TestAClientThatSendsOnDuringItsCallIsNotGone(t *testing.T) {
	calls := make(chan *call, 1)
	f := start(t, blocking(calls), nil)
	c := f.send("{}\n")
	running := hosttest.Receive(t, calls, "the call")
	hosttest.Eventually(t, "it is watched", func() bool { return waits(f.Server) == 1 })
	for range 100 {
		if _, err := io.WriteString(c, "more"); err != nil {
			t.Fatal(err)
		}
	}
	close(running.release)
	if got := readAll(t, c); got != "released\n" {
		t.Errorf("got %q", got)
	}
}

func TestPeerGone(t *testing.T) {
	for _, c := range []struct {
		name string
		peer func(fd int) error
		gone bool
	}{
		{"there", func(int) error { return nil }, false},
		{"sent something", func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err }, false},
		{"ended its direction", func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) }, false},
		{"ended both", func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer closeFD(fds[0])
			err = c.peer(fds[1])
			got := peerGone(fds[0])
			closeFD(fds[1])
			if err != nil || got != c.gone {
				t.Errorf("gone %v, want %v (%v)", got, c.gone, err)
			}
			if !peerGone(fds[0]) {
				t.Error("not gone after it closed")
			}
		})
	}
}
