package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vant-run/vant/host/internal/hosttest"
	"github.com/vant-run/vant/proto/envelope"
)

func TestALineGetsItsReplyAndAnEnd(t *testing.T) {
	f := start(t, echo, nil)
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name      string
		parts     []string
		halfClose bool
		want      string
	}{
		{"short", []string{"{}\n"}, false, "{}\n"},
		{"empty line", []string{"\n"}, false, "\n"},
		{"carriage return stays", []string{"{}\r\n"}, false, "{}\r\n"},
		{"ended by half-close", []string{"{}"}, true, "{}\n"},
		{"newline and half-close", []string{"{}\n"}, true, "{}\n"},
		{"in parts", []string{"{", "}", "\n"}, false, "{}\n"},
		{"larger than the first buffer", []string{long + "\n"}, false, long + "\n"},
		{"fills the first buffer to the brim", []string{long[:firstBuffer-1] + "\n"}, false, long[:firstBuffer-1] + "\n"},
		{"large, in parts, by half-close", []string{long, long}, true, long + long + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{Server: f.Server, t: t, listener: f.listener}
			conn := f.dial()
			for _, p := range c.parts {
				if _, err := io.WriteString(conn, p); err != nil {
					t.Fatal(err)
				}
			}
			if c.halfClose {
				if err := conn.CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			if got := readAll(t, conn); got != c.want {
				t.Errorf("%d bytes, want %d", len(got), len(c.want))
			}
		})
	}
}

func TestAClientThatSaysNothingIsLetGo(t *testing.T) {
	var calls atomic.Int32
	f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
		calls.Add(1)
		return append(dst, '\n')
	}), nil)
	c := f.dial()
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, c); got != "" {
		t.Errorf("got %q", got)
	}
	hosttest.Eventually(t, "the connection ends", f.none)
	if calls.Load() != 0 {
		t.Error("the handler was called")
	}
}

func TestTheLimitOfALine(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, line, dst []byte) []byte {
		if len(line) != envelope.MaxRequestBytes {
			t.Errorf("a line of %d bytes came", len(line))
		}
		return append(dst, "fits\n"...)
	}), nil)
	head := `{"version":1,"id":9007199254740993,"x":"`
	fits := head + strings.Repeat("x", envelope.MaxRequestBytes-len(head))
	if got := readAll(t, f.send(fits+"\n")); got != "fits\n" {
		t.Errorf("at the limit: %.200q", got)
	}
	half := f.send(fits)
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, half); got != "fits\n" {
		t.Errorf("at the limit, by half-close: %.200q", got)
	}
	for name, text := range map[string]string{
		"one more":             fits + "x\n",
		"one more, no newline": fits + "x",
	} {
		id, code := errorOf(t, readAll(t, f.send(text)))
		if code != "request_too_large" || id != "9007199254740993" {
			t.Errorf("%s: %s with id %s", name, code, id)
		}
	}
}

func TestATooLongLineIsRefusedBeforeItEnds(t *testing.T) {
	f := start(t, echo, nil)
	c := f.send(strings.Repeat("x", envelope.MaxRequestBytes+1)) // and neither newline nor end
	if _, code := errorOf(t, readAll(t, c)); code != "request_too_large" {
		t.Error(code)
	}
}

func TestJunkOfFortyMebibytesGetsReplyAndCleanEnd(t *testing.T) {
	f := start(t, echo, nil)
	c := f.send(strings.Repeat("x", 40<<20))
	if _, code := errorOf(t, readAll(t, c)); code != "request_too_large" {
		t.Error(code)
	}
	hangUp(c)
	hosttest.Eventually(t, "the connection ends", f.none)
}

