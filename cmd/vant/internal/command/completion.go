package command

import "github.com/spf13/cobra"

func (a *app) completion() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print a shell's completion script",
		Long: "Print the script that completes vant's commands in a shell, and names of methods\n" +
			"and plugins while a host runs. In bash it needs the package bash-completion. zsh\n" +
			"reads it when \"fpath+=(~/.zfunc)\" stands in ~/.zshrc, before compinit runs.",
		Example: "  source <(vant completion bash)\n" +
			"  mkdir -p ~/.zfunc && vant completion zsh > ~/.zfunc/_vant\n" +
			"  mkdir -p ~/.config/fish/completions && vant completion fish > ~/.config/fish/completions/vant.fish",
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             []string{"bash", "zsh", "fish"},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return fail(root.GenBashCompletionV2(a.Stdout.W, true))
			case "zsh":
				return fail(root.GenZshCompletion(a.Stdout.W))
			default:
				return fail(root.GenFishCompletion(a.Stdout.W, true))
			}
		},
	}
}
