package server

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

func TestClientsBeyondTheLimitAreToldBusy(t *testing.T) {
	for _, c := range []struct {
		name     string
		refusals int64
		text     string
	}{
		{"sends a request", 64, "{}\n"},
		{"sends nothing", 64, ""},
		{"sends much", 64, strings.Repeat("x", 1<<20)},
		{"no hosttest.Patience, sends a request", 0, "{}\n"},
		{"no hosttest.Patience, sends nothing", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := make(chan *call, 1)
			f := start(t, blocking(calls), func(s *Server) { s.max, s.bounds.refusals = 1, c.refusals })
			first := f.send("{}\n")
			running := hosttest.Receive(t, calls, "the first call")

			for range 20 {
				second := f.dial()
				if _, err := io.WriteString(second, c.text); err != nil && c.refusals > 0 {
					t.Fatalf("write: %v", err)
				}
				if _, code := errorOf(t, readAll(t, second)); code != "busy" {
					t.Fatal(code)
				}
				hangUp(second)
			}
			if n := f.Connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
			close(running.release)
			if got := readAll(t, first); got != "released\n" {
				t.Errorf("the first got %q", got)
			}
			hosttest.Eventually(t, "the first connection ends", f.none)
			third := f.send("{}\n")
			close(hosttest.Receive(t, calls, "a call when there is room again").release)
			if got := readAll(t, third); got != "released\n" {
				t.Errorf("the third got %q", got)
			}
		})
	}
}

func TestRefusedClientsThatStayAreBounded(t *testing.T) {
	calls := make(chan *call, 1)
	f := start(t, blocking(calls), func(s *Server) {
		s.max, s.bounds.refusals, s.bounds.refuseTime = 1, 4, 50*time.Millisecond
	})
	f.send("{}\n")
	running := hosttest.Receive(t, calls, "the first call")
	var stay []net.Conn
	for range 20 {
		stay = append(stay, f.dial())
	}
	for _, c := range stay { // none of them closes
		if _, code := errorOf(t, readAll(t, c)); code != "busy" {
			t.Error(code)
		}
		if n := f.refusals.Load(); n > 4 {
			t.Errorf("%d at once", n)
		}
	}
	hosttest.Eventually(t, "the server has let them go", func() bool { return f.refusals.Load() == 0 })
	close(running.release)
}

func TestBackoffGrowsAndForgets(t *testing.T) {
	var b backoff
	var got []time.Duration
	for range 10 {
		wait, first := b.next()
		if first != (len(got) == 0) {
			t.Errorf("try %d: first is %v", len(got), first)
		}
		got = append(got, wait/time.Millisecond)
	}
	if diff := cmp.Diff([]time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !b.end() || b.end() {
		t.Error("end must tell of failures once")
	}
	if wait, first := b.next(); !first || wait != 5*time.Millisecond {
		t.Errorf("afterwards: %v, %v", wait, first)
	}
}

func TestRunningOutOfDescriptorsPasses(t *testing.T) {
	f := start(t, echo, nil)
	readAll(t, f.send("{}\n"))

	client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(client)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	// Below what is open already: nothing more can be opened.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	if err := unix.Connect(client, &unix.SockaddrUnix{Name: f.listener.Path()}); err != nil {
		t.Fatal(err)
	}
	hosttest.Eventually(t, "the server says that it cannot accept", func() bool {
		return strings.Contains(f.log.String(), "cannot accept")
	})
	if _, err := unix.Write(client, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	restore()
	buf := make([]byte, 16)
	n, err := unix.Read(client, buf)
	if err != nil || string(buf[:n]) != "{}\n" {
		t.Errorf("got %q, %v", buf[:max(n, 0)], err)
	}
	hosttest.Eventually(t, "the server says that it accepts again", func() bool {
		return strings.Contains(f.log.String(), "accepting connections again")
	})
}

func TestHugeBuffersAreNotKept(t *testing.T) {
	s := New(Options{Handler: echo})
	for _, size := range []int{firstBuffer, keptBuffer, keptBuffer + 1, 1 << 20} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := s.open(fds[0])
		c.in, c.out = make([]byte, size), make([]byte, 0, size)
		c.release()
		closeFD(fds[1])
		keep := size <= keptBuffer
		if in, out := c.in != nil, c.out != nil; in != keep || out != keep {
			t.Errorf("%d bytes: kept for reading %v, for writing %v, want %v", size, in, out, keep)
		}
	}
}

