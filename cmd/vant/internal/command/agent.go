package command

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/sdk/client"
)

// agent gives "vant agent" for helps and completions, and for arguments with
// flags before the word agent. Package agent reads the arguments.
func (a *app) agent() *cobra.Command {
	top := &cobra.Command{
		Use:   "agent COMMAND [ARGUMENT]...",
		Short: "Call the host's methods",
		Long: "Call the host's methods. The result alone is printed: a text as it is, all else\n" +
			"as JSON. Flags stand before the first argument of a command; what follows is\n" +
			"taken as it is. A method's name works as a command: see \"vant agent describe\".\n" +
			"Commands for tabs and pages need the plugin browser.\n\n" +
			"Exit status: 0 for success, 1 for a failure, 2 for wrong usage. An interaction\n" +
			"that does not come about ({\"ok\":false}) is a result: --strict makes it 1.",
		Example: "  vant agent status\n  vant agent describe\n  vant agent fetch https://example.com\n" +
			"  vant agent net.fetch '{\"url\":\"https://example.com\",\"max_bytes\":2000}'\n" +
			"  vant agent --json version\n  vant agent watch",
		DisableFlagParsing: true,
		RunE:               a.runAgent,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.methodNames(cmd.Context(), prefix, strings.Contains(prefix, ".")), cobra.ShellCompDirectiveNoFileComp
		},
	}
	top.PersistentFlags().Bool("strict", false, "exit with 1 when the result says that it failed (also VANT_STRICT=1)")
	for _, c := range agent.Commands() {
		cmd := a.agentCommand(c)
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) > 0 && (args[len(args)-1] == "--file" || args[len(args)-1] == "--socket"):
				return nil, cobra.ShellCompDirectiveDefault
			case c.Name == "call" && len(words(args)) == 0:
				return a.methodNames(cmd.Context(), prefix, true), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		top.AddCommand(cmd)
	}
	return top
}

// runAgent has package agent read the arguments.
func (a *app) runAgent(cmd *cobra.Command, args []string) error {
	if cmd.Name() != "agent" {
		args = append([]string{cmd.Name()}, args...)
	}
	a.status = agent.Run(cmd.Context(), args, a.Agent())
	return nil
}

func (a *app) agentCommand(c agent.Command) *cobra.Command {
	use := c.Name + " [FLAG]..."
	if c.Args != "" {
		use += " " + c.Args
	}
	cmd := &cobra.Command{
		Use: use, Short: c.Short, Long: c.Long, Example: c.Example,
		DisableFlagParsing: true, DisableFlagsInUseLine: true,
		RunE: a.runAgent,
	}
	if c.Script {
		cmd.Flags().String("file", "", "read the script from `FILE`, \"-\" for standard input")
		cmd.Flags().Int64("tab", 0, "run it in this `TAB` instead of the current one")
	}
	return cmd
}

// words gives the arguments that are no flags and no flags' values.
func words(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--socket" || args[i] == "--timeout":
			i++
		case !strings.HasPrefix(args[i], "-"):
			out = append(out, args[i])
		}
	}
	return out
}

// completionTimeout is how long a person who presses Tab is made to wait for
// the host.
const completionTimeout = time.Second

// methodNames asks the host for the names of its methods, with their summaries
// as the shells show them. Without a host there are none.
func (a *app) methodNames(ctx context.Context, prefix string, all bool) []string {
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: completionTimeout})
	if err != nil {
		return nil
	}
	var methods map[string]struct {
		Summary string `json:"summary"`
	}
	if c.Call(ctx, "describe", json.RawMessage("{}"), &methods) != nil {
		return nil
	}
	var out []string
	for name, m := range methods {
		if strings.HasPrefix(name, prefix) && (all || strings.Contains(name, ".")) {
			out = append(out, name+"\t"+strings.Join(strings.Fields(m.Summary), " "))
		}
	}
	slices.Sort(out)
	return out
}
