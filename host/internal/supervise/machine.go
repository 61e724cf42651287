package supervise

import (
	"context"
	"time"
)

// machine is the state machine of one plugin. Its fields belong to the
// goroutine that runs it; what others see of it goes through show.
type machine struct {
	p *Plugin
	s *Supervisor

	cur     *generation // serves
	attempt *attempt    // a start under way
	version uint64      // of the wish that the last start served
	now     bool        // cut the old generation's calls short
	// exclusive: two processes of this plugin may not live at once, as far as
	// is known.
	exclusive bool
	history   backoff
	ending    []ending // old processes that may still live

	// wronged says why the wish of this version is not to be tried again; cur,
	// or a new process of what cur was, serves in its place.
	wronged  string
	fallback *Spec
	// before is what served until it gave way to a start under way, because two
	// may not run at once.
	before *Spec
	// complaint is why the last process ended or did not come to serve.
	complaint string

	retry   *time.Timer     // the next start, in backoff
	calm    *time.Timer     // when the failures in a row are forgotten
	asked   <-chan struct{} // the attempt wants to be alone
	isAlone <-chan struct{} // the attempt that waited now starts
}

// ending is a process on its way out.
type ending struct {
	done <-chan struct{}
	gen  *generation // nil for a start that was given up
}

func newMachine(p *Plugin) *machine {
	m := &machine{p: p, s: p.s, history: backoff{policy: &p.s.policy, rand: p.s.opts.Rand}}
	if p.pred != nil {
		m.ending = append(m.ending, ending{done: p.pred.done})
	}
	return m
}

func (m *machine) run() {
	defer close(m.p.done)
	if m.p.pred != nil {
		m.s.mu.Lock()
		m.exclusive = m.p.pred.set != nil && m.p.pred.set.Exclusive
		m.s.mu.Unlock()
	}
	for m.step() {
	}
	m.finish()
}

// step waits for the next event and deals with it. It is false when the plugin
// is to end.
func (m *machine) step() bool {
	var started <-chan outcome
	if m.attempt != nil {
		started = m.attempt.result
	}
	var exited, sick <-chan struct{}
	if m.cur != nil {
		exited, sick = m.cur.proc.Exited(), m.cur.sick
	}
	var retry, calm <-chan time.Time
	if m.retry != nil {
		retry = m.retry.C
	}
	if m.calm != nil {
		calm = m.calm.C
	}
	select {
	case <-m.s.stopping:
		return false
	case <-m.p.wake:
		return m.look()
	case r := <-started:
		m.started(r)
	case <-exited:
		exit := m.cur.proc.Exit()
		m.lost(exit.why(), exit.String())
	case <-sick:
		m.lost("it missed its health checks", "")
	case <-retry:
		m.begin()
	case <-calm:
		m.calm = nil
		m.history.well()
	case <-m.asked:
		m.asked = nil
		m.clearTheWay()
	case <-m.isAlone:
		m.isAlone = nil
		m.show(Starting, m.complaint, time.Time{}, true)
	}
	return true
}

// look compares what there is with what is wished and with what is claimed.
func (m *machine) look() bool {
	m.s.mu.Lock()
	w := m.p.wish
	m.p.wish.forgive, m.p.wish.now = false, false
	state := m.p.state
	cl := m.s.claims.of[m.p.name]
	outside := cl != nil && !cl.held
	free := cl != nil && m.s.claims.isFree(m.p.name, cl)
	var blocked *claimError
	if outside {
		blocked = m.s.claims.blocked(m.p.name, cl.set)
	}
	m.s.mu.Unlock()

	if w.gone {
		return false
	}
	if w.forgive {
		m.history.forgive()
	}
	if w.version != m.version {
		m.renew(w)
	}
	switch {
	case !outside && free && m.attempt == nil:
		m.wronged, m.fallback = "", nil
		m.begin()
	case !outside:
	case blocked != nil && (m.cur != nil || m.attempt == nil && state != Refused):
		m.evicted(blocked)
	case free && m.cur == nil && m.attempt == nil && state == Refused:
		m.begin()
	case free && m.cur != nil:
		m.reclaim()
	}
	return true
}

// renew begins anew with what is wished now, whatever was under way.
func (m *machine) renew(w wish) {
	m.version, m.now = w.version, w.now
	m.wronged, m.fallback, m.complaint = "", nil, ""
	m.abandon()
	m.begin()
}

