package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/vant-run/vant/cmd/vant/internal/output"
	"github.com/vant-run/vant/sdk/client"
)

// Exit statuses.
const (
	Success = 0
	Failure = 1 // of the call, or of getting it through
	Usage   = 2
)

// System is the process around a command.
type System struct {
	Stdin  io.Reader
	Stdout output.Stream
	Stderr output.Stream
	Getenv func(string) string
	// Help prints the help of "vant agent NAME", of "vant agent" for "".
	Help func(name string) error
}

// Run runs "vant agent" with the arguments after it and gives the exit status.
func Run(ctx context.Context, args []string, sys System) int {
	inv, err := Parse(args, Input{
		Stdin:    sys.Stdin,
		ReadFile: func(name string) (io.ReadCloser, error) { return os.Open(name) },
	})
	var help *HelpError
	var wrong *UsageError
	switch {
	case errors.As(err, &help):
		if err := sys.Help(help.Command); err != nil {
			sys.complain(err.Error())
			return Failure
		}
		return Success
	case errors.As(err, &wrong):
		sys.complain(wrong.Message)
		if wrong.Hint != "" {
			_ = sys.Stderr.Text(wrong.Hint) // nowhere is left to report to
		}
		return Usage
	}
	if on, err := strconv.ParseBool(sys.Getenv("VANT_STRICT")); err == nil && on {
		inv.Strict = true
	}
	c, err := client.Dial(client.Options{Socket: inv.Socket, Timeout: inv.Timeout})
	if err != nil {
		sys.complain(err.Error())
		return Failure
	}
	if inv.Follow {
		return watch(ctx, c, inv, sys)
	}
	reply, err := c.CallRaw(ctx, inv.Method, inv.Params)
	if err != nil {
		sys.complain(Explain(err))
		return Failure
	}
	return sys.print(inv, reply)
}

// print writes a reply and gives the exit status.
func (sys System) print(inv *Invocation, reply *client.Reply) int {
	for _, w := range reply.Warnings {
		sys.complain("warning: " + output.OneLine(w))
	}
	status := Success
	switch failure := reply.Err(); {
	case failure != nil:
		status = Failure
		if !inv.JSON {
			sys.complain(failure.Error())
		}
	default:
		if reason, failed := semanticFailure(inv.Method, reply.Result); failed {
			sys.complain(inv.Command + ": " + reason)
			if inv.Strict {
				status = Failure
			}
		}
	}
	var err error
	switch {
	case inv.JSON:
		err = sys.Stdout.JSON(reply.Line)
	case !reply.OK:
	default:
		err = Result(sys.Stdout, reply.Result)
	}
	if err != nil {
		sys.complain("writing the result: " + err.Error())
		return Failure
	}
	return status
}

// Result writes a result: a string as bare text, all else as JSON.
func Result(s output.Stream, raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		return s.Text(text)
	}
	return s.JSON(raw)
}

// semanticFailure says why an interaction did not come about, which is a
// result and no error. A script's value is the page's own, and an "ok" of
// net.fetch is about HTTP: both say nothing about the call.
func semanticFailure(method string, result []byte) (reason string, failed bool) {
	if method == "page.javascript" || method == "net.fetch" || !bytes.Contains(result, []byte(`"ok"`)) {
		return "", false
	}
	var v struct {
		OK    *bool           `json:"ok"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(result, &v) != nil || v.OK == nil || *v.OK {
		return "", false
	}
	if json.Unmarshal(v.Error, &reason) != nil || reason == "" {
		reason = "the result says that it failed"
	}
	return reason, true
}

// Explain gives the text for an error of the client: what to do when no host
// is there.
func Explain(err error) string {
	var none *client.NoHostError
	if errors.As(err, &none) {
		return "no host at " + none.Socket + " (" + none.Err.Error() + "): start one with \"vant up\""
	}
	return err.Error()
}

func (sys System) complain(message string) {
	_ = sys.Stderr.Text("vant agent: " + message) // nowhere is left to report to
}

// watch prints events until it is told to stop or the host is gone for good.
func watch(ctx context.Context, c *client.Client, inv *Invocation, sys System) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for event, err := range c.Events(ctx, 0) {
		switch {
		case err != nil && ctx.Err() != nil:
			return Success
		case errors.Is(err, client.ErrHostGone):
			sys.complain("the host at " + c.Socket() + " went away and did not come back within " + client.RestartWait.String())
			return Failure
		case err != nil:
			sys.complain(Explain(err))
			return Failure
		}
		if err := sys.Stdout.Line(event.Raw); err != nil {
			sys.complain("writing an event: " + err.Error())
			return Failure
		}
	}
	return Success
}
