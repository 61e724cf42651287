package sdk

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watched runs a watch on fake time; parent is what getppid says.
func watched(t *testing.T, test func(w *watch, parent *atomic.Int64, gone <-chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		var parent atomic.Int64
		parent.Store(10)
		w := newWatch(10, func() int { return int(parent.Load()) }, 30*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		test(w, &parent, w.run(ctx))
		cancel()
		synctest.Wait()
	})
}

func isGone(gone <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

func TestWatchNoticesAnotherParentOnceDisconnected(t *testing.T) {
	watched(t, func(w *watch, parent *atomic.Int64, gone <-chan struct{}) {
		w.add(1)
		parent.Store(1)
		time.Sleep(time.Hour)
		if isGone(gone) {
			t.Error("gone while connected")
		}
		w.add(-1)
		if !isGone(gone) {
			t.Error("not gone after the connection")
		}
	})
}

func TestWatchNoticesAParentThatDiesLater(t *testing.T) {
	watched(t, func(w *watch, parent *atomic.Int64, gone <-chan struct{}) {
		w.add(1)
		w.add(-1)
		time.Sleep(time.Minute)
		if isGone(gone) {
			t.Error("gone while the parent lives")
		}
		parent.Store(1)
		time.Sleep(watchPeriod)
		if !isGone(gone) {
			t.Error("not gone with the parent")
		}
	})
}

func TestWatchGivesTheFirstConnectionItsTime(t *testing.T) {
	watched(t, func(_ *watch, _ *atomic.Int64, gone <-chan struct{}) {
		time.Sleep(29 * time.Second)
		if isGone(gone) {
			t.Error("gone too early")
		}
		time.Sleep(2 * time.Second)
		if !isGone(gone) {
			t.Error("nobody came and it still waits")
		}
	})
}

func TestWatchCountsConnections(t *testing.T) {
	w := newWatch(10, func() int { return 10 }, time.Minute)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := w.listen(inner)
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if connected, _ := w.state(); !connected {
		t.Error("the connection is not counted")
	}
	conn.Close()
	conn.Close() // closed twice it counts once
	w.add(1)
	if connected, _ := w.state(); !connected {
		t.Error("a second close was counted")
	}
}
