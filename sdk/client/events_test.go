package client

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/proto/envelope"
	"github.com/vant-run/vant/sdk/client/clienttest"
)

// follow runs Events and gives what it yields; the channels close with it.
func follow(ctx context.Context, c *Client, after uint64) (<-chan Event, <-chan error) {
	events, errs := make(chan Event), make(chan error, 1)
	go func() {
		defer close(events)
		for e, err := range c.Events(ctx, after) {
			if err != nil {
				errs <- err
				return
			}
			events <- e
		}
	}()
	return events, errs
}

func ringHost(t *testing.T, socket string, ring *clienttest.Ring) *clienttest.Host {
	return clienttest.StartAt(t, socket, clienttest.Methods(map[string]clienttest.Handler{"events.since": ring.Serve}))
}

func TestEventsYieldsWhatIsKeptAndThenWhatComes(t *testing.T) {
	ring := clienttest.NewRing("one")
	ring.Add("a.one")
	raw := ring.Add("a.two")
	socket := filepath.Join(shortDir(t), "s")
	ringHost(t, socket, ring)
	ctx, cancel := context.WithCancel(t.Context())
	events, errs := follow(ctx, dial(t, Options{Socket: socket}), 1)
	want := Event{
		Sequence: 2, Type: "a.two", Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
		Data: []byte("{}"), Raw: []byte(raw),
	}
	if diff := cmp.Diff(want, <-events); diff != "" {
		t.Error(diff)
	}
	ring.Add("a.three")
	if e := <-events; e.Sequence != 3 {
		t.Errorf("event %d, want 3", e.Sequence)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}

func TestEventsWakesAtOnce(t *testing.T) {
	ring := clienttest.NewRing("one")
	asked := make(chan struct{}, 16)
	host := clienttest.Start(t, func(conn net.Conn, r clienttest.Request) {
		asked <- struct{}{}
		ring.Serve(conn, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, _ := follow(ctx, dial(t, Options{Socket: host.Socket}), 0)
	<-asked // the look
	<-asked // the poll
	began := time.Now()
	ring.Add("a.one")
	<-events
	if spent := time.Since(began); spent > 5*time.Second {
		t.Errorf("the event took %v", spent)
	}
}

func TestEventsFollowsANewHostFromItsFirstEvent(t *testing.T) {
	old := clienttest.NewRing("old")
	for range 5 {
		old.Add("old.event")
	}
	socket := filepath.Join(shortDir(t), "s")
	asked := make(chan struct{}, 16)
	host := clienttest.StartAt(t, socket, func(conn net.Conn, r clienttest.Request) {
		asked <- struct{}{}
		old.Serve(conn, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, errs := follow(ctx, dial(t, Options{Socket: socket}), 0)
	for range 5 {
		<-events
	}
	<-asked // the look
	<-asked // the poll that waits
	host.Stop()
	// The new host has fewer events than the old one's cursor says.
	fresh := clienttest.NewRing("new")
	fresh.Add("new.first")
	fresh.Add("new.second")
	ringHost(t, socket, fresh)
	began := time.Now()
	for _, want := range []string{"new.first", "new.second"} {
		select {
		case e := <-events:
			if e.Type != want {
				t.Errorf("event %s, want %s", e.Type, want)
			}
		case err := <-errs:
			t.Fatal(err)
		}
	}
	if spent := time.Since(began); spent > RestartWait {
		t.Errorf("the new host's events took %v", spent)
	}
}

func TestEventsFollowsAHostThatTakesOverWithoutAGap(t *testing.T) {
	// Socket activation: the listener outlives the host, and the poll of the
	// old host is answered with nothing.
	old, fresh := clienttest.NewRing("old"), clienttest.NewRing("new")
	old.Add("old.event")
	fresh.Add("new.first")
	var polls atomic.Int32
	socket := filepath.Join(shortDir(t), "s")
	clienttest.StartAt(t, socket, func(conn net.Conn, r clienttest.Request) {
		switch polls.Add(1) {
		case 1:
			old.Serve(conn, r)
		case 2:
			clienttest.Result(`{"latest":1,"dropped":0,"epoch":"old","events":[]}`)(conn, r)
		default:
			fresh.Serve(conn, r)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, errs := follow(ctx, dial(t, Options{Socket: socket}), 0)
	<-events
	select {
	case e := <-events:
		if e.Type != "new.first" {
			t.Errorf("event %s, want new.first", e.Type)
		}
	case err := <-errs:
		t.Fatal(err)
	case <-time.After(5 * time.Second):
		t.Error("the new host's event did not come: its poll waits with the old host's cursor")
	}
}

func TestEventsFollowsAHostThatTookOverWhileTheConsumerWasBusy(t *testing.T) {
	old, fresh := clienttest.NewRing("old"), clienttest.NewRing("new")
	old.Add("old.one")
	old.Add("old.two")
	fresh.Add("new.first")
	socket := filepath.Join(shortDir(t), "s")
	host := ringHost(t, socket, old)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	f := follower{client: dial(t, Options{Socket: socket})}
	if page, err := f.next(ctx); err != nil || len(page) != 2 {
		t.Fatalf("%d events, error %v", len(page), err)
	}
	// No poll is open now, so nothing breaks that would tell.
	host.Stop()
	ringHost(t, socket, fresh)
	f.answered = f.answered.Add(-2 * longGap)
	if page, err := f.next(ctx); err != nil || len(page) != 1 || page[0].Type != "new.first" {
		t.Errorf("events %v, error %v, want new.first", page, err)
	}
}

func TestEventsEndsWhenTheHostStaysAway(t *testing.T) {
	t.Parallel()
	ring := clienttest.NewRing("one")
	ring.Add("a.one")
	socket := filepath.Join(shortDir(t), "s")
	host := ringHost(t, socket, ring)
	events, errs := follow(t.Context(), dial(t, Options{Socket: socket}), 0)
	<-events
	host.Stop()
	began := time.Now()
	err := <-errs
	if spent := time.Since(began); spent < RestartWait-time.Second || spent > 2*RestartWait {
		t.Errorf("ended after %v, want %v", spent, RestartWait)
	}
	if !errors.Is(err, ErrHostGone) {
		t.Errorf("error %v, want ErrHostGone", err)
	}
}

func TestEventsWithoutAHostEndsAtOnce(t *testing.T) {
	_, errs := follow(t.Context(), dial(t, Options{Socket: filepath.Join(t.TempDir(), "none")}), 0)
	if err := <-errs; !errors.Is(err, ErrNoHost) || errors.Is(err, ErrHostGone) {
		t.Errorf("error %v, want ErrNoHost", err)
	}
}

func TestEventsGoesOnAfterABusyHost(t *testing.T) {
	ring := clienttest.NewRing("one")
	ring.Add("a.one")
	var polls atomic.Int32
	socket := filepath.Join(shortDir(t), "s")
	clienttest.StartAt(t, socket, func(conn net.Conn, r clienttest.Request) {
		if polls.Add(1) == 2 {
			clienttest.Failure("busy", "full")(conn, r)
			return
		}
		ring.Serve(conn, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, errs := follow(ctx, dial(t, Options{Socket: socket}), 0)
	<-events
	ring.Add("a.two")
	select {
	case e := <-events:
		if e.Sequence != 2 {
			t.Errorf("event %d, want 2", e.Sequence)
		}
	case err := <-errs:
		t.Fatal(err)
	}
}

func TestEventsEndsWithAFailureOfTheHost(t *testing.T) {
	host := clienttest.Start(t, clienttest.Failure("internal_error", "no ring"))
	_, errs := follow(t.Context(), dial(t, Options{Socket: host.Socket}), 0)
	var e *Error
	if err := <-errs; !errors.As(err, &e) || e.Code != envelope.InternalError {
		t.Errorf("error %v, want internal_error", err)
	}
}

func TestEventsDoesNotBurnOnAHostThatNeverWaits(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`{"latest":0,"dropped":0,"epoch":"x","events":[]}`))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, errs := follow(ctx, dial(t, Options{Socket: host.Socket}), 0)
	if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
	if n := len(host.Requests()); n > 20 {
		t.Errorf("%d polls in 300ms", n)
	}
}

func TestEventsThatGoBackAreRefused(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`{"latest":3,"dropped":0,"epoch":"x","events":[{"sequence":3,"type":"a.b","data":{}}]}`))
	events, errs := follow(t.Context(), dial(t, Options{Socket: host.Socket}), 0)
	if e := <-events; e.Sequence != 3 {
		t.Errorf("event %d, want 3", e.Sequence)
	}
	if err := <-errs; !errors.Is(err, ErrBadReply) {
		t.Errorf("error %v, want ErrBadReply", err)
	}
}

func TestBreakingOutOfEventsClosesThem(t *testing.T) {
	ring := clienttest.NewRing("one")
	ring.Add("a.one")
	socket := filepath.Join(shortDir(t), "s")
	ringHost(t, socket, ring)
	for e, err := range dial(t, Options{Socket: socket}).Events(t.Context(), 0) {
		if err != nil || e.Sequence != 1 {
			t.Errorf("event %d, error %v", e.Sequence, err)
		}
		break
	}
}
