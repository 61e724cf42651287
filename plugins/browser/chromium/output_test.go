package chromium

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func printed(t *testing.T, log hclog.Logger, text string) *output {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := newOutput(r, log)
	go o.read()
	if _, err := w.WriteString(text); err != nil {
		t.Error(err)
	}
	w.Close()
	o.finish(10 * time.Second)
	return o
}

func TestWordsExplainAnEnd(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"a\nb\n", "a; b"},
		{"1\n2\n3\n4\n5\nno newline", "3; 4; 5; no newline"},
		{"[1:2:1130/105155.198848:ERROR:dbus/object_proxy.cc:572] Failed to call\nDevTools listening on ws://\n", ""},
		{"[1:2:1130/105155.1:WARNING:a/b.cc:5] careful\n[1:2:1130/105155.1:ERROR:a/b.cc:5] broken\n", "broken"},
		{"x\n[1:2:1130/1.1:FATAL:a/b.cc:5] the reason\n#0 0x55\ny\n", "the reason"},
		{"a\x1b[31mb\x00c\xff\n", "a [31mb c?"},
		{"/b: error while loading shared libraries: libnss3.so: no such file\n", "/b: error while loading shared libraries: libnss3.so: no such file; install the package that has this library, or Chromium anew"},
		{"[0101/1.1:FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox! x\n", "No usable sandbox! x; allow unprivileged user namespaces, or install the package chromium-sandbox"},
	} {
		if got := printed(t, hclog.NewNullLogger(), tc.text).words(false); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestAGoodEndIsNotExplainedByErrorsBeforeIt(t *testing.T) {
	o := printed(t, hclog.NewNullLogger(), "[1:2:1130/1.1:ERROR:a/b.cc:5] Connection terminated while reading from pipe\nOpening in existing browser session.\n")
	if got := o.words(true); !strings.HasPrefix(got, "Opening in existing") {
		t.Errorf("words %q", got)
	}
}

func TestAFloodOfOutputIsBounded(t *testing.T) {
	log, text := logged(hclog.Debug)
	o := printed(t, log, strings.Repeat(strings.Repeat("x", 5000)+"\n", 2000))
	if got := strings.Count(text.String(), "\n"); got > 4*linesBurst {
		t.Errorf("%d lines were logged", got)
	}
	if !strings.Contains(text.String(), "printed more") {
		t.Error("the log does not say that lines were withheld")
	}
	if n := len(o.words(false)); n == 0 || n > maxWords*(maxLine+2) {
		t.Errorf("%d bytes explain the end", n)
	}
}

func TestOutputThatSomebodyHoldsIsNotWaitedFor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o := newOutput(r, hclog.NewNullLogger())
	go o.read()
	o.finish(time.Millisecond)
	if err := w.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x"); err == nil {
		t.Error("the reader still reads")
	}
}
