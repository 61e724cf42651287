package host

import (
	"context"
	"fmt"
	"time"

	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/host/internal/supervise"
)

// tellManager keeps the service manager informed until ctx ends: ready at once
// (clients are served while plugins start), then what has become of the
// plugins, then that the host is alive.
func (h *Host) tellManager(ctx context.Context) {
	h.notify(socket.Ready)
	select {
	case <-h.supervisor.Settled():
		ready, total := 0, 0
		for _, st := range h.supervisor.List(false) {
			if st.State != supervise.Stopped {
				total++
			}
			if st.UptimeMS > 0 || st.Pid != 0 {
				ready++
			}
		}
		h.notify(socket.Status(fmt.Sprintf("%d of %d plugins run", ready, total)))
	case <-ctx.Done():
		return
	}
	every := socket.WatchdogInterval()
	if every == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.notify(socket.Watchdog)
		}
	}
}

func (h *Host) notify(state string) {
	if err := socket.Notify(state); err != nil {
		h.log.Warn("telling the service manager", "error", err)
	}
}
