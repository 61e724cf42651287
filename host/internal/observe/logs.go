package observe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"gopkg.in/natefinch/lumberjack.v2"
)

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Options configure Logs.
type Options struct {
	// Dir gets a file <plugin>.log for each plugin; "" keeps no files. It is
	// made with mode 0700.
	Dir string
	// Rotation bounds each plugin's files.
	Rotation Rotation
	// Level is every plugin's until SetLevel; NoLevel means Info.
	Level hclog.Level
}

// Logs keeps the lines of all plugins. All methods may be called concurrently;
// Append and Drop never wait for anything. Names must be valid plugin names:
// they become file names.
type Logs struct {
	opts   Options
	closed chan struct{}

	mu    sync.RWMutex // guards what follows; lock order: mu, ring.mu
	rings map[string]*ring
	// files are kept for plugins that come back.
	files   map[string]*lumberjack.Logger
	closing bool
}

// Stats says what happened to a plugin's lines.
type Stats struct {
	Lines uint64 // all that came, dropped ones included
	// Dropped were lost before they came here: the plugin printed too much.
	Dropped uint64
	// FileDropped are missing in the file: the disk was too slow or full.
	FileDropped uint64
	// FileError is why the last write failed, nil when it did not.
	FileError error
}

// NewLogs makes an empty Logs. Close it.
func NewLogs(opts Options) *Logs {
	if opts.Level == hclog.NoLevel {
		opts.Level = hclog.Info
	}
	return &Logs{opts: opts, closed: make(chan struct{}), rings: map[string]*ring{}, files: map[string]*lumberjack.Logger{}}
}

// ring gives the plugin's, and makes it when there is none.
func (l *Logs) ring(plugin string) *ring {
	l.mu.RLock()
	r := l.rings[plugin]
	l.mu.RUnlock()
	if r != nil {
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rings[plugin]; r != nil {
		return r
	}
	r = &ring{level: l.opts.Level}
	if l.opts.Dir != "" && !l.closing {
		w := l.files[plugin]
		if w == nil {
			w = newRotating(filepath.Join(l.opts.Dir, plugin+".log"), l.opts.Rotation)
			l.files[plugin] = w
		}
		r.file = newSpool(newLogFile(w))
	}
	l.rings[plugin] = r
	return r
}

// Append adds a line. Lines below the plugin's level are left out. Text is
// made one line of valid UTF-8 and cut at 32 KiB.
func (l *Logs) Append(plugin string, at time.Time, level hclog.Level, text string) {
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	r := l.ring(plugin)
	line, ok := r.append(Line{
		Time: at.UTC().Format(timeFormat), Level: level.String(), Text: oneLine(text),
	}, level)
	if !ok || r.file == nil {
		return
	}
	b := make([]byte, 0, len(line.Time)+len(line.Text)+16)
	b = append(b, line.Time...)
	b = fmt.Appendf(b, " %-5s ", line.Level)
	b = append(b, line.Text...)
	r.file.add(append(b, '\n'))
}

// Drop says that n lines of the plugin were lost on their way here.
func (l *Logs) Drop(plugin string, n uint64) { l.ring(plugin).drop(n) }

// SetLevel sets from which level on a plugin's lines are kept. It also makes
// the plugin known to Read before its first line.
func (l *Logs) SetLevel(plugin string, level hclog.Level) {
	if level == hclog.NoLevel {
		level = l.opts.Level
	}
	r := l.ring(plugin)
	r.mu.Lock()
	r.level = level
	r.mu.Unlock()
}

// Forget drops the lines of a plugin that is gone. Its file stays, and what is
// queued is still written.
func (l *Logs) Forget(plugin string) {
	l.mu.Lock()
	r := l.rings[plugin]
	delete(l.rings, plugin)
	l.mu.Unlock()
	if r != nil && r.file != nil {
		r.file.beginClose()
	}
}

// Read gives the plugin's lines after a sequence number, oldest first, at most
// limit (all that are kept when it is not positive), and how many lines are
// missing between that number and the last line given. With none there it
// waits for one, up to wait; it returns at once when one comes, when ctx ends
// and when l is closed. A number larger than any given, as of an earlier
// host's life, counts as 0. ok is false for a plugin that is not known.
func (l *Logs) Read(ctx context.Context, plugin string, after uint64, limit int, wait time.Duration) (lines []Line, dropped uint64, ok bool) {
	l.mu.RLock()
	r := l.rings[plugin]
	l.mu.RUnlock()
	if r == nil {
		return nil, 0, false
	}
	if limit <= 0 {
		limit = RingLines
	}
	lines, dropped, more := r.read(after, limit)
	if len(lines) > 0 || wait <= 0 {
		return lines, dropped, true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-more:
	case <-timer.C:
	case <-ctx.Done():
	case <-l.closed:
	}
	lines, dropped, _ = r.read(after, limit)
	return lines, dropped, true
}

// Stats gives a plugin's counters; ok is false for one that is not known.
func (l *Logs) Stats(plugin string) (s Stats, ok bool) {
	l.mu.RLock()
	r := l.rings[plugin]
	l.mu.RUnlock()
	if r == nil {
		return Stats{}, false
	}
	r.mu.Lock()
	s = Stats{Lines: r.seq, Dropped: r.dropped}
	r.mu.Unlock()
	if r.file != nil {
		s.FileDropped, s.FileError = r.file.state()
	}
	return s, true
}

// Close ends waiting readers, writes what is queued and closes the files. It
// returns when that is done or ctx ends, with what could not be written.
// Lines that come later are kept in memory only.
func (l *Logs) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		close(l.closed)
	}
	files := make(map[string]*spool, len(l.rings))
	for name, r := range l.rings {
		if r.file != nil {
			files[name] = r.file
		}
	}
	l.mu.Unlock()

	for _, f := range files {
		f.beginClose()
	}
	var errs []error
	for name, f := range files {
		if err := f.wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close the log of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// oneLine makes text safe in a file and on a terminal.
func oneLine(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] != 0x7f && text[i] != 0xc2
	}
	if plain {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '·'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
