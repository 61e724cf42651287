package transport

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// maxSubscribed bounds the events that wait for one subscriber; later ones are
// dropped.
const maxSubscribed = 4096

// Session is one flattened session. All methods may be called concurrently.
type Session struct {
	conn    *Conn
	id      string
	handler Handler
	done    chan struct{}

	mu   sync.Mutex // guards the fields that follow
	err  error
	subs map[string][]*subscription
}

var _ cdp.Session = (*Session)(nil)

func newSession(c *Conn, id string, h Handler) *Session {
	return &Session{conn: c, id: id, handler: h, done: make(chan struct{})}
}

// ID is the browser's name of the session, "" for the root.
func (s *Session) ID() string { return s.id }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session ended: the cause given to Detach, or the
// connection's. It is nil before.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Call runs a command and decodes its result, unless result is nil. A failure
// that the browser reported is an *Error; otherwise it is why nothing came: the
// session's end or ctx's cause.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // nothing is sent
	}
	raw, err := s.Start(method, params).Wait(ctx)
	if err != nil || result == nil {
		return err
	}
	if err := jsonv2.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("decoding the result of %s: %w", method, err)
	}
	return nil
}

// Start queues a command behind those that were started before, and does not
// wait. params that are jsonv2.Value or nil are sent as they are. It may be
// called in a Handler.
func (s *Session) Start(method string, params any) *Pending {
	return s.StartThen(method, params, nil)
}

// StartThen is Start that calls then with the result on the reading goroutine,
// in the order of the wire and under the rules of a Handler, also when nobody waits
// for it any more. A failure is told by the Pending alone.
func (s *Session) StartThen(method string, params any, then func(result []byte)) *Pending {
	var raw []byte
	switch p := params.(type) {
	case nil, cdp.Empty:
	case jsonv2.Value:
		raw = p
	default:
		var err error
		if raw, err = jsonv2.Marshal(params); err != nil {
			p := &Pending{session: s, method: method, done: make(chan struct{})}
			p.fail(fmt.Errorf("encoding the parameters of %s: %w", method, err))
			return p
		}
	}
	return s.conn.start(s, method, raw, then)
}

// Go is Start with types.
func Go[P, R any](s *Session, c cdp.Command[P, R], params P) Future[R] {
	return Future[R]{s.Start(c.Method, params)}
}

// Future is a result that will come.
type Future[R any] struct{ *Pending }

// Wait waits for the result and decodes it.
func (f Future[R]) Wait(ctx context.Context) (R, error) {
	var res R
	raw, err := f.Pending.Wait(ctx)
	if err != nil {
		return res, err
	}
	if err := jsonv2.Unmarshal(raw, &res); err != nil {
		return res, fmt.Errorf("decoding the result of %s: %w", f.method, err)
	}
	return res, nil
}

// Pending is a command that was started.
type Pending struct {
	session *Session
	method  string
	id      int64
	then    func(result []byte)
	done    chan struct{}
	// Set before done is closed.
	result []byte
	err    error
}

// Done is closed when there is an answer, or there will be none.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait waits for the answer. When ctx ends first the answer is nobody's, but for
// what StartThen was given.
func (p *Pending) Wait(ctx context.Context) ([]byte, error) {
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
	}
	select {
	case <-p.done: // it came at the last moment
		return p.result, p.err
	default:
	}
	if p.then == nil {
		p.session.conn.forget(p)
	}
	return nil, context.Cause(ctx)
}

// answer and fail are called once, by whoever took p out of the table.
func (p *Pending) answer(result []byte) {
	if p.then != nil {
		p.then(result)
	}
	p.result = result
	close(p.done)
}

func (p *Pending) fail(err error) {
	p.err = err
	close(p.done)
}

// Error is what the browser answered instead of a result.
type Error struct {
	Method  string `json:"-"`
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitzero"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Data != "" {
		return fmt.Sprintf("%s: %s (%s)", e.Method, e.Message, e.Data)
	}
	return e.Method + ": " + e.Message
}

// end is called with the connection's lock held.
func (s *Session) end(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	subs := s.subs
	s.subs = nil
	s.mu.Unlock()
	close(s.done)
	for _, list := range subs {
		for _, sub := range list {
			sub.close()
		}
	}
}

// event hands an event to the handler, then to subscribers.
func (s *Session) event(method, params []byte) {
	name := string(method)
	if s.handler != nil {
		s.handler(name, params)
	}
	s.mu.Lock()
	subs := s.subs[name]
	s.mu.Unlock()
	for _, sub := range subs {
		sub.push(params)
	}
}

// Subscribe implements cdp.Session. Events wait for the subscriber, up to 4,096;
// the channel is closed when the session ends.
func (s *Session) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	sub := &subscription{out: make(chan jsonv2.Value, maxSubscribed)}
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		sub.close()
		return sub.out, func() {}
	}
	if s.subs == nil {
		s.subs = make(map[string][]*subscription)
	}
	// A new slice each time: event reads the old one without the lock.
	s.subs[method] = append(s.subs[method][:len(s.subs[method]):len(s.subs[method])], sub)
	s.mu.Unlock()
	return sub.out, func() {
		s.mu.Lock()
		var kept []*subscription
		for _, other := range s.subs[method] {
			if other != sub {
				kept = append(kept, other)
			}
		}
		if len(kept) > 0 {
			s.subs[method] = kept
		} else {
			delete(s.subs, method)
		}
		s.mu.Unlock()
		sub.close()
	}
}

type subscription struct {
	mu     sync.Mutex // guards closed and sending
	closed bool
	out    chan jsonv2.Value
}

func (s *subscription) push(params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	select {
	case s.out <- append(jsonv2.Value(nil), params...):
	default:
	}
}

func (s *subscription) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.out)
	}
}