func TestJunkForEverGetsReplyAndCleanEnd(t *testing.T) {
	for name, change := range map[string]func(*bounds){
		"bounded in bytes": func(b *bounds) { b.lingerBytes = 8 << 20 },
		"bounded in time":  func(b *bounds) { b.lingerBytes, b.lingerTime = 1<<40, 50*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, echo, func(s *Server) { change(&s.bounds) })
			c := f.dial()
			junk := bytes.Repeat([]byte("x"), 1<<16)
			for {
				if _, err := c.Write(junk); err != nil {
					break // the server has had enough
				}
			}
			if _, code := errorOf(t, readAll(t, c)); code != "request_too_large" {
				t.Error(code)
			}
			hosttest.Eventually(t, "the connection ends", f.none)
		})
	}
}

func TestBytesAfterTheLineAreIgnored(t *testing.T) {
	f := start(t, echo, nil)
	for name, rest := range map[string]string{
		"another request": "{\"x\":1}\n",
		"without newline": "x",
		"large":           strings.Repeat("x", 10<<20),
		"fills a buffer":  strings.Repeat("x", firstBuffer-3),
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{Server: f.Server, t: t, listener: f.listener}
			if got := readAll(t, f.send("{}\n"+rest)); got != "{}\n" {
				t.Errorf("got %.100q", got)
			}
		})
	}
}

func TestALineThatFillsTheBufferMayHaveMoreBehindIt(t *testing.T) {
	f := start(t, echo, nil)
	line := strings.Repeat("x", firstBuffer-1) + "\n"
	for range 20 {
		c := f.send(line + strings.Repeat("y", 1<<20))
		if got := readAll(t, c); got != line {
			t.Fatalf("%d bytes, want %d", len(got), len(line))
		}
		hangUp(c)
	}
}

func TestBytesThatComeLateDoNotResetTheClient(t *testing.T) {
	f := start(t, echo, nil)
	for range 300 {
		c := f.send("{}\n")
		// Whether these arrive before, while or after the server closes is a
		// matter of luck; a write that fails is none of its concern.
		for range 3 {
			if _, err := io.WriteString(c, "late"); err != nil {
				break
			}
		}
		if got := readAll(t, c); got != "{}\n" {
			t.Fatalf("got %q", got)
		}
		hangUp(c)
	}
}

func TestOtherProtocolsAreTold(t *testing.T) {
	f := start(t, echo, nil)
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /rpc HTTP/1.1\r\n", "PUT /x", "HEAD /", "OPTIONS * HTTP/1.1",
		"DELETE /x HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /" + strings.Repeat("x", 3<<20),
	} {
		t.Run(text[:min(len(text), 8)], func(t *testing.T) {
			f := &fixture{Server: f.Server, t: t, listener: f.listener}
			got := readAll(t, f.send(text))
			if id, code := errorOf(t, got); code != "invalid_request" || id != `""` || !strings.Contains(got, "not HTTP") {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("in parts", func(t *testing.T) {
		f := &fixture{Server: f.Server, t: t, listener: f.listener}
		c := f.send("GE")
		hosttest.Eventually(t, "the server waits for more", func() bool { return waits(f.Server) == 1 })
		if _, err := io.WriteString(c, "T /"); err != nil {
			t.Fatal(err)
		}
		if _, code := errorOf(t, readAll(t, c)); code != "invalid_request" {
			t.Error(code)
		}
	})
	t.Run("a word that only resembles one", func(t *testing.T) {
		f := &fixture{Server: f.Server, t: t, listener: f.listener}
		if got := readAll(t, f.send("GETTER\n")); got != "GETTER\n" {
			t.Errorf("got %q", got)
		}
	})
}

// waits counts connections with the poller.
func waits(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

func TestSlowClientsAreClosedWithoutAReply(t *testing.T) {
	const short, long = 30 * time.Millisecond, time.Hour
	for _, c := range []struct {
		name               string
		firstByte, request time.Duration
		text               string
	}{
		{"silent", short, long, ""},
		{"never ends its line", long, short, `{"version":1,`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, echo, func(s *Server) { s.bounds.firstByte, s.bounds.request = c.firstByte, c.request })
			if got := readAll(t, f.send(c.text)); got != "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAFirstByteWinsTheTimeOfAWholeRequest(t *testing.T) {
	f := start(t, echo, func(s *Server) { s.bounds.firstByte, s.bounds.request = time.Second, time.Hour })
	slow, silent := f.send("{"), f.dial()
	if got := readAll(t, silent); got != "" { // its end tells that the time has passed for both
		t.Errorf("silent one got %q", got)
	}
	if _, err := io.WriteString(slow, "}\n"); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, slow); got != "{}\n" {
		t.Errorf("got %q", got)
	}
}

func TestALargeReplyArrivesWhole(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), envelope.MaxResultBytes/16)
	f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
		return append(append(dst, big...), '\n')
	}), nil)
	if got := readAll(t, f.send("{}\n")); got != string(big)+"\n" {
		t.Errorf("%d bytes came, and not the right ones or not all", len(got))
	}
}

