package router

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

var (
	noParams = []byte("{}")
	noID     = []byte(`""`)
)

// maxScratch is the largest scratch buffer that is kept for the next call.
const maxScratch = 64 << 10

// call is one call on its way. Calls of Serve are used again.
type call struct {
	r *Router
	// lookup is find as a value: made once, because each making allocates.
	lookup envelope.Lookup

	table   *table
	entry   *entry // nil: the table has no such method
	method  string
	params  []byte
	id      []byte
	report  wire.Report
	checked bool // report is what entry's schema says of params

	pid     int    // of a socket's client
	caller  string // made of pid when it is ""
	hints   bool   // presentation hints are wanted
	depth   uint32
	trace   string
	timeout time.Duration // 0: the method's

	start time.Time // zero when nothing needs it
	buf   []byte    // what built-ins write results into
}

func newCall(r *Router) *call {
	c := &call{r: r}
	c.lookup = c.find
	return c
}

// begin takes the table that the whole call uses, so that what checked the
// parameters is what runs.
func (c *call) begin() {
	c.table = c.r.table.Load()
	if c.r.opt.Done != nil {
		c.start = time.Now()
	}
}

func (c *call) find(name []byte) (string, *wire.Schema) {
	c.entry = c.table.entries[string(name)]
	if c.entry == nil {
		return "", nil
	}
	return c.entry.Name, c.entry.Params
}

// done tells the call log.
func (c *call) done(failed *envelope.Error) {
	if c.r.opt.Done == nil {
		return
	}
	rec := Record{Start: c.start, Duration: time.Since(c.start), Method: c.shown(), Caller: c.from(), PID: c.pid}
	if failed != nil {
		rec.Code = string(failed.Code)
	}
	c.r.opt.Done(rec)
}

func (c *call) release() {
	buf := c.buf[:0]
	if cap(buf) > maxScratch {
		buf = nil
	}
	*c = call{r: c.r, lookup: c.lookup, buf: buf}
	c.r.calls.Put(c)
}

func (c *call) from() string {
	if c.caller == "" {
		var b [32]byte
		c.caller = string(strconv.AppendInt(append(b[:0], "agent:"...), int64(c.pid), 10))
	}
	return c.caller
}

// shown is the method's name for messages and logs: one that no table has may
// be any text of any length.
func (c *call) shown() string {
	if c.entry != nil || c.method == "" {
		return c.method
	}
	quoted := wire.Quote(c.method)
	return quoted[1 : len(quoted)-1]
}

// answer runs a call whose envelope is in order.
func (r *Router) answer(ctx context.Context, c *call) (result, theme []byte, failed *envelope.Error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a call panicked", "method", c.shown(), "panic", panicText(p), "stack", string(debug.Stack()))
			result, theme, failed = nil, nil, envelope.ErrInternal("the host failed on "+c.shown()+"; its log says more")
		}
	}()
	var waited time.Duration
	if c.entry == nil {
		begun := time.Now()
		if failed := r.await(ctx, c); failed != nil {
			return nil, nil, failed
		}
		waited = time.Since(begun)
	}
	e := c.entry
	if !c.checked && e.Params != nil {
		report, err := e.Params.Check(c.params)
		if err != nil {
			return nil, nil, invalid("params: " + err.Error())
		}
		c.report = report
	}
	if v := c.report.Violation; v != nil {
		return nil, nil, violated(v)
	}
	if e.quick {
		result, err := e.run(ctx, c)
		if err != nil {
			return nil, nil, r.failure(err, c, e, 0)
		}
		return result, nil, nil
	}
	bound := e.Timeout
	if c.timeout > 0 {
		bound = min(bound, c.timeout)
	}
	within, cancel := context.WithTimeout(ctx, bound-waited)
	defer cancel()
	var err error
	if e.run != nil {
		result, err = e.run(within, c)
	} else {
		result, theme, err = r.invoke(within, c, e)
	}
	if err != nil {
		if ctx.Err() != nil {
			bound = 0 // it was the caller's own that passed
		}
		failed := r.failure(err, c, e, bound)
		if e.invoke != nil {
			e.invoke.Failed(string(failed.Code))
		}
		return nil, nil, failed
	}
	return result, theme, nil
}

// await gives the call the entry of a method that may be about to come: its
// plugin may be making its first start.
func (r *Router) await(ctx context.Context, c *call) *envelope.Error {
	settled := r.Settled()
	if !closed(settled) {
		bound := r.opt.Limits.Operation
		if c.timeout > 0 {
			bound = min(bound, c.timeout)
		}
		timer := time.NewTimer(min(bound, settleBound))
		defer timer.Stop()
		for c.entry == nil && settled != nil {
			select {
			case <-c.table.replaced:
			case <-settled:
				settled = nil
			case <-timer.C:
				if bound < settleBound {
					return envelope.ErrTimeout(c.shown(), bound)
				}
				settled = nil
			case <-ctx.Done():
				return r.failure(ctx.Err(), c, nil, 0)
			}
			c.table = r.table.Load()
			c.entry = c.table.entries[c.method]
		}
	} else {
		// The first starts may have settled since the table was taken.
		c.table = r.table.Load()
		c.entry = c.table.entries[c.method]
	}
	if c.entry == nil {
		return r.missing(c.table, c.method)
	}
	c.method = c.entry.Name
	return nil
}

// invoke runs a plugin's method. An error that the plugin answered with is an
// *envelope.Error.
func (r *Router) invoke(ctx context.Context, c *call, e *entry) (result, theme []byte, err error) {
	msg := &struct { // one allocation for both
		req     pluginv1.InvokeRequest
		context pluginv1.CallContext
	}{}
	id := c.id
	if len(id) == 0 {
		id = noID
	}
	msg.context.RequestId = string(id)
	msg.context.Caller = c.from()
	msg.context.Traceparent = c.trace
	msg.context.Depth = c.depth
	msg.req.Method = e.Name
	msg.req.Params = c.params
	msg.req.Context = &msg.context
	resp, err := e.invoke.Invoke(ctx, &msg.req)
	if err != nil {
		return nil, nil, err
	}
	// Before the reply: who has it finds what it caused in events.since.
	r.publish(e.plugin, resp.GetEvents())
	if resp.GetError() != nil {
		return nil, nil, r.pluginError(e, resp.GetError())
	}
	result = resp.GetResult()
	compact, err := wire.Valid(result)
	if err != nil {
		r.log.Warn("a plugin's result is not JSON", "plugin", e.plugin, "method", e.Name, "fault", err)
		return nil, nil, envelope.ErrInternal("plugin " + e.plugin + " answered with malformed JSON: " + err.Error())
	}
	if !compact {
		c.buf = wire.AppendCompact(c.buf[:0], result)
		result = c.buf
	}
	if c.hints {
		theme = r.hints(e, resp.GetTheme())
	}
	return result, theme, nil
}

// panicText says what a panic was about. Values other than the runtime's own
// may hold what a caller sent, so only their type is given.
func panicText(p any) string {
	if fault, ok := p.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("%T", p)
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
