package server

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vant-run/vant/host/internal/hosttest"
)

func TestMemoryIsGivenBackOnceSomeTimeAfterTheLastLargeBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		r := &reclaimer{after: 5 * time.Second, free: func() { calls.Add(1) }}
		step := func(d time.Duration, want int64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n := calls.Load(); n != want {
				t.Fatalf("%d calls, want %d", n, want)
			}
		}
		for range 10 {
			r.released()
			step(4*time.Second, 0)
		}
		step(time.Second, 1)
		step(time.Hour, 1)
		r.released()
		step(5*time.Second, 2)
		r.released()
		r.stop()
		r.released() // by a handler that has not ended
		step(time.Hour, 2)
	})
}

func TestStoppingWaitsForTheMemoryThatIsBeingGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Bool
		r := &reclaimer{after: time.Second, free: func() { begun.Store(true); time.Sleep(time.Second); ended.Store(true) }}
		r.released()
		time.Sleep(1500 * time.Millisecond)
		if !begun.Load() || ended.Load() {
			t.Fatalf("begun %v, ended %v", begun.Load(), ended.Load())
		}
		r.stop()
		if !ended.Load() {
			t.Error("it runs on")
		}
	})
}

func TestOnlyLargeRepliesMakeMemoryBeGivenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		request, reply int
		want           bool
	}{
		"small":         {10, 10, false},
		"kept":          {keptBuffer / 2, keptBuffer / 2, false},
		"half a MiB":    {10, 1 << 19, false},
		"large reply":   {10, 2 << 20, true},
		"large request": {900 << 10, 10, false}, // at most 1 MiB
	} {
		t.Run(name, func(t *testing.T) {
			var freed atomic.Int64
			answer := handlerFunc(func(_ context.Context, _, dst []byte) []byte {
				return append(append(dst, strings.Repeat("x", tt.reply)...), '\n')
			})
			f := start(t, answer, func(s *Server) {
				s.reclaim.after, s.reclaim.free = time.Millisecond, func() { freed.Add(1) }
			})
			if got := readAll(t, f.send(strings.Repeat("x", tt.request)+"\n")); len(got) != tt.reply+1 {
				t.Fatalf("a reply of %d bytes", len(got))
			}
			hosttest.Eventually(t, "the connection ends", f.none)
			f.reclaim.mu.Lock()
			armed := f.reclaim.timer != nil
			f.reclaim.mu.Unlock()
			if armed != tt.want {
				t.Fatalf("memory will be given back: %v, want %v", armed, tt.want)
			}
			if tt.want {
				hosttest.Eventually(t, "the memory is given back", func() bool { return freed.Load() == 1 })
			}
		})
	}
}
