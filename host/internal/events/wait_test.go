package events

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// poll is one Wait that runs; synctest gives the time.
type poll struct{ result chan outcome }

// outcome is what came of a Wait, if it is over, and after how much time.
type outcome struct {
	page Page
	took time.Duration
	done bool
}

func startPoll(ctx context.Context, r *Ring, after uint64, wait time.Duration, types ...string) *poll {
	p := &poll{result: make(chan outcome, 1)}
	go func() {
		begin := time.Now()
		page := r.Wait(ctx, after, 256, types, wait)
		p.result <- outcome{page, time.Since(begin), true}
	}()
	synctest.Wait()
	return p
}

// now says what there is when all goroutines have come to rest.
func (p *poll) now() outcome {
	synctest.Wait()
	select {
	case o := <-p.result:
		p.result <- o
		return o
	default:
		return outcome{}
	}
}

func TestWaitReturnsAtOnceWhenThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		fill(r, 2)
		p := startPoll(t.Context(), r, 1, time.Hour)
		got := p.now()
		if diff := cmp.Diff([]uint64{2}, sequences(got.page)); !got.done || diff != "" {
			t.Errorf("done %v (-want +got):\n%s", got.done, diff)
		}
	})
}

func TestWaitEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, 25*time.Second)
		time.Sleep(25*time.Second - time.Nanosecond)
		if p.now().done {
			t.Fatal("too early")
		}
		time.Sleep(time.Nanosecond)
		if got := p.now(); !got.done || got.took != 25*time.Second || len(got.page.Events) != 0 {
			t.Errorf("%+v", got)
		}
		if len(r.listed()) != 0 {
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
		if got := p.now(); !got.done || len(r.listed()) != 0 {
			t.Errorf("done %v, %d listed", got.done, len(r.listed()))
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
		for i, p := range polls {
			if got := p.now(); !got.done || got.took != time.Second || len(got.page.Events) != 1 {
				t.Errorf("poll %d: %+v", i, got)
			}
		}
	})
}

func TestEventsOfOtherTypesWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, time.Hour, "tab")
		before := r.listed()
		for range 1000 {
			r.Append("page.load", nil)
		}
		// The same waiter is still listed: it was not woken and enlisted anew.
		if p.now().done || len(before) != 1 || !slices.Equal(before, r.listed()) {
			t.Errorf("listed before %v, now %v", before, r.listed())
		}
		r.Append("tab.closed", nil)
		got := p.now()
		if diff := cmp.Diff([]uint64{1001}, sequences(got.page)); !got.done || diff != "" {
			t.Errorf("done %v (-want +got):\n%s", got.done, diff)
		}
	})
}

func TestACursorOfAnotherEpochDoesNotWait(t *testing.T) {
	for _, c := range []struct {
		name            string
		appended, after int
		waits           bool
	}{
		{"far ahead", 3, 5000, false},
		{"one ahead", 3, 4, false},
		{"ahead of an empty ring", 0, 1, false},
		{"at the latest", 3, 3, true},
		{"at the start of an empty ring", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(8)
				fill(r, c.appended)
				got := startPoll(t.Context(), r, uint64(c.after), time.Second).now()
				if got.done == c.waits {
					t.Fatalf("over at once: %v, want %v", got.done, !c.waits)
				}
				if c.waits {
					return
				}
				if len(got.page.Events) != 0 || got.page.Latest != uint64(c.appended) || got.page.Epoch != r.Epoch() {
					t.Errorf("%+v", got)
				}
				if len(r.listed()) != 0 {
					t.Error("a waiter is listed")
				}
			})
		})
	}
}

func TestACursorAtTheLatestStillWaitsAfterAClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		fill(r, 5)
		r.Clear()
		p := startPoll(t.Context(), r, 5, time.Second)
		if p.now().done {
			t.Error("the cleared ring was taken for another epoch")
		}
	})
}

func TestAClearDoesNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(8)
		p := startPoll(t.Context(), r, 0, time.Hour)
		r.mu.Lock() // the event and the clear come before the waiter runs
		r.add(Entry{Type: "tab.created"}, time.Now())
		r.forgetOldest()
		r.mu.Unlock()
		if p.now().done {
			t.Fatal("ended with nothing before its time")
		}
		r.Append("tab.closed", nil)
		got := p.now()
		if diff := cmp.Diff([]uint64{2}, sequences(got.page)); !got.done || diff != "" {
			t.Errorf("done %v (-want +got):\n%s", got.done, diff)
		}
	})
}

// listed gives the waiters that are enlisted.
func (r *Ring) listed() []*waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.waiting))
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
		for len(r.listed()) == 0 {
			runtime.Gosched()
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
		if !p.now().done {
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
