package supervise

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vant-run/vant/host/internal/method"
)

// commit changes what is seen of plugins, under the lock, and brings the
// method table up to date when change says that it is concerned. The table is
// at least as new as the change when commit returns. Whoever commits first
// publishes for all who commit meanwhile, one table after the other and
// without the lock.
func (s *Supervisor) commit(change func() (publish bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !change() {
		return
	}
	s.wanted++
	mine := s.wanted
	for s.published < mine {
		if s.publishing {
			s.publishDone.Wait()
			continue
		}
		s.publishing = true
		now, table := s.wanted, s.registeredLocked()
		before := s.methods
		s.methods = methodNames(table)
		after := s.methods
		s.mu.Unlock()
		s.opts.Publish(table)
		s.methodsChanged(before, after)
		s.mu.Lock()
		s.published, s.publishing = now, false
		s.publishDone.Broadcast()
	}
}

// registeredLocked is the whole table, sorted by name.
func (s *Supervisor) registeredLocked() []Registered {
	list := make([]Registered, 0, len(s.plugins))
	for name, p := range s.plugins {
		if !s.claims.holds(name) {
			continue
		}
		list = append(list, Registered{
			Plugin: p, Set: s.claims.of[name].set, SHA256: p.setSHA, Generation: p.number, State: p.state,
		})
	}
	slices.SortFunc(list, func(a, b Registered) int { return strings.Compare(a.Plugin.name, b.Plugin.name) })
	return list
}

// methodNames gives all methods of a table, sorted. They are all different:
// claims see to that.
func methodNames(table []Registered) []string {
	var names []string
	for _, r := range table {
		names = append(names, r.Set.Names()...)
	}
	slices.Sort(names)
	return names
}

// methodsChanged tells what is new and what is gone, if anything is.
func (s *Supervisor) methodsChanged(before, after []string) {
	added, removed := []string{}, []string{}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) == 0 || len(after) > 0 && after[0] < before[0]:
			added, after = append(added, after[0]), after[1:]
		case len(after) == 0 || before[0] < after[0]:
			removed, before = append(removed, before[0]), before[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
	if len(added)+len(removed) == 0 {
		return
	}
	s.emit("methods.changed", struct {
		Added   []string `json:"added"`
		Removed []string `json:"removed"`
	}{added, removed})
}

// eventData is the data of plugin.* events.
type eventData struct {
	Plugin     string `json:"plugin"`
	Version    string `json:"version"`
	Generation uint64 `json:"generation"`
	Reason     string `json:"reason,omitempty"`
	Exit       string `json:"exit,omitempty"`
}

// event emits an event about p. Version and generation are filled in from
// what is known when they are not given.
func (p *Plugin) event(typ string, d eventData) {
	p.s.mu.Lock()
	if d.Version == "" && p.set != nil {
		d.Version = p.set.Version
	}
	if d.Generation == 0 {
		d.Generation = p.number
	}
	p.s.mu.Unlock()
	d.Plugin = p.name
	p.s.emit(typ, d)
}

func (s *Supervisor) emit(typ string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		s.log.Error("event could not be encoded", "type", typ, "error", err)
		return
	}
	s.opts.Emit(typ, text)
}

// blocked says who keeps name from having set, if anybody does.
func (s *Supervisor) blocked(name string, set *method.Set) *claimError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims.blocked(name, set)
}

// owns says whether p is the plugin of its name; the lock is held.
func (s *Supervisor) owns(p *Plugin) bool { return s.plugins[p.name] == p }

func (s *Supervisor) nudgeLocked(names []string) {
	for _, n := range names {
		if p := s.plugins[n]; p != nil {
			p.nudge()
		}
	}
}
