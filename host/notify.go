package host

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
)

// tellManager keeps the service manager informed until ctx ends: ready at once
// (clients are served while plugins start), what has become of the plugins, and
// all the time that the host answers.
func (h *Host) tellManager(ctx context.Context) {
	h.notify(socket.Ready)
	var alive <-chan time.Time
	if every := socket.WatchdogInterval(); every > 0 {
		tick := time.NewTicker(every)
		defer tick.Stop()
		alive = tick.C
	}
	settled := h.supervisor.Settled()
	for {
		select {
		case <-settled:
			settled = nil
			ready := 0
			for _, st := range h.supervisor.List(false) {
				if st.State == supervise.Ready {
					ready++
				}
			}
			h.notify(socket.Status(fmt.Sprintf("%d of %d plugins run", ready, h.supervisor.Accepted())))
		case <-alive:
			if err := h.probe(ctx); err != nil {
				h.log.Error("the host does not answer on its own socket", "error", err)
				continue
			}
			h.notify(socket.Watchdog)
		case <-ctx.Done():
			return
		}
	}
}

// probeBound bounds a probe. It is shorter than any useful watchdog interval.
const probeBound = 2 * time.Second

// probe asks the host for its status as a client does.
func (h *Host) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", h.paths.socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(envelope.AppendRequest(nil, []byte(`"watchdog"`), "status", nil)); err != nil {
		return err
	}
	_, err = bufio.NewReader(conn).ReadSlice('\n')
	return err
}

func (h *Host) notify(state string) {
	if err := socket.Notify(state); err != nil {
		h.log.Warn("telling the service manager", "error", err)
	}
}
