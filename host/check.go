package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/launch"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/internal/wire"
)

// ErrCheck says that Check found faults; it has printed them.
var ErrCheck = errors.New("faults were found")

// CheckConfig tests the configuration alone. What is legal but may be a slip of
// the pen is printed as a warning.
// Sections of plugins that are there are checked against what these describe:
// they are started for that, in folders of their own, and not configured.
func CheckConfig(ctx context.Context, o Options, out io.Writer) error {
	cfg, warnings, err := checkConfig(o)
	if err != nil {
		return err
	}
	if len(cfg.Plugins.Sections) == 0 {
		_, err := io.WriteString(out, validity(cfg, "valid")+warnings)
		return err
	}
	work, err := checkFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary folder, and nobody to tell
	h, err := newCheck(o, cfg, work)
	if err != nil {
		return err
	}
	faults, unasked, err := h.tryConfig(ctx)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
	defer cancel()
	h.supervisor.Stop(stopping)
	if err := errors.Join(err, ctx.Err(), h.logs.Close(stopping)); err != nil {
		return err
	}
	first := validity(cfg, "valid")
	if len(faults) > 0 {
		first = strings.Join(faults, "\n") + "\n"
	}
	if _, err := io.WriteString(out, first+warnings+unasked); err != nil {
		return err
	}
	if len(faults) > 0 {
		return ErrCheck
	}
	return nil
}

// tryConfig asks the plugins that the configuration has sections for what they
// allow, and says what is wrong with the sections, and in a line each which
// plugins could not be asked.
func (h *Host) tryConfig(ctx context.Context) (faults []string, unasked string, err error) {
	cfg := h.config.Load()
	found, err := h.scanOnce(ctx)
	if err != nil {
		return nil, "", err
	}
	warn := func(name, reason string) {
		unasked += fmt.Sprintf("%s: warning: plugin %s could not be asked what it allows: %s\n", cfg.Place("plugins", name), name, reason)
	}
	for _, r := range found.Refused {
		accepted := slices.ContainsFunc(found.Accepted, func(c catalog.Candidate) bool { return c.Name == r.Name })
		if _, has := cfg.Plugins.Sections[r.Name]; has && !accepted {
			warn(r.Name, r.Reason)
		}
	}
	for _, p := range found.Pending {
		if _, has := cfg.Plugins.Sections[p.Name]; has {
			warn(p.Name, "is still being written")
		}
	}
	for _, dir := range found.Unread {
		unasked += fmt.Sprintf("%s: warning: plugins could not be asked what they allow: %s cannot be read\n", cfg.Place("plugins"), dir)
	}
	env, _ := catalog.Env(h.opts.Environ, nil, nil)
	for _, c := range found.Accepted {
		if _, has := cfg.Plugins.Sections[c.Name]; !has {
			continue
		}
		_, err := h.supervisor.Probe(ctx, h.launcher, supervise.Spec{
			Name: c.Name, File: c.File, Exec: c.Exec, SHA256: c.SHA256, Env: env, Config: cfg.Plugins.For(c.Name).Config,
		})
		var wrong method.ConfigFaults
		var start *supervise.StartError
		switch {
		case errors.As(err, &wrong):
			faults = append(faults, wrong...)
		case errors.As(err, &start) && start.Step == "configure":
			faults = append(faults, start.Err.Error())
		case err != nil:
			warn(c.Name, err.Error())
		}
	}
	return faults, unasked, nil
}

// validity is the first line about a configuration that was read.
func validity(cfg *config.Config, what string) string {
	if cfg.File == "" {
		return "no configuration file: the defaults hold\n"
	}
	return cfg.File + ": " + what + "\n"
}

