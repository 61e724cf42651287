package command

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
		Long:    "Make the host read its configuration again. What can be applied at once is\napplied; the rest is named.",
		Example: "  vant config reload",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.show(cmd.Context(), "host.reload", nil, a.fields)
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
