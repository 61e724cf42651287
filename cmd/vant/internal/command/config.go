package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/cmd/vant/internal/hostproc"
)

func (a *app) config() *cobra.Command {
	top := group(&cobra.Command{
		Use: "config", Short: "Check the host's configuration, or apply it",
		Example: "  vant config check",
	})
	var file string
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration file, without a host", Args: cobra.NoArgs,
		Long: "Check the configuration file, without a host: what it says itself, and each\n" +
			"plugin's section by what that plugin allows. The plugins are started to be asked,\n" +
			"and not configured: what a plugin finds when it is, \"vantd check\" tells.",
		Example: "  vant config check\n  vant config check --config ./vant.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			vantd, err := hostproc.Find()
			if err != nil {
				return fail(err)
			}
			return a.configCheck(cmd.Context(), vantd, file)
		},
	}
	check.Flags().StringVar(&file, "config", "", "the `FILE` to check (default $VANT_CONFIG, else vant/vant.yaml in $XDG_CONFIG_HOME)")
	reload := &cobra.Command{
		Use: "reload", Short: "Make the host read its configuration again", Args: cobra.NoArgs,
		Long: "Make the host read its configuration again. What can be applied at once is\n" +
			"applied; the rest is named. Exit status 1 when the configuration is not valid,\n" +
			"which changes nothing, or when a plugin does not serve by it.",
		Example: "  vant config reload",
		RunE: func(cmd *cobra.Command, _ []string) error {
			reply, err := a.call(cmd.Context(), "host.reload", nil)
			if err != nil || !reply.OK {
				return err
			}
			var r struct{ Failed []json.RawMessage }
			if err := json.Unmarshal(reply.Result, &r); err != nil {
				return fail(err)
			}
			if len(r.Failed) > 0 {
				a.status = agent.Failure
			}
			if a.json {
				return nil
			}
			return fail(a.fields(reply.Result))
		},
	}
	top.AddCommand(check, reload)
	return top
}

// checkedBy begins what vantd says of a configuration.
const checkedBy = "vantd check: "

// configCheck has vantd check a configuration: its output and exit status are
// ours, what it complains of is told in this command's name.
func (a *app) configCheck(ctx context.Context, vantd, file string) error {
	cmd := exec.CommandContext(ctx, vantd, checkArgs(file)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = a.Stdout.W, &said
	err := cmd.Run()
	if text := strings.TrimSpace(said.String()); text != "" {
		a.say("vant config check: " + strings.TrimPrefix(text, checkedBy))
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		a.status = exit.ExitCode()
	case err != nil:
		return failf("%s: %w", vantd, err)
	}
	return nil
}

// checkBound bounds a check of which the result alone is wanted; plugins may be
// started for it.
const checkBound = 30 * time.Second

// checkConfig gives what vantd says of a configuration; the error says what is
// wrong with it, a line each.
func checkConfig(ctx context.Context, vantd, file string) (string, error) {
	text, err := outputOf(ctx, checkBound, vantd, checkArgs(file)...)
	if err != nil && text != "" {
		err = errors.New(strings.TrimPrefix(text, checkedBy))
	}
	return text, err
}

func checkArgs(file string) []string {
	args := []string{"check", "--config-only"}
	if file != "" {
		args = append(args, "--config", file)
	}
	return args
}
