package devtools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/coder/websocket"
)

// echo is a browser that says what it is told.
func echo(t *testing.T, version string) Address {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/json/version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, version) })
	mux.HandleFunc("/devtools/browser/one", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			t.Error("it came with an origin, which browsers refuse")
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(-1)
		for {
			kind, message, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	})
	a, err := Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMessagesPassAsOverThePipe(t *testing.T) {
	t.Parallel()
	// Another machine's name in what it says makes no difference.
	a := echo(t, `{"Browser":"Chrome/156","webSocketDebuggerUrl":"ws://elsewhere.test:1/devtools/browser/one"}`)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"as they come": func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w, run, err := a.Dial(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if run != "/devtools/browser/one" {
				t.Errorf("the run is %q", run)
			}
			want := []byte("a\x00\x00" + strings.Repeat("long ", 50_000) + "\x00{}\x00")
			if n, err := w.Write(want); n != len(want) || err != nil {
				t.Fatal(n, err)
			}
			got := make([]byte, len(want))
			if _, err := io.ReadFull(wrap(r), got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v; %d bytes came back, others than were sent", err, len(got))
			}
			if n, err := w.Write([]byte("whole\x00half")); n != 6 || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("half a message: %d, %v", n, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadAll(r); err == nil {
				t.Error("the end of the connection is not an error")
			}
		})
	}
}

func TestWhatIsNoBrowserIsSaid(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"<html>": "no browser",
		`{"webSocketDebuggerUrl":"ws://127.0.0.1:1/chat"}`:                                               "names no socket",
		`{"webSocketDebuggerUrl":"ws://127.0.0.1:1/devtools/browser/two"}`:                               "404",
		`{"x":"` + strings.Repeat("x", maxVersion) + `","webSocketDebuggerUrl":"/devtools/browser/one"}`: "no browser",
	} {
		if _, _, _, err := echo(t, version).Dial(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", version, err, want)
		}
	}
}

func TestAnotherRunOfTheBrowserIsNotTakenForTheSame(t *testing.T) {
	t.Parallel()
	a := echo(t, `{"webSocketDebuggerUrl":"ws://127.0.0.1:1/devtools/browser/one"}`)
	if _, _, _, err := a.Dial(t.Context(), "/devtools/browser/zero"); !errors.Is(err, ErrOther) || !Gone(err) {
		t.Errorf("it gives %v", err)
	}
}

func TestAPortThatNobodyListensOnSaysWhatToDo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	for _, text := range []string{"http://" + address, "ws://" + address + "/devtools/browser/one"} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = a.Dial(t.Context(), "")
		want := fmt.Sprintf("no browser answers at %s (connection refused): is it running with --remote-debugging-port=%s?", text, port)
		if err == nil || err.Error() != want || !errors.Is(err, syscall.ECONNREFUSED) || !Gone(err) {
			t.Errorf("it says %v", err)
		}
	}
}
