// Package router answers calls. The server gives it request lines (Serve); the
// plugins' own calls and the gateway give it methods and parameters (Call).
// Both find the method in one immutable table, check the parameters against
// its schema, and come to a built-in of this package or to a plugin through
// package supervise, which hands over a new table (SetPlugins) after every
// change of its plugins.
//
// The codes of errors are assigned here and nowhere else, in codes.go.
package router

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// settleBound is how long a call for a method that nobody has waits for the
// first starts of plugins.
const settleBound = 10 * time.Second

// Version says what this host is.
type Version struct {
	Vant   string // the release
	Go     string // runtime.Version()
	Commit string
}

// Options configure a Router. The functions and interfaces in it must be safe
// for concurrent use.
type Options struct {
	Log     hclog.Logger // nil: none
	Version Version
	Socket  string    // its path, for status
	Started time.Time // of the host; zero: now
	// Limits are what capabilities shows; a zero one is the protocol's.
	Limits Limits
	// Connections counts the clients that are connected; nil: 0.
	Connections func() int

	Events *events.Ring // required
	// Plugins is required.
	Plugins Plugins
	// Host is what host.* works on; without one of its functions the method
	// does not exist.
	Host HostControl
	// Logs serves plugins.logs; nil: the method does not exist.
	Logs Logs
	// Catalog serves plugins.rescan, verify, install, remove and lock; nil:
	// these methods do not exist.
	Catalog Catalog
	// Done is told of every call when it has ended, before the reply is
	// written; nil: nobody is. It must not block.
	Done func(Record)
}

// Limits are the bounds that clients should know.
type Limits struct {
	RequestBytes, ResultBytes int
	Operation                 time.Duration // of a method that names no bound
	Connections               int
}

// Record is a line of the call log. It never has parameters.
type Record struct {
	Start    time.Time
	Duration time.Duration
	Method   string // "" when the request named none; shortened when no plugin has it
	Caller   string // as in Call
	PID      int    // of a socket's client, else 0
	Code     string // of the error, "" for a success
}

// Plugins is the supervisor as the router needs it.
type Plugins interface {
	// List gives the accepted plugins sorted by name, with all the refused
	// files too.
	List(all bool) []supervise.Status
	// Accepted counts the plugins that List gives without all. It is cheap.
	Accepted() int
	Info(name string) (supervise.Info, bool)
	// Restart returns when the new generation serves.
	Restart(ctx context.Context, name string, now bool) (generation uint64, err error)
	Reset(ctx context.Context, name string) error
	// Settled is closed when every plugin's first start has come to an end.
	Settled() <-chan struct{}
}

// Router answers calls. All its methods may be called concurrently.
type Router struct {
	opt      Options
	log      hclog.Logger
	builtins []*entry
	status   []byte // the part of status that never changes
	table    atomic.Pointer[table]
	calls    sync.Pool // of *call

	polling  context.Context // ends with EndPolls
	endPolls context.CancelFunc
}

// New makes a router that serves the built-in methods alone until SetPlugins
// is called.
func New(opt Options) *Router {
	if opt.Log == nil {
		opt.Log = hclog.NewNullLogger()
	}
	if opt.Started.IsZero() {
		opt.Started = time.Now()
	}
	if opt.Limits.RequestBytes == 0 {
		opt.Limits.RequestBytes = envelope.MaxRequestBytes
	}
	if opt.Limits.ResultBytes == 0 {
		opt.Limits.ResultBytes = envelope.MaxResultBytes
	}
	if opt.Limits.Operation == 0 {
		opt.Limits.Operation = envelope.DefaultTimeout
	}
	if opt.Limits.Connections == 0 {
		opt.Limits.Connections = envelope.MaxConnections
	}
	r := &Router{opt: opt, log: opt.Log}
	r.polling, r.endPolls = context.WithCancel(context.Background())
	r.status = statusHead(opt.Socket, os.Getpid())
	r.calls.New = func() any { return newCall(r) }
	r.builtins = builtins(r)
	r.table.Store(r.build(nil))
	return r
}

// SetPlugins replaces the method table with one for these plugins. A call that
// has begun goes on with the table it began with.
func (r *Router) SetPlugins(list []supervise.Registered) {
	sources := make([]source, 0, len(list))
	for _, p := range list {
		sources = append(sources, source{
			set: p.Set, invoke: p.Plugin, sha256: p.SHA256, generation: p.Generation, state: p.State,
		})
	}
	r.set(sources)
}

func (r *Router) set(list []source) {
	old := r.table.Swap(r.build(list))
	close(old.replaced)
}

