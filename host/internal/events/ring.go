package events

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultSize is how many events the host keeps.
	DefaultSize = 2048
	// maxRingBytes bounds the data of all events together: a plugin that
	// publishes large ones pushes old ones out early and is counted in dropped.
	maxRingBytes = 32 << 20
	// maxPageBytes bounds the data of one page, so that a reply stays well
	// below the size at which it would be refused and a follower never gets on.
	maxPageBytes = 4 << 20
)

// Event is one thing that happened.
type Event struct {
	Sequence uint64
	Type     string
	Time     time.Time // UTC
	Data     []byte    // a compact JSON object; must not be modified
}

// Entry is an event that is about to be appended. Type is a dotted name; Data
// is a compact JSON object or nil for an empty one, and must not be modified
// afterwards.
type Entry struct {
	Type string
	Data []byte
}

// Ring is a bounded list of events with sequence numbers that begin at 1 and
// never repeat. All methods may be called concurrently, and none but Wait
// blocks: readers get references and format them outside the ring's lock.
type Ring struct {
	epoch string

	mu      sync.Mutex // guards the fields that follow
	slots   []Event    // circular; the event with sequence s is in slot s mod len
	first   uint64     // sequence of the oldest event kept; latest+1 when empty
	latest  uint64
	dropped uint64
	bytes   int // data of the events kept
	waiting map[*waiter]struct{}
}

// waiter is one long poll. Its channel is closed once, by the first event that
// it waits for, and the waiter is forgotten with that.
type waiter struct {
	after uint64
	types []string
	woken chan struct{}
}

// New makes a ring of size events; DefaultSize when size is not positive.
func New(size int) *Ring {
	if size <= 0 {
		size = DefaultSize
	}
	return &Ring{
		epoch:   rand.Text(),
		slots:   make([]Event, size),
		first:   1,
		waiting: make(map[*waiter]struct{}),
	}
}

// Epoch is a random text, another one for each ring: sequences of different
// epochs have nothing to do with each other.
func (r *Ring) Epoch() string { return r.epoch }

// Append adds one event and wakes the long polls that wait for it.
func (r *Ring) Append(typ string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(Entry{Type: typ, Data: data}, time.Now().UTC())
}

// AppendAll adds events in their order, with nothing of others between them.
func (r *Ring) AppendAll(entries []Entry) {
	if len(entries) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UTC()
	for _, e := range entries {
		r.add(e, now)
	}
}

var noData = []byte("{}")

func (r *Ring) add(e Entry, now time.Time) {
	if len(e.Data) == 0 {
		e.Data = noData
	}
	r.latest++
	for r.first < r.latest && (r.latest-r.first >= uint64(len(r.slots)) || r.bytes+len(e.Data) > maxRingBytes) {
		r.forgetOldest()
		r.dropped++
	}
	*r.slot(r.latest) = Event{Sequence: r.latest, Type: e.Type, Time: now, Data: e.Data}
	r.bytes += len(e.Data)
	for w := range r.waiting {
		if r.latest > w.after && matches(e.Type, w.types) {
			delete(r.waiting, w)
			close(w.woken)
		}
	}
}

func (r *Ring) slot(sequence uint64) *Event {
	return &r.slots[sequence%uint64(len(r.slots))]
}

func (r *Ring) forgetOldest() {
	s := r.slot(r.first)
	r.bytes -= len(s.Data)
	*s = Event{}
	r.first++
}

// Clear forgets all events and zeroes the count of dropped ones. Sequence
// numbers go on.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.first <= r.latest {
		r.forgetOldest()
	}
	r.dropped = 0
}

// Since gives the oldest events after a sequence number: at most limit of
// them, at least one if there is one, fewer than limit when their data is
// large. With types, only events whose type is one of them or lies below one:
// "tab" and "tab." both stand for "tab" and everything that begins with
// "tab.". A number beyond the latest is one of another epoch and gives
// nothing.
//
// A follower asks again after the last event of the page, or after Latest when
// the page is empty.
func (r *Ring) Since(after uint64, limit int, types []string) Page {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.page(after, limit, types)
}

// Wait is Since, but when there is nothing yet it waits for the first event
// that matches, for at most wait and no longer than ctx lives. A number beyond
// the latest does not wait: its follower must learn at once that the epoch is
// another one, for events that come now may never reach that number.
func (r *Ring) Wait(ctx context.Context, after uint64, limit int, types []string, wait time.Duration) Page {
	r.mu.Lock()
	p := r.page(after, limit, types)
	if len(p.Events) > 0 || after > p.Latest || wait <= 0 || limit <= 0 || ctx.Err() != nil {
		r.mu.Unlock()
		return p
	}
	w := r.enlist(after, types)
	r.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; ; {
		select {
		case <-w.woken:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		r.mu.Lock()
		delete(r.waiting, w)
		p = r.page(after, limit, types)
		if over || len(p.Events) > 0 {
			r.mu.Unlock()
			return p
		}
		// A Clear took the event before this waiter saw it.
		w = r.enlist(after, types)
		r.mu.Unlock()
	}
}

// enlist adds a waiter; the caller holds mu.
func (r *Ring) enlist(after uint64, types []string) *waiter {
	w := &waiter{after: after, types: types, woken: make(chan struct{})}
	r.waiting[w] = struct{}{}
	return w
}

func (r *Ring) page(after uint64, limit int, types []string) Page {
	p := Page{Latest: r.latest, Dropped: r.dropped, Epoch: r.epoch}
	if after >= r.latest {
		return p
	}
	size := 0
	for s := max(after+1, r.first); s <= r.latest && len(p.Events) < limit; s++ {
		e := r.slot(s)
		if !matches(e.Type, types) {
			continue
		}
		if size += len(e.Data); size > maxPageBytes && len(p.Events) > 0 {
			break
		}
		if p.Events == nil {
			p.Events = make([]Event, 0, min(uint64(limit), r.latest-s+1, 64))
		}
		p.Events = append(p.Events, *e)
	}
	return p
}

// matches says whether a type is one of the prefixes or lies below one; no
// prefixes stand for all, and so does an empty one.
func matches(typ string, prefixes []string) bool {
	if len(prefixes) == 0 {
		return true
	}
	for _, p := range prefixes {
		p = strings.TrimSuffix(p, ".")
		if p == "" {
			return true
		}
		if rest, ok := strings.CutPrefix(typ, p); ok && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}