func TestShutdownLetsRequestsEnd(t *testing.T) {
	calls := make(chan *call, 1)
	f := start(t, blocking(calls), nil)
	c := f.send("{}\n")
	running := hosttest.Receive(t, calls, "the call")

	done := make(chan error, 1)
	go func() { done <- f.Shutdown(t.Context()) }()
	hosttest.Receive(t, f.stop, "the shutdown begins")
	hosttest.Eventually(t, "nobody gets in any more", func() bool {
		late, err := net.Dial("unix", f.listener.Path())
		if err == nil {
			hangUp(late)
		}
		return err != nil
	})
	if running.ctx.Err() != nil {
		t.Error("the call was cancelled")
	}
	close(running.release)
	if got := readAll(t, c); got != "released\n" {
		t.Errorf("got %q", got)
	}
	if err := hosttest.Receive(t, done, "the shutdown"); err != nil {
		t.Error(err)
	}
}

func TestShutdownServesThoseWhoConnectedBefore(t *testing.T) {
	f := &fixture{t: t}
	f.listener = listen(t)
	f.Server = New(Options{Handler: echo})
	waiting := []*net.UnixConn{f.send("1\n"), f.send("2\n"), f.send("3\n")} // nobody accepts yet
	f.listener.Retire()
	if err := f.Serve(f.listener); err != nil {
		t.Fatal(err)
	}
	for i, c := range waiting {
		if got, want := readAll(t, c), string(rune('1'+i))+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := f.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := f.Serve(f.listener); err != nil { // after a shutdown it does nothing
		t.Error(err)
	}
}

func TestShutdownClosesThoseWhoSayNothing(t *testing.T) {
	f := start(t, echo, func(s *Server) { s.bounds.lastRead = 10 * time.Millisecond })
	silent, partial := f.dial(), f.send(`{"ver`)
	hosttest.Eventually(t, "the server waits for them", func() bool { return waits(f.Server) == 2 })
	if err := f.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{silent, partial} {
		if got := readAll(t, c); got != "" {
			t.Errorf("got %q", got)
		}
	}
}

func TestShutdownCancelsCallsWhenItsTimeIsOver(t *testing.T) {
	calls := make(chan *call, 1)
	f := start(t, blocking(calls), nil)
	c := f.send("{}\n")
	hosttest.Receive(t, calls, "the call")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if got := readAll(t, c); got != "cancelled\n" {
		t.Errorf("got %q", got)
	}
}

func TestShutdownCutsAClientThatDoesNotRead(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
		return append(append(dst, make([]byte, 8<<20)...), '\n')
	}), func(s *Server) { s.bounds.lastReply, s.bounds.lastCut = 10*time.Millisecond, hosttest.Patience })
	f.send("{}\n")
	hosttest.Eventually(t, "its reply stands still", func() bool { return waits(f.Server) == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if !f.none() {
		t.Error("the connection is still there")
	}
}

func TestShutdownTellsOfAHandlerThatDoesNotEnd(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
		close(entered)
		<-release
		return append(dst, '\n')
	}), func(s *Server) { s.bounds.lastReply, s.bounds.lastCut = time.Millisecond, time.Millisecond })
	f.send("{}\n")
	hosttest.Receive(t, entered, "the call")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "1 connections") {
		t.Errorf("got %v", err)
	}
	close(release)
	hosttest.Eventually(t, "the connection ends", f.none)
}