func TestAClientThatDoesNotReadIsClosed(t *testing.T) {
	for name, change := range map[string]func(*bounds){
		"stands still": func(b *bounds) { b.stall = 30 * time.Millisecond },
		"never done":   func(b *bounds) { b.reply = 30 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
				return append(append(dst, make([]byte, 8<<20)...), '\n')
			}), func(s *Server) { change(&s.bounds) })
			f.send("{}\n")
			hosttest.Eventually(t, "the reply begins", func() bool { return waits(f.Server) == 1 })
			hosttest.Eventually(t, "the connection ends", f.none)
		})
	}
}

func TestTheHandlerLearnsTheClientsProcess(t *testing.T) {
	pids := make(chan int, 1)
	f := start(t, pidHandler(pids), nil)
	readAll(t, f.send("{}\n"))
	if got := <-pids; got != os.Getpid() {
		t.Errorf("pid %d, want %d", got, os.Getpid())
	}
}

type pidHandler chan int

func (h pidHandler) Serve(_ context.Context, pid int, _, dst []byte) []byte {
	h <- pid
	return append(dst, '\n')
}

func TestClientsOfOtherUsersAreClosedAndLogged(t *testing.T) {
	var calls atomic.Int32
	f := start(t, handlerFunc(func(_ context.Context, _, dst []byte) []byte {
		calls.Add(1)
		return append(dst, '\n')
	}), func(s *Server) { s.uid++ })
	c := f.dial()
	if got := readAll(t, c); got != "" {
		t.Errorf("got %q", got)
	}
	hosttest.Eventually(t, "a line in the log", func() bool { return strings.Contains(f.log.String(), "another user") })
	if calls.Load() != 0 {
		t.Error("the handler was called")
	}
}

func TestEachClientGetsItsOwnReply(t *testing.T) {
	for name, watchAfter := range map[string]time.Duration{
		"calls that are never watched":     time.Hour,
		"calls that end as a watch begins": 0,
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, echo, func(s *Server) { s.bounds.watchAfter = watchAfter })
			var wg sync.WaitGroup
			for n := range 32 {
				wg.Go(func() {
					for i := range 50 {
						if err := f.exchange(strings.Repeat(string(rune('a'+n%26)), 1+n*i*7) + "\n"); err != nil {
							t.Errorf("client %d: %v", n, err)
							return
						}
					}
				})
			}
			wg.Wait()
			hosttest.Eventually(t, "all connections end", f.none)
			if n := waits(f.Server); n != 0 {
				t.Errorf("%d are still with the poller", n)
			}
		})
	}
}

// exchange is one request of a goroutine other than the test's; the reply must
// be the request.
func (f *fixture) exchange(text string) error {
	c, err := f.try()
	if err != nil {
		return err
	}
	defer hangUp(c)
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%d bytes came, want the %d that were sent", len(got), len(text))
	}
	return nil
}
