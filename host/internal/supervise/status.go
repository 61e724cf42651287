package supervise

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Refusal is a file that the catalog does not let run, and why.
type Refusal struct {
	Name   string // as in vant-plugin-<name>, when it has one
	File   string
	SHA256 string // "" when it was not read
	Reason string // for people: what is wrong and what to do
	// Stopped: nothing is wrong with it, the operator has switched it off.
	Stopped bool
}

func (r *Refusal) status() Status {
	st := Status{Name: r.Name, State: Refused, Reason: r.Reason, File: r.File, SHA256: r.SHA256}
	if r.Stopped {
		st.State = Stopped
	}
	return st
}

// Info is the answer of plugins.info: a Status and what stands behind it.
type Info struct {
	Status
	Summary string `json:"summary"`
	// MethodNames takes the place of Status's count in JSON.
	MethodNames []string `json:"methods"`
	Exclusive   bool     `json:"exclusive"`
	// Config is the section in force, its secrets hidden.
	Config json.RawMessage `json:"config"`
	Limits Limits          `json:"limits"`
	Queued int             `json:"queued"`
	// Failures count what callers of its methods were told, by error code.
	Failures map[string]uint64 `json:"failures"`
	// LogDrops and EventDrops count what was lost or not allowed.
	LogDrops   uint64 `json:"log_drops"`
	EventDrops uint64 `json:"event_drops"`
	// Latency is the histogram behind P50US and P99US, without empty buckets.
	Latency []Bucket `json:"latency"`
	// Exits are the last ends of its processes, the latest last, at most 10.
	Exits []ExitRecord `json:"exits"`
}

// Limits are a plugin's bulkhead as it is in force, and what its process may
// use.
type Limits struct {
	MaxInFlight int `json:"max_in_flight"`
	MaxQueue    int `json:"max_queue"`
	Resources
}

// ExitRecord says how one process of a plugin ended.
type ExitRecord struct {
	Generation uint64    `json:"generation"`
	Pid        int       `json:"pid"`
	Time       time.Time `json:"time"`
	UptimeMS   int64     `json:"uptime_ms"` // of being ready; 0: it never was
	Exit       string    `json:"exit"`
	Reason     string    `json:"reason"`
}

// List gives the plugins sorted by name, those that are switched off included.
// With all it also gives what is refused: files that the catalog refused, and
// plugins that lost a claim.
func (s *Supervisor) List(all bool) []Status {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Status, 0, len(s.plugins)+len(s.refused))
	for _, p := range s.plugins {
		if all || p.state != Refused {
			list = append(list, p.statusLocked(now))
		}
	}
	for i := range s.refused {
		r := &s.refused[i]
		// What is switched off may still be draining: that is told first.
		if r.Stopped && s.plugins[r.Name] == nil || !r.Stopped && all {
			st := r.status()
			st.Described = s.former[r.Name]
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b Status) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.File, b.File)
	})
	return list
}

// ConfigSchemas are the schemas that plugins gave for their sections of the
// configuration. A plugin is left out whose file has not come to serve: what it
// wants is not known.
func (s *Supervisor) ConfigSchemas() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string][]byte{}
	for name, p := range s.plugins {
		if p.set != nil && len(p.set.ConfigSchema) > 0 && !p.behind && p.setSHA == p.wish.spec.SHA256 {
			known[name] = p.set.ConfigSchema
		}
	}
	return known
}

// Accepted counts the plugins that List gives without all, but for those that
// are switched off.
func (s *Supervisor) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.plugins {
		if p.state != Refused {
			n++
		}
	}
	return n
}

// Info gives all there is to know about one plugin. A refused file is found by
// its name when no plugin has that name.
func (s *Supervisor) Info(name string) (Info, bool) {
	now := time.Now()
	s.mu.Lock()
	p := s.plugins[name]
	if p == nil {
		defer s.mu.Unlock()
		for i := range s.refused {
			if r := &s.refused[i]; r.Name == name {
				return Info{Status: r.status()}, true
			}
		}
		return Info{}, false
	}
	info := Info{
		Status:     p.statusLocked(now),
		Limits:     s.limits(p.runs, p.set),
		EventDrops: p.eventDrops.Load(),
		Exits:      append([]ExitRecord{}, p.exits...),
	}
	config, set := p.runs.Config, p.set
	info.Limits.MemoryMax, info.Limits.CPUWeight = p.runs.MemoryMax, p.runs.CPUWeight
	g := p.current.Load()
	if g != nil {
		info.Queued = g.slots.waiting()
	}
	s.mu.Unlock()
	if g != nil {
		info.Limits.Resources = g.proc.Resources()
	}

	info.Queued += int(p.atGate.Load())
	info.MethodNames = []string{}
	var schema []byte
	if set != nil {
		info.Summary, info.Exclusive, schema = set.Summary, set.Exclusive, set.ConfigSchema
		info.MethodNames = append(info.MethodNames, set.Names()...)
	}
	info.Config = redact(config, schema)
	info.Latency, _, _ = p.stats.latency.read()
	info.Failures = p.stats.failures()
	if info.Latency == nil {
		info.Latency = []Bucket{}
	}
	if s.opts.LogDrops != nil {
		info.LogDrops = s.opts.LogDrops(name)
	}
	return info, true
}

// statusLocked is p's row; the Supervisor's lock is held.
func (p *Plugin) statusLocked(now time.Time) Status {
	st := Status{
		Name:       p.name,
		State:      p.state,
		Reason:     p.reason,
		File:       p.runs.File,
		SHA256:     p.runs.SHA256,
		Pid:        p.pid,
		Generation: p.number,
		Calls:      p.stats.calls.Load(),
		Errors:     p.stats.errors.Load(),
		Restarts:   p.restarts,
		Leaving:    p.wish.gone,
	}
	if st.State == Ready && p.s.published < p.listed {
		st.State = Starting // who reads of ready finds the methods
	}
	_, st.P50US, st.P99US = p.stats.latency.read()
	if p.set != nil {
		st.Version, st.Methods = p.set.Version, len(p.set.Methods)
		if p.current.Load() == nil {
			st.Described = p.set.Names()
		}
	}
	if g := p.current.Load(); g != nil {
		st.UptimeMS = now.Sub(g.ready).Milliseconds()
	}
	for g := range p.live {
		st.InFlight += g.slots.inFlight()
		if p.state == Draining {
			st.Pid = max(st.Pid, g.proc.Pid()) // one of those that are left
		}
	}
	return st
}
