// Package diagnostics keeps what a tab's pages and workers say of themselves:
// console lines, exceptions, and what the browser logs about them. It lives
// outside the page, so that neither a navigation nor a page changes it.
//
// Adding is cheap, for a page may write without end: events are kept as the
// browser sent them and are read only when somebody asks.
package diagnostics

import (
	"bytes"
	"sync"
)

const (
	// Size is how many events are kept.
	Size = 500
	// maxRaw is how much of an event is kept as it came; of a longer one only what
	// is shown.
	maxRaw = 8 << 10
)

// Ring keeps the last events. Safe for concurrent use.
type Ring struct {
	mu     sync.Mutex // guards the fields that follow
	events []raw
	next   uint64 // number of the next event; event n stands at n % Size
	first  uint64 // of those that were not cleared
	errors int
}

// ofWorker begins what a page says again of one of its workers.
var ofWorker = []byte(`{"entry":{"source":"worker",`)

type raw struct {
	method string
	params []byte // as the browser sent it; nil when event is set
	event  *Event
}

// New makes an empty ring.
func New() *Ring { return &Ring{} }

// Add takes an event of the browser: Runtime.consoleAPICalled,
// Runtime.exceptionThrown or Log.entryAdded. params is not kept.
func (r *Ring) Add(method string, params []byte) {
	if method == "Log.entryAdded" && bytes.HasPrefix(params, ofWorker) {
		return // the worker says it in its own session, and more of it
	}
	e := raw{method: method}
	if len(params) > maxRaw {
		e.event = read(method, params)
	} else {
		e.params = bytes.Clone(params)
	}
	bad := failure(method, params)
	r.mu.Lock()
	defer r.mu.Unlock()
	if bad {
		r.errors++
	}
	if len(r.events) < Size {
		r.events = append(r.events, e)
	} else {
		r.events[r.next%Size] = e
	}
	r.next++
}

// failure says whether an event counts as an error of the page.
func failure(method string, params []byte) bool {
	switch method {
	case "Runtime.exceptionThrown":
		return true
	case "Runtime.consoleAPICalled":
		return bytes.HasPrefix(params, []byte(`{"type":"error"`)) || bytes.HasPrefix(params, []byte(`{"type":"assert"`))
	}
	return false
}

// Errors counts console errors and exceptions, ever.
func (r *Ring) Errors() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors
}

// Clear empties the ring.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = r.next
}

// Report is what a ring holds.
type Report struct {
	Events  []Event `json:"events"`
	Dropped uint64  `json:"dropped"`
}

// Query chooses events.
type Query struct {
	// Since leaves out events up to this time, in milliseconds since 1970.
	Since float64
	// Level is the lowest that is shown: debug, log, info, warn or error; "" for
	// all.
	Level string
}

// Read gives the events in order, and how many were dropped for room.
func (r *Ring) Read(q Query) Report {
	r.mu.Lock()
	oldest := r.next - uint64(len(r.events))
	dropped := uint64(0)
	if oldest > r.first {
		dropped = oldest - r.first
	}
	list := make([]raw, 0, len(r.events))
	for n := max(oldest, r.first); n < r.next; n++ {
		list = append(list, r.events[n%Size])
	}
	r.mu.Unlock()
	rep := Report{Events: []Event{}, Dropped: dropped}
	for _, e := range list {
		event := e.event
		if event == nil {
			event = read(e.method, e.params)
		}
		if event.Time > q.Since && rank(event.Level) >= rank(q.Level) {
			rep.Events = append(rep.Events, *event)
		}
	}
	return rep
}
