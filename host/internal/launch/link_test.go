package launch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// handler is a LinkHandler by functions.
type handler struct {
	event func(*pluginv1.Event, uint64)
	call  func(context.Context, *pluginv1.Call) *pluginv1.CallResult
}

func (h handler) Event(e *pluginv1.Event, number uint64) { h.event(e, number) }
func (h handler) Call(ctx context.Context, c *pluginv1.Call) *pluginv1.CallResult {
	return h.call(ctx, c)
}

func TestLinkOfAPluginWithoutOneReturnsNil(t *testing.T) {
	b := newBench(t)
	if err := b.started("good").Link(context.Background(), handler{}); err != nil {
		t.Errorf("Link = %v", err)
	}
}

func TestLinkDeliversEventsInOrderAndAnswersCalls(t *testing.T) {
	b := newBench(t)
	p := b.started("good", "LAUNCH_TEST_LINK=2")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var events, results []string // Event is never called concurrently
	var both sync.WaitGroup      // they meet, so they run at once
	both.Add(2)
	err := p.Link(ctx, handler{
		event: func(e *pluginv1.Event, number uint64) {
			if e.Type == "test.event" {
				events = append(events, fmt.Sprintf("%s:%d", e.Data, number))
				return
			}
			if results = append(results, string(e.Data)); len(results) == 2 {
				cancel()
			}
		},
		call: func(_ context.Context, c *pluginv1.Call) *pluginv1.CallResult {
			both.Done()
			both.Wait()
			return &pluginv1.CallResult{Result: fmt.Appendf(nil, "r%d", c.Id)}
		},
	})
	if status.Code(err) != codes.Canceled {
		t.Errorf("Link = %v", err)
	}
	if got := strings.Join(events, " "); got != "0:0 1:7 2:14" {
		t.Errorf("events %s", got)
	}
	if got := strings.Join(results, ","); got != "1 r1,2 r2" && got != "2 r2,1 r1" {
		t.Errorf("results %s", got)
	}
}

func TestLinkRefusesTooManyCallsAndCancels(t *testing.T) {
	defer goleak.VerifyNone(t, forkThread)
	b := newBench(t)
	p, err := b.launch(spec("good", fmt.Sprintf("LAUNCH_TEST_LINK=%d", maxLinkCalls+1)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	var refused string
	cancelled := map[uint64]bool{}
	err = p.Link(ctx, handler{
		event: func(e *pluginv1.Event, _ uint64) {
			if e.Type == "test.result" && strings.Contains(string(e.Data), "plugin_busy") {
				mu.Lock()
				refused = string(e.Data)
				mu.Unlock()
			}
		},
		call: func(ctx context.Context, c *pluginv1.Call) *pluginv1.CallResult {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			cancelled[c.Id] = true
			if c.Id == 1 && len(cancelled) == 1 {
				cancel() // the plugin took the first back; the end takes the rest
			}
			return nil
		},
	})
	if status.Code(err) != codes.Canceled || ctx.Err() != context.Canceled {
		t.Errorf("Link = %v, context %v", err, ctx.Err())
	}
	if want := fmt.Sprintf("%d plugin_busy", maxLinkCalls+1); refused != want {
		t.Errorf("refused %q, want %q", refused, want)
	}
	if len(cancelled) != maxLinkCalls {
		t.Errorf("%d calls were cancelled, want %d", len(cancelled), maxLinkCalls)
	}
	p.Stop(time.Second)
}

func TestLinkEndsWithTheProcess(t *testing.T) {
	b := newBench(t)
	p := b.started("good", "LAUNCH_TEST_LINK=1")
	under := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- p.Link(context.Background(), handler{
			event: func(*pluginv1.Event, uint64) {},
			call: func(ctx context.Context, _ *pluginv1.Call) *pluginv1.CallResult {
				close(under)
				<-ctx.Done()
				return nil
			},
		})
	}()
	<-under
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if status.Code(err) != codes.Unavailable {
			t.Errorf("Link = %v", err)
		}
	case <-time.After(time.Second):
		t.Fatal("Link does not end")
	}
}

// deafStream makes calls without end and never reads an answer.
type deafStream struct {
	ctx  context.Context
	next uint64
}

func (s *deafStream) Recv() (*pluginv1.LinkResponse, error) {
	if s.ctx.Err() != nil || s.next == 100_000 {
		return nil, io.EOF
	}
	s.next++
	return &pluginv1.LinkResponse{Message: &pluginv1.LinkResponse_Call{Call: &pluginv1.Call{Id: s.next}}}, nil
}

func (s *deafStream) Send(*pluginv1.LinkRequest) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

func TestAPluginThatReadsNoAnswersIsNotServedWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var called atomic.Int64
		l := newLink(ctx, handler{call: func(context.Context, *pluginv1.Call) *pluginv1.CallResult {
			called.Add(1)
			return &pluginv1.CallResult{}
		}})
		s := &deafStream{ctx: ctx}
		go func() { _ = l.receive(s) }()
		synctest.Wait()
		// One answer more is in the sender's hands.
		if n := called.Load(); n < maxLinkCalls || n > maxLinkCalls+1 {
			t.Errorf("%d calls were served, want about %d", n, maxLinkCalls)
		}
		if s.next > 2*maxLinkCalls+2 {
			t.Errorf("%d calls were taken", s.next)
		}
		cancel()
		synctest.Wait()
		l.running.Wait()
	})
}
