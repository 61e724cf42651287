package server

import (
	"context"
	"time"
)

// watch looks out for a client that goes away while its call runs. Most calls
// are over before it begins.
//
// A client that only ends its own direction is still there and wants its
// reply, so an end of file says nothing; the poller wakes the watch and
// peerGone asks the kernel.
type watch struct {
	c      *conn
	timer  *time.Timer
	cancel context.CancelFunc
	gone   bool // read after done

	ready chan error    // gets the outcome of registering
	done  chan struct{} // gets a value when the watch has ended
}

func (w *watch) init(c *conn) {
	w.c = c
	w.ready = make(chan error, 1)
	w.done = make(chan struct{}, 1)
	w.timer = time.AfterFunc(time.Hour, w.run)
	w.timer.Stop()
}

// begin watches from a little later on; cancel is called if the client goes.
func (w *watch) begin(cancel context.CancelFunc) {
	w.cancel, w.gone = cancel, false
	w.timer.Reset(w.c.s.bounds.watchAfter)
}

// end stops the watch and waits for it, and says whether the client was there
// to the last.
func (w *watch) end() bool {
	if !w.timer.Stop() {
		if <-w.ready == nil {
			w.c.s.complain(w.c.interrupt())
		}
		<-w.done
	}
	w.cancel = nil
	return !w.gone
}

// run is the timer's goroutine.
func (w *watch) run() {
	defer func() { w.done <- struct{}{} }()
	err := w.c.unhurried()
	w.ready <- err
	if err != nil {
		w.c.s.log.Error("cannot watch a client", "error", err)
		return
	}
	// The error says that the watch was ended.
	_ = w.c.raw.Read(func(fd uintptr) bool {
		w.gone = peerGone(int(fd))
		return w.gone
	})
	if w.gone {
		w.cancel()
	}
}

// unhurried lets reads wait for as long as the call takes.
func (c *conn) unhurried() error {
	if err := c.register(); err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.readEnd, c.hasty = time.Time{}, false
	return c.file.SetReadDeadline(time.Time{})
}

// interrupt makes a waiting read return.
func (c *conn) interrupt() error {
	past := time.Unix(1, 0)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.readEnd = past
	return c.file.SetReadDeadline(past)
}
