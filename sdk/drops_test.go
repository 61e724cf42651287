package sdk

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// written is a log that several goroutines write.
type written struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(line)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// TestAFloodOfDroppedEventsIsAFewLines: whatever the reason, whoever emits.
func TestAFloodOfDroppedEventsIsAFewLines(t *testing.T) {
	for name, emit := range map[string]struct {
		typ  string
		data any
	}{
		"nobody reads":   {"t.step", nil},
		"no type":        {"no dots", nil},
		"the host's":     {"host.started", nil},
		"no object":      {"t.step", 1},
		"no JSON":        {"t.step", make(chan int)},
		"more than fits": {"t.step", map[string]string{"x": strings.Repeat("x", 65<<10)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text written
				s := newServer(New("t", "0.1.0", "T."), hclog.New(&hclog.LoggerOptions{Output: &text}))
				defer s.end()
				for range linkQueue {
					Emit(s.life, "t.fills", nil)
				}
				const n = 1000
				for range n {
					Emit(s.life, emit.typ, emit.data)
				}
				if got := strings.Count(text.String(), "\n"); got != 1 {
					t.Fatalf("%d lines: %.500s", got, text.String())
				}
				time.Sleep(dropsEvery)
				synctest.Wait()
				if got := strings.Count(text.String(), "\n"); got != 2 || !strings.Contains(text.String(), "dropped=999") {
					t.Errorf("then %d lines: %.500s", got, text.String())
				}
				time.Sleep(10 * dropsEvery)
				Emit(s.life, emit.typ, emit.data)
				if got := strings.Count(text.String(), "event dropped:"); got != 2 {
					t.Errorf("one after a while makes %d lines: %.500s", got, text.String())
				}
				time.Sleep(dropsEvery) // the last timer's
			})
		})
	}
}
