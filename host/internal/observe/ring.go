package observe

import (
	"sync"

	"github.com/hashicorp/go-hclog"
)

const (
	// RingLines and ringBytes bound what is kept of one plugin.
	RingLines = 1000
	ringBytes = 1 << 20
	// maxText bounds a line's text in bytes; what is longer is cut.
	maxText = 32 << 10
)

// Line is one line of a plugin's log.
type Line struct {
	// Seq counts the plugin's lines from 1 over the host's life, dropped ones
	// included: a gap says how many are missing.
	Seq   uint64 `json:"seq"`
	Time  string `json:"time"` // RFC 3339 in UTC with milliseconds
	Level string `json:"level"`
	Text  string `json:"text"`
}

// ring holds the last lines of one plugin.
type ring struct {
	mu      sync.Mutex // guards what follows
	lines   []Line     // circular once full; it grows as lines come
	first   int        // index of the oldest
	n       int
	bytes   int
	seq     uint64 // of the last line or drop
	dropped uint64 // counted by drop
	level   hclog.Level
	wake    chan struct{} // closed at the next line; nil when nobody waits
	file    *spool        // nil without files
}

// append keeps a line and gives it its number. False: its level is not wanted.
func (r *ring) append(l Line, level hclog.Level) (Line, bool) {
	r.mu.Lock()
	if level < r.level {
		r.mu.Unlock()
		return Line{}, false
	}
	r.seq++
	l.Seq = r.seq
	for r.n == RingLines || r.n > 0 && r.bytes+len(l.Text) > ringBytes {
		oldest := &r.lines[r.first]
		r.bytes -= len(oldest.Text)
		*oldest = Line{} // its text is garbage now
		r.first = (r.first + 1) % len(r.lines)
		r.n--
	}
	if r.n == len(r.lines) {
		r.grow()
	}
	r.lines[(r.first+r.n)%len(r.lines)] = l
	r.n++
	r.bytes += len(l.Text)
	wake := r.wake
	r.wake = nil
	r.mu.Unlock()
	if wake != nil {
		close(wake)
	}
	return l, true
}

// grow doubles the space: most plugins never print a thousand lines.
func (r *ring) grow() {
	bigger := make([]Line, min(max(16, 2*len(r.lines)), RingLines))
	for i := range r.n {
		bigger[i] = r.lines[(r.first+i)%len(r.lines)]
	}
	r.lines, r.first = bigger, 0
}

// drop counts lines that were lost before they came here.
func (r *ring) drop(n uint64) {
	r.mu.Lock()
	r.seq += n
	r.dropped += n
	r.mu.Unlock()
}

// read gives up to limit lines after the number, and how many are missing
// between the number and the last of them. Without any, more is closed when
// one comes.
func (r *ring) read(after uint64, limit int) (lines []Line, missing uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after > r.seq {
		after = 0 // the number comes from an earlier host's life
	}
	// Numbers rise but have gaps: the first one behind is found by halving.
	lo, hi := 0, r.n
	for lo < hi {
		mid := (lo + hi) / 2
		if r.at(mid).Seq > after {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if count := min(r.n-lo, limit); count > 0 {
		lines = make([]Line, count)
		for i := range lines {
			lines[i] = *r.at(lo + i)
		}
		return lines, lines[count-1].Seq - after - uint64(count), nil
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return nil, 0, r.wake
}

func (r *ring) at(i int) *Line { return &r.lines[(r.first+i)%len(r.lines)] }
