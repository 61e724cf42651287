package observe

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

// ParseLevel reads a level's name: trace, debug, info, warn, error or off.
func ParseLevel(name string) (hclog.Level, error) {
	level := hclog.LevelFromString(name)
	if level == hclog.NoLevel || level.String() != name {
		return hclog.NoLevel, fmt.Errorf("%q is no log level; use trace, debug, info, warn, error or off", name)
	}
	return level, nil
}

// NewLogger makes the host's own logger, named vantd, writing to w. Lines
// quote what plugins and clients sent: control characters in them reach w as
// \x1b and the like, so that nobody paints on the operator's terminal.
func NewLogger(level hclog.Level, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "vantd", Level: level, Output: safeWriter{w}, TimeFormat: timeFormat,
	})
}

// safeWriter passes text on with its control characters spelled out.
type safeWriter struct{ w io.Writer }

func (s safeWriter) Write(p []byte) (int, error) {
	clean := utf8.Valid(p)
	for i := 0; clean && i < len(p); i++ {
		clean = !control(rune(p[i])) && p[i] != 0xc2 // which begins U+0080 to U+009F
	}
	if clean {
		return s.w.Write(p)
	}
	out := make([]byte, 0, len(p)+64)
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, p[i])
		case control(r):
			out = fmt.Appendf(out, `\x%02x`, r)
		default:
			out = append(out, p[i:i+n]...)
		}
		i += n
	}
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }
