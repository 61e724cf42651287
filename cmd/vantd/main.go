// Vantd is the host in the foreground: it serves methods on a Unix socket until
// SIGINT, SIGTERM or host.stop. SIGHUP reads the configuration again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/vant-run/vant/host"
	"github.com/vant-run/vant/internal/release"
)

const usage = `vantd serves methods for agents on a Unix socket.

Usage:
  vantd [--socket PATH] [--config FILE] [--log-level LEVEL] [--ready-fd N]
  vantd check [--config-only | --section PLUGIN] [--config FILE] [--socket PATH]
  vantd version

  --socket PATH      where to serve (default $VANT_SOCKET, else
                     $XDG_RUNTIME_DIR/vantage-agent-UID.sock, else
                     /tmp/vantage-agent-UID.sock)
  --config FILE      the configuration (default $VANT_CONFIG, else
                     vant/vant.yaml in $XDG_CONFIG_HOME); none is needed
  --log-level LEVEL  trace, debug, info, warn, error or off
  --ready-fd N       descriptor that gets "ready" and a newline when the first
                     starts of plugins have settled, or why the host ends
  --config-only      check the configuration alone; plugins that it has sections
                     for are asked what they allow, and not configured
  --section PLUGIN   print that plugin's section as JSON, and check nothing but
                     that the configuration can be read

Exit status: 0 after a stop that was asked for, 1 on a failure, 2 for wrong
usage. vantd check is 1 when the host or a plugin would not run.
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "check":
			return check(args[1:])
		case "version", "--version":
			fmt.Printf("vantd %s (%s)\n", release.Version(), release.Commit())
			return 0
		case "help":
			fmt.Print(usage)
			return 0
		}
	}
	o := options()
	flags := newFlags("vantd")
	flags.StringVar(&o.Socket, "socket", "", "")
	flags.StringVar(&o.Config, "config", "", "")
	flags.StringVar(&o.LogLevel, "log-level", "", "")
	readyFD := flags.Int("ready-fd", -1, "")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	ready := &readiness{}
	if *readyFD >= 0 {
		if *readyFD < 3 {
			fmt.Fprintln(os.Stderr, "vantd: --ready-fd must be 3 or more")
			return 2
		}
		// No plugin may inherit it: its end tells that the host has ended.
		syscall.CloseOnExec(*readyFD)
		ready.pipe = os.NewFile(uintptr(*readyFD), "ready")
	}
	o.Ready = ready.ok
	if err := serve(o); err != nil {
		fmt.Fprintln(os.Stderr, "vantd:", err)
		ready.failed(err)
		return 1
	}
	return 0
}

func serve(o host.Options) error {
	h, err := host.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	// Nobody reads this one, and it is never given back. A second signal, or one
	// that comes when the stop is done, must not become the process's end; and
	// when the reader of our log goes away, a write fails and the host goes on.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				// What came of a reload that succeeded is in the host's log.
				if _, err := h.Reload(ctx); err != nil {
					fmt.Fprintln(os.Stderr, "vantd: reload:", err)
				}
			}
		}
	}()
	return h.Run(ctx)
}

func check(args []string) int {
	o := options()
	flags := newFlags("vantd check")
	flags.StringVar(&o.Config, "config", "", "")
	flags.StringVar(&o.Socket, "socket", "", "")
	configOnly := flags.Bool("config-only", false, "")
	section := flags.String("section", "", "")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	one := false
	flags.Visit(func(f *flag.Flag) { one = one || f.Name == "section" })
	switch {
	case one && *section == "":
		return misused(flags, errors.New("--section needs the name of a plugin"))
	case one && *configOnly:
		return misused(flags, errors.New("--section and --config-only cannot be used together"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case one:
		var text []byte
		if text, err = host.Section(o, *section); err == nil {
			fmt.Printf("%s\n", text)
		}
	case *configOnly:
		err = host.CheckConfig(ctx, o, os.Stdout)
	default:
		err = host.Check(ctx, o, os.Stdout)
	}
	if err != nil {
		if !errors.Is(err, host.ErrCheck) {
			fmt.Fprintln(os.Stderr, "vantd check:", err)
		}
		return 1
	}
	return 0
}

func options() host.Options {
	exe, err := os.Executable()
	if err != nil {
		exe = "" // then no plugins are looked for beside it
	}
	return host.Options{LogOutput: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), Executable: exe}
}

func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse gives the exit status when the command ends here.
func parse(flags *flag.FlagSet, args []string) (status int, ok bool) {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return 0, false
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return misused(flags, err), false
	}
	return 0, true
}

// misused gives the exit status of a command that cannot be understood.
func misused(flags *flag.FlagSet, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n\n%s", flags.Name(), err, usage)
	return 2
}

// readiness tells the process that waits on --ready-fd, once.
type readiness struct {
	once sync.Once
	pipe *os.File
}

func (r *readiness) ok() { r.say("ready\n") }

func (r *readiness) failed(err error) { r.say(err.Error()) }

func (r *readiness) say(text string) {
	r.once.Do(func() {
		if r.pipe == nil {
			return
		}
		// Nobody may wait there any more, and then nobody misses it.
		_, _ = r.pipe.WriteString(text)
		_ = r.pipe.Close()
	})
}
