package supervise

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// clockSkew is by how much a plugin may see a deadline earlier than we do.
const clockSkew = 250 * time.Millisecond

// stats count a plugin's calls over all its generations.
type stats struct {
	calls   atomic.Uint64
	errors  atomic.Uint64
	latency histogram

	mu    sync.Mutex        // guards codes
	codes map[string]uint64 // what callers were told, by code
}

// keptCodes bounds the codes that are told apart: plugins make up their own.
const (
	keptCodes  = 64
	otherCodes = "other"
)

// Failed notes the code that a caller got for a call of the plugin.
func (p *Plugin) Failed(code string) {
	s := &p.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.codes == nil {
		s.codes = make(map[string]uint64)
	}
	if _, known := s.codes[code]; !known && len(s.codes) >= keptCodes {
		code = otherCodes
	}
	s.codes[code]++
}

func (s *stats) failures() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]uint64, len(s.codes))
	maps.Copy(out, s.codes)
	return out
}

// Invoke runs one call on the plugin's current generation. It waits, while ctx
// lasts, for a start under way and for a free slot. It sets the request's
// call_id, so the request must be the caller's own.
//
// Its error is an *UnavailableError, a *BusyError, ErrResultTooLarge, a
// *PluginFault, context.DeadlineExceeded or context.Canceled. A failure of the
// method itself is no error: it is in the answer. A call is sent to a process
// once at most. It may be called concurrently.
func (p *Plugin) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	p.stats.calls.Add(1)
	g, err := p.acquire(ctx)
	if err != nil {
		p.stats.errors.Add(1)
		return nil, err
	}
	res, err := g.invoke(ctx, req)
	if err != nil || res.GetError() != nil {
		p.stats.errors.Add(1)
	}
	return res, err
}

// acquire gives the current generation with a slot taken.
func (p *Plugin) acquire(ctx context.Context) (*generation, error) {
	for {
		g := p.current.Load()
		if g == nil {
			if err := p.pass(ctx); err != nil {
				return nil, err
			}
			continue
		}
		err := g.slots.acquire(ctx)
		switch {
		case err == nil && g.ended():
			// Those that the process lost made room, and the machine has not
			// closed the door yet.
			g.slots.release()
			return nil, g.unavailable("its process ended (" + g.proc.Exit().String() + ")")
		case err == nil:
			return g, nil
		case errors.Is(err, errClosed):
			// Another generation, or the gate, is in place already.
		case errors.Is(err, errFull):
			return nil, &BusyError{Plugin: p.name, Limit: int(g.slots.limit)}
		default:
			return nil, err
		}
	}
}

// invoke makes the call and gives the slot back.
func (g *generation) invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	if req.Context == nil {
		req.Context = &pluginv1.CallContext{}
	}
	id := callID(g.p.s.lastCall.Add(1), req.Context.Depth)
	req.Context.CallId = id
	place := g.calls.add(id)
	defer func() {
		g.calls.remove(place)
		g.slots.release()
	}()

	began := time.Now()
	var res *pluginv1.InvokeResponse
	var err error
	if g.set.Exclusive {
		res, err = g.invokeSeverable(ctx, req)
	} else {
		res, err = g.proc.Invoke(ctx, req)
	}
	if n := res.GetLinkEvents(); n > g.arrivals.last.Load() {
		g.await(ctx, n)
	}
	g.p.stats.latency.add(time.Since(began))
	if err != nil {
		return nil, g.failure(ctx, err)
	}
	if res.GetError() != nil && g.cutFor.Load() != nil {
		// The method's own or that of a process that is being ended, as when
		// its calls through the host break: nobody can tell.
		return nil, g.lostError()
	}
	return res, nil
}

// invokeSeverable makes a call that ends when the generation is cut. It costs
// a few allocations, so only plugins whose successor waits for that pay it.
func (g *generation) invokeSeverable(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.severed, cancel)() //nolint:contextcheck // severed is the generation's end, beside the caller's ctx
	return g.proc.Invoke(ctx, req)
}

// failure says what an error of Process.Invoke means for the caller.
func (g *generation) failure(ctx context.Context, err error) error {
	st, _ := status.FromError(err)
	code := st.Code()
	switch {
	case code == codes.DeadlineExceeded && isDue(ctx):
		// The plugin's clock may be the first to say so.
		return context.DeadlineExceeded
	case code == codes.ResourceExhausted && tooLarge().MatchString(st.Message()):
		return ErrResultTooLarge
	case g.lost(ctx, code):
		return g.lostError()
	case ctx.Err() != nil:
		return ctx.Err()
	case code == codes.Unavailable:
		// Plugins that are about to end say so: the next process takes the call.
		u := g.p.unavailable(g.p.gate.Load())
		u.RetryAfter = max(u.RetryAfter, g.p.s.policy.BackoffMin)
		u.Reason = clip(st.Message(), reasonBytes)
		return u
	}
	return &PluginFault{Plugin: g.p.name, Message: clip(st.Message(), reasonBytes)}
}

// tooLarge is how gRPC, in Go and in other languages, words that a message is
// larger than may be sent or received. Plugins may use its code for their own.
var tooLarge = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)message.* larger than max`) })

// isDue says whether ctx's time is up, or as good as.
func isDue(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < clockSkew
}

// lost says whether the call ended because its process did. The news of that
// may come a little after the connection has broken.
func (g *generation) lost(ctx context.Context, code codes.Code) bool {
	if g.ended() || g.cutFor.Load() != nil {
		return true
	}
	if code != codes.Unavailable && code != codes.Canceled {
		return false
	}
	timer := time.NewTimer(exitNotice)
	defer timer.Stop()
	select {
	case <-g.proc.Exited():
		return true
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	}
}

// ended says whether the process has.
func (g *generation) ended() bool {
	select {
	case <-g.proc.Exited():
		return true
	default:
		return false
	}
}

// lostError says that the plugin lost the call, and where it stands now.
func (g *generation) lostError() *UnavailableError {
	if why := g.cutFor.Load(); why != nil {
		return g.unavailable(*why)
	}
	return g.unavailable("its process ended (" + g.proc.Exit().String() + ") while the call ran")
}

// unavailable says where the plugin stands now that the generation is over.
func (g *generation) unavailable(reason string) *UnavailableError {
	// In this order: a gate is in place before its generation is current no more.
	current := g.p.current.Load()
	e := g.p.unavailable(g.p.gate.Load())
	if current == g {
		// The machine has not seen it yet.
		e.State, e.RetryAfter = Backoff, g.p.s.policy.BackoffMin
	}
	e.Reason = reason
	return e
}
