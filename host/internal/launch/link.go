package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// maxLinkCalls is how many calls a plugin may have under way through the host.
const maxLinkCalls = 64

// Link: when it returns, no call of the plugin's runs any more.
func (p *process) Link(ctx context.Context, h supervise.LinkHandler) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.client.Link(inner)
	if err != nil {
		return p.linkEnd(ctx, err)
	}
	l := newLink(inner, h)
	err = l.receive(stream)
	cancel()
	l.running.Wait()
	if l.sendErr != nil && !errors.Is(l.sendErr, io.EOF) {
		err = l.sendErr
	}
	return p.linkEnd(ctx, err)
}

func (p *process) linkEnd(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return errors.New("the plugin ended its link")
	case status.Code(err) == codes.Unimplemented:
		return nil
	}
	return p.failed(ctx, err)
}

// link is one Link stream. receive's goroutine starts the others; they end
// with ctx.
type link struct {
	ctx     context.Context
	handler supervise.LinkHandler
	results chan answer
	running sync.WaitGroup
	sending bool  // receive's own
	sendErr error // the sender's own; read when all have ended

	mu    sync.Mutex
	calls map[uint64]context.CancelFunc // guarded by mu
}

// answer is a result on its way. A call keeps its place until the sender takes
// its answer: a plugin that reads nothing must not gather finished calls here.
type answer struct {
	result *pluginv1.CallResult
	placed bool // the call has a place
}

func newLink(ctx context.Context, h supervise.LinkHandler) *link {
	return &link{
		ctx: ctx, handler: h,
		results: make(chan answer, maxLinkCalls),
		calls:   map[uint64]context.CancelFunc{},
	}
}

type linkStream interface {
	Send(*pluginv1.LinkRequest) error
	Recv() (*pluginv1.LinkResponse, error)
}

func (l *link) receive(stream linkStream) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		number := m.EventNumber
		switch m := m.Message.(type) {
		case *pluginv1.LinkResponse_Event:
			if m.Event != nil {
				l.handler.Event(m.Event, number)
			}
		case *pluginv1.LinkResponse_Call:
			if m.Call == nil {
				continue
			}
			if !l.sending {
				// Most plugins call nobody: no goroutine for them.
				l.sending = true
				l.running.Add(1)
				go l.send(stream)
			}
			l.begin(m.Call)
		case *pluginv1.LinkResponse_CancelCall:
			l.cancel(m.CancelCall.GetId())
		default:
			// A message of a later version.
		}
	}
}

func (l *link) begin(call *pluginv1.Call) {
	ctx, cancel := context.WithCancel(l.ctx)
	if refusal := l.enter(call.Id, cancel); refusal != nil {
		cancel()
		l.answer(answer{result: &pluginv1.CallResult{Id: call.Id, Error: refusal}})
		return
	}
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		r := l.handler.Call(ctx, call)
		cancel()
		if r == nil {
			r = &pluginv1.CallResult{Error: &pluginv1.Error{
				Code: string(envelope.InternalError), Message: "the call had no result",
			}}
		}
		r.Id = call.Id
		l.answer(answer{result: r, placed: true})
	}()
}

func (l *link) enter(id uint64, cancel context.CancelFunc) *pluginv1.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.calls[id] != nil:
		return &pluginv1.Error{
			Code: string(envelope.InvalidRequest), Source: pluginv1.Source_SOURCE_CALLER,
			Message: fmt.Sprintf("call %d is under way already; number calls upwards", id),
		}
	case len(l.calls) >= maxLinkCalls:
		return &pluginv1.Error{
			Code: string(envelope.PluginBusy), Source: pluginv1.Source_SOURCE_CALLER,
			Message: fmt.Sprintf("%d calls of this plugin are under way already; wait for one to end", maxLinkCalls),
		}
	}
	l.calls[id] = cancel
	return nil
}

func (l *link) leave(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

func (l *link) cancel(id uint64) {
	l.mu.Lock()
	cancel := l.calls[id]
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answer queues a result. A plugin that reads no results is not read from
// either, once the queue is full.
func (l *link) answer(a answer) {
	select {
	case l.results <- a:
	case <-l.ctx.Done():
	}
}

// send is the only sender: a stream takes one at a time.
func (l *link) send(stream linkStream) {
	defer l.running.Done()
	for {
		select {
		case a := <-l.results:
			r := a.result
			if a.placed {
				// Before it is sent: the plugin may call again at once.
				l.leave(r.Id)
			}
			err := stream.Send(&pluginv1.LinkRequest{Message: &pluginv1.LinkRequest_CallResult{CallResult: r}})
			if err != nil && status.Code(err) == codes.ResourceExhausted {
				// Too large for a message; its caller must hear of it.
				err = stream.Send(&pluginv1.LinkRequest{Message: &pluginv1.LinkRequest_CallResult{CallResult: &pluginv1.CallResult{
					Id: r.Id, Error: &pluginv1.Error{Code: string(envelope.ResultTooLarge), Message: "the result does not fit into a message"},
				}}})
			}
			if err != nil {
				// The receiver learns the same and why.
				l.sendErr = err
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}
