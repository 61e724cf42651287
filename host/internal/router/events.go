package router

import (
	"context"
	"time"

	"github.com/vant-run/vant/host/internal/events"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	maxCallEvents  = pluginv1.MaxCallEvents
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
		entry, fault := events.FromPlugin(ev.GetType(), ev.GetData())
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

// hints gives the presentation hints of an answer; nil when there are none
// that can be used. They are decoration: without them the answer stands.
func (r *Router) hints(e *entry, theme []byte) []byte {
	if len(theme) == 0 {
		return nil
	}
	if len(theme) <= maxThemeHints {
		if out, ok := events.Object(theme); ok {
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
