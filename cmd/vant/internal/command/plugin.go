package command

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/sdk/client"
)

// plugin gives "vant plugin": each command is one plugins.* method of the host,
// and a text for people made of its result.
func (a *app) plugin() *cobra.Command {
	top := group(&cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "Look after the host's plugins",
		Example: "  vant plugin list --all\n  vant plugin logs -f net",
	})
	var all, now, follow bool
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List plugins with state, counts and times", Args: cobra.NoArgs,
		Long:    "List plugins. With --all, files that were refused are listed too, with what to\ndo about each.",
		Example: "  vant plugin list\n  vant plugin list --all\n  vant plugin list --json | jq '.result[].name'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := object{}
			if all {
				params["all"] = true
			}
			return a.show(cmd.Context(), "plugins.list", params, a.pluginTable)
		},
	}
	list.Flags().BoolVar(&all, "all", false, "list refused files too")
	restart := &cobra.Command{
		Use: "restart NAME", Short: "Start a new generation of a plugin", Args: cobra.ExactArgs(1),
		Long: "Start a new generation of a plugin, send new calls to it when it serves, and let\n" +
			"the old one finish what it has. No call fails.",
		Example:           "  vant plugin restart net\n  vant plugin restart net --now",
		ValidArgsFunction: a.pluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			params := object{"name": args[0]}
			if now {
				params["now"] = true
			}
			return a.show(cmd.Context(), "plugins.restart", params, func(raw json.RawMessage) error {
				var r struct {
					Generation json.Number `json:"generation"`
				}
				if err := json.Unmarshal(raw, &r); err != nil {
					return err
				}
				return a.Stdout.Text(args[0] + " serves as generation " + r.Generation.String())
			})
		},
	}
	restart.Flags().BoolVar(&now, "now", false, "do not wait for calls that the old generation has")
	logs := &cobra.Command{
		Use: "logs NAME", Short: "Print a plugin's log lines", Args: cobra.ExactArgs(1),
		Example:           "  vant plugin logs net\n  vant plugin logs -f net",
		ValidArgsFunction: a.pluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logs(cmd.Context(), args[0], follow)
		},
	}
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on with each line as it comes, until interrupted")
	top.AddCommand(
		list,
		a.onPlugin("info", "plugins.info", "Show all that the host knows of a plugin", a.pluginInfo),
		restart,
		a.onPlugin("reset", "plugins.reset", "Start a plugin again that failed or is in quarantine", a.done("is reset: its failures are forgotten")),
		logs,
		a.onHost("rescan", "plugins.rescan", "Look at the plugin folders now",
			"Look at the plugin folders now, and wait until what is new there serves or has\n"+
				"failed. The host looks by itself when something changes: what it has found before\n"+
				"is waited for too, but not named. \"vant plugin list\" shows what runs.", a.rescanned),
		a.onHost("lock", "plugins.lock", "Pin what the plugin folders hold, by writing plugins.lock",
			"Write plugins.lock with the checksums of what the plugin folders hold now, except\n"+
				"what is switched off. With \"plugins.verify: strict\" the host starts nothing else:\n"+
				"look at what is there first.", a.locked),
		a.onFile("verify", "plugins.verify", "Say what the host would do with a plugin's file, and why",
			"Say what the host would do with a plugin's file or folder, and why. The host judges\n"+
				"the file and starts it in folders of its own, to ask what it is; it configures\n"+
				"nothing and calls nothing. Exit status 1 when it would be refused.", a.verified),
		a.onFile("install", "plugins.install", "Check a plugin's file and copy it into your plugin folder",
			"Check a plugin's file or folder as \"vant plugin verify\" does, copy it into your\n"+
				"plugin folder in one step, and wait until it serves. A plugin of that name may run:\n"+
				"no call fails. Exit status 1 when it is refused or does not come to serve.", a.installed),
		a.onPlugin("remove", "plugins.remove", "Take a plugin out of your plugin folder", a.done("is removed")),
	)
	return top
}

// show calls a method and prints the result for people; with --json the reply
// is printed already.
func (a *app) show(ctx context.Context, method string, params object, print func(json.RawMessage) error) error {
	reply, err := a.call(ctx, method, params)
	if err != nil || a.json {
		return err
	}
	return fail(print(reply.Result))
}

// onHost makes a command of a method without parameters.
func (a *app) onHost(name, method, short, long string, print func(json.RawMessage) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs,
		Example: "  vant plugin " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.show(cmd.Context(), method, nil, print)
		},
	}
}

// onPlugin makes a command of a method that takes a plugin's name.
func (a *app) onPlugin(name, method, short string, print func(json.RawMessage) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1),
		Example:           "  vant plugin " + name + " net",
		ValidArgsFunction: a.pluginNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), method, object{"name": args[0]}, print)
		},
	}
}

// onFile makes a command of a method that judges a file; a refusal is exit
// status 1.
func (a *app) onFile(name, method, short, long string, print func(verdict) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " FILE", Short: short, Long: long, Args: cobra.ExactArgs(1),
		Example: "  vant plugin " + name + " ./vant-plugin-weather",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fail(err)
			}
			reply, err := a.call(cmd.Context(), method, object{"path": path})
			if err != nil || !reply.OK {
				return err
			}
			var v verdict
			if err := json.Unmarshal(reply.Result, &v); err != nil {
				return fail(err)
			}
			if !v.OK {
				a.status = agent.Failure
			}
			if a.json {
				return nil
			}
			return fail(print(v))
		},
	}
}

// done prints a sentence for a result that is true.
func (a *app) done(text string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if string(raw) != "true" {
			return a.fields(raw)
		}
		return a.Stdout.Text("the plugin " + text)
	}
}

// pluginNames completes a plugin's name.
func (a *app) pluginNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: completionTimeout})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var rows []row
	if err := c.Call(cmd.Context(), "plugins.list", nil, &rows); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Name+"\t"+r.State)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
