package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
	"github.com/vant-run/vant/sdk"
)

type answers map[string]func(ctx context.Context, params json.RawMessage) (any, error)

// hostLink is the host's end of Link without a network: it answers the
// plugin's calls and records its events.
type hostLink struct {
	grpc.ServerStream // only what is overridden below is used
	ctx               context.Context
	cancel            context.CancelFunc
	answers           answers
	event             func(e *pluginv1.Event, number uint64)
	in                chan *pluginv1.LinkRequest
	done              chan struct{}
	calls             sync.WaitGroup

	mu      sync.Mutex // guards running
	running map[uint64]context.CancelFunc
}

func openLink(server pluginv1.PluginServer, a answers, event func(e *pluginv1.Event, number uint64)) *hostLink {
	l := &hostLink{
		answers: a, event: event,
		in: make(chan *pluginv1.LinkRequest), done: make(chan struct{}),
		running: make(map[uint64]context.CancelFunc),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(l.done)
		_ = server.Link(l) // ends when close is called
		l.cancel()
	}()
	return l
}

// close waits for the stream's end, which comes when the plugin's life is
// over and its last events are out.
func (l *hostLink) close() {
	<-l.done
	l.calls.Wait()
}

// Context implements the stream.
func (l *hostLink) Context() context.Context { return l.ctx }

// Recv implements the stream: what the host sends.
func (l *hostLink) Recv() (*pluginv1.LinkRequest, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-l.ctx.Done():
		return nil, io.EOF
	}
}

// Send implements the stream: what the plugin sends.
func (l *hostLink) Send(m *pluginv1.LinkResponse) error {
	number := m.GetEventNumber()
	switch m := m.GetMessage().(type) {
	case *pluginv1.LinkResponse_Event:
		l.event(m.Event, number)
	case *pluginv1.LinkResponse_Call:
		l.begin(m.Call)
	case *pluginv1.LinkResponse_CancelCall:
		l.mu.Lock()
		cancel := l.running[m.CancelCall.GetId()]
		l.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
	return nil
}

func (l *hostLink) begin(c *pluginv1.Call) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	l.running[c.GetId()] = cancel
	l.mu.Unlock()
	l.calls.Go(func() {
		defer cancel()
		result, failure := l.run(ctx, c)
		l.mu.Lock()
		delete(l.running, c.GetId())
		l.mu.Unlock()
		r := &pluginv1.CallResult{Id: c.GetId(), Result: result, Error: failure}
		select {
		case l.in <- &pluginv1.LinkRequest{Message: &pluginv1.LinkRequest_CallResult{CallResult: r}}:
		case <-l.ctx.Done():
		}
	})
}

func (l *hostLink) run(ctx context.Context, c *pluginv1.Call) ([]byte, *pluginv1.Error) {
	answer := l.answers[c.GetMethod()]
	if answer == nil {
		return nil, &pluginv1.Error{
			Code:    string(envelope.MethodNotFound),
			Message: "no answer for " + c.GetMethod() + ": give one in plugintest.Options.Answers",
		}
	}
	v, err := answer(ctx, c.GetParams())
	if err != nil {
		out := &pluginv1.Error{Code: string(envelope.InternalError), Message: err.Error()}
		var e *sdk.Error
		if errors.As(err, &e) {
			out.Code, out.Message = e.Code, e.Message
			if e.Data != nil {
				if out.Data, err = json.Marshal(e.Data); err != nil {
					out.Message += " (its data has no JSON form)"
				}
			}
		}
		return nil, out
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, &pluginv1.Error{Code: string(envelope.InternalError), Message: "the answer has no JSON form"}
	}
	return text, nil
}
