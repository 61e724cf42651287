package supervise

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// Supervisor runs the plugins that are desired. All methods may be called
// concurrently.
type Supervisor struct {
	opts   Options
	policy Policy
	log    hclog.Logger

	lastCall atomic.Uint64
	starts   chan struct{} // holds a token for each start under way
	settled  chan struct{}
	stopping chan struct{} // closed when Stop begins
	killing  <-chan struct{}
	killCtx  context.Context // ends when Stop has no more time
	kill     context.CancelFunc
	wg       sync.WaitGroup // everything that runs

	mu      sync.Mutex // guards what follows
	plugins map[string]*Plugin
	refused []Refusal
	former  map[string][]string // methods of plugins whose files are refused now
	claims  claims
	numbers map[string]uint64 // starts of each name in the host's life
	applied bool
	pending int // plugins without a first outcome, until settled
	isSettled,
	stopped bool

	// Publishing: see commit.
	publishDone       sync.Cond
	publishing        bool
	wanted, published uint64
	methods           []string
}

// Changes are the names that an Apply concerned, each list sorted.
type Changes struct {
	Started, Replaced, Removed []string
}

// New makes a Supervisor that runs nothing yet. Its owner must call Stop.
func New(opts Options) *Supervisor {
	s := &Supervisor{
		opts: opts, policy: opts.Policy.withDefaults(), log: opts.Log,
		settled: make(chan struct{}), stopping: make(chan struct{}),
		plugins: map[string]*Plugin{}, former: map[string][]string{}, claims: newClaims(opts.Order), numbers: map[string]uint64{},
	}
	s.publishDone.L = &s.mu
	s.starts = make(chan struct{}, s.policy.StartConcurrency)
	s.killCtx, s.kill = context.WithCancel(context.Background())
	s.killing = s.killCtx.Done()
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.opts.Rand == nil {
		s.opts.Rand = rand.Float64
	}
	if s.opts.Emit == nil {
		s.opts.Emit = func(string, []byte) {}
	}
	if s.opts.Gone == nil {
		s.opts.Gone = func(string) {}
	}
	if s.opts.Publish == nil {
		s.opts.Publish = func([]Registered) {}
	}
	if s.opts.Call == nil {
		s.opts.Call = func(context.Context, Origin, *pluginv1.Call) *pluginv1.CallResult { return nil }
	}
	return s
}

// Apply makes desired what runs: what is new is started, what has changed gets
// a new generation, what is missing is drained and stopped. It returns at
// once. Refused is shown by List. When a name stands twice, the first counts.
func (s *Supervisor) Apply(desired []Spec, refused []Refusal) Changes {
	var c Changes
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return c
	}
	s.refused = slices.Clone(refused)
	maps.DeleteFunc(s.former, func(name string, _ []string) bool { return !s.isRefusedLocked(name) })
	wanted := make(map[string]bool, len(desired))
	for _, spec := range desired {
		if wanted[spec.Name] {
			s.refused = append(s.refused, Refusal{Name: spec.Name, File: spec.File, SHA256: spec.SHA256,
				Reason: "another file has the same plugin name; remove one of them"})
			continue
		}
		wanted[spec.Name] = true
		p := s.plugins[spec.Name]
		switch {
		case p == nil || p.wish.gone:
			s.addLocked(spec, p)
			c.Started = append(c.Started, spec.Name)
		case sameRun(p.wish.spec, spec):
			// Another path to the same thing: for the next start and for show.
			p.wish.spec = spec
			if sameRun(p.runs, spec) {
				p.runs.File = spec.File
			}
		default:
			p.wish.spec = spec
			p.wish.version++
			p.wish.forgive = true
			p.nudge()
			c.Replaced = append(c.Replaced, spec.Name)
		}
	}
	for name, p := range s.plugins {
		if !wanted[name] && !p.wish.gone {
			p.wish.gone = true
			p.nudge()
			c.Removed = append(c.Removed, name)
		}
	}
	slices.Sort(c.Started)
	slices.Sort(c.Replaced)
	slices.Sort(c.Removed)
	if !s.applied {
		s.applied = true
		s.settleSoonLocked()
	}
	return c
}

func (s *Supervisor) isRefusedLocked(name string) bool {
	return slices.ContainsFunc(s.refused, func(r Refusal) bool { return r.Name == name })
}

// rememberLocked keeps the methods of a plugin that has gone because its file is
// refused now.
func (s *Supervisor) rememberLocked(p *Plugin) {
	if p.set != nil && s.isRefusedLocked(p.name) {
		s.former[p.name] = p.set.Names()
	}
}

// addLocked brings a plugin to life. An earlier one of its name may still be
// ending.
func (s *Supervisor) addLocked(spec Spec, pred *Plugin) {
	if pred != nil {
		// Its claim goes with it; the machine of pred may not have got to that.
		s.nudgeLocked(s.claims.drop(spec.Name))
	}
	p := s.newPlugin(spec, pred)
	s.plugins[spec.Name] = p
	if !s.isSettled {
		s.pending++
	}
	m := newMachine(p)
	s.wg.Go(m.run)
}

// sameRun says whether a process of a may stand for one of b.
func sameRun(a, b Spec) bool {
	return a.SHA256 == b.SHA256 && a.LogLevel == b.LogLevel &&
		a.MaxInFlight == b.MaxInFlight && a.MaxQueue == b.MaxQueue &&
		a.MemoryMax == b.MemoryMax && a.CPUWeight == b.CPUWeight && a.NoFile == b.NoFile &&
		a.Attach == b.Attach &&
		a.StateDir == b.StateDir && a.CacheDir == b.CacheDir && a.DataDir == b.DataDir &&
		bytes.Equal(a.Config, b.Config) && slices.Equal(a.Env, b.Env)
}

