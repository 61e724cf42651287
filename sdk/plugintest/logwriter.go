package plugintest

import (
	"strings"
	"sync"
	"testing"
)

// logWriter passes log lines to a test until the test ends, after which the
// testing package would panic.
type logWriter struct {
	t testing.TB

	mu     sync.Mutex // guards the fields that follow
	kept   strings.Builder
	closed bool
}

// maxKeptLog bounds what is kept for Session.Log, in bytes.
const maxKeptLog = 1 << 20

// Write implements io.Writer.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		if w.kept.Len() < maxKeptLog {
			w.kept.Write(line)
		}
		w.t.Logf("%s", strings.TrimRight(string(line), "\n"))
	}
	return len(line), nil
}

func (w *logWriter) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept.String()
}

func (w *logWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
