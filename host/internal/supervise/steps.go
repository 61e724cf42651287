package supervise

import (
	"slices"
	"time"

	"github.com/vant-run/vant/host/internal/method"
)

// What follows are the small steps of a machine: each changes what others see
// in one critical section and says so to the method table.

// show sets the state that people and calls see, when nothing serves.
func (m *machine) show(state State, reason string, retryAt time.Time, wait bool) {
	p := m.p
	m.s.commit(func() bool {
		p.state, p.reason, p.behind = state, reason, false
		if a := m.attempt; a != nil {
			p.runs, p.number = a.spec, a.number
		}
		p.pid = 0
		p.setGate(state, reason, retryAt, wait)
		p.current.Store(nil)
		return m.s.claims.holds(p.name)
	})
	if state != Starting && state != Draining {
		p.firstOutcome()
	}
}

// behind says that what serves is not what was wished.
func (m *machine) behind(reason string) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.p.reason, m.p.behind = reason, true
}

// install makes g the generation that serves, in one step with the method
// table. It gives the one before, or who has a claim on one of its methods;
// gone: nobody wants the plugin any more.
func (m *machine) install(g *generation) (old *generation, again bool, lost *claimError, gone bool) {
	p, s := m.p, m.s
	s.commit(func() bool {
		if gone = p.wish.gone; gone {
			return false
		}
		known := s.claims.holds(p.name) && sameMethods(p.set, g.set)
		evicted, freed, err := s.claims.take(p.name, g.set)
		if err != nil {
			lost = err
			return false
		}
		g.ready = time.Now()
		p.live[g] = struct{}{}
		p.limitRoom(g.spec, g.set)
		old = p.current.Swap(g)
		if old == nil && !known { // after a crash the table has them, and they serve from now on
			p.listed = s.wanted + 1 // the one that this change asks for
		}
		p.setGate(Ready, "", time.Time{}, false)
		p.state, p.reason, p.behind = Ready, "", m.wronged != ""
		if p.behind {
			p.reason = "the new generation did not start: " + m.wronged
		}
		p.number, p.pid, p.runs = g.number, g.proc.Pid(), g.spec
		p.set, p.setSHA = g.set, g.spec.SHA256
		if again = p.served; again {
			p.restarts++
		}
		p.served = true
		s.nudgeLocked(evicted)
		s.nudgeLocked(freed)
		return true
	})
	if lost == nil && !gone {
		p.firstOutcome()
	}
	return old, again, lost, gone
}

func sameMethods(a, b *method.Set) bool {
	return a != nil && slices.EqualFunc(a.Methods, b.Methods, func(x, y *method.Method) bool { return x.Name == y.Name })
}

// claimFailed puts the claim in order after a failed start: lost says that it
// wanted set and may not have it.
func (m *machine) claimFailed(lost bool, set *method.Set) {
	p, c := m.p, &m.s.claims
	m.s.commit(func() bool {
		held := c.holds(p.name)
		switch {
		case p.wish.gone: // and somebody else may have the name
			return false
		case m.cur != nil && held:
			if !lost {
				set = nil
			}
			c.want(p.name, set)
		case lost:
			p.set, p.setSHA = set, p.runs.SHA256
			m.s.nudgeLocked(c.refuse(p.name, set))
		case !held && m.cur == nil && set != nil:
			// Only its configuration keeps it from serving: its methods exist.
			evicted, freed, err := c.take(p.name, set)
			if err != nil {
				m.s.nudgeLocked(c.drop(p.name))
				break
			}
			p.set, p.setSHA = set, p.runs.SHA256
			m.s.nudgeLocked(evicted)
			m.s.nudgeLocked(freed)
			return true
		case !held && m.cur == nil:
			// What it would claim now is not known.
			m.s.nudgeLocked(c.drop(p.name))
		}
		// The winner may have gone since.
		if cl := c.of[p.name]; cl != nil && c.isFree(p.name, cl) {
			p.nudge()
		}
		return held && !c.holds(p.name)
	})
}

