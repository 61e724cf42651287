// Package transport speaks the Chrome DevTools Protocol over a pair of streams,
// as Chromium does with --remote-debugging-pipe: one JSON message after the
// other, each ended by a NUL byte.
//
// One goroutine reads and never blocks: it hands answers to those who wait and
// events to the session's handler, in the order of the wire. Another one writes.
// Sessions are the flattened ones: the browser's own (Root), and one for each
// target that was attached to. A Session is a cdp.Session.
package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

const (
	// maxMessage bounds one message of the browser. A longer one is passed over,
	// and who waits for it gets ErrTooLarge.
	maxMessage = 64 << 20
	// maxUnsent bounds what waits for a browser that does not read.
	maxUnsent = 32 << 20
	// keepBuffer is the largest buffer that is kept for the next message.
	keepBuffer = 4 << 20
	// readBuffer is the first one: what a pipe holds.
	readBuffer = 64 << 10
)

var (
	// ErrClosed: the connection to the browser has ended.
	ErrClosed = errors.New("the connection to the browser has ended")
	// ErrDetached: the session was ended without a more telling cause.
	ErrDetached = errors.New("the session has ended")
	// ErrTooLarge: the browser's answer is longer than 64 MiB.
	ErrTooLarge = errors.New("the browser's answer is longer than 64 MiB")
	// ErrNotRead: the browser does not read what it is sent.
	ErrNotRead = errors.New("the browser does not read its commands")
)

// Handler takes the events of a session, in the order of the wire, on the
// reading goroutine: it must not block and must not wait for a call. params is
// valid during the call only.
type Handler func(method string, params []byte)

// Conn is a connection. All methods may be called concurrently.
type Conn struct {
	r    io.ReadCloser
	w    io.WriteCloser
	root *Session
	wake chan struct{} // the writer has something to do
	done chan struct{}
	ends sync.WaitGroup

	mu       sync.Mutex // guards the fields that follow; taken before a session's; never held over I/O
	nextID   int64
	pending  map[int64]*Pending
	sessions map[string]*Session
	unsent   []byte
	err      error // why it ended; set before done is closed
}

// New starts to speak over the ends of two pipes. It owns them: closing the
// connection closes both. root takes the browser's own events; nil drops them.
func New(r io.ReadCloser, w io.WriteCloser, root Handler) *Conn {
	c := &Conn{
		r: r, w: w,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		pending: make(map[int64]*Pending), sessions: make(map[string]*Session),
	}
	c.root = newSession(c, "", root)
	c.sessions[""] = c.root
	c.ends.Add(2)
	go c.read()
	go c.write()
	return c
}

// Root is the browser's own session.
func (c *Conn) Root() *Session { return c.root }

// Done is closed when the connection has ended; all calls have failed then.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended; nil before.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits for its goroutines. It must not be called
// from a Handler.
func (c *Conn) Close() {
	c.fail(ErrClosed)
	c.ends.Wait()
}

// Attach makes the session of an id that the browser has announced. It is called
// in the Handler that got the announcement, so that no event of the session comes
// before it is known. When the connection has ended, so has the session.
func (c *Conn) Attach(id string, h Handler) *Session {
	s := newSession(c, id, h)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		s.end(c.err)
	case id == "": // would take the root's place
		s.end(ErrDetached)
	default:
		if old := c.sessions[id]; old != nil {
			old.end(ErrDetached)
			c.interrupt(old, ErrDetached)
		}
		c.sessions[id] = s
	}
	return s
}