// checkConfig reads the configuration and gives warnings of what is legal but
// may be a slip of the pen, a line each.
func checkConfig(o Options) (cfg *config.Config, warnings string, err error) {
	if cfg, err = config.Load(o.Config, o.Getenv); err != nil {
		return nil, "", err
	}
	known := catalog.Names(catalog.Dirs(o.Getenv, cfg.Plugins.Dirs, o.Executable))
	warn := func(key, name string) {
		if slices.Contains(known, name) {
			return
		}
		warnings += fmt.Sprintf("%s: warning: no plugin %q is installed", cfg.Place("plugins", key), name)
		if near := wire.Nearest(name, known); near != "" {
			warnings += fmt.Sprintf("; nearest: %q", near)
		}
		warnings += "\n"
	}
	for _, name := range cfg.Plugins.Order {
		warn("order", name)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Plugins.Sections)) {
		warn(name, name)
	}
	return cfg, warnings, nil
}

// Section gives a plugin's section of the configuration as it would be told
// it: a JSON object.
func Section(o Options, plugin string) ([]byte, error) {
	cfg, err := config.Load(o.Config, o.Getenv)
	if err != nil {
		return nil, err
	}
	return cfg.Plugins.For(plugin).Config, nil
}

// Check tests configuration, socket path and plugins as the host would take
// them, beside a host that may run: nothing is served, and each plugin is
// started in folders of its own, asked to describe itself, configured, and
// ended. No method is called. What is wrong is printed; the error is ErrCheck
// then.
func Check(ctx context.Context, o Options, out io.Writer) error {
	cfg, warnings, err := checkConfig(o)
	if err == nil {
		// What plugins say of their sections follows.
		_, err = io.WriteString(out, validity(cfg, "can be read")+warnings)
	}
	if err != nil {
		return err
	}
	p, unfit := findPaths(o, cfg)
	if unfit == nil {
		unfit = socket.Check(p.socket)
	}
	if unfit != nil {
		if _, err := fmt.Fprintln(out, unfit); err != nil {
			return err
		}
		unfit = ErrCheck
	}
	work, err := checkFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary folder, and nobody to tell
	h, err := newCheck(o, cfg, work)
	if err != nil {
		return err
	}
	found, err := h.scanOnce(ctx)
	if err != nil {
		return err
	}
	h.apply(found)
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
		_, err = fmt.Fprintln(out, "no plugins were found")
	} else {
		err = report(list, out)
	}
	if err == nil {
		err = unfit
	}
	return err
}

// checkFolder makes the folder of a check: in TMPDIR, and in /tmp when that is
// too long for sockets below it.
func checkFolder() (string, error) {
	const pattern = "vant-check-"
	work, err := os.MkdirTemp("", pattern)
	if err != nil || len(checkRuntime(work)) <= launch.MaxRuntimeDir {
		return work, err
	}
	if err := os.Remove(work); err != nil {
		return "", err
	}
	return os.MkdirTemp("/tmp", pattern)
}

func checkRuntime(work string) string { return filepath.Join(work, "r") }

// newCheck makes the parts of a host that a check needs.
func newCheck(o Options, cfg *config.Config, work string) (*Host, error) {
	h := &Host{opts: o, started: time.Now(), log: hclog.NewNullLogger()}
	h.config.Store(cfg)
	h.paths = paths{id: "check", runtime: checkRuntime(work), store: work + "/store", state: work + "/state", cache: work + "/cache", data: work + "/data"}
	err := h.paths.make()
	if err != nil {
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
		Order: cfg.Plugins.Order, CheckConfig: h.checkSection,
	})
	return h, nil
}

// scanOnce reads the plugin directories. It waits a moment for files that are
// still being written.
func (h *Host) scanOnce(ctx context.Context) (catalog.Result, error) {
	for i := 1; ; i++ {
		found, err := catalog.Scan(ctx, h.catalogOptions(h.config.Load()))
		if err != nil || len(found.Pending) == 0 || i == firstLooks {
			return found, err
		}
		select {
		case <-time.After(pendingMax):
		case <-ctx.Done():
			return catalog.Result{}, ctx.Err()
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
		methods := fmt.Sprintf("%d methods", st.Methods)
		if st.Methods == 1 {
			methods = "1 method"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", st.Name, verdict, st.Version, methods, st.File, st.Reason); err != nil {
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
