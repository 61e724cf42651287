package server

import (
	"sync"
	"time"
)

// largeBuffer makes giving memory back worth a collection; requests have less.
const largeBuffer = 1 << 20

// reclaimer gives memory back to the system when no large buffer has been
// released for a while: the runtime by itself keeps it for minutes.
type reclaimer struct {
	after time.Duration
	free  func()

	mu      sync.Mutex  // guards the fields that follow
	timer   *time.Timer // nil before the first large buffer
	stopped bool
	running sync.WaitGroup
}

// released tells of a large buffer that is garbage from now on.
func (r *reclaimer) released() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopped:
	case r.timer == nil:
		r.timer = time.AfterFunc(r.after, r.reclaim)
	default:
		r.timer.Reset(r.after)
	}
}

func (r *reclaimer) reclaim() {
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		return
	}
	r.running.Add(1)
	r.mu.Unlock()
	defer r.running.Done()
	r.free()
}

// stop ends it; when it returns nothing of it runs or will.
func (r *reclaimer) stop() {
	r.mu.Lock()
	r.stopped = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.running.Wait()
}