// begin starts the next generation. One that serves goes on serving, unless
// the plugin is exclusive.
func (m *machine) begin() {
	m.disarm(&m.retry)
	m.prune()
	m.s.mu.Lock()
	spec := m.p.wish.spec
	if m.fallback != nil {
		spec = *m.fallback
	}
	m.s.numbers[m.p.name]++
	number := m.s.numbers[m.p.name]
	m.s.mu.Unlock()

	a := &attempt{
		p: m.p, by: m.s.opts.Launcher, version: m.version, number: number, spec: spec,
		// A process that is attached to has one Link and one host at a time.
		exclusive: m.exclusive || spec.Attach != "",
		ask:       make(chan struct{}), alone: make(chan struct{}), result: make(chan outcome, 1),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	m.attempt = a
	m.asked = a.ask
	if a.exclusive {
		m.clearTheWay()
	}
	if m.cur == nil && m.isAlone == nil {
		m.show(Starting, m.complaint, time.Time{}, true)
	}
	m.s.wg.Go(func() { a.result <- a.run() })
}

// clearTheWay ends all other processes of the plugin and then tells the
// attempt that it is alone. Calls wait meanwhile.
func (m *machine) clearTheWay() {
	a := m.attempt
	if g := m.cur; g != nil {
		m.cur = nil
		m.setBefore(&g.spec)
		m.disarm(&m.calm)
		const why = "it was cancelled: a new generation takes the plugin's place, and two may not run at once"
		m.show(Draining, "a new generation takes its place", time.Time{}, true)
		m.retire(g, m.haste(pressed), why, "replaced")
		m.isAlone = a.alone
	}
	m.prune()
	for _, e := range m.ending {
		if e.gen != nil {
			e.gen.hasten()
		}
	}
	if m.p.pred != nil { // and was not pruned
		m.s.mu.Lock()
		for g := range m.p.pred.live {
			g.hasten()
		}
		m.s.mu.Unlock()
	}
	waiting := m.ending
	m.s.wg.Go(func() {
		for _, e := range waiting {
			<-e.done
		}
		close(a.alone)
	})
}

// started takes the outcome of the start that is under way.
func (m *machine) started(r outcome) {
	a := m.attempt
	m.attempt, m.asked, m.isAlone = nil, nil, nil
	defer a.cancel()
	if r.err != nil {
		m.failed(a, r)
		return
	}
	g := r.gen
	old, again, lostClaim, gone := m.install(g)
	switch {
	case gone:
		m.discard(g)
		return
	case lostClaim != nil:
		m.discard(g)
		m.failed(a, outcome{set: r.set, err: &StartError{Step: "claim", Permanent: true, Err: lostClaim}})
		return
	}
	m.cur, m.exclusive, m.complaint = g, g.set.Exclusive, ""
	m.setBefore(nil)
	m.calm = time.NewTimer(m.s.policy.BackoffReset)
	m.s.wg.Go(g.watch)
	if old != nil {
		m.retire(old, m.haste(atEase), "it was cut short: a new generation has taken the plugin's place", "replaced")
	}
	m.now = false
	typ := "plugin.ready"
	if again {
		typ = "plugin.restarted"
	}
	m.p.log.Info("plugin serves", "generation", g.number, "version", g.set.Version, "pid", g.proc.Pid(), "methods", len(g.set.Methods))
	m.p.event(typ, eventData{Generation: g.number, Version: g.set.Version})
	if m.wronged == "" { // else it is what came back, and that was told
		m.reply(a.version, restarted{generation: g.number})
	}
}

// failed deals with a start that came to nothing.
func (m *machine) failed(a *attempt, r outcome) {
	reason := clip(r.err.Error(), reasonBytes)
	// A file that cannot be a plugin here is refused until it changes; one that
	// only its configuration keeps from running has failed.
	next, wait := Refused, time.Duration(0)
	lostClaim := r.err.Step == "claim"
	switch {
	case lostClaim:
		reason = clip(r.err.Err.Error(), reasonBytes)
	case !r.err.Permanent || a.spec.Attach != "":
		var quarantine bool
		if wait, quarantine = m.fail(a.spec); quarantine {
			next = Quarantined
		} else {
			next = Backoff
		}
	case r.err.Step == "configure":
		next = Failed
	}
	var retryAt time.Time
	if next == Backoff {
		retryAt = m.retryIn(wait)
	} else if m.cur != nil {
		// What serves stays, and is what comes back if it should crash.
		m.wronged = reason
	}
	again := a.spec.Attach != "" && reason == m.complaint
	m.complaint = reason
	if !again {
		m.p.log.Warn("plugin did not start", "generation", a.number, "state", string(next), "reason", reason)
	}
	if r.exit == nil {
		r.exit = &ExitRecord{Generation: a.number, Time: time.Now(), Reason: reason}
	}
	m.s.mu.Lock()
	if !again {
		m.p.addExit(r.exit)
	}
	m.s.mu.Unlock()
	m.claimFailed(lostClaim, r.set)
	back := m.comesBack(a, next)
	switch {
	case m.cur != nil:
		m.behind("the new generation did not start: " + reason)
	case back:
		m.wronged, m.fallback = reason, m.before
		m.begin()
		m.setBefore(nil) // its copy has a name by now as what is to run
	default:
		m.show(next, reason, retryAt, false)
	}
	d := eventData{Generation: a.number, Reason: reason}
	if r.set != nil {
		d.Version = r.set.Version
	}
	d.Exit = r.exit.Exit
	if !again {
		m.p.event("plugin.failed", d)
	}
	if next == Quarantined {
		m.p.event("plugin.quarantined", d)
	}
	e := &UnavailableError{Plugin: m.p.name, State: next, Reason: reason, RetryAfter: wait}
	switch {
	case m.cur != nil:
		e.State, e.Reason = Ready, "the new generation did not start, the old one still serves: "+reason
	case back:
		e.State, e.Reason = Starting, "the new generation did not start, the old one is started again: "+reason
	}
	m.reply(a.version, restarted{err: e})
}

// comesBack says whether what gave way to a start that failed for good is to be
// started in its place.
func (m *machine) comesBack(a *attempt, next State) bool {
	return m.cur == nil && (next == Refused || next == Failed) && m.fallback == nil && m.before != nil && !sameRun(*m.before, a.spec)
}

// setBefore keeps what served, and its private copy with it.
func (m *machine) setBefore(spec *Spec) {
	m.before = spec
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.p.before = ""
	if spec != nil {
		m.p.before = spec.SHA256
	}
}

// fail notes a failure of a process of spec. One that is attached to comes
// back when somebody starts it, and is looked for until then.
func (m *machine) fail(spec Spec) (wait time.Duration, quarantine bool) {
	wait, quarantine = m.history.fail(time.Now())
	if spec.Attach != "" {
		if quarantine {
			m.history.forgive()
			wait = attachRetryMax
		}
		return min(wait, attachRetryMax), false
	}
	return wait, quarantine
}

// lost deals with the end, or the hanging, of what served.
func (m *machine) lost(why, exit string) {
	g := m.cur
	m.cur, m.complaint = nil, why
	m.disarm(&m.calm)
	m.disarm(&m.retry)
	if m.wronged != "" {
		m.fallback = &g.spec
	}
	wait, quarantine := m.fail(g.spec)
	m.p.log.Warn("plugin lost", "generation", g.number, "reason", why)
	switch {
	case m.attempt != nil:
		// The next one is on its way: that is faster than any backoff.
		quarantine = false
		m.show(Starting, why, time.Time{}, true)
	case quarantine:
		m.show(Quarantined, why, time.Time{}, false)
	default:
		m.show(Backoff, why, m.retryIn(wait), false)
	}
	m.retire(g, atOnce, why+" while the call ran", why)
	d := eventData{Generation: g.number, Version: g.set.Version, Reason: why, Exit: exit}
	m.p.event("plugin.crashed", d)
	if quarantine {
		m.p.event("plugin.quarantined", d)
	}
}

// evicted gives way to a plugin that comes first.
func (m *machine) evicted(by *claimError) {
	g := m.cur
	m.cur = nil
	m.disarm(&m.calm)
	m.disarm(&m.retry)
	reason := clip(by.Error(), reasonBytes)
	if m.attempt != nil {
		m.show(Starting, reason, time.Time{}, true) // another version may want less
	} else {
		m.show(Refused, reason, time.Time{}, false)
	}
	number := uint64(0)
	if g != nil {
		number = g.number
		m.retire(g, atEase, "it was cut short: the plugin was refused", "refused")
	}
	m.p.log.Warn("plugin refused", "reason", reason)
	m.p.event("plugin.failed", eventData{Generation: number, Reason: reason})
}

// finish ends all processes of a plugin that is removed, or whose host stops.
func (m *machine) finish() {
	m.disarm(&m.retry)
	m.disarm(&m.calm)
	m.abandon()
	g := m.cur
	m.cur = nil
	gone := m.withdraw()
	why := "the host is stopping"
	if gone {
		why = "the plugin was removed"
	}
	m.show(Draining, why, time.Time{}, false)
	if gone { // and neither the table nor the list says otherwise any more
		m.reply(lastVersion, restarted{err: &NotFoundError{Name: m.p.name}})
	}
	if g != nil {
		m.retire(g, atEase, "it was cut short: "+why, why)
	}
	m.p.firstOutcome()
	for _, e := range m.ending {
		<-e.done
	}
	m.show(Stopped, why, time.Time{}, false)
	last := m.bury(gone)
	if gone {
		m.p.log.Info("plugin removed")
		m.p.event("plugin.removed", eventData{})
		if last {
			m.s.opts.Gone(m.p.name)
		}
	}
}
