package sdk

import (
	"context"
	"sync"
	"time"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	// defaultDrain is the bound of a drain that names none.
	defaultDrain = 5 * time.Second
	// maxHookShare is what stop hooks get at most of a drain's time while calls
	// still run.
	maxHookShare = 2 * time.Second
	// afterCancel is how long cancelled calls may take to return.
	afterCancel = 250 * time.Millisecond
)

// gate counts the calls that run, and closes for good.
type gate struct {
	mu      sync.Mutex // guards the fields that follow
	closed  bool
	nextID  uint64
	running map[uint64]context.CancelFunc
	idle    chan struct{} // closed when closed is set and nothing runs
}

func newGate() *gate {
	return &gate{running: make(map[uint64]context.CancelFunc), idle: make(chan struct{})}
}

// enter admits a call; its context can be cancelled by the gate.
func (g *gate) enter(ctx context.Context) (context.Context, uint64, bool) {
	ctx, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		cancel()
		return ctx, 0, false
	}
	g.nextID++
	g.running[g.nextID] = cancel
	return ctx, g.nextID, true
}

func (g *gate) leave(id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[id]()
	delete(g.running, id)
	if g.closed && len(g.running) == 0 {
		close(g.idle)
	}
}

// close admits nothing more; idle is closed when what runs has ended.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	if len(g.running) == 0 {
		close(g.idle)
	}
}

// cancel ends the contexts of what runs and returns how many calls that is.
func (g *gate) cancel() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cancel := range g.running {
		cancel()
	}
	return len(g.running)
}

// onceDone runs something once; every caller can wait for its end.
type onceDone struct {
	once sync.Once
	done chan struct{}
}

// Drain implements the service.
func (s *server) Drain(ctx context.Context, req *pluginv1.DrainRequest) (*pluginv1.DrainResponse, error) {
	bound := time.Duration(req.GetTimeoutMs()) * time.Millisecond
	if bound <= 0 {
		bound = defaultDrain
	}
	s.drain(ctx, bound)
	return &pluginv1.DrainResponse{}, nil
}

// drain takes nothing new, lets what runs finish, cancels what takes too long,
// and runs the stop hooks, all within bound. It does so once; later calls wait
// for the first one's end, within their own bounds.
func (s *server) drain(ctx context.Context, bound time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	s.calls.close()
	s.stopped.once.Do(func() { //nolint:contextcheck // what was begun is finished whether or not the host still waits
		go s.finishAndStop(bound)
	})
	select {
	case <-s.stopped.done:
	case <-ctx.Done():
		s.log.Error("stopping takes longer than the host waits", "bound", bound.String())
	}
}

// finishAndStop is the drain itself.
func (s *server) finishAndStop(bound time.Duration) {
	defer close(s.stopped.done)
	hooks, end := context.WithTimeout(s.life, bound)
	defer end()
	s.finish(bound)
	s.runStopHooks(hooks)
}

// finish waits for the calls that run and leaves the stop hooks their share.
func (s *server) finish(bound time.Duration) {
	share := min(bound/4, maxHookShare)
	timer := time.NewTimer(bound - share)
	defer timer.Stop()
	select {
	case <-s.calls.idle:
		return
	case <-timer.C:
	}
	s.log.Warn("calls still run, cancelling them", "calls", s.calls.cancel())
	timer.Reset(min(afterCancel, share/2))
	select {
	case <-s.calls.idle:
	case <-timer.C:
	}
}

func (s *server) runStopHooks(ctx context.Context) {
	for i := len(s.plugin.stop) - 1; i >= 0; i-- {
		hook := s.plugin.stop[i]
		if err := s.guard("stop", func() error { return hook(ctx) }); err != nil {
			s.log.Error("stop hook failed", "error", err.Error())
		}
	}
}
