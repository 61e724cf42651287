package router

import (
	"context"
	"strings"
	"time"

	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/internal/wire"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	maxEventData   = 64 << 10
	maxEventType   = 128
	maxCallEvents  = 1024 // of one answer; the ring holds little more
	maxThemeHints  = 64 << 10
	maxEventsLimit = 1024
	defaultLimit   = 256
	maxPoll        = 25 * time.Second
)

// publish appends what a call has caused to the ring, in order and with
// nothing between. Faults of the plugin are logged once a call.
func (r *Router) publish(plugin string, list []*pluginv1.Event) {
	if len(list) == 0 {
		return
	}
	entries := make([]events.Entry, 0, min(len(list), maxCallEvents))
	var dropped, emptied int
	var reason string
	for i, ev := range list {
		if i == maxCallEvents {
			dropped += len(list) - i
			reason = "too many events in one answer"
			break
		}
		entry, fault := checkEvent(ev)
		switch {
		case fault != "" && entry.Type == "":
			dropped++
			reason = fault
			continue
		case fault != "":
			emptied++
			reason = fault
		}
		entries = append(entries, entry)
	}
	r.opt.Events.AppendAll(entries)
	if reason != "" {
		r.log.Warn("a plugin's events are not in order", "plugin", plugin,
			"dropped", dropped, "data_dropped", emptied, "fault", reason)
	}
}

// checkEvent says what of a plugin's event goes into the ring: all of it; its
// type alone, when the data is not a JSON object of at most 64 KiB; or nothing
// (an entry without type), when the type is not a dotted name or is the
// host's. The fault is "" or says why.
func checkEvent(ev *pluginv1.Event) (entry events.Entry, fault string) {
	typ, data := ev.GetType(), ev.GetData()
	switch {
	case !eventType(typ):
		return events.Entry{}, "the type is not a dotted name of at most 128 bytes"
	case hostEvent(typ):
		return events.Entry{}, "the type is one of the host's own"
	case len(data) == 0:
		return events.Entry{Type: typ}, ""
	case len(data) > maxEventData:
		return events.Entry{Type: typ}, "the data is larger than 64 KiB"
	}
	data, ok := object(data)
	if !ok {
		return events.Entry{Type: typ}, "the data is not a JSON object"
	}
	return events.Entry{Type: typ, Data: data}, ""
}

// eventType is ^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$.
func eventType(s string) bool {
	if len(s) > maxEventType || s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	dots := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		case c == '.' && s[i-1] != '.':
			dots++
		default:
			return false
		}
	}
	return dots > 0 && s[len(s)-1] != '.'
}

func hostEvent(typ string) bool {
	first, _, _ := strings.Cut(typ, ".")
	return first == hostName || first == "plugin" || first == "methods"
}

// object gives a JSON object without insignificant whitespace; false when data
// is none.
func object(data []byte) ([]byte, bool) {
	compact, err := wire.Valid(data)
	if err != nil {
		return nil, false
	}
	if !compact {
		data = wire.AppendCompact(nil, data)
	}
	return data, data[0] == '{'
}

// hints gives the presentation hints of an answer; nil when there are none
// that can be used. They are decoration: without them the answer stands.
func (r *Router) hints(e *entry, theme []byte) []byte {
	if len(theme) == 0 {
		return nil
	}
	if len(theme) <= maxThemeHints {
		if out, ok := object(theme); ok {
			return out
		}
	}
	r.log.Warn("a plugin's theme hints are no JSON object of at most 64 KiB", "plugin", e.plugin, "method", e.Name)
	return nil
}

// eventsSince answers events.since.
func (r *Router) eventsSince(ctx context.Context, c *call) ([]byte, error) {
	var (
		after uint64
		limit = uint64(defaultLimit)
		wait  time.Duration
		types []string
	)
	if err := readArgs(c.params, func(name string, v arg) {
		switch name {
		case "after":
			after = v.number()
		case "limit":
			limit = v.clamped(1, maxEventsLimit)
		case "wait_ms":
			wait = v.millis(maxPoll)
		case "types":
			types = v.texts()
		}
	}); err != nil {
		return nil, err
	}
	var page events.Page
	if wait > 0 {
		polling, end := r.poll(ctx)
		page = r.opt.Events.Wait(polling, after, int(limit), types, wait)
		end()
	} else {
		page = r.opt.Events.Since(after, int(limit), types)
	}
	if len(page.Events) == 0 && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.buf = page.AppendJSON(c.buf[:0])
	return c.buf, nil
}

// eventsClear answers events.clear.
func (r *Router) eventsClear(context.Context, *call) ([]byte, error) {
	r.opt.Events.Clear()
	return yes, nil
}
