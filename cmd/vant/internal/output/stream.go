// Package output writes what commands say: JSON with its exact bytes, bare
// text, and tables, for people on a terminal or for programs behind a pipe.
// All commands of vant use it; it knows nothing of the host.
package output

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Stream is standard output or standard error.
type Stream struct {
	W io.Writer
	// Terminal: a person looks at it. Control characters are escaped there.
	Terminal bool
	// Color may be set only with Terminal.
	Color bool
}

// For describes a file: whether it is a terminal, and whether that may be
// coloured (NO_COLOR and TERM=dumb say no).
func For(f *os.File, getenv func(string) string) Stream {
	s := Stream{W: f, Terminal: term.IsTerminal(int(f.Fd()))}
	kind := getenv("TERM")
	s.Color = s.Terminal && getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
	return s
}

// JSON writes a JSON text and a newline: as it is, or on a terminal indented
// and coloured.
func (s Stream) JSON(raw []byte) error {
	if !s.Terminal {
		return s.write(raw)
	}
	return s.write(appendJSON(make([]byte, 0, 2*len(raw)+64), raw, true, s.Color))
}

// Line writes a JSON text on one line, coloured on a terminal.
func (s Stream) Line(raw []byte) error {
	if !s.Terminal {
		return s.write(raw)
	}
	return s.write(appendJSON(make([]byte, 0, 2*len(raw)), raw, false, s.Color))
}

// Text writes a text and a newline; on a terminal its control characters, but
// newlines and tabs, are escaped.
func (s Stream) Text(text string) error {
	if s.Terminal {
		text = Escape(text)
	}
	return s.write([]byte(text))
}

// write makes one call of Write, so that lines of several writers do not mix.
func (s Stream) write(line []byte) error {
	_, err := s.W.Write(append(line[:len(line):len(line)], '\n'))
	return err
}
