package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/proto/envelope"
	"github.com/vant-run/vant/sdk/client/clienttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallSendsOneRequestLineAndDecodesTheResult(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`[{"id":7}]`))
	c := dial(t, Options{Socket: host.Socket})
	var tabs []struct{ ID int }
	if err := c.Call(t.Context(), "browser.tabs", map[string]int{"window": 1}, &tabs); err != nil {
		t.Fatal(err)
	}
	if len(tabs) != 1 || tabs[0].ID != 7 {
		t.Errorf("result %v, want one tab 7", tabs)
	}
	want := fmt.Sprintf(`{"version":1,"id":"c%d-1","method":"browser.tabs","params":{"window":1}}`, os.Getpid())
	if got := host.Requests(); len(got) != 1 || got[0].Line != want {
		t.Errorf("requests %v, want one line %s", got, want)
	}
}

func TestNilParamsAreAnEmptyObject(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	if err := dial(t, Options{Socket: host.Socket}).Call(t.Context(), "events.clear", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(host.Requests()[0].Params); got != "{}" {
		t.Errorf("params %s, want {}", got)
	}
}

func TestRawCallsKeepNumbersAndTextsAsTheyAre(t *testing.T) {
	const value = `{"n":12345678901234567890.1230e-7,"s":"\ud83d"}`
	host := clienttest.Start(t, clienttest.Result(value))
	reply, err := dial(t, Options{Socket: host.Socket}).CallRaw(t.Context(), "a.b", json.RawMessage("{\n \"n\": 12345678901234567890.10,\n \"s\": \"\\ud83d\" }"))
	if err != nil {
		t.Fatal(err)
	}
	if string(reply.Result) != value {
		t.Errorf("result %s, want %s", reply.Result, value)
	}
	if got, want := string(host.Requests()[0].Params), `{"n":12345678901234567890.10,"s":"\ud83d"}`; got != want {
		t.Errorf("params %s, want %s", got, want)
	}
	if want := fmt.Sprintf(`{"version":1,"id":%s,"ok":true,"result":%s}`, host.Requests()[0].ID, value); string(reply.Line) != want {
		t.Errorf("line %s, want %s", reply.Line, want)
	}
}

func TestInvalidParamsAreNotSent(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	_, err := dial(t, Options{Socket: host.Socket}).CallRaw(t.Context(), "a.b", json.RawMessage("{}\n{}"))
	if err == nil || len(host.Requests()) != 0 {
		t.Errorf("error %v after %d requests, want an error and no request", err, len(host.Requests()))
	}
}

func TestFailureOfTheHostIsAnError(t *testing.T) {
	host := clienttest.Start(t, func(conn net.Conn, r clienttest.Request) {
		fmt.Fprintf(conn, `{"version":1,"id":%s,"ok":false,"error":{"code":"plugin_unavailable","message":"gone","data":{"retry_after_ms":5}}}`+"\n", r.ID)
	})
	err := dial(t, Options{Socket: host.Socket}).Call(t.Context(), "a.b", nil, nil)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *Error", err)
	}
	if want := (&Error{Code: envelope.PluginUnavailable, Message: "gone", Data: json.RawMessage(`{"retry_after_ms":5}`)}); !cmp.Equal(e, want) {
		t.Error(cmp.Diff(want, e))
	}
}

func TestWarningsComeWithTheReply(t *testing.T) {
	host := clienttest.Start(t, clienttest.Warned(`1`, `["unknown parameter \"x\" ignored"]`))
	reply, err := dial(t, Options{Socket: host.Socket}).CallRaw(t.Context(), "a.b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`unknown parameter "x" ignored`}, reply.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestNoHostNamesTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.sock")
	err := dial(t, Options{Socket: path}).Call(t.Context(), "status", nil, nil)
	var none *NoHostError
	if !errors.Is(err, ErrNoHost) || !errors.As(err, &none) || none.Socket != path {
		t.Errorf("error %v, want ErrNoHost with %s", err, path)
	}
}

func TestSocketOfADeadHostIsNoHost(t *testing.T) {
	path := filepath.Join(shortDir(t), "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, Options{Socket: path}).Call(t.Context(), "status", nil, nil); !errors.Is(err, ErrNoHost) {
		t.Errorf("error %v, want ErrNoHost", err)
	}
}

