package launch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

// LogLine is one line that a plugin printed or logged, safe to show: valid
// UTF-8 without control characters, at most MaxLine bytes and a remark.
type LogLine struct {
	Time  time.Time
	Level hclog.Level
	Text  string
}

// MaxLine bounds a line in bytes; what is longer is cut and marked.
const MaxLine = 16 << 10

// maxSkew is how far the time in a log line may be from the host's to be
// believed.
const maxSkew = time.Minute

// lineParser gives lines their level. It remembers whether they belong to a
// panic or a traceback.
type lineParser struct{ trouble trouble }

type trouble uint8

const (
	noTrouble trouble = iota
	inPanic           // Go's: until something that the logger wrote
	inTraceback
)

// parse never fails: what is not understood is shown as it is.
func (p *lineParser) parse(line []byte, now time.Time) LogLine {
	line = bytes.TrimRight(line, "\r")
	if l, ok := parseHclog(line, now); ok {
		p.trouble = noTrouble
		return l
	}
	return LogLine{Time: now, Level: p.plainLevel(line), Text: printable(string(line))}
}

func (p *lineParser) plainLevel(line []byte) hclog.Level {
	for prefix, level := range prefixes {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return level
		}
	}
	switch {
	case beginsPanic(string(line)):
		p.trouble = inPanic
	case bytes.HasPrefix(line, []byte("Traceback (most recent call last)")):
		p.trouble = inTraceback
		return hclog.Error
	}
	switch p.trouble {
	case inPanic:
		return hclog.Error
	case inTraceback:
		if len(line) > 0 && line[0] != ' ' {
			p.trouble = noTrouble // the exception itself, the last line
		}
		return hclog.Error
	}
	return hclog.Info
}

// beginsPanic says that line is the first that Go's runtime prints when it ends
// a program.
func beginsPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

var prefixes = map[string]hclog.Level{
	"[TRACE]": hclog.Trace, "[DEBUG]": hclog.Debug, "[INFO]": hclog.Info,
	"[WARN]": hclog.Warn, "[ERROR]": hclog.Error,
}

// parseHclog reads a line of hclog's JSON format. Whatever has not exactly
// that shape is not one.
func parseHclog(line []byte, now time.Time) (LogLine, bool) {
	if len(line) < 2 || line[0] != '{' {
		return LogLine{}, false
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return LogLine{}, false
	}
	text, ok := jsonString(m["@message"])
	if !ok {
		return LogLine{}, false
	}
	l := LogLine{Time: now, Level: hclog.Info}
	if raw, has := m["@level"]; has {
		s, ok := jsonString(raw)
		if !ok {
			return LogLine{}, false
		}
		if level := hclog.LevelFromString(s); level != hclog.NoLevel && level != hclog.Off {
			l.Level = level
		}
	}
	if s, ok := jsonString(m["@timestamp"]); ok {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil && t.Sub(now).Abs() <= maxSkew {
			l.Time = t
		}
	}
	var b strings.Builder
	if module, ok := jsonString(m["@module"]); ok && module != "" {
		b.WriteString(module + ": ")
	}
	b.WriteString(text)
	for _, k := range fieldNames(m) {
		b.WriteString(" " + k + "=" + fieldText(m[k]))
	}
	l.Text = printable(b.String())
	return l, true
}

func fieldNames(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		switch k {
		case "@message", "@level", "@timestamp", "@module":
		default:
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}

func fieldText(raw json.RawMessage) string {
	s, ok := jsonString(raw)
	if !ok {
		return string(raw)
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '=' }) {
		return strconv.Quote(s)
	}
	return s
}

func jsonString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// printable writes control characters, invalid bytes and what turns the
// direction of text as escapes, and cuts what gets longer than a line.
func printable(s string) string {
	if len(s) <= MaxLine && strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	b := make([]byte, 0, min(len(s)+len(s)/4, MaxLine+utf8.UTFMax))
	for i := 0; i < len(s); {
		if len(b) > MaxLine-10 {
			return string(b) + cutMark(len(s)-i)
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
		case unsafeRune(r):
			q := strconv.AppendQuoteRuneToASCII(nil, r)
			b = append(b, q[1:len(q)-1]...)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

const hex = "0123456789abcdef"

func cutMark(n int) string { return "… [" + strconv.Itoa(n) + " bytes cut]" }

func unsafeRune(r rune) bool {
	// RuneError also stands for itself, written out; an escape is no loss.
	return r == utf8.RuneError || r != '\t' && !unicode.IsGraphic(r) && !joiner(r)
}

// joiner: emoji and several scripts need them, and they do no harm.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }
