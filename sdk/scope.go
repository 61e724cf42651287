package sdk

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// maxEventBytes bounds one event's data; the host drops larger ones.
const maxEventBytes = 64 << 10

type scopeKey struct{}

// scope is what a context of this package carries.
type scope struct {
	server *server
	call   *call // nil outside a call
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// call is one running call.
type call struct {
	method *method
	info   *pluginv1.CallContext

	mu      sync.Mutex // guards the fields that follow
	events  []*pluginv1.Event
	bytes   int
	dropped int // events for which there was no room
	theme   []byte
	ended   bool
}

// CallInfo says on whose behalf a call is made.
type CallInfo struct {
	Method string
	// RequestID is the client's id as JSON.
	RequestID string
	// Caller is the calling program or plugin: "agent:1234", "plugin:name".
	Caller string
	// Traceparent is the W3C trace context, "" when there is none.
	Traceparent string
	// Depth is how many calls stand above this one.
	Depth int
}

// Info gives the call that ctx belongs to; ok is false outside a call.
func Info(ctx context.Context) (info CallInfo, ok bool) {
	s := scopeOf(ctx)
	if s == nil || s.call == nil {
		return CallInfo{}, false
	}
	c := s.call.info
	return CallInfo{
		Method:      s.call.method.name,
		RequestID:   c.GetRequestId(),
		Caller:      c.GetCaller(),
		Traceparent: c.GetTraceparent(),
		Depth:       int(c.GetDepth()),
	}, true
}

// Dirs are folders of the plugin's own. They exist, with mode 0700.
type Dirs struct {
	// State is kept; Cache may be emptied at any time; Data is for large
	// things that the user may look at.
	State, Cache, Data string
}

// DirsOf gives the plugin's folders; all are "" in a context that this package
// did not make.
func DirsOf(ctx context.Context) Dirs {
	s := scopeOf(ctx)
	if s == nil {
		return Dirs{}
	}
	return *s.server.dirs.Load()
}

// Logger gives the plugin's logger, which writes where the host reads. Inside
// a call its lines carry the method and the request's id.
func Logger(ctx context.Context) hclog.Logger {
	s := scopeOf(ctx)
	switch {
	case s == nil:
		return hclog.L()
	case s.call == nil:
		return s.server.log
	}
	return s.server.log.With("method", s.call.method.name, "request_id", s.call.info.GetRequestId())
}

// Emit publishes an event: a dotted type such as tab.created, and a value
// whose JSON form is an object of at most 64 KiB; nil stands for {}. The
// events of a call are published in order before the client has its reply: at
// most 2,048, whose types and data have 4 MiB together. Those of background
// work are published at once, and before the client has the reply of a call
// that returns later. It never blocks on the host. An event that cannot
// be published is dropped and logged; those beyond the bounds of a call are
// counted and logged when it ends.
func Emit(ctx context.Context, typ string, data any) {
	s := scopeOf(ctx)
	if s == nil {
		hclog.L().Error("event dropped: its context is not the plugin's", "type", clip(typ))
		return
	}
	event := &pluginv1.Event{Type: typ}
	if data != nil {
		text, err := encode(data)
		switch {
		case err != nil:
			s.server.dropped("its data has no JSON form", typ, "error", err.Error())
			return
		case len(text) == 0 || text[0] != '{':
			s.server.dropped("its data is no JSON object", typ)
			return
		case len(text) > maxEventBytes:
			s.server.dropped("its data is longer than 64 KiB", typ)
			return
		}
		event.Data = text
	}
	switch {
	case len(typ) > maxMethodName || !eventType.MatchString(typ):
		s.server.dropped("its type is not dotted lower-case words", typ)
		return
	case strings.HasPrefix(typ, "host.") || strings.HasPrefix(typ, "plugin.") || strings.HasPrefix(typ, "methods."):
		s.server.dropped("its type is the host's", typ)
		return
	}
	if !s.call.keep(event) && !s.server.link.event(event) {
		s.server.dropped("the host reads too slowly", typ)
	}
}

// keep takes e for the call's answer, or drops and counts it when that has no
// room: sent by Link it could come after the reply. False says that there is no
// call, or none that still runs.
func (c *call) keep(e *pluginv1.Event) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	size := len(e.GetType()) + len(e.GetData())
	if len(c.events) == pluginv1.MaxCallEvents || c.bytes+size > pluginv1.MaxCallEventBytes {
		c.dropped++
		return true
	}
	c.events = append(c.events, e)
	c.bytes += size
	return true
}

// end closes the call and gives what travels with its answer, and how many
// events do not.
func (c *call) end() (events []*pluginv1.Event, theme []byte, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.events, c.theme, c.dropped
}

// Hints say how a result may be shown; what is "" follows from the status.
type Hints struct {
	// Status is success, error, warning, info or loading.
	Status string `json:"status,omitempty"`
	Icon   string `json:"icon,omitempty"`
	// Format is text, markdown, html or json.
	Format   string         `json:"format,omitempty"`
	Color    string         `json:"color,omitempty"`
	Priority *int           `json:"priority,omitempty"`
	Meta     map[string]any `json:"meta,omitempty"`
}

// Theme sends presentation hints with the call's result; the last ones count.
// Outside a call it does nothing.
func Theme(ctx context.Context, hints Hints) {
	s := scopeOf(ctx)
	if s == nil || s.call == nil {
		return
	}
	text, err := encode(hints)
	if err != nil {
		s.server.log.Error("theme hints dropped: they have no JSON form", "error", err.Error())
		return
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	if !s.call.ended {
		s.call.theme = text
	}
}

// Call runs a method of any plugin through the host, with the host's checks
// and limits, and decodes its result into result unless that is nil. params
// has the JSON form of an object; nil stands for {}. A failure of the method
// is an *Error. When ctx ends the call is cancelled. Start hooks and the
// config function run too early for it.
func Call(ctx context.Context, method string, params, result any) error {
	s := scopeOf(ctx)
	if s == nil {
		return Errorf("internal_error", "sdk.Call needs a context of the plugin's")
	}
	if s.call == nil && !s.server.started.Load() {
		// The host opens the link afterwards: waiting here would wait for ever.
		return Errorf("internal_error", "%s cannot be called before the plugin has started", method)
	}
	text := []byte("{}")
	if params != nil {
		var err error
		if text, err = encode(params); err != nil {
			return Errorf("internal_error", "the parameters of %s have no JSON form: %w", method, err)
		}
	}
	var parent uint64
	if s.call != nil {
		parent = s.call.info.GetCallId()
	}
	out, err := s.server.link.call(ctx, method, text, parent)
	if err != nil || result == nil {
		return err
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = out
		return nil
	}
	if err := decodeInto(out, result); err != nil {
		return Errorf("internal_error", "the result of %s: %w", method, err)
	}
	return nil
}