// reclaim puts methods back that another plugin had taken and given up before
// anything was stopped.
func (m *machine) reclaim() {
	m.s.commit(func() bool {
		cl := m.s.claims.of[m.p.name]
		if m.p.wish.gone || cl == nil {
			return false
		}
		evicted, freed, err := m.s.claims.take(m.p.name, cl.set)
		if err != nil {
			m.p.nudge()
			return false
		}
		m.s.nudgeLocked(evicted)
		m.s.nudgeLocked(freed)
		return true
	})
}

// withdraw takes the methods of a plugin that is removed out of the table,
// before anything is closed: a call that finds them still finds them served.
func (m *machine) withdraw() (gone bool) {
	m.s.commit(func() bool {
		gone = m.p.wish.gone && !m.s.stopped
		if !gone {
			return false
		}
		// A later plugin of this name has the claim now, if there is one.
		if m.s.owns(m.p) {
			m.s.nudgeLocked(m.s.claims.drop(m.p.name))
		}
		return true
	})
	return gone
}

// bury takes the plugin out of the books and tells those who still wait. last
// says that no later plugin has its name.
func (m *machine) bury(gone bool) (last bool) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	err := error(&UnavailableError{Plugin: m.p.name, State: Stopped, Reason: "the host is stopping"})
	if gone {
		err = &NotFoundError{Name: m.p.name}
		if last = m.s.owns(m.p); last {
			delete(m.s.plugins, m.p.name)
			m.s.rememberLocked(m.p)
		}
	}
	m.p.answer(lastVersion, restarted{err: err})
	return last
}

func (m *machine) reply(version uint64, r restarted) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.p.answer(version, r)
}

// retire ends g beside the machine. Calls that must be cut get why; the books
// get reason.
func (m *machine) retire(g *generation, h haste, why, reason string) {
	m.prune()
	m.ending = append(m.ending, ending{done: g.gone, gen: g})
	retiring := 0
	for _, e := range slices.Backward(m.ending) {
		if e.gen != nil {
			if retiring++; retiring > maxRetiring {
				e.gen.hasten()
			}
		}
	}
	m.s.wg.Go(func() {
		defer close(g.gone)
		g.retire(h, why)
		m.s.mu.Lock()
		defer m.s.mu.Unlock()
		delete(m.p.live, g)
		m.p.addExit(record(g.proc, g.number, g.ready, reason))
	})
}

// discard ends a generation that never served.
func (m *machine) discard(g *generation) {
	m.ending = append(m.ending, ending{done: g.gone})
	m.s.wg.Go(func() {
		defer close(g.gone)
		g.retire(atOnce, "it never served")
		m.s.mu.Lock()
		defer m.s.mu.Unlock()
		m.p.addExit(record(g.proc, g.number, time.Time{}, "it never served"))
	})
}

// abandon gives the start under way up. What it has made is ended.
func (m *machine) abandon() {
	a := m.attempt
	if a == nil {
		return
	}
	m.attempt, m.asked, m.isAlone = nil, nil, nil
	a.cancel()
	done := make(chan struct{})
	m.ending = append(m.ending, ending{done: done})
	m.s.wg.Go(func() {
		defer close(done)
		if r := <-a.result; r.gen != nil {
			r.gen.retire(atOnce, "it never served")
		}
	})
}

// prune forgets processes that have ended.
func (m *machine) prune() {
	if p := m.p.pred; p != nil {
		select {
		case <-p.done:
			m.s.mu.Lock()
			m.p.pred = nil
			m.s.mu.Unlock()
		default:
		}
	}
	m.ending = slices.DeleteFunc(slices.Clone(m.ending), func(e ending) bool {
		select {
		case <-e.done:
			return true
		default:
			return false
		}
	})
}

// haste is atOnce when the operator does not want to wait.
func (m *machine) haste(usual haste) haste {
	if m.now {
		return atOnce
	}
	return usual
}

func (m *machine) retryIn(wait time.Duration) time.Time {
	m.disarm(&m.retry)
	m.retry = time.NewTimer(wait)
	return time.Now().Add(wait)
}

func (m *machine) disarm(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}
