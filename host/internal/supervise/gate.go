package supervise

import (
	"context"
	"time"
)

// gate is what a call meets when its plugin has no current generation. It
// must not be modified.
type gate struct {
	state   State
	reason  string
	retryAt time.Time     // of the next start; zero: unknown
	wait    bool          // a generation is on its way: calls wait for it
	changed chan struct{} // closed when another gate has taken its place
}

// setGate puts a gate in place and wakes those who wait at the old one. The
// Supervisor's lock is held: gates follow one another in order.
func (p *Plugin) setGate(state State, reason string, retryAt time.Time, wait bool) {
	old := p.gate.Swap(&gate{state: state, reason: reason, retryAt: retryAt, wait: wait, changed: make(chan struct{})})
	if old != nil {
		close(old.changed)
	}
}

// retryAfter is how long the next start is away; 0: unknown. One that is due
// is not unknown.
func (g *gate) retryAfter() time.Duration {
	if g.retryAt.IsZero() {
		return 0
	}
	return max(time.Until(g.retryAt), time.Millisecond)
}

func (p *Plugin) unavailable(g *gate) *UnavailableError {
	return &UnavailableError{Plugin: p.name, State: g.state, Reason: g.reason, RetryAfter: g.retryAfter()}
}

// pass waits at the gate until it has changed, if it is one to wait at.
func (p *Plugin) pass(ctx context.Context) error {
	g := p.gate.Load()
	if g.state == Ready {
		return nil // the generation came between the two looks
	}
	if !g.wait {
		return p.unavailable(g)
	}
	// As many may wait here as then find a slot or a place in the queue.
	room := p.room.Load()
	defer p.atGate.Add(-1)
	if p.atGate.Add(1) > room {
		return &BusyError{Plugin: p.name, Limit: int(room)}
	}
	select {
	case <-g.changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
