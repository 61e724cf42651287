package launch

import (
	"slices"
	"sync"
	"time"

	"github.com/vant-run/vant/internal/proc"
)

// sampleEvery is how often memory is looked at.
const sampleEvery = time.Second

// sampler looks at the memory of processes that a limit is set for, all with
// one look at the system. While there is none it does nothing.
type sampler struct {
	mu   sync.Mutex // guards what follows
	list map[*watched]struct{}
	stop chan struct{} // closed when the last one leaves
}

// watched is one plugin process. Took gets the memory in bytes of the process
// and of all that belongs to it; what once did always does.
type watched struct {
	leader   proc.Identity
	instance string
	took     func(rss int64, family []proc.Identity)
	family   []proc.Identity // of the last sample; the sampler's own
}

// watch has w sampled until the function that it returns is called.
func (s *sampler) watch(w *watched) (unwatch func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[*watched]struct{}{}
	}
	s.list[w] = struct{}{}
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.run(s.stop)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.list, w)
		if len(s.list) == 0 && s.stop != nil {
			close(s.stop)
			s.stop = nil
		}
	}
}

func (s *sampler) run(stop <-chan struct{}) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	seen := origins{}
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		list := make([]*watched, 0, len(s.list))
		for w := range s.list {
			list = append(list, w)
		}
		s.mu.Unlock()
		t, err := proc.ReadTable()
		if err != nil {
			continue // the next look may succeed
		}
		strays := seen.look(t)
		for _, w := range list {
			w.family = t.Family(slices.Concat(w.family, strays[w.instance], []proc.Identity{w.leader})...)
			w.took(t.RSS(w.family), w.family)
		}
	}
}

// origins remembers by which start a process carries its environment: an
// environment is read once. So those are found that have left the tree.
type origins map[proc.Identity]string

// look gives the processes of each start, and forgets those that have ended.
func (o origins) look(t *proc.Table) map[string][]proc.Identity {
	found := map[string][]proc.Identity{}
	there := make(map[proc.Identity]bool, len(o))
	for id := range t.All() {
		there[id] = true
		from, known := o[id]
		if !known {
			if from, known = proc.Getenv(id.Pid, instanceVar); known {
				o[id] = from
			}
		}
		if from != "" {
			found[from] = append(found[from], id)
		}
	}
	for id := range o {
		if !there[id] {
			delete(o, id)
		}
	}
	return found
}

// residentNow is the memory of a process and of all that belongs to it by
// group, descent or marker ("": it has none), in bytes; 0 when it cannot be
// told.
func residentNow(leader proc.Identity, marker string) int64 {
	t, err := proc.ReadTable()
	if err != nil {
		return 0
	}
	roots := []proc.Identity{leader}
	if marker != "" {
		if strays, err := proc.FindMarked(marker); err == nil {
			roots = append(roots, strays...)
		}
	}
	return t.RSS(t.Family(roots...))
}
