package command

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/hostproc"
	"github.com/vant-run/vant/sdk/client"
)

// stopWait is more than the host takes to stop, whatever its plugins do.
const stopWait = 12 * time.Second

func (a *app) down() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Stop the host and its plugins", Args: cobra.NoArgs,
		Long:    "Stop the host and its plugins, and wait until it has ended. Without a host there\nis nothing to do.",
		Example: "  vant down",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), stopWait)
			defer cancel()
			return a.stop(ctx)
		},
	}
}

func (a *app) stop(ctx context.Context) error {
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: stopWait})
	if err != nil {
		return fail(err)
	}
	pid, err := hostPid(ctx, c)
	if errors.Is(err, client.ErrNoHost) {
		a.say("vant down: no host at " + c.Socket())
		return nil
	}
	if err != nil {
		return fail(err)
	}
	// A host that goes at once may take its answer with it.
	reply, err := c.CallRaw(ctx, "host.stop", nil)
	switch {
	case errors.Is(err, client.ErrNoReply), errors.Is(err, client.ErrNoHost):
	case err != nil:
		return fail(err)
	default:
		if a.json {
			if err := a.Stdout.JSON(reply.Line); err != nil {
				return fail(err)
			}
		}
		if err := reply.Err(); err != nil {
			return fail(err)
		}
	}
	return a.awaitEnd(ctx, c, pid)
}

// awaitEnd waits until nobody listens at the socket, or another host does, and
// the process is gone: its lock on the socket would keep the next one out.
func (a *app) awaitEnd(ctx context.Context, c *client.Client, pid int) error {
	for {
		now, err := hostPid(ctx, c)
		if errors.Is(err, client.ErrNoHost) || err == nil && now != pid {
			break
		}
		if !pause(ctx, poll) {
			return failf("the host at %s (pid %d) has not stopped within %v", c.Socket(), pid, stopWait)
		}
	}
	for !hostproc.Gone(pid) {
		if !pause(ctx, poll) {
			return failf("the host has closed %s, but its process %d has not ended within %v", c.Socket(), pid, stopWait)
		}
	}
	return nil
}

func hostPid(ctx context.Context, c *client.Client) (int, error) {
	var s struct {
		Pid int `json:"pid"`
	}
	err := c.Call(ctx, "status", nil, &s)
	return s.Pid, err
}
