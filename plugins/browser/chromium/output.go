package chromium

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds on what the browser prints.
const (
	maxLine    = 500 // bytes kept of a line
	maxWords   = 4   // lines kept to explain an end
	linesBurst = 50  // lines logged in linesEvery
	linesEvery = 5 * time.Second
)

// output reads what the browser prints: to the log at debug, and the last lines
// that matter are kept.
type output struct {
	r    *os.File
	log  hclog.Logger
	done chan struct{}

	mu    sync.Mutex
	fatal string   // guarded by mu: the last line that says why it ended
	last  []string // guarded by mu: the last lines that may
	plain []string // guarded by mu: those of them that are not of Chromium's log

	// of the reader alone
	since    time.Time
	logged   int
	withheld int
}

func newOutput(r *os.File, log hclog.Logger) *output {
	return &output{r: r, log: log, done: make(chan struct{})}
}

func (o *output) read() {
	defer close(o.done)
	defer o.r.Close()
	b := bufio.NewReaderSize(o.r, 4<<10)
	for {
		line, err := readLine(b)
		if line != "" {
			o.line(line)
		}
		if err != nil {
			o.flush()
			return
		}
	}
}

// readLine gives the beginning of a line; the rest of a long one is dropped.
func readLine(b *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLine-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return clean(line), err
		}
	}
}

func clean(line []byte) string {
	line = bytes.TrimSpace(bytes.ToValidUTF8(line, []byte("?")))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, string(line))
}

func (o *output) line(s string) {
	now := time.Now()
	if now.Sub(o.since) >= linesEvery {
		o.flush()
		o.since, o.logged = now, 0
	}
	if o.logged < linesBurst {
		o.logged++
		o.log.Debug("browser: " + s)
	} else {
		o.withheld++
	}
	level, words := reason(s)
	if words == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch level {
	case "FATAL":
		o.fatal = words
	case "":
		o.plain = keep(o.plain, words)
	}
	o.last = keep(o.last, words)
}

func keep(lines []string, line string) []string {
	lines = append(lines, line)
	return lines[max(0, len(lines)-maxWords):]
}

func (o *output) flush() {
	if o.withheld > 0 {
		o.log.Debug("browser printed more", "lines", o.withheld)
		o.withheld = 0
	}
}

// finish waits for the end of the output, not longer than bound: who holds it
// may be somebody that nobody knows of.
func (o *output) finish(bound time.Duration) {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-o.done:
	case <-t.C:
		o.r.Close()
		<-o.done
	}
}

// words are the lines that say why the browser ended, and what to do about it
// where that is known. At a good end, its log's errors were none of that.
func (o *output) words(good bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.Join(o.last, "; ")
	switch {
	case good:
		text = strings.Join(o.plain, "; ")
	case o.fatal != "":
		text = o.fatal
	}
	for _, r := range remedies {
		if strings.Contains(text, r.words) {
			return text + "; " + r.do
		}
	}
	return text
}

// prefixed is a line of Chromium's own log: [pid:tid:date:LEVEL:file:line] text.
var prefixed = regexp.MustCompile(`^\[[^\]]*?(FATAL|ERROR|WARNING|INFO|VERBOSE\d*):([^\]:]*)[^\]]*\] ?(.*)$`)

// noise is what it prints on healthy systems.
var noise = []string{"dbus", "DevTools listening", "unexpected operator", "vaapi", "gcm", "GCM", "Fontconfig", "policy_"}

// reason gives what of a line may explain an end, and its level: "" when it is
// not of Chromium's log.
func reason(s string) (level, words string) {
	words = s
	if m := prefixed.FindStringSubmatch(s); m != nil {
		level, words = m[1], m[3]
		s = m[2] + " " + words
	}
	switch {
	case level == "FATAL":
		return level, words
	case level != "" && level != "ERROR", strings.HasPrefix(words, "#"): // a stack
		return level, ""
	}
	for _, n := range noise {
		if strings.Contains(s, n) {
			return level, ""
		}
	}
	return level, words
}

var remedies = []struct{ words, do string }{
	{"No usable sandbox", "allow unprivileged user namespaces, or install the package chromium-sandbox"},
	{"error while loading shared libraries", "install the package that has this library, or Chromium anew"},
	{"Missing X server", `set plugins.browser.headless to "true" (in quotes), or give the host DISPLAY`},
	{"cannot open display", `set plugins.browser.headless to "true" (in quotes), or give the host DISPLAY`},
	{"Opening in existing browser session", "a browser runs on this profile already: close it"},
	{"No space left on device", "free space on the disk of the profile and in /dev/shm"},
}