// Restart replaces the plugin's process by a new generation and returns its
// number when it serves. With now, the old one's calls are not waited for. An
// error of the start is an *UnavailableError; the old generation then serves
// on, if it can. An unknown name is a *NotFoundError.
func (s *Supervisor) Restart(ctx context.Context, name string, now bool) (generation uint64, err error) {
	s.mu.Lock()
	p, err := s.findLocked(name)
	if err != nil {
		s.mu.Unlock()
		return 0, err
	}
	if p.state == Quarantined {
		defer s.mu.Unlock()
		return 0, &UnavailableError{Plugin: name, State: Quarantined, Reason: clip("only a reset takes it out of quarantine; it failed too often: "+p.reason, reasonBytes)}
	}
	p.wish.version++
	p.wish.now = now
	p.wish.forgive = true
	w := p.waitLocked(p.wish.version)
	p.nudge()
	s.mu.Unlock()
	return p.wait(ctx, w)
}

// Await returns when what the last Apply wished of the plugin has come to its
// first outcome: without an error when it serves, with a *NotFoundError when it
// is removed and its methods are gone, else as Restart.
func (s *Supervisor) Await(ctx context.Context, name string) error {
	s.mu.Lock()
	p := s.plugins[name]
	if p == nil {
		s.mu.Unlock()
		return &NotFoundError{Name: clip(name, 64)}
	}
	version := p.wish.version
	if p.wish.gone {
		version = lastVersion
	}
	if p.toldOf >= version {
		defer s.mu.Unlock()
		return p.told.err
	}
	w := p.waitLocked(version)
	s.mu.Unlock()
	_, err := p.wait(ctx, w)
	return err
}

// Copy is one plugin's content, told apart by its checksum.
type Copy struct{ Name, SHA256 string }

// Copies are all that run, may be started again without another Apply, or are
// still ending.
func (s *Supervisor) Copies() map[Copy]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed := map[Copy]bool{}
	for name, p := range s.plugins {
		need := func(sha string) {
			if sha != "" {
				needed[Copy{Name: name, SHA256: sha}] = true
			}
		}
		need(p.wish.spec.SHA256)
		for ; p != nil && !p.ended(); p = p.pred {
			need(p.runs.SHA256)
			need(p.before)
			for g := range p.live {
				need(g.spec.SHA256)
			}
		}
	}
	return needed
}

// Reset forgets the plugin's failures and starts it again if it is not
// running, or not running what it should. It does not wait for the start. An
// unknown name is a *NotFoundError.
func (s *Supervisor) Reset(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.findLocked(name)
	if err != nil {
		return err
	}
	p.wish.forgive = true
	switch p.state {
	case Backoff, Quarantined, Failed, Refused:
		p.wish.version++
	case Ready:
		if p.behind {
			p.wish.version++
		}
	}
	p.nudge()
	return nil
}

// findLocked gives the plugin that an operator names.
func (s *Supervisor) findLocked(name string) (*Plugin, error) {
	p := s.plugins[name]
	switch {
	case s.stopped:
		return nil, &UnavailableError{Plugin: clip(name, 64), State: Stopped, Reason: "the host is stopping"}
	case p != nil && !p.wish.gone:
		return p, nil
	}
	for i := range s.refused {
		if r := &s.refused[i]; r.Name == name {
			return nil, &UnavailableError{Plugin: name, State: r.status().State, Reason: r.Reason}
		}
	}
	names := make([]string, 0, len(s.plugins))
	for n, p := range s.plugins {
		if !p.wish.gone {
			names = append(names, n)
		}
	}
	return nil, NotFound(name, names)
}

// Settled is closed when the plugins of the first Apply have each been ready
// or failed once, and at the latest when Policy.SettleTimeout has passed since.
func (s *Supervisor) Settled() <-chan struct{} { return s.settled }

func (s *Supervisor) settleSoonLocked() {
	if s.pending == 0 {
		s.settleLocked()
		return
	}
	s.wg.Go(func() {
		timer := time.NewTimer(s.policy.SettleTimeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.settleLocked()
		case <-s.settled:
		case <-s.stopping:
		}
	})
}

func (s *Supervisor) settleLocked() {
	if !s.isSettled {
		s.isSettled = true
		close(s.settled)
	}
}

// firstOutcome notes that the plugin's first start has come to something.
func (p *Plugin) firstOutcome() {
	p.once.Do(func() {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		if p.s.isSettled {
			return
		}
		p.s.pending--
		if p.s.pending == 0 {
			p.s.settleLocked()
		}
	})
}

// Stop ends all plugins, side by side: their calls have Policy.StopDrain, then
// each is drained and ended. It returns when nothing runs any more. When ctx
// ends first everything is killed, which takes three seconds at most. Whatever
// plugins do it is back before eight seconds, with the default policy.
func (s *Supervisor) Stop(ctx context.Context) {
	ladder := s.policy.StopDrain + s.policy.DrainRPC + s.policy.StopGrace + killBound
	ctx, cancel := context.WithTimeout(ctx, ladder)
	defer cancel()
	last := time.NewTimer(ladder + killBound/4)
	defer last.Stop()
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.kill()
		return
	case <-ctx.Done():
		s.kill()
	}
	timer := time.NewTimer(s.policy.StopGrace + killBound)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	case <-last.C:
	}
	s.log.Error("some plugins could not be ended in time")
}
