package supervise

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vant-run/vant/host/internal/method"
)

// generation is one process of a plugin that has been described and
// configured. Its plugin's machine owns its life; calls hold it by a slot.
type generation struct {
	p      *Plugin
	number uint64
	spec   Spec
	set    *method.Set
	proc   Process
	slots  *slots
	calls  callTable
	ready  time.Time
	muted  atomic.Bool // a bad event has been logged

	arrivals arrivals
	overdue  atomic.Bool // events that did not come have been logged

	// life ends the Link stream and the health checks.
	life context.Context
	end  context.CancelFunc
	// severed ends the calls of an exclusive plugin when they are cut.
	severed context.Context
	sever   context.CancelFunc
	// cutFor says why calls were or will be cut short; nil: they were not.
	cutFor atomic.Pointer[string]

	sick  chan struct{} // closed by watch
	hurry chan struct{} // closed by hasten
	once  sync.Once
	gone  chan struct{} // closed when all is released and in the books
}

func (p *Plugin) newGeneration(number uint64, spec Spec, set *method.Set, proc Process) *generation {
	limits := p.s.limits(spec, set)
	g := &generation{
		p: p, number: number, spec: spec, set: set, proc: proc,
		slots: newSlots(limits.MaxInFlight, limits.MaxQueue),
		calls: newCallTable(limits.MaxInFlight),
		sick:  make(chan struct{}),
		hurry: make(chan struct{}),
		gone:  make(chan struct{}),
	}
	g.arrivals.open() // the first call may come before the stream
	g.life, g.end = context.WithCancel(context.Background())
	g.severed, g.sever = context.WithCancel(context.Background())
	return g
}

// limits gives the bulkhead of a generation: what the operator says, else what
// the plugin wishes, else the policy's.
func (s *Supervisor) limits(spec Spec, set *method.Set) Limits {
	l := Limits{MaxInFlight: s.policy.MaxInFlight, MaxQueue: s.policy.MaxQueue}
	if set != nil && set.MaxInFlight > 0 {
		l.MaxInFlight = set.MaxInFlight
	}
	if spec.MaxInFlight > 0 {
		l.MaxInFlight = spec.MaxInFlight
	}
	if spec.MaxQueue > 0 {
		l.MaxQueue = spec.MaxQueue
	}
	l.MaxInFlight = min(l.MaxInFlight, slotsCeiling)
	l.MaxQueue = min(l.MaxQueue, slotsCeiling)
	return l
}

// watch asks for the generation's health until life ends, and closes sick
// when it has missed too often in a row.
func (g *generation) watch() {
	if g.spec.Attach != "" {
		return // at a breakpoint it answers nobody, and is well
	}
	policy := &g.p.s.policy
	tick := time.NewTicker(policy.HealthEvery)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-tick.C:
		case <-g.life.Done():
			return
		}
		ctx, cancel := context.WithTimeout(g.life, policy.HealthTimeout)
		err := g.proc.Health(ctx)
		cancel()
		switch {
		case err == nil:
			misses = 0
			continue
		case g.life.Err() != nil:
			return
		}
		misses++
		g.p.log.Debug("health check missed", "generation", g.number, "misses", misses, "error", clip(err.Error(), reasonBytes))
		if misses >= policy.HealthMisses {
			close(g.sick)
			return
		}
	}
}

// hasten shortens a retirement under way to the exclusive bound.
func (g *generation) hasten() { g.once.Do(func() { close(g.hurry) }) }

// haste is how a generation retires.
type haste int

const (
	atEase  haste = iota // calls end in their own time, within the drain bound
	pressed              // a successor waits: within the exclusive bound
	atOnce               // calls are cut, the plugin is not asked to drain
)

// retire ends a generation that is current no more. It returns when the
// process has been released. Calls that could not end get an
// *UnavailableError with the reason why.
func (g *generation) retire(h haste, why string) {
	g.slots.close()
	if h == atOnce {
		g.cut(why)
	} else if g.drained(h, why) {
		g.askDrain()
	}
	g.end()
	g.stop()
	g.sever()
}

// drained waits for the calls to end and cuts them when their bound has
// passed. It is false when the process has ended or must end now.
func (g *generation) drained(h haste, why string) bool {
	s := g.p.s
	bound := g.drainBound()
	if h == pressed {
		bound = s.policy.ExclusiveDrain
	}
	began := time.Now()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	hurry, stopping := g.hurry, s.stopping
	shorten := func(to time.Duration) {
		bound = min(bound, time.Since(began)+to)
		timer.Reset(bound - time.Since(began))
	}
	for {
		select {
		case <-g.slots.drained:
			return !g.crashed()
		case <-timer.C:
			g.cut(why)
			return true
		case <-hurry:
			hurry = nil
			shorten(s.policy.ExclusiveDrain)
		case <-stopping:
			stopping = nil
			shorten(s.policy.StopDrain)
		case <-g.sick:
			g.cut("it missed its health checks while its last calls ran")
			return false
		case <-s.killing:
			g.cut(why)
			return false
		case <-g.proc.Exited():
			return !g.crashed()
		}
	}
}

// crashed tells of a process that ended before it was asked to.
func (g *generation) crashed() bool {
	if !g.ended() {
		return false
	}
	exit := g.proc.Exit()
	g.p.event("plugin.crashed", eventData{
		Generation: g.number, Version: g.set.Version,
		Reason: exit.why() + " while it finished its last calls", Exit: exit.String(),
	})
	return true
}

// drainBound lets every call reach its own deadline.
func (g *generation) drainBound() time.Duration {
	bound := g.p.s.policy.Drain
	for _, m := range g.set.Methods {
		bound = max(bound, m.Timeout+time.Second)
	}
	return bound
}

// cut gives calls in flight up. Those of an exclusive plugin are cancelled, so
// that it has nothing to wait for when it is asked to drain; others end with
// the process.
func (g *generation) cut(why string) {
	g.cutFor.CompareAndSwap(nil, &why)
	g.sever()
}

// askDrain lets the plugin release what it owns.
func (g *generation) askDrain() {
	if g.spec.Attach != "" {
		return // it would take no more calls from the next host either
	}
	bound := g.p.s.policy.DrainRPC
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	defer context.AfterFunc(g.p.s.killCtx, cancel)()
	if err := g.proc.Drain(ctx, bound); err != nil {
		select {
		case <-g.proc.Exited(): // it took the shortest way
		default:
			g.p.log.Warn("plugin did not drain", "generation", g.number, "error", clip(err.Error(), reasonBytes))
		}
	}
}

// stop ends the process and notes how.
func (g *generation) stop() {
	grace := g.p.s.policy.StopGrace
	if g.p.s.killCtx.Err() != nil {
		grace = 0
	}
	g.proc.Stop(grace)
}
