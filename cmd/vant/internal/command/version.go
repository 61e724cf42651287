package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/proto/envelope"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of this command", Args: cobra.NoArgs,
		Long:    "Show the version of this command. \"vant agent version\" shows the host's.",
		Example: "  vant version\n  vant version --json",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return fail(a.Stdout.JSON(object{
					"vant": release.Version(), "commit": release.Commit(), "go": runtime.Version(), "protocol": envelope.Version,
				}.raw()))
			}
			return fail(a.Stdout.Text(versionLine()))
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("vant %s (%s), protocol %d, %s", release.Version(), release.Commit(), envelope.Version, runtime.Version())
}
