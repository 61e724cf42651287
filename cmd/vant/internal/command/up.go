package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/hostproc"
	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/sdk/client"
)

const (
	// probeTimeout bounds the question whether a host is there.
	probeTimeout = 3 * time.Second
	// defaultWait is more than the host gives the first starts of its plugins.
	defaultWait = 20 * time.Second
	// raceWait is how long another host that holds the lock may take to bind
	// its socket.
	raceWait = time.Second
	poll     = 20 * time.Millisecond
)

func (a *app) up() *cobra.Command {
	var config string
	wait := defaultWait
	cmd := &cobra.Command{
		Use: "up", Short: "Start the host in the background", Args: cobra.NoArgs,
		Long: "Start the host in the background, wait until it serves and its plugins have had\n" +
			"their first start, and print its socket. When a host runs already, only its\n" +
			"socket is printed; a configuration that it does not read is warned of.",
		Example: "  vant up\n  vant up --config ./vant.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), wait)
			defer cancel()
			return a.start(ctx, config)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "the host's configuration `FILE`")
	cmd.Flags().DurationVar(&wait, "wait", defaultWait, "how long to wait for the host")
	return cmd
}

func (a *app) start(ctx context.Context, config string) error {
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: probeTimeout})
	if err != nil {
		return fail(err)
	}
	if config != "" {
		if config, err = filepath.Abs(config); err != nil {
			return fail(err)
		}
	}
	started := false
	version, err := hostVersion(ctx, c)
	if errors.Is(err, client.ErrNoHost) {
		if started, err = a.launch(ctx, c.Socket(), config); err != nil {
			return err
		}
		version, err = hostVersion(ctx, c)
	}
	if err != nil {
		return fail(err)
	}
	if config != "" && !started {
		if err := a.unread(ctx, c, config); err != nil {
			return err
		}
	}
	if err := settled(ctx, c); err != nil {
		return fail(err)
	}
	if ours := release.Version(); version != ours {
		a.say("vant up: warning: the host has version " + version + ", this command " + ours +
			": \"vant down\" and \"vant up\" start the other one")
	}
	return fail(a.Stdout.Text(c.Socket()))
}

// unread warns of a configuration that the host that runs does not read. One
// that no host could read is an error.
func (a *app) unread(ctx context.Context, c *client.Client, config string) error {
	vantd, err := hostproc.Find()
	if err != nil {
		return fail(err)
	}
	if _, err := checkConfig(ctx, vantd, config); err != nil {
		return fail(err)
	}
	if pid, err := hostPid(ctx, c); err == nil && sameFile(hostproc.Look(pid).Config, config) {
		return nil
	}
	a.say("vant up: warning: a host runs already and does not read " + config + ": run \"vant down\" first")
	return nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// launch starts vantd, or says that it did not: where another one is faster to
// take the socket, that one is as good.
func (a *app) launch(ctx context.Context, socket, config string) (started bool, err error) {
	vantd, err := hostproc.Find()
	if err != nil {
		return false, fail(err)
	}
	state, err := hostproc.StateDir(a.Getenv)
	if err != nil {
		return false, fail(err)
	}
	err = hostproc.Start(ctx, hostproc.Options{
		Path: vantd, Socket: socket, Config: config, State: state, Env: os.Environ(),
	})
	var failed *hostproc.FailedError
	if errors.As(err, &failed) {
		other, dialErr := client.Dial(client.Options{Socket: socket, Timeout: probeTimeout, WaitForHost: raceWait})
		if dialErr == nil {
			if _, callErr := hostVersion(ctx, other); callErr == nil {
				return false, nil
			}
		}
	}
	return err == nil, fail(err)
}

func hostVersion(ctx context.Context, c *client.Client) (string, error) {
	var v struct {
		Vant string `json:"vant"`
	}
	err := c.Call(ctx, "version", nil, &v)
	return v.Vant, err
}

// settled waits until no plugin is in a start any more. A host that cannot say
// has nothing to wait for.
func settled(ctx context.Context, c *client.Client) error {
	for {
		var rows []row
		err := c.Call(ctx, "plugins.list", nil, &rows)
		var answer *client.Error
		if errors.As(err, &answer) {
			return nil
		}
		if err != nil {
			return err
		}
		starting := ""
		for _, r := range rows {
			if r.State == "starting" {
				starting = r.Name
			}
		}
		if starting == "" {
			return nil
		}
		if !pause(ctx, poll) {
			return errors.New("the host serves, but its plugin " + starting + " is still starting: see \"vant plugin logs " + starting + "\"")
		}
	}
}

// pause waits for d and says whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
