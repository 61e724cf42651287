package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vant-run/vant/host/internal/socket"
)

// Shutdown retires the listeners, so that no new client gets in, and lets
// those that are connected have their replies. Connections that have sent
// nothing are closed soon. When ctx ends first it cancels the calls that still
// run, gives them a moment to answer and cuts the connections that are left.
// The error says that some are left even then, because a handler does not heed
// its cancellation; it runs on.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.reclaim.stop()
	s.mu.Lock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	listeners := make([]*socket.Listener, 0, len(s.listeners))
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	s.deadline = time.Now().Add(s.bounds.lastRead)
	err := s.eachWaiting((*conn).hurry)
	s.mu.Unlock()
	s.complain(err)

	for _, l := range listeners {
		l.Retire()
	}
	finished := s.drained(ctx)
	s.cancel()
	if finished || s.drainedWithin(ctx, s.bounds.lastReply) {
		return nil
	}
	s.mu.Lock()
	s.cutOff = true
	err = s.eachWaiting((*conn).cut)
	s.mu.Unlock()
	s.complain(err)
	if s.drainedWithin(ctx, s.bounds.lastCut) {
		return nil
	}
	return fmt.Errorf("%d connections did not end when their calls were cancelled", s.connections.Load())
}

// eachWaiting applies f to the connections with the poller; the caller holds
// mu.
func (s *Server) eachWaiting(f func(*conn) error) error {
	var errs []error
	for c := range s.waiting {
		errs = append(errs, f(c))
	}
	return errors.Join(errs...)
}

// drained waits until nothing is served any more; false says that ctx ended
// first.
func (s *Server) drained(ctx context.Context) bool {
	for s.tasks.Load() > 0 {
		select {
		case <-s.idle:
		case <-ctx.Done():
			return false
		}
	}
	s.signalIdle() // there may be another Shutdown
	return true
}

// drainedWithin is drained for a while beyond the end of ctx.
func (s *Server) drainedWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	return s.drained(ctx)
}
