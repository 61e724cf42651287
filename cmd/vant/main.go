// Command vant is the command line of the vant host: it calls methods, starts
// and stops the host, and looks after its plugins. It talks to the host through
// package sdk/client and links neither gRPC nor the host itself; where host
// logic is needed it runs vantd.
package main

import (
	"context"
	"os"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/cmd/vant/internal/command"
	"github.com/vant-run/vant/cmd/vant/internal/output"
)

func main() {
	sys := command.System{
		Stdin:  os.Stdin,
		Stdout: output.For(os.Stdout, os.Getenv),
		Stderr: output.For(os.Stderr, os.Getenv),
		Getenv: os.Getenv,
	}
	args := os.Args[1:]
	// The arguments of an agent's calls are its own, verbatim: no other reading
	// of flags comes before package agent's, and no tree is built for a call.
	if len(args) > 0 && args[0] == "agent" {
		os.Exit(agent.Run(context.Background(), args[1:], sys.Agent()))
	}
	os.Exit(command.Run(context.Background(), args, sys))
}
