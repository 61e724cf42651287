package command

import (
	"os"
	"syscall"

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
		RunE: func(*cobra.Command, []string) error {
			vantd, err := hostproc.Find()
			if err != nil {
				return fail(err)
			}
			args := []string{vantd, "check", "--config-only"}
			if file != "" {
				args = append(args, "--config", file)
			}
			// vantd takes our place: its output and exit status are ours.
			if err := syscall.Exec(vantd, args, os.Environ()); err != nil {
				return failf("cannot run %s: %w", vantd, err)
			}
			return nil
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