// Detach ends a session: what waits for its answers fails with cause, and so
// does every later call. A nil cause is ErrDetached.
func (c *Conn) Detach(id string, cause error) {
	if cause == nil {
		cause = ErrDetached
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil && s != c.root { // the root ends with the connection
		delete(c.sessions, id)
		s.end(cause)
		c.interrupt(s, cause) // with c.mu held no command starts in between
	}
}

// Interrupt fails what waits for answers of a session, which goes on.
func (c *Conn) Interrupt(s *Session, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt(s, cause)
}

// interrupt fails a session's commands; c.mu is held.
func (c *Conn) interrupt(s *Session, cause error) {
	for n, p := range c.pending {
		if p.session == s {
			delete(c.pending, n)
			p.fail(cause)
		}
	}
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	for _, s := range c.sessions {
		s.end(err)
	}
	for _, p := range c.pending {
		p.fail(err)
	}
	c.pending, c.sessions, c.unsent = nil, nil, nil
	close(c.done)
	c.mu.Unlock()
	_ = c.r.Close() // what was to be read is lost already
	_ = c.w.Close()
}

// start queues a command. The order of commands is that of these calls.
func (c *Conn) start(s *Session, method string, params []byte, then func([]byte)) *Pending {
	p := &Pending{session: s, method: method, then: then, done: make(chan struct{})}
	c.mu.Lock()
	err := c.err
	if err == nil && c.sessions[s.id] != s {
		err = s.Err()
	}
	if err == nil && len(c.unsent) > maxUnsent {
		err = ErrNotRead
	}
	if err != nil {
		c.mu.Unlock()
		p.fail(err)
		return p
	}
	c.nextID++
	p.id = c.nextID
	c.pending[p.id] = p
	b := append(c.unsent, `{"id":`...)
	b = strconv.AppendInt(b, p.id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	if len(params) > 0 {
		b = append(b, `","params":`...)
		b = append(b, params...)
	} else {
		b = append(b, '"')
	}
	if s.id != "" {
		b = append(b, `,"sessionId":"`...)
		b = append(b, s.id...)
		b = append(b, '"')
	}
	c.unsent = append(b, '}', 0)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return p
}

// forget drops a command that nobody waits for any more.
func (c *Conn) forget(p *Pending) {
	c.mu.Lock()
	delete(c.pending, p.id)
	c.mu.Unlock()
}

func (c *Conn) write() {
	defer c.ends.Done()
	var spare []byte
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		out := c.unsent
		c.unsent = spare[:0]
		c.mu.Unlock()
		if len(out) > 0 {
			if _, err := c.w.Write(out); err != nil {
				c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
				return
			}
		}
		if spare = out; cap(spare) > keepBuffer {
			spare = nil
		}
	}
}

func (c *Conn) read() {
	defer c.ends.Done()
	buf := make([]byte, 0, readBuffer)
	searched := 0     // no NUL before it
	skipping := false // inside a message that is too long
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf)) // twice: few copies of a long message
		}
		n, err := c.r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		start := 0
		for {
			i := bytes.IndexByte(buf[searched:], 0)
			if i < 0 {
				break
			}
			end := searched + i
			if !skipping {
				c.dispatch(buf[start:end])
			}
			skipping = false
			start, searched = end+1, end+1
		}
		rest := buf[start:]
		switch {
		case len(rest) > maxMessage:
			if !skipping {
				c.tooLarge(rest)
			}
			skipping = true
			buf = make([]byte, 0, readBuffer)
		case len(rest) < readBuffer/2 && cap(buf) > keepBuffer:
			buf = append(make([]byte, 0, readBuffer), rest...)
		case start > 0:
			buf = buf[:copy(buf, rest)]
		}
		if skipping {
			buf = buf[:0]
		}
		searched = len(buf)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = ErrClosed
			} else {
				err = fmt.Errorf("%w: %w", ErrClosed, err)
			}
			c.fail(err)
			return
		}
	}
}

// dispatch hands one message on. What is not understood is nobody's.
func (c *Conn) dispatch(text []byte) {
	m, ok := split(repair(text))
	if !ok {
		return
	}
	if m.id == 0 {
		if s := c.session(m.session); s != nil {
			s.event(m.method, m.params)
		}
		return
	}
	c.mu.Lock()
	p := c.pending[m.id]
	delete(c.pending, m.id)
	c.mu.Unlock()
	if p == nil {
		return
	}
	if m.failure == nil {
		p.answer(bytes.Clone(m.result))
		return
	}
	e := &Error{Method: p.method}
	if err := jsonv2.Unmarshal(m.failure, e); err != nil && e.Message == "" {
		e.Message = "the browser refused it without a reason"
	}
	p.fail(e)
}

func (c *Conn) session(id []byte) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[string(id)]
}

// tooLarge fails the command whose answer begins with head.
func (c *Conn) tooLarge(head []byte) {
	id, ok := answerID(head)
	if !ok {
		return // an event: the state that it carries is lost, nothing waits
	}
	c.mu.Lock()
	p := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if p != nil {
		p.fail(ErrTooLarge)
	}
}
