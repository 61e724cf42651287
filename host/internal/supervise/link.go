package supervise

import (
	"context"
	"time"

	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// link keeps the Link stream of a generation open until its life ends. A
// stream that breaks while the process lives is opened again, with a growing
// wait, since without it the plugin is mute.
func (g *generation) link() {
	wait := linkRetryMin
	for {
		began := time.Now()
		g.arrivals.open()
		err := g.proc.Link(g.life, linkHandler{g})
		g.arrivals.close()
		select {
		case <-g.life.Done():
			return
		case <-g.proc.Exited():
			return
		default:
		}
		if err == nil {
			return // it has no use for a link
		}
		if time.Since(began) > linkRetryMax {
			wait = linkRetryMin
		}
		g.p.log.Warn("link to plugin broke", "generation", g.number, "error", clip(err.Error(), reasonBytes), "again_in", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-g.life.Done():
			timer.Stop()
			return
		case <-g.proc.Exited():
			timer.Stop()
			return
		}
		wait = min(2*wait, linkRetryMax)
	}
}

type linkHandler struct{ g *generation }

// Event publishes what a plugin says, as far as it may say it. What may not
// be said is counted; the first of each generation is logged.
func (h linkHandler) Event(ev *pluginv1.Event, number uint64) {
	p := h.g.p
	defer h.g.arrivals.reach(number)
	entry, fault := events.FromPlugin(ev.GetType(), ev.GetData())
	if entry.Type != "" {
		p.s.opts.Emit(entry.Type, entry.Data)
	}
	if fault == "" {
		return
	}
	p.eventDrops.Add(1)
	if h.g.muted.CompareAndSwap(false, true) {
		p.log.Warn("event of plugin dropped, or its data; more are only counted", "generation", h.g.number,
			"type", clip(ev.GetType(), 64), "fault", fault)
	}
}

// Call runs a method for the plugin, one deeper than the call on whose behalf
// it is made.
func (h linkHandler) Call(ctx context.Context, call *pluginv1.Call) *pluginv1.CallResult {
	depth := h.g.calls.childDepth(call.GetParent())
	res := h.g.p.s.opts.Call(ctx, Origin{Plugin: h.g.p.name, Depth: depth}, call)
	if res == nil {
		res = &pluginv1.CallResult{Error: &pluginv1.Error{
			Code: string(envelope.InternalError), Message: "the host gave no answer",
		}}
	}
	res.Id = call.GetId()
	return res
}
