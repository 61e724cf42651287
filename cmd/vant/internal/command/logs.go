package command

import (
	"context"
	"encoding/json"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/vant-run/vant/cmd/vant/internal/output"
	"github.com/vant-run/vant/sdk/client"
)

const (
	logPage = 1000
	logWait = 25 * time.Second // the longest poll that the host grants
	// logTimeout bounds a poll, its answer included.
	logTimeout = logWait + 10*time.Second
	// maxLogPages bounds what is printed without --follow: a plugin that logs
	// faster than we print would keep us for ever.
	maxLogPages = 4
)

type logLines struct {
	Lines []struct {
		Seq   uint64 `json:"seq"`
		Time  string `json:"time"`
		Level string `json:"level"`
		Text  string `json:"text"`
	} `json:"lines"`
	Dropped uint64 `json:"dropped"`
}

// logs prints a plugin's log lines: those that the host keeps, and with follow
// each new one until SIGINT or SIGTERM.
func (a *app) logs(ctx context.Context, name string, follow bool) error {
	if follow {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
	}
	timeout := a.timeout
	if follow {
		timeout = max(timeout, logTimeout)
	}
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: timeout})
	if err != nil {
		return fail(err)
	}
	after := uint64(0)
	for page := 0; follow || page < maxLogPages; page++ {
		params := object{"name": name, "after": after, "limit": logPage}
		if follow && page > 0 {
			params["wait_ms"] = logWait.Milliseconds()
		}
		reply, err := a.callWith(ctx, c, "plugins.logs", params)
		if ctx.Err() != nil && follow {
			return nil
		}
		if err != nil || !reply.OK {
			return err
		}
		var p logLines
		if err := json.Unmarshal(reply.Result, &p); err != nil {
			return fail(err)
		}
		for _, l := range p.Lines {
			after = l.Seq // which a new host begins anew
			if a.json {
				continue
			}
			text := strings.TrimSpace(l.Time + " " + strings.ToUpper(l.Level))
			if err := a.Stdout.Text(text + " " + output.OneLine(l.Text)); err != nil {
				return fail(err)
			}
		}
		if !follow && len(p.Lines) < logPage {
			if after == 0 && !a.json {
				a.say("vant plugin logs: " + output.OneLine(name) + " has logged nothing yet")
			}
			return nil
		}
	}
	return nil
}
