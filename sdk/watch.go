package sdk

import (
	"context"
	"net"
	"sync"
	"time"
)

// watchPeriod is how often the parent is looked at while nobody is connected.
const watchPeriod = 250 * time.Millisecond

// watch notices that the host is gone: no connection is left and the parent is
// another process. While the host is connected it costs nothing.
type watch struct {
	parent   int
	getppid  func() int
	patience time.Duration // for the first connection
	change   chan struct{} // a connection came or went

	mu    sync.Mutex // guards the fields that follow
	conns int
	ever  bool
}

func newWatch(parent int, getppid func() int, patience time.Duration) *watch {
	return &watch{parent: parent, getppid: getppid, patience: patience, change: make(chan struct{}, 1)}
}

// run watches until ctx ends; the channel is closed when the host is gone.
func (w *watch) run(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		if w.wait(ctx) {
			close(gone)
		}
	}()
	return gone
}

func (w *watch) wait(ctx context.Context) bool {
	started := time.Now()
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		tick := ticker.C
		connected, ever := w.state()
		switch {
		case connected:
			tick = nil // sleep until it is not
		case w.getppid() != w.parent:
			return true
		case !ever && time.Since(started) > w.patience:
			return true
		}
		if connected {
			ticker.Stop()
		} else {
			ticker.Reset(watchPeriod)
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.change:
		case <-tick:
		}
	}
}

func (w *watch) state() (connected, ever bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns > 0, w.ever
}

func (w *watch) add(n int) {
	w.mu.Lock()
	w.conns += n
	w.ever = true
	w.mu.Unlock()
	select {
	case w.change <- struct{}{}:
	default:
	}
}

// listen counts the connections of l.
func (w *watch) listen(l net.Listener) net.Listener { return &watchedListener{l, w} }

type watchedListener struct {
	net.Listener
	watch *watch
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.watch.add(1)
	return &watchedConn{Conn: c, watch: l.watch}, nil
}

type watchedConn struct {
	net.Conn
	watch *watch
	once  sync.Once
}

func (c *watchedConn) Close() error {
	c.once.Do(func() { c.watch.add(-1) })
	return c.Conn.Close()
}
