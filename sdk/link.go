package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// linkQueue is how many messages wait for the host; more events are dropped,
// more calls wait.
const linkQueue = 1024

// link carries background events and calls to the host over the one Link
// stream. Messages wait while there is no stream. Safe for concurrent use.
type link struct {
	out    chan *pluginv1.LinkResponse
	open   atomic.Bool // a stream is served
	nextID atomic.Uint64

	order  sync.Mutex    // held while an event gets its number and its place in out
	queued atomic.Uint64 // number of the last event that has a place
	taken  uint64        // of the last one that a stream took; serve's own
	past   atomic.Uint64 // of the last one that went to a stream which has ended

	mu      sync.Mutex // guards pending
	pending map[uint64]chan *pluginv1.CallResult
}

func newLink() *link {
	return &link{
		out:     make(chan *pluginv1.LinkResponse, linkQueue),
		pending: make(map[uint64]chan *pluginv1.CallResult),
	}
}

// event queues e; false means that the queue is full.
func (l *link) event(e *pluginv1.Event) bool {
	l.order.Lock()
	defer l.order.Unlock()
	n := l.queued.Load() + 1
	select {
	case l.out <- &pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Event{Event: e}, EventNumber: n}:
		l.queued.Store(n)
		return true
	default:
		return false
	}
}

// events is the number of the last event for which an answer given now must
// wait; 0: it need not.
func (l *link) events() uint64 {
	n := l.queued.Load()
	if n <= l.past.Load() {
		return 0 // the host has them, or they are lost
	}
	return n
}

// call runs a method through the host and waits for its result or ctx.
func (l *link) call(ctx context.Context, method string, params []byte, parent uint64) (json.RawMessage, error) {
	if len(params) > envelope.MaxRequestBytes {
		return nil, Errorf(string(envelope.RequestTooLarge), "the parameters of %s are longer than 1 MiB", method)
	}
	id := l.nextID.Add(1)
	c := &pluginv1.Call{Id: id, Method: clip(method), Params: params, Parent: parent}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left <= 0 { // the context may not have ended yet: its timer comes later than its time
			return nil, tookTooLong(method, context.DeadlineExceeded)
		}
		// Rounded up: 0 would mean no bound.
		c.TimeoutMs = uint32(min((left+time.Millisecond-1)/time.Millisecond, 1<<31))
	}
	answer := make(chan *pluginv1.CallResult, 1)
	l.mu.Lock()
	l.pending[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.pending, id)
		l.mu.Unlock()
	}()

	select {
	case l.out <- &pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Call{Call: c}}:
	case <-ctx.Done():
		return nil, l.gaveUp(ctx, method)
	}
	select {
	case r := <-answer:
		return fromResult(r)
	case <-ctx.Done():
		select {
		case l.out <- &pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_CancelCall{
			CancelCall: &pluginv1.CancelCall{Id: id}}}:
		default: // the host bounds the call by itself
		}
		return nil, l.gaveUp(ctx, method)
	}
}

// gaveUp names why a call was left; the context's error stays recognisable.
func (l *link) gaveUp(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tookTooLong(method, ctx.Err())
	}
	return Errorf(string(envelope.InternalError), "the call of %s was given up: %w", method, ctx.Err())
}

func tookTooLong(method string, cause error) error {
	return Errorf(string(envelope.Timeout), "%s did not answer in time: %w", method, cause)
}

func fromResult(r *pluginv1.CallResult) (json.RawMessage, error) {
	e := r.GetError()
	if e == nil {
		return r.GetResult(), nil
	}
	err := &Error{Code: e.GetCode(), Message: e.GetMessage()}
	if len(e.GetData()) > 0 {
		err.Data = json.RawMessage(e.GetData())
	}
	switch e.GetSource() {
	case pluginv1.Source_SOURCE_CALLER:
		err.Source = Caller
	case pluginv1.Source_SOURCE_PLUGIN:
		err.Source = Fault
	case pluginv1.Source_SOURCE_DOWNSTREAM:
		err.Source = Downstream
	}
	return nil, err
}

// serve runs one stream until it breaks or stop is closed; then what is queued
// goes out first. A second stream beside the first is refused.
func (l *link) serve(stream pluginv1.Plugin_LinkServer, stop <-chan struct{}) error {
	if !l.open.CompareAndSwap(false, true) {
		return status.Error(codes.AlreadyExists, "link is open already")
	}
	defer l.open.Store(false)
	defer func() { l.past.Store(l.taken) }()
	defer l.fail()

	broken := make(chan struct{})
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				close(broken)
				return
			}
			if r := m.GetCallResult(); r != nil {
				l.answer(r)
			}
		}
	}()
	for {
		select {
		case m := <-l.out:
			if err := l.send(stream, m); err != nil {
				return err
			}
		case <-broken:
			return nil
		case <-stop:
			return l.flush(stream)
		}
	}
}

func (l *link) flush(stream pluginv1.Plugin_LinkServer) error {
	for {
		select {
		case m := <-l.out:
			if err := l.send(stream, m); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// send sends a message, but for a call whose caller has been told that it
// failed: it must not take effect after that.
func (l *link) send(stream pluginv1.Plugin_LinkServer, m *pluginv1.LinkResponse) error {
	if c := m.GetCall(); c != nil {
		l.mu.Lock()
		_, wanted := l.pending[c.GetId()]
		l.mu.Unlock()
		if !wanted {
			return nil
		}
	}
	if n := m.GetEventNumber(); n > 0 {
		l.taken = n
	}
	return stream.Send(m)
}

// answer hands a result to who waits; a late one is nobody's.
func (l *link) answer(r *pluginv1.CallResult) {
	l.mu.Lock()
	to := l.pending[r.GetId()]
	delete(l.pending, r.GetId())
	l.mu.Unlock()
	if to != nil {
		to <- r
	}
}

// fail answers what waits: its results can come no more.
func (l *link) fail() {
	l.mu.Lock()
	waiting := l.pending
	l.pending = make(map[uint64]chan *pluginv1.CallResult)
	l.mu.Unlock()
	for id, to := range waiting {
		to <- &pluginv1.CallResult{Id: id, Error: &pluginv1.Error{
			Code:    string(envelope.PluginUnavailable),
			Message: "the link to the host broke, whether the call had an effect is unknown",
		}}
	}
}
