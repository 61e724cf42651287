package supervise

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// arrivals says how far the events of a generation have come by Link. The
// answer to a call travels beside that stream and may overtake what was queued
// there before it.
type arrivals struct {
	last atomic.Uint64 // number of the last event that is published or given up

	mu      sync.Mutex // guards the fields that follow, and last against other writers
	more    bool       // there is a stream, or one is being opened
	waiting []arrival
}

// arrival is an event that somebody waits for.
type arrival struct {
	number uint64
	done   chan struct{} // closed when it is published or cannot come
}

func (a *arrivals) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.more = true
}

// close ends every wait: what comes by another stream may take long.
func (a *arrivals) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.more = false
	for _, w := range a.waiting {
		close(w.done)
	}
	a.waiting = nil
}

// reach notes that the event of that number, and those before it, are
// published or will not be waited for.
func (a *arrivals) reach(number uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number <= a.last.Load() {
		return
	}
	a.last.Store(number)
	a.waiting = slices.DeleteFunc(a.waiting, func(w arrival) bool {
		if w.number > number {
			return false
		}
		close(w.done)
		return true
	})
}

// expect gives what is closed when the wait for an event is over; nil: there
// is nothing to wait for.
func (a *arrivals) expect(number uint64) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.more || number <= a.last.Load() {
		return nil
	}
	w := arrival{number, make(chan struct{})}
	a.waiting = append(a.waiting, w)
	return w.done
}

// forget takes back what expect gave.
func (a *arrivals) forget(done chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(w arrival) bool { return w.done == done })
}

// await waits until the event of that number is published. Past its bound the
// events up to there are given up: each costs its plugin's calls the bound once.
func (g *generation) await(ctx context.Context, number uint64) {
	done := g.arrivals.expect(number)
	if done == nil {
		return
	}
	defer g.arrivals.forget(done)
	bound := time.NewTimer(arrivalBound)
	defer bound.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-g.severed.Done():
	case <-bound.C:
		came := g.arrivals.last.Load()
		g.arrivals.reach(number)
		if g.overdue.CompareAndSwap(false, true) {
			g.p.log.Warn("a plugin's answer names events that do not come by its link; more such answers are not logged",
				"generation", g.number, "link_events", number, "came", came, "waited", arrivalBound)
		}
	}
}