// Settled is closed when the first starts of plugins have come to an end; from
// then on an unknown method is refused at once.
func (r *Router) Settled() <-chan struct{} { return r.opt.Plugins.Settled() }

// EndPolls is called when the host begins to stop: from then on no call waits
// for an event or a log line. Those that do are answered with what there is,
// an empty page, so that followers hold up no stop.
func (r *Router) EndPolls() { r.endPolls() }

// poll is the context of a wait for what may come: it ends with ctx and with
// EndPolls.
func (r *Router) poll(ctx context.Context) (polling context.Context, end context.CancelFunc) {
	polling, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(r.polling, cancel)
	return polling, func() { forget(); cancel() }
}

// Serve answers one request line, without its newline, with one reply line,
// which it appends to dst. The line may be reused when Serve has returned.
// Pid is the client's process.
func (r *Router) Serve(ctx context.Context, pid int, line, dst []byte) []byte {
	c := r.calls.Get().(*call)
	defer c.release()
	c.pid = pid
	c.begin()
	req, bad := envelope.DecodeChecked(line, c.lookup)
	c.method, c.id, c.params, c.report = req.Method, req.ID, req.Params, req.Report
	if bad != nil {
		c.done(bad)
		return envelope.AppendError(dst, req.ID, bad, nil)
	}
	c.checked = c.entry != nil
	result, _, failed := r.answer(ctx, c)
	start := len(dst)
	if failed == nil {
		dst = envelope.AppendResult(dst, c.id, result, c.report.Warnings)
	} else {
		dst = envelope.AppendError(dst, c.id, failed, c.report.Warnings)
	}
	if len(dst)-start-1 > r.opt.Limits.ResultBytes {
		failed = envelope.ErrResultTooLarge()
		dst = envelope.AppendError(dst[:start], c.id, failed, nil)
	}
	c.done(failed)
	return dst
}

// Call is a call that does not come as a request line.
type Call struct {
	Method string
	// Params is a JSON object; empty or null means {}. Its syntax is checked.
	Params []byte
	// ID is the client's id as JSON, as the envelope takes it; empty: none.
	ID []byte
	// Caller names the calling program for logs and plugins: "agent:1234",
	// "plugin:skill".
	Caller string
	// Depth counts the calls above this one, at most MaxCallDepth.
	Depth uint32
	// TraceParent is a W3C trace context; empty: none. One that is malformed
	// is left out.
	TraceParent string
	// Timeout shortens the method's own bound; 0: it does not.
	Timeout time.Duration
}

// MaxCallDepth bounds Call.Depth.
const MaxCallDepth = 8

// Reply is what a call that succeeded came to. Its bytes are the caller's to
// keep and must not be modified: they may be shared.
type Reply struct {
	Result   []byte // compact JSON
	Theme    []byte // presentation hints, a JSON object; nil: none
	Warnings []string
}

// Call makes a call with the checks and limits of Serve. The reply has the
// warnings even when the call failed.
func (r *Router) Call(ctx context.Context, in Call) (Reply, *envelope.Error) {
	c := newCall(r) // not from the pool: its scratch goes away with the reply
	c.hints = true
	c.caller, c.depth, c.trace, c.timeout = in.Caller, in.Depth, in.TraceParent, in.Timeout
	c.method, c.id = in.Method, in.ID
	c.params, c.report, c.checked = noParams, wire.Report{}, false
	c.begin()
	result, theme, failed := r.admit(ctx, c, in.Params)
	if failed == nil && len(result) > r.opt.Limits.ResultBytes {
		failed = envelope.ErrResultTooLarge()
	}
	c.done(failed)
	if failed != nil {
		return Reply{Warnings: c.report.Warnings}, failed
	}
	return Reply{Result: result, Theme: theme, Warnings: c.report.Warnings}, nil
}

// CallFrom makes a call for a plugin: it is supervise.Options.Call.
func (r *Router) CallFrom(ctx context.Context, from supervise.Origin, in *pluginv1.Call) *pluginv1.CallResult {
	reply, failed := r.Call(ctx, Call{
		Method:  in.GetMethod(),
		Params:  in.GetParams(),
		Caller:  "plugin:" + from.Plugin,
		Depth:   from.Depth,
		Timeout: time.Duration(in.GetTimeoutMs()) * time.Millisecond,
	})
	out := &pluginv1.CallResult{Id: in.GetId()}
	if failed != nil {
		out.Error = &pluginv1.Error{Code: string(failed.Code), Message: failed.Message, Data: failed.Data}
		return out
	}
	out.Result = reply.Result
	return out
}
