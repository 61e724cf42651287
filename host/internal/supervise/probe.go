package supervise

import (
	"context"
	"errors"

	"github.com/vant-run/vant/host/internal/method"
)

// Probed is what a plugin would be if it were applied.
type Probed struct {
	// Set is what it described; nil when it did not get as far.
	Set *method.Set
	// Evicts are the plugins that would be refused because of it.
	Evicts []string
}

// Probe finds out what would become of a spec, beside what runs: a process that
// by launches is asked for its health and its description, and ended. Its
// methods are compared with those of what runs and its configuration with its
// schema, but it is neither configured nor called. Nothing is left of it when
// Probe returns. The error says why it would not serve; it is a *StartError
// unless the host is stopping.
func (s *Supervisor) Probe(ctx context.Context, by Launcher, spec Spec) (Probed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &attempt{p: &Plugin{s: s, name: spec.Name, log: s.log}, by: by, spec: spec, ctx: ctx, cancel: cancel}
	var out Probed
	var err *StartError
	done := make(chan struct{})

	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return Probed{}, errors.New("the host is stopping")
	}
	s.wg.Go(func() {
		defer close(done)
		out, err = a.tryOut()
	})
	s.mu.Unlock()

	select {
	case <-done:
	case <-s.stopping:
		cancel()
		<-done
	}
	if err != nil {
		return out, err
	}
	return out, nil
}

// tryOut goes through the steps of a start that have no effect.
func (a *attempt) tryOut() (Probed, *StartError) {
	s := a.p.s
	select {
	case s.starts <- struct{}{}:
		defer func() { <-s.starts }()
	case <-a.ctx.Done():
		return Probed{}, a.fault("launch", errNotStarted)
	}
	proc, err := a.launch()
	if err != nil {
		return Probed{}, err
	}
	defer proc.Stop(s.policy.StopGrace)
	set, err := a.probe(proc)
	if err == nil {
		_, err = a.config(set)
	}
	out := Probed{Set: set}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		out.Evicts = s.claims.rivals(a.p.name, set)
	}
	return out, err
}
