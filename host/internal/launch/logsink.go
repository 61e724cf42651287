package launch

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// What a plugin may say; more is dropped and counted. The burst lets a stack
// trace through whole.
const (
	linesPerSecond = 2000
	bytesPerSecond = 1 << 20
	burstSeconds   = 2
)

// idleFlush is how long the beginning of a line may wait for its end.
const idleFlush = time.Second

// dropReport is how often drops are told while they go on.
const dropReport = time.Second

// tailLines and tailBytes bound what a failed start quotes of the output.
const (
	tailLines = 8
	tailBytes = 200
)

// sink takes the output of one process from all of its streams and hands it
// on by lines, as many as are allowed.
type sink struct {
	plugin  string
	output  func(string, LogLine)
	dropped func(string, uint64)

	mu           sync.Mutex // guards the fields that follow
	lines, bytes float64    // what may be said now
	refilled     time.Time
	drops        uint64
	told         time.Time
	timer        *time.Timer
	closed       bool
	keepTail     bool
	tail         []string
	telling      bool // tail begins with the line that says why
}

func newSink(plugin string, output func(string, LogLine), dropped func(string, uint64)) *sink {
	now := time.Now()
	return &sink{
		plugin: plugin, output: output, dropped: dropped,
		lines: burstSeconds * linesPerSecond, bytes: burstSeconds * bytesPerSecond,
		refilled: now, told: now.Add(-dropReport), keepTail: true,
	}
}

// allow says whether a line of n bytes may be said; if not, it is counted.
func (s *sink) allow(n int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now.Sub(s.refilled).Seconds(); d > 0 {
		s.lines = min(s.lines+d*linesPerSecond, burstSeconds*linesPerSecond)
		s.bytes = min(s.bytes+d*bytesPerSecond, burstSeconds*bytesPerSecond)
		s.refilled = now
	}
	if s.lines < 1 || s.bytes < float64(n) {
		s.countLocked(1)
		return false
	}
	s.lines--
	s.bytes -= float64(n)
	return true
}

func (s *sink) drop(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countLocked(n)
}

func (s *sink) countLocked(n uint64) {
	s.drops += n
	if s.drops == 0 || s.closed || s.timer != nil {
		return
	}
	s.timer = time.AfterFunc(max(0, dropReport-time.Since(s.told)), s.report)
}

// report tells the drops since the last report.
func (s *sink) report() {
	s.mu.Lock()
	n := s.drops
	s.drops, s.timer, s.told = 0, nil, time.Now()
	s.mu.Unlock()
	if n > 0 {
		s.dropped(s.plugin, n)
	}
}

// close tells what is left to tell. Writers may still be flushed.
func (s *sink) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.report()
}

func (s *sink) deliver(l LogLine) {
	s.mu.Lock()
	if s.keepTail && l.Text != "" {
		s.keepLocked(l.Text[:min(len(l.Text), tailBytes)])
	}
	s.mu.Unlock()
	s.output(s.plugin, l)
}

// keepLocked keeps the last lines, or the first ones from the line on by which
// Go's runtime says why a program ends: the stack traces after it are long.
func (s *sink) keepLocked(line string) {
	switch {
	case beginsPanic(line):
		s.telling, s.tail = true, s.tail[:0]
	case len(s.tail) < tailLines:
	case s.telling:
		return
	default:
		s.tail = append(s.tail[:0], s.tail[1:]...)
	}
	s.tail = append(s.tail, line)
}

// lastWords quotes what keepLocked has kept for the error of a failed start.
func (s *sink) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tail) == 0 {
		return ", it printed nothing"
	}
	q := make([]string, len(s.tail))
	for i, l := range s.tail {
		q[i] = quote(l)
	}
	return "; its last output: " + strings.Join(q, " ")
}

// forgetWords: once the start is decided nobody asks for them.
func (s *sink) forgetWords() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepTail, s.telling, s.tail = false, false, nil
}

func (s *sink) writer() *lineWriter { return &lineWriter{sink: s} }

// lineWriter makes lines of one stream. It never blocks and never fails.
type lineWriter struct {
	sink *sink

	mu     sync.Mutex // guards the fields that follow
	parser lineParser
	buf    []byte // the beginning of a line, at most MaxLine
	cut    int    // bytes of that line that did not fit
	timer  *time.Timer
}

// Write takes any piece of the stream.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		ok := w.end(p[:i], now)
		p = p[i+1:]
		if !ok {
			// Nothing is left to be said in this moment: the rest of the piece
			// is only counted, which is much cheaper than cutting it into lines.
			if j := bytes.LastIndexByte(p, '\n'); j >= 0 {
				w.sink.drop(uint64(bytes.Count(p[:j+1], []byte{'\n'})))
				p = p[j+1:]
			}
		}
	}
	w.add(p)
	w.arm()
	return n, nil
}

func (w *lineWriter) add(p []byte) {
	fits := min(len(p), MaxLine-len(w.buf))
	w.buf = append(w.buf, p[:fits]...)
	w.cut += len(p) - fits
}

// end completes a line with p.
func (w *lineWriter) end(p []byte, now time.Time) bool {
	line := p
	if len(w.buf) > 0 || len(p) > MaxLine {
		w.add(p)
		line = w.buf
	}
	cut := w.cut
	ok := w.sink.allow(len(line)+1, now)
	if ok {
		l := w.parser.parse(line, now)
		if cut > 0 {
			l.Text += cutMark(cut)
		}
		w.sink.deliver(l)
	}
	w.cut = 0
	if cap(w.buf) > 4<<10 {
		w.buf = nil // long lines are rare
	} else {
		w.buf = w.buf[:0]
	}
	return ok
}

// arm sees to it that a line without an end is shown after a while.
func (w *lineWriter) arm() {
	switch {
	case len(w.buf) == 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(idleFlush, w.Flush)
	default:
		w.timer.Reset(idleFlush)
	}
}

// Flush shows the line that has no end yet.
func (w *lineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if len(w.buf) > 0 {
		w.end(nil, time.Now())
	}
}
