package supervise

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/method"
)

// Plugin is one plugin over all its generations, from the moment that it is
// desired until it is gone. The router calls it by Invoke.
type Plugin struct {
	s    *Supervisor
	name string
	log  hclog.Logger

	// What a call needs. gate is set before current becomes nil, and after
	// current becomes something else.
	current    atomic.Pointer[generation]
	gate       atomic.Pointer[gate]
	atGate     atomic.Int64 // calls that wait at the gate
	room       atomic.Int64 // how many may
	stats      stats
	eventDrops atomic.Uint64

	wake chan struct{} // capacity 1: wish or claim have changed
	done chan struct{} // closed when the machine has ended
	pred *Plugin       // an earlier plugin of this name that may still be ending
	once sync.Once     // the first outcome

	// What follows is guarded by the Supervisor's lock.

	wish wish
	// state and reason are what people see.
	state  State
	reason string
	// behind: something serves that is not what was wished.
	behind bool
	number uint64 // generation that serves, or of the last start
	pid    int
	runs   Spec        // what serves, or what was last started
	set    *method.Set // what it last described
	setSHA string      // of the file that described it
	before string      // checksum of what may be started again if the next start fails
	// listed is the publication by which its methods are in the table.
	listed uint64
	// served: a generation has been ready.
	served   bool
	restarts uint64
	live     map[*generation]struct{} // serving and retiring
	exits    []ExitRecord
	waiters  []*waitFor
	// told is the last answer, and the version that it was about.
	told   restarted
	toldOf uint64
}

// wish is what the Supervisor wants of a plugin. The machine compares it with
// what there is.
type wish struct {
	spec    Spec
	version uint64 // a greater one asks for a new generation
	now     bool   // without waiting for the old one's calls
	gone    bool
	forgive bool // failures so far do not count
}

// waitFor is somebody who waits for a start.
type waitFor struct {
	version uint64
	answer  chan restarted // capacity 1
}

type restarted struct {
	generation uint64
	err        error
}

// newPlugin makes a plugin whose machine is not running yet.
func (s *Supervisor) newPlugin(spec Spec, pred *Plugin) *Plugin {
	p := &Plugin{
		s: s, name: spec.Name, log: s.log.With("plugin", spec.Name),
		wake: make(chan struct{}, 1), done: make(chan struct{}), pred: pred,
		state: Starting, runs: spec, live: map[*generation]struct{}{},
	}
	p.wish = wish{spec: spec, version: 1}
	p.limitRoom(spec, nil)
	p.setGate(Starting, "", time.Time{}, true)
	p.nudge()
	return p
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return p.name }

// ended says that nothing of the plugin runs any more.
func (p *Plugin) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// nudge makes the machine look at its wish again.
func (p *Plugin) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// limitRoom bounds who may wait at the gate.
func (p *Plugin) limitRoom(spec Spec, set *method.Set) {
	l := p.s.limits(spec, set)
	p.room.Store(int64(l.MaxInFlight + l.MaxQueue))
}

// addExit keeps the last ends of processes; the lock is held.
func (p *Plugin) addExit(r *ExitRecord) {
	if r == nil {
		return
	}
	if len(p.exits) >= keptExits {
		p.exits = slices.Delete(p.exits, 0, len(p.exits)-keptExits+1)
	}
	p.exits = append(p.exits, *r)
}

// lastVersion stands for the end of the plugin.
const lastVersion = ^uint64(0)

// waitLocked begins to wait for version; the lock is held.
func (p *Plugin) waitLocked(version uint64) *waitFor {
	w := &waitFor{version: version, answer: make(chan restarted, 1)}
	p.waiters = append(p.waiters, w)
	return w
}

// wait gives what w is told while ctx lasts.
func (p *Plugin) wait(ctx context.Context, w *waitFor) (generation uint64, err error) {
	select {
	case r := <-w.answer:
		return r.generation, r.err
	case <-ctx.Done():
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.waiters = slices.DeleteFunc(p.waiters, func(o *waitFor) bool { return o == w })
	return 0, ctx.Err()
}

// answer tells those who wait for version or an earlier one; the lock is held.
func (p *Plugin) answer(version uint64, r restarted) {
	if version >= p.toldOf {
		p.told, p.toldOf = r, version
	}
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waitFor) bool {
		if w.version > version {
			return false
		}
		w.answer <- r
		return true
	})
}
