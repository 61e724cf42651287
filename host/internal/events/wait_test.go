package events

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// poll runs one Wait and says what came and after how much time.
type poll struct {
	page Page
	took time.Duration
	done bool
}

func startPoll(ctx context.Context, r *Ring, after uint64, wait time.Duration, types ...string) *poll {
	p := &poll{}
	go func() {
		begin := time.Now()
		p.page = r.Wait(ctx, after, 256, types, wait)
		p.took, p.done = time.Since(begin), true
	}()
	synctest.Wait()
	return p
}

func TestWaitReturnsAtOnceWhenThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		fill(r, 2)
		p := startPoll(t.Context(), r, 1, time.Hour)
		if diff := cmp.Diff([]uint64{2}, sequences(p.page)); !p.done || diff != "" {
			t.Errorf("done %v (-want +got):\n%s", p.done, diff)
		}
	})
}

func TestWaitEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, 25*time.Second)
		time.Sleep(25*time.Second - 1)
		synctest.Wait()
		if p.done {
			t.Fatal("too early")
		}
		time.Sleep(1)
		synctest.Wait()
		if !p.done || p.took != 25*time.Second || len(p.page.Events) != 0 {
			t.Errorf("%+v", *p)
		}
		if len(r.waiting) != 0 {
			t.Error("the waiter is still listed")
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		ctx, cancel := context.WithCancel(t.Context())
		p := startPoll(ctx, r, 0, time.Hour)
		cancel()
		synctest.Wait()
		if !p.done || len(r.waiting) != 0 {
			t.Errorf("done %v, %d listed", p.done, len(r.waiting))
		}
	})
}

func TestAnEventWakesAllThatWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		polls := []*poll{
			startPoll(t.Context(), r, 0, time.Hour),
			startPoll(t.Context(), r, 0, time.Hour, "tab"),
			startPoll(t.Context(), r, 0, time.Hour, "page", "tab."),
		}
		time.Sleep(time.Second)
		r.Append("tab.created", nil)
		synctest.Wait()
		for i, p := range polls {
			if !p.done || p.took != time.Second || len(p.page.Events) != 1 {
				t.Errorf("poll %d: %+v", i, *p)
			}
		}
	})
}

func TestEventsOfOtherTypesWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, time.Hour, "tab")
		var w *waiter
		for w = range r.waiting {
		}
		for range 1000 {
			r.Append("page.load", nil)
		}
		synctest.Wait()
		// The same waiter is still listed: it was not woken and enlisted anew.
		if _, listed := r.waiting[w]; p.done || !listed {
			t.Errorf("done %v, listed %v", p.done, listed)
		}
		r.Append("tab.closed", nil)
		synctest.Wait()
		if diff := cmp.Diff([]uint64{1001}, sequences(p.page)); !p.done || diff != "" {
			t.Errorf("done %v (-want +got):\n%s", p.done, diff)
		}
	})
}

func TestACursorAheadOfLatestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 5000, 10*time.Second)
		fill(r, 20)
		synctest.Wait()
		if p.done {
			t.Fatal("events before its cursor woke it")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !p.done || len(p.page.Events) != 0 || p.page.Latest != 20 || p.page.Epoch != r.Epoch() {
			t.Errorf("%+v", *p)
		}
	})
}

func TestAClearDoesNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, time.Hour)
		r.Append("tab.created", nil)
		r.Clear() // most likely before the waiter runs
		synctest.Wait()
		if p.done && len(p.page.Events) == 0 {
			t.Error("ended with nothing before its time")
		}
		if !p.done {
			r.Append("tab.closed", nil)
			synctest.Wait()
			if diff := cmp.Diff([]uint64{2}, sequences(p.page)); !p.done || diff != "" {
				t.Errorf("done %v (-want +got):\n%s", p.done, diff)
			}
		}
	})
}

func TestAnEventWakesAWaitWithinTenMilliseconds(t *testing.T) {
	r := New(8)
	const tries = 50
	quick := 0
	for range tries {
		after := r.Since(0, 1, nil).Latest
		woken := make(chan time.Time, 1)
		go func() {
			r.Wait(t.Context(), after, 1, nil, time.Minute)
			woken <- time.Now()
		}()
		for listed := 0; listed == 0; {
			r.mu.Lock()
			listed = len(r.waiting)
			r.mu.Unlock()
		}
		begin := time.Now()
		r.Append("tab.created", nil)
		if (<-woken).Sub(begin) < 10*time.Millisecond {
			quick++
		}
	}
	// A busy machine may lose the processor now and then; more often is a fault.
	if quick < tries*3/4 {
		t.Errorf("only %d of %d woke in time", quick, tries)
	}
}

func TestManyWritersAndFollowers(t *testing.T) {
	const writers, each, followers = 4, 500, 8
	r := New(writers * each)
	var wg sync.WaitGroup
	var fault atomic.Value
	for range followers {
		wg.Go(func() {
			for after := uint64(0); after < writers*each; {
				p := r.Wait(t.Context(), after, 1+rand.IntN(64), nil, time.Minute)
				for _, e := range p.Events {
					if e.Sequence != after+1 {
						fault.Store([2]uint64{after, e.Sequence})
						return
					}
					after = e.Sequence
				}
				p.AppendJSON(nil)
			}
		})
	}
	for range writers {
		wg.Go(func() {
			for i := range each {
				if i%3 == 0 {
					r.AppendAll([]Entry{{Type: "tab.created"}})
				} else {
					r.Append("tab.closed", []byte(`{"tab_id":1}`))
				}
			}
		})
	}
	wg.Wait()
	if f := fault.Load(); f != nil {
		t.Errorf("a follower at %d got %d", f.([2]uint64)[0], f.([2]uint64)[1])
	}
}

func TestASlowReaderHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(4)
		fill(r, 4)
		held := r.Since(0, 4, nil) // what a slow reader still formats
		p := startPoll(t.Context(), r, 4, time.Hour)
		fill(r, 100)
		synctest.Wait()
		if !p.done {
			t.Error("the other follower did not wake")
		}
		if diff := cmp.Diff([]uint64{1, 2, 3, 4}, sequences(held)); diff != "" {
			t.Errorf("the page changed under its reader (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkAppendWithWaitersOfOtherTypes(b *testing.B) {
	r := New(DefaultSize)
	for range 256 {
		r.enlist(0, []string{"tab", "page"})
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Append("download.started", nil)
	}
}

func BenchmarkSincePageOf256(b *testing.B) {
	r := New(DefaultSize)
	for range DefaultSize {
		r.Append("page.load", []byte(`{"tab_id":1,"event":3,"uri":"https://example.test/"}`))
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = r.Since(512, 256, nil).AppendJSON(dst[:0])
	}
}
