package sdk

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// pipe is a Link stream whose other end is the test.
type pipe struct {
	grpc.ServerStream
	in  chan *pluginv1.LinkRequest
	out chan *pluginv1.LinkResponse
}

func newPipe() *pipe {
	return &pipe{in: make(chan *pluginv1.LinkRequest), out: make(chan *pluginv1.LinkResponse)}
}

func (p *pipe) Recv() (*pluginv1.LinkRequest, error) {
	m, ok := <-p.in
	if !ok {
		return nil, io.EOF
	}
	return m, nil
}

func (p *pipe) Send(m *pluginv1.LinkResponse) error {
	p.out <- m
	return nil
}

// serveLink runs l on a stream; the result of serve comes on the channel.
func serveLink(l *link, p *pipe) <-chan error {
	done := make(chan error, 1)
	go func() { done <- l.serve(p, make(chan struct{})) }()
	return done
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestABrokenLinkFailsTheCallsThatWait(t *testing.T) {
	l, p := newLink(), newPipe()
	done := serveLink(l, p)
	failed := make(chan error, 1)
	go func() {
		_, err := l.call(context.Background(), "o.it", []byte("{}"), 0)
		failed <- err
	}()
	<-p.out
	close(p.in)
	if err := <-failed; code(err) != "plugin_unavailable" {
		t.Errorf("error is %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestCallsThatWereGivenUpAreNotSentLater(t *testing.T) {
	for name, giveUp := range map[string]func(l *link, cancel context.CancelFunc){
		"by the end of a link":  func(l *link, _ context.CancelFunc) { l.fail() },
		"by who waited for one": func(_ *link, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := l.call(ctx, "o.it", []byte("{}"), 0)
				failed <- err
			}()
			queued := <-l.out
			l.out <- queued
			giveUp(l, cancel)
			if err := <-failed; err == nil {
				t.Error("the call succeeded")
			}
			l.event(&pluginv1.Event{Type: "t.after"})
			p := newPipe()
			done := serveLink(l, p)
			for m := range p.out {
				if m.GetCall() != nil {
					t.Errorf("the call was sent: %v", m)
				}
				if m.GetEvent() != nil {
					break
				}
			}
			close(p.in)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMessagesWaitForTheNextLink(t *testing.T) {
	l := newLink()
	if !l.event(&pluginv1.Event{Type: "t.early"}) {
		t.Fatal("the queue is full")
	}
	for range 2 { // the second stream follows the first one's end
		p := newPipe()
		done := serveLink(l, p)
		if m := <-p.out; m.GetEvent().GetType() != "t.early" {
			t.Errorf("got %v", m)
		}
		close(p.in)
		if err := <-done; err != nil {
			t.Error(err)
		}
		l.event(&pluginv1.Event{Type: "t.early"})
	}
}

func TestASecondLinkBesideTheFirstIsRefused(t *testing.T) {
	l, p := newLink(), newPipe()
	done := serveLink(l, p)
	l.event(&pluginv1.Event{Type: "t.x"})
	<-p.out // the first is served
	if err := <-serveLink(l, newPipe()); status.Code(err) != codes.AlreadyExists {
		t.Errorf("error is %v", err)
	}
	close(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEventsBeyondTheQueueAreDropped(t *testing.T) {
	l := newLink()
	for range linkQueue {
		if !l.event(&pluginv1.Event{Type: "t.x"}) {
			t.Fatal("the queue is full too early")
		}
	}
	if l.event(&pluginv1.Event{Type: "t.x"}) {
		t.Error("the queue has no end")
	}
}

func TestCallsCarryBoundAndParent(t *testing.T) {
	l, p := newLink(), newPipe()
	done := serveLink(l, p)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result := make(chan string, 1)
	go func() {
		out, err := l.call(ctx, "o.it", []byte(`{"a":1}`), 42)
		result <- string(out) + code(err)
	}()
	c := (<-p.out).GetCall()
	if c.GetMethod() != "o.it" || string(c.GetParams()) != `{"a":1}` || c.GetParent() != 42 ||
		c.GetTimeoutMs() < 50000 || c.GetTimeoutMs() > 60000 {
		t.Errorf("call is %v", c)
	}
	answer := func(id uint64) {
		p.in <- &pluginv1.LinkRequest{Message: &pluginv1.LinkRequest_CallResult{
			CallResult: &pluginv1.CallResult{Id: id, Result: []byte("17")}}}
	}
	answer(c.GetId() + 1) // nobody's
	answer(c.GetId())
	answer(c.GetId()) // late
	if got := <-result; got != "17" {
		t.Errorf("result is %q", got)
	}
	close(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCallsThatTakeTooLongAreTimeouts(t *testing.T) {
	l := newLink() // nobody serves it
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := l.call(ctx, "o.it", []byte("{}"), 0)
	if code(err) != "timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if _, err := l.call(ctx, "o.it", []byte("{}"), 0); code(err) != "timeout" {
		t.Errorf("after its time: %v", err)
	}
	if len(l.pending) != 0 {
		t.Errorf("%d calls are still pending", len(l.pending))
	}
}

// overdue is a context whose time is over and whose timer has not fired.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestCallsAfterTheirTimeAreTimeoutsBeforeTheTimerFires(t *testing.T) {
	_, err := newLink().call(overdue{context.Background()}, "o.it", []byte("{}"), 0)
	if code(err) != "timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

func TestLargeParametersAreRefusedBeforeTheyTravel(t *testing.T) {
	if _, err := newLink().call(context.Background(), "o.it", make([]byte, 1<<20+1), 0); code(err) != "request_too_large" {
		t.Errorf("error is %v", err)
	}
}

func TestEventsOfAStreamThatHasEndedAreNotWaitedFor(t *testing.T) {
	l := newLink()
	want := func(when string, n uint64) {
		t.Helper()
		if got := l.events(); got != n {
			t.Errorf("%s: an answer names %d events, want %d", when, got, n)
		}
	}
	want("at first", 0)
	for range 3 {
		l.event(&pluginv1.Event{Type: "t.x"})
	}
	want("before there is a stream", 3)
	p := newPipe()
	done := serveLink(l, p)
	for n := range uint64(2) {
		if m := <-p.out; m.GetEventNumber() != n+1 {
			t.Errorf("event %d has number %d", n+1, m.GetEventNumber())
		}
	}
	want("while the stream lasts", 3)
	<-p.out // the third is on its way: it may be lost
	close(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
	want("after its end", 0)
	l.event(&pluginv1.Event{Type: "t.x"})
	want("after one more", 4)
	p = newPipe()
	done = serveLink(l, p)
	if m := <-p.out; m.GetEventNumber() != 4 {
		t.Errorf("on the next stream it has number %d", m.GetEventNumber())
	}
	want("on the next stream", 4)
	close(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
	want("at the end", 0)
}

func TestEventsAreNumberedInTheOrderInWhichTheyAreSent(t *testing.T) {
	const goroutines, each = 8, 500
	l, p := newLink(), newPipe()
	done := serveLink(l, p)
	var emitters sync.WaitGroup
	for range goroutines {
		emitters.Go(func() {
			for range each {
				for !l.event(&pluginv1.Event{Type: "t.x"}) {
					runtime.Gosched() // a full queue gives no number
				}
			}
		})
	}
	for n := range uint64(goroutines * each) {
		if m := <-p.out; m.GetEventNumber() != n+1 {
			t.Fatalf("number %d is sent in place %d", m.GetEventNumber(), n+1)
		}
	}
	emitters.Wait()
	if n := l.events(); n != goroutines*each {
		t.Errorf("an answer names %d events", n)
	}
	close(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
