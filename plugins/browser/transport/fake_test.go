package transport

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
)

// fake is the browser's end of a connection: it reads commands one by one and
// says what a test tells it to.
type fake struct {
	t    *testing.T
	in   *bufio.Reader
	out  io.WriteCloser
	ends []io.Closer
}

// command is what the browser reads.
type command struct {
	ID        int64
	Method    string
	Params    json.RawMessage
	SessionID string
}

// connect gives a connection and the browser at its other end. The connection is
// closed when the test ends.
func connect(t *testing.T, root Handler) (*Conn, *fake) {
	t.Helper()
	commands, ours := io.Pipe()
	answers, theirs := io.Pipe()
	c := New(answers, ours, root)
	t.Cleanup(c.Close)
	return c, &fake{t, bufio.NewReaderSize(commands, 1<<20), theirs, []io.Closer{commands, theirs}}
}

// next reads a command.
func (f *fake) next() command {
	f.t.Helper()
	text, err := f.in.ReadBytes(0)
	if err != nil {
		f.t.Errorf("reading a command: %v", err)
		return command{}
	}
	var c command
	if err := json.Unmarshal(text[:len(text)-1], &c); err != nil {
		f.t.Errorf("the command %s is no JSON: %v", text, err)
	}
	return c
}

// say sends a message.
func (f *fake) say(format string, args ...any) {
	f.t.Helper()
	if _, err := f.out.Write(append(fmt.Appendf(nil, format, args...), 0)); err != nil {
		f.t.Errorf("saying something: %v", err)
	}
}

// answer gives a command its own parameters as the result.
func (f *fake) answer(c command) {
	f.t.Helper()
	params := c.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	if c.SessionID == "" {
		f.say(`{"id":%d,"result":%s}`, c.ID, params)
	} else {
		f.say(`{"id":%d,"result":%s,"sessionId":%q}`, c.ID, params, c.SessionID)
	}
}

// serve answers n commands.
func (f *fake) serve(n int) {
	for range n {
		f.answer(f.next())
	}
}

// leave is the browser's end.
func (f *fake) leave() {
	for _, e := range f.ends {
		if err := e.Close(); err != nil {
			f.t.Error(err)
		}
	}
}

// bubble runs a test on fake time; it fails when a goroutine is left.
func bubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, run)
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