func TestCallWaitsForAHostThatStarts(t *testing.T) {
	path := filepath.Join(shortDir(t), "late.sock")
	c := dial(t, Options{Socket: path, WaitForHost: 20 * time.Second})
	done := make(chan error, 1)
	go func() { done <- c.Call(t.Context(), "status", nil, nil) }()
	host := clienttest.StartAt(t, path, clienttest.Result(`{}`))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := len(host.Requests()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestWaitForHostEnds(t *testing.T) {
	c := dial(t, Options{Socket: filepath.Join(t.TempDir(), "none.sock"), WaitForHost: 30 * time.Millisecond})
	began := time.Now()
	err := c.Call(t.Context(), "status", nil, nil)
	if spent := time.Since(began); !errors.Is(err, ErrNoHost) || spent < 30*time.Millisecond {
		t.Errorf("error %v after %v, want ErrNoHost after 30ms", err, spent)
	}
}

func TestBrokenCallIsNeverRepeated(t *testing.T) {
	host := clienttest.Start(t, func(net.Conn, clienttest.Request) {})
	err := dial(t, Options{Socket: host.Socket, WaitForHost: 5 * time.Second}).Call(t.Context(), "a.b", nil, nil)
	if !errors.Is(err, ErrNoReply) {
		t.Errorf("error %v, want ErrNoReply", err)
	}
	if n := len(host.Requests()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestBadReplies(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"cut off":       {`{"version":1,"id":"`, ErrNoReply},
		"not JSON":      {"hello\n", ErrBadReply},
		"another id":    {`{"version":1,"id":"other","ok":true,"result":1}` + "\n", ErrBadReply},
		"no ok":         {`{"version":1,"id":"","result":1}` + "\n", ErrBadReply},
		"other version": {`{"version":2,"id":"","ok":true,"result":1}` + "\n", ErrBadReply},
		"empty line":    {"\n", ErrBadReply},
	} {
		t.Run(name, func(t *testing.T) {
			host := clienttest.Start(t, clienttest.Raw(c.line))
			if err := dial(t, Options{Socket: host.Socket}).Call(t.Context(), "a.b", nil, nil); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestReplyWithoutAReadableIDIsTaken(t *testing.T) {
	host := clienttest.Start(t, clienttest.Raw(`{"version":1,"id":"","ok":false,"error":{"code":"busy","message":"full"}}`+"\n"))
	var e *Error
	if err := dial(t, Options{Socket: host.Socket}).Call(t.Context(), "a.b", nil, nil); !errors.As(err, &e) || e.Code != envelope.Busy {
		t.Errorf("error %v, want busy", err)
	}
}

func TestLargestReplyIsReadAndALargerOneRefused(t *testing.T) {
	frame := func(r clienttest.Request) (head, tail string) {
		return `{"version":1,"id":` + string(r.ID) + `,"ok":true,"result":"`, `"}`
	}
	var extra atomic.Int64
	host := clienttest.Start(t, func(conn net.Conn, r clienttest.Request) {
		head, tail := frame(r)
		fill := strings.Repeat("x", envelope.MaxResultBytes-len(head)-len(tail)+int(extra.Load()))
		fmt.Fprint(conn, head, fill, tail, "\n")
	})
	c := dial(t, Options{Socket: host.Socket})
	reply, err := c.CallRaw(t.Context(), "a.b", nil)
	if err != nil || len(reply.Line) != envelope.MaxResultBytes {
		t.Fatalf("error %v, want a line of %d bytes", err, envelope.MaxResultBytes)
	}
	extra.Store(1)
	if _, err := c.CallRaw(t.Context(), "a.b", nil); !errors.Is(err, ErrReplyTooLarge) {
		t.Errorf("error %v, want ErrReplyTooLarge", err)
	}
}

func TestRefusalOfALargeRequestIsRead(t *testing.T) {
	path := filepath.Join(shortDir(t), "early.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		// The host answers, and goes with most of the request unread.
		_, err = fmt.Fprintln(conn, `{"version":1,"id":"","ok":false,"error":{"code":"request_too_large","message":"too large"}}`)
		conn.Close()
		served <- err
	}()
	params := json.RawMessage(`{"x":"` + strings.Repeat("x", 8<<20) + `"}`)
	_, err = dial(t, Options{Socket: path}).CallRaw(t.Context(), "a.b", params)
	if serr := <-served; serr != nil {
		t.Fatal(serr)
	}
	if err != nil {
		t.Errorf("error %v, want the reply", err)
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	arrived, closed := make(chan struct{}), make(chan struct{})
	host := clienttest.Start(t, func(conn net.Conn, _ clienttest.Request) {
		close(arrived)
		var b [1]byte
		for {
			if _, err := conn.Read(b[:]); err != nil {
				close(closed)
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- dial(t, Options{Socket: host.Socket}).Call(ctx, "a.b", nil, nil) }()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	<-closed
}

func TestTimeoutSaysThatTheEffectIsUnknown(t *testing.T) {
	release := make(chan struct{})
	host := clienttest.Start(t, func(net.Conn, clienttest.Request) { <-release })
	defer close(release)
	err := dial(t, Options{Socket: host.Socket, Timeout: 20 * time.Millisecond}).Call(t.Context(), "a.b", nil, nil)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "whether the call took effect is unknown") {
		t.Errorf("error %v, want a deadline and what is unknown", err)
	}
}

func TestDialRefusesAPathThatIsTooLong(t *testing.T) {
	path := "/tmp/" + strings.Repeat("x", 100)
	_, err := Dial(Options{Socket: path})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "105") || !strings.Contains(err.Error(), "104") {
		t.Errorf("error %v, want path, length and limit", err)
	}
	if _, err := Dial(Options{Socket: path[:104]}); err != nil {
		t.Errorf("path of 104 bytes: %v", err)
	}
}

func TestNamesOfAbstractSocketsAreFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if c := dial(t, Options{Socket: "@vant"}); !filepath.IsAbs(c.Socket()) {
		t.Errorf("socket %q, want an absolute path", c.Socket())
	}
}

func TestDefaultSocket(t *testing.T) {
	t.Setenv("VANT_SOCKET", "/tmp/mine.sock")
	if c := dial(t, Options{}); c.Socket() != "/tmp/mine.sock" {
		t.Errorf("socket %s, want $VANT_SOCKET", c.Socket())
	}
	t.Setenv("VANT_SOCKET", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/x")
	if c, want := dial(t, Options{}), fmt.Sprintf("/run/user/x/vantage-agent-%d.sock", os.Getuid()); c.Socket() != want {
		t.Errorf("socket %s, want %s", c.Socket(), want)
	}
}

func TestPeerOfAnotherUserGetsNothing(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	c := dial(t, Options{Socket: host.Socket})
	c.uid++ // the test's process is now another user's
	if err := c.Call(t.Context(), "a.b", nil, nil); !errors.Is(err, ErrWrongPeer) {
		t.Errorf("error %v, want ErrWrongPeer", err)
	}
	host.Stop()
	if n := len(host.Requests()); n != 0 {
		t.Errorf("%d requests came, want none", n)
	}
}

func TestConcurrentCallsGetTheirOwnReplies(t *testing.T) {
	host := clienttest.Start(t, func(conn net.Conn, r clienttest.Request) { clienttest.Result(string(r.Params))(conn, r) })
	c := dial(t, Options{Socket: host.Socket})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			var got struct{ I int }
			if err := c.Call(t.Context(), "a.echo", map[string]int{"i": i}, &got); err != nil || got.I != i {
				t.Errorf("call %d: got %d, error %v", i, got.I, err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, r := range host.Requests() {
		seen[string(r.ID)] = true
	}
	if len(seen) != 64 {
		t.Errorf("%d different ids in 64 requests", len(seen))
	}
}

func TestCallsLeaveNoDescriptors(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	c := dial(t, Options{Socket: host.Socket})
	count := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := c.Call(t.Context(), "a.b", nil, nil); err != nil {
		t.Fatal(err)
	}
	before := count()
	for range 100 {
		if err := c.Call(t.Context(), "a.b", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The host closes its ends when it finds time.
	host.Stop()
	if after := count(); after > before {
		t.Errorf("%d descriptors after 100 calls, %d before", after, before)
	}
}

func BenchmarkCall(b *testing.B) {
	host := clienttest.Start(b, clienttest.Result(`{"running":true}`))
	c, err := Dial(Options{Socket: host.Socket})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallRaw(b.Context(), "status", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// shortDir gives a folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vant")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
