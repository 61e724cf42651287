// Package command is the tree of vant's commands: their flags, helps and
// completions, and all commands but the calls of "vant agent", which package
// agent makes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/cmd/vant/internal/output"
	"github.com/vant-run/vant/sdk/client"
)

// System is the process around a command.
type System struct {
	Stdin  io.Reader
	Stdout output.Stream
	Stderr output.Stream
	Getenv func(string) string
}

// Agent is the same process for package agent.
func (sys System) Agent() agent.System {
	return agent.System{
		Stdin: sys.Stdin, Stdout: sys.Stdout, Stderr: sys.Stderr, Getenv: sys.Getenv,
		Help: func(name string) error {
			a := &app{System: sys}
			root := a.root()
			path := []string{"agent"}
			if name != "" {
				path = append(path, name)
			}
			cmd, rest, err := root.Find(path)
			if err != nil {
				return err
			}
			if method, ok := agent.Find(name); ok && len(rest) > 0 {
				of := a.agentCommand(method)
				cmd.AddCommand(of)
				cmd = of
			}
			return cmd.Help()
		},
	}
}

// app is what the commands of one run share.
type app struct {
	System
	socket  string
	timeout time.Duration
	json    bool
	status  int // of a command that ran and has said what there is to say
}

// Run runs vant with the arguments after its name and gives the exit status: 0
// for success, 1 for a failure, 2 for wrong usage.
func Run(ctx context.Context, args []string, sys System) int {
	a := &app{System: sys}
	root := a.root() //nolint:contextcheck // commands have ctx from ExecuteContextC
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var failed *failure
	switch {
	case err == nil:
		return a.status
	case errors.As(err, &failed):
		a.say(cmd.CommandPath() + ": " + failed.Error())
		return agent.Failure
	}
	// Cobra's own errors are about arguments and flags.
	a.say(cmd.CommandPath() + ": " + err.Error())
	a.say("usage: " + cmd.UseLine() + "\nsee \"" + cmd.CommandPath() + " --help\"")
	return agent.Usage
}

// New gives the tree of commands for what does not run it.
func New(sys System) *cobra.Command { return (&app{System: sys}).root() }

// failure is an error at run time, not of usage.
type failure struct{ err error }

func (f *failure) Error() string { return agent.Explain(f.err) }
func (f *failure) Unwrap() error { return f.err }

func fail(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

func failf(format string, args ...any) error { return &failure{fmt.Errorf(format, args...)} }

func (a *app) say(text string) { _ = a.Stderr.Text(text) } // nowhere is left to report to

func (a *app) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "vant",
		Short: "Local methods for agents: HTTP, a browser, and whatever plugins add",
		Long: "vant calls the methods of a host on this machine. The host, vantd, owns a Unix\n" +
			"socket; each method lives in a plugin that it runs.",
		Example: "  vant up\n  vant agent status\n  vant agent fetch https://example.com\n  vant plugin list",
	})
	root.SetOut(a.Stdout.W)
	root.SetErr(a.Stderr.W)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetUsageFunc(usage)
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version of this command")
	flags := root.PersistentFlags()
	flags.StringVar(&a.socket, "socket", "", "`PATH` of the host's socket (default $VANT_SOCKET, else a name in $XDG_RUNTIME_DIR or /tmp)")
	flags.DurationVar(&a.timeout, "timeout", 0, "bound for one call, such as 30s (default 5m10s)")
	flags.BoolVar(&a.json, "json", false, "print the host's whole reply, failures too")
	root.AddCommand(
		a.agent(), a.up(), a.down(), a.plugin(), a.config(), a.doctor(),
		a.completion(), a.version(),
	)
	root.SetHelpCommand(a.help(root))
	return root
}

// group makes a command that only holds others.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.Use += " COMMAND"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("a command is missing")
		}
		text := fmt.Sprintf("unknown command %q", args[0])
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += fmt.Sprintf(": did you mean %q?", cmd.CommandPath()+" "+near[0])
		}
		return errors.New(text)
	}
	return cmd
}

func (a *app) help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show the help of a command",
		Example: "  vant help agent fetch",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("no command %q", strings.Join(args, " "))
			}
			return cmd.Help()
		},
	}
}

// client gives a client for the flags.
func (a *app) client() (*client.Client, error) {
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: a.timeout})
	return c, fail(err)
}

// call calls a method. A reply that is a failure is an error, and is printed
// first when the whole reply is wanted.
func (a *app) call(ctx context.Context, method string, params object) (*client.Reply, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return a.callWith(ctx, c, method, params)
}

func (a *app) callWith(ctx context.Context, c *client.Client, method string, params object) (*client.Reply, error) {
	reply, err := c.CallRaw(ctx, method, params.raw())
	if err != nil {
		return nil, fail(err)
	}
	for _, w := range reply.Warnings {
		a.say("warning: " + output.OneLine(w))
	}
	if a.json {
		if err := a.Stdout.JSON(reply.Line); err != nil {
			return nil, fail(err)
		}
		if !reply.OK {
			a.status = agent.Failure
		}
		return reply, nil
	}
	return reply, fail(reply.Err())
}
