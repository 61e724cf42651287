package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/launch"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/release"
)

// ErrCheck says that Check found faults; it has printed them.
var ErrCheck = errors.New("faults were found")

// CheckConfig tests the configuration alone.
func CheckConfig(o Options, out io.Writer) error {
	cfg, err := config.Load(o.Config, o.Getenv)
	if err != nil {
		return err
	}
	if cfg.File == "" {
		_, err = fmt.Fprintln(out, "no configuration file: the defaults hold")
	} else {
		_, err = fmt.Fprintf(out, "%s: valid\n", cfg.File)
	}
	return err
}

// Check tests configuration and plugins as the host would take them, without a
// socket and beside a host that may run: each plugin is started in folders of
// its own, asked to describe itself, configured, and ended. No method is
// called. What is wrong with it is printed; the error is ErrCheck then.
func Check(ctx context.Context, o Options, out io.Writer) error {
	if err := CheckConfig(o, out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "vant-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a folder in TMPDIR, and nobody to tell
	h, err := newCheck(o, work)
	if err != nil {
		return err
	}
	if err := h.lookOnce(ctx); err != nil {
		return err
	}
	select {
	case <-h.supervisor.Settled():
	case <-ctx.Done():
	}
	list := h.supervisor.List(true)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
	defer cancel()
	h.supervisor.Stop(stopping)
	if err := errors.Join(ctx.Err(), h.logs.Close(stopping)); err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no plugins were found")
		return err
	}
	return report(list, out)
}

// newCheck makes the parts of a host that a check needs.
func newCheck(o Options, work string) (*Host, error) {
	cfg, err := config.Load(o.Config, o.Getenv)
	if err != nil {
		return nil, err
	}
	h := &Host{opts: o, started: time.Now(), log: hclog.NewNullLogger()}
	h.config.Store(cfg)
	h.paths = paths{id: "check", runtime: work + "/r", store: work + "/store", state: work + "/state", cache: work + "/cache", data: work + "/data"}
	if err := h.paths.make(); err != nil {
		return nil, err
	}
	if h.store, err = catalog.OpenStore(h.paths.store); err != nil {
		return nil, err
	}
	h.logs = observe.NewLogs(observe.Options{})
	if h.launcher, err = launch.New(launch.Options{RuntimeDir: h.paths.runtime, HostVersion: release.Version(), Log: h.log}); err != nil {
		return nil, err
	}
	h.supervisor = supervise.New(supervise.Options{
		Launcher: h.launcher, Log: h.log, Policy: policy(cfg.Supervise), HostVersion: release.Version(),
		Order: cfg.Plugins.Order, CheckConfig: method.CheckConfig,
	})
	return h, nil
}

// lookOnce applies what the plugin directories hold. It waits a moment for
// files that are still being written.
func (h *Host) lookOnce(ctx context.Context) error {
	for i := 1; ; i++ {
		found, err := catalog.Scan(ctx, h.catalogOptions(h.config.Load()))
		if err != nil {
			return err
		}
		if len(found.Pending) == 0 || i == firstLooks {
			h.apply(found)
			return nil
		}
		select {
		case <-time.After(pendingMax):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func report(list []supervise.Status, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	bad := false
	for _, st := range list {
		verdict := "ok"
		if st.State != supervise.Ready {
			verdict, bad = string(st.State), bad || st.State != supervise.Stopped
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%d methods\t%s\t%s\n", st.Name, verdict, st.Version, st.Methods, st.File, st.Reason); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad {
		return ErrCheck
	}
	return nil
}
