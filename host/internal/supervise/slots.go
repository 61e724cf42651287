package supervise

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

var (
	// errClosed: the generation takes no calls any more. Nothing was sent.
	errClosed = errors.New("generation takes no more calls")
	// errFull: all slots and the queue are taken.
	errFull = errors.New("slots and queue are full")
)

const (
	slotsClosed = 1 << 62
	slotsQueue  = 1 << 61 // somebody waits: newcomers go behind
	slotsCount  = slotsQueue - 1
)

// slots is the bulkhead of one generation and the count of its references: at
// most limit calls at once, at most maxQueue waiting in order of arrival. The
// free path is one compare-and-swap each way.
type slots struct {
	state    atomic.Int64 // calls, and the two bits above
	limit    int64
	maxQueue int
	// drained is closed once close was called and no call is left.
	drained chan struct{}

	mu          sync.Mutex // guards what follows; held for list work alone
	first, last *waiter
	queued      int
}

type waiter struct {
	ready      chan struct{} // closed with done set
	done       bool          // left the queue by grant or close
	err        error
	prev, next *waiter
}

func newSlots(limit, queue int) *slots {
	return &slots{limit: int64(limit), maxQueue: queue, drained: make(chan struct{})}
}

// acquire takes a slot, waiting for one while ctx lasts. Its error is
// errClosed, errFull or ctx's.
func (s *slots) acquire(ctx context.Context) error {
	for {
		v := s.state.Load()
		if v >= s.limit { // either bit makes it so
			return s.wait(ctx)
		}
		if s.state.CompareAndSwap(v, v+1) {
			return nil
		}
	}
}

// release gives a slot back.
func (s *slots) release() {
	switch v := s.state.Add(-1); {
	case v == slotsClosed:
		close(s.drained)
	case v&slotsQueue != 0:
		s.grant()
	}
}

func (s *slots) wait(ctx context.Context) error {
	w, err := s.enqueue()
	if w == nil {
		return err
	}
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	granted := w.done && w.err == nil
	if !w.done {
		s.remove(w)
	}
	s.mu.Unlock()
	if granted {
		s.release()
	}
	return ctx.Err()
}

// enqueue gives a place in the queue; or none and nil for a slot, or none and
// an error.
func (s *slots) enqueue() (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		v := s.state.Load()
		switch {
		case v&slotsClosed != 0:
			return nil, errClosed
		case s.queued == 0 && v&slotsCount < s.limit:
			if s.state.CompareAndSwap(v, v+1) {
				return nil, nil
			}
			continue
		case s.queued >= s.maxQueue:
			return nil, errFull
		case v&slotsQueue == 0 && !s.state.CompareAndSwap(v, v|slotsQueue):
			// A release that did not see the bit would wake nobody.
			continue
		}
		w := &waiter{ready: make(chan struct{}), prev: s.last}
		if s.last != nil {
			s.last.next = w
		} else {
			s.first = w
		}
		s.last = w
		s.queued++
		return w, nil
	}
}

// grant hands free slots to those who wait longest.
func (s *slots) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.first != nil {
		v := s.state.Load()
		if v&slotsClosed != 0 || v&slotsCount >= s.limit {
			return
		}
		if s.state.CompareAndSwap(v, v+1) {
			s.finish(s.first, nil)
		}
	}
}

// finish takes w out of the queue and tells it why; s.mu is held.
func (s *slots) finish(w *waiter, err error) {
	s.remove(w)
	w.done, w.err = true, err
	close(w.ready)
}

func (s *slots) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		s.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		s.last = w.prev
	}
	w.prev, w.next = nil, nil
	if s.queued--; s.queued == 0 {
		s.state.And(^int64(slotsQueue))
	}
}

// close takes no more calls; those that wait get errClosed. It may be called
// again.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		v := s.state.Load()
		if v&slotsClosed != 0 {
			return
		}
		if s.state.CompareAndSwap(v, v&slotsCount|slotsClosed) {
			if v&slotsCount == 0 {
				close(s.drained)
			}
			break
		}
	}
	for s.first != nil {
		s.finish(s.first, errClosed)
	}
}

// inFlight is the number of slots taken.
func (s *slots) inFlight() int { return int(s.state.Load() & slotsCount) }

// waiting is the number of calls in the queue.
func (s *slots) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}
