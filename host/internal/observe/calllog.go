package observe

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Call is one line of the call log. It has no room for params and results.
type Call struct {
	Time     time.Time
	Method   string // cut at 128 bytes: a client may send any text
	Pid      int    // of the caller
	Program  string // the caller's executable, or "plugin:<name>"; cut likewise
	Duration time.Duration
	Code     string // the error's code, "" when the call went well
}

// CallLog writes one JSON object a line for each call. A nil CallLog is a call
// log that is switched off.
type CallLog struct{ file *spool }

// NewCallLog writes to the file, made with mode 0600 at the first call, and
// rotates it. Close it.
func NewCallLog(file string, r Rotation) *CallLog {
	return &CallLog{file: newSpool(newLogFile(newRotating(file, r)))}
}

// Record adds a call. It never waits for the disk: a line that finds the queue
// full is dropped and counted. It may be called concurrently.
func (l *CallLog) Record(c Call) {
	if l == nil {
		return
	}
	b := make([]byte, 0, 256)
	b = append(b, `{"time":"`...)
	b = c.Time.UTC().AppendFormat(b, timeFormat)
	b = append(b, `","method":`...)
	b = appendText(b, c.Method)
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(c.Pid), 10)
	b = append(b, `,"program":`...)
	b = appendText(b, c.Program)
	b = append(b, `,"duration_us":`...)
	b = strconv.AppendInt(b, c.Duration.Microseconds(), 10)
	b = append(b, `,"code":`...)
	if c.Code == "" {
		b = append(b, `"ok"`...)
	} else {
		b = appendText(b, c.Code)
	}
	l.file.add(append(b, "}\n"...))
}

// Dropped gives how many calls are missing in the file and why the last write
// failed, nil when it did not.
func (l *CallLog) Dropped() (uint64, error) {
	if l == nil {
		return 0, nil
	}
	return l.file.state()
}

// Close writes what is queued and closes the file; it returns when that is
// done or ctx ends.
func (l *CallLog) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.file.beginClose()
	if err := l.file.wait(ctx); err != nil {
		return fmt.Errorf("close the call log: %w", err)
	}
	return nil
}

// appendText appends a JSON string, cut at 128 bytes.
func appendText(b []byte, s string) []byte {
	const most = 128
	cut := len(s) > most
	if cut {
		s = s[:most]
	}
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if cut && i > len(s)-utf8.UTFMax {
				break // a character cut in two
			}
			b = append(b, "\uFFFD"...)
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r >= 0x7f && r < 0xa0:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	if cut {
		b = append(b, "…"...)
	}
	return append(b, '"')
}
