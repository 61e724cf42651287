package server

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/socket"
)

var (
	benchRequest = []byte(`{"version":1,"id":"req-42","method":"status","params":{}}` + "\n")
	benchReply   = []byte(`{"version":1,"id":"req-42","ok":true,"result":{"running":true,"socket":"/run/user/1000/vantage-agent-1000.sock","pid":4242,"uptime_ms":123456,"connections":1,"plugins":{"ready":4,"total":4}}}` + "\n")
)

type constant struct{}

func (constant) Serve(_ context.Context, _ int, _, dst []byte) []byte {
	return append(dst, benchReply...)
}

// roundTrip is a client that costs little, so that what is measured is the
// server: blocking system calls and nothing else.
func roundTrip(addr unix.Sockaddr, buf []byte) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	if err := unix.Connect(fd, addr); err != nil {
		return err
	}
	if _, err := unix.Write(fd, benchRequest); err != nil {
		return err
	}
	for n := 0; ; {
		got, err := unix.Read(fd, buf[n:])
		if err != nil {
			return err
		}
		if got == 0 {
			if !bytes.Equal(buf[:n], benchReply) {
				return errWrongReply
			}
			return nil
		}
		n += got
	}
}

type constError string

func (e constError) Error() string { return string(e) }

const errWrongReply = constError("the reply is not the expected one")

// startEcho is the plain server to compare with: net, a goroutine for each
// connection, one read, one write.
func startEcho(tb testing.TB) string {
	path := filepath.Join(tb.TempDir(), "echo")
	l, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				buf := make([]byte, 4096)
				if _, err := c.Read(buf); err != nil {
					return
				}
				_, _ = c.Write(benchReply)
			})
		}
	})
	tb.Cleanup(func() { l.Close(); wg.Wait() })
	return path
}

func startConstant(tb testing.TB) string {
	l, err := socket.Listen(tb.Context(), socket.Options{Path: filepath.Join(tb.TempDir(), "vant")})
	if err != nil {
		tb.Fatal(err)
	}
	s := New(Options{Handler: constant{}})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	tb.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		wg.Wait()
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l.Path()
}

// inParallel runs n round trips with some clients and gives the time they took.
func inParallel(tb testing.TB, path string, clients, n int) time.Duration {
	addr := &unix.SockaddrUnix{Name: path}
	var left atomic.Int64
	left.Store(int64(n))
	begin := time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			buf := make([]byte, 4096)
			for left.Add(-1) >= 0 {
				if err := roundTrip(addr, buf); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkAgainstEcho interleaves both servers in short turns, so that what
// else the machine does meets both, and reports the ratio of their times.
func BenchmarkAgainstEcho(b *testing.B) {
	for _, c := range []struct {
		name    string
		clients int
	}{{"1_client", 1}, {"32_clients", 32}} {
		b.Run(c.name, func(b *testing.B) {
			echo, ours := startEcho(b), startConstant(b)
			const turn = 500
			var echoTime, ourTime time.Duration
			total := 0
			for b.Loop() {
				echoTime += inParallel(b, echo, c.clients, turn)
				ourTime += inParallel(b, ours, c.clients, turn)
				total += turn
			}
			b.ReportMetric(float64(ourTime)/float64(echoTime), "ratio")
			b.ReportMetric(float64(echoTime.Nanoseconds())/float64(total), "echo-ns/request")
			b.ReportMetric(float64(ourTime.Nanoseconds())/float64(total), "ns/request")
		})
	}
}

// BenchmarkServe counts allocations; those of the client are few.
func BenchmarkServe(b *testing.B) {
	for _, c := range []struct {
		name  string
		start func(testing.TB) string
	}{{"echo", startEcho}, {"vant", startConstant}} {
		b.Run(c.name, func(b *testing.B) {
			addr := &unix.SockaddrUnix{Name: c.start(b)}
			buf := make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if err := roundTrip(addr, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
