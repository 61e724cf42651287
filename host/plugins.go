package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	// pendingWait stands between looks at files that are being copied.
	pendingWait = 600 * time.Millisecond
	// pendingLooks is how often the start looks before it goes on without them.
	pendingLooks = 5
)

// scan has the supervisor run what is in the plugin directories.
func (h *Host) scan(ctx context.Context) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	found, err := h.look(ctx)
	if err == nil {
		h.apply(found)
	}
	return err
}

// scanUntilComplete is the first scan: it waits a little for files that are
// just being copied, so that a start settles with them.
func (h *Host) scanUntilComplete(ctx context.Context) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	for i := 1; ; i++ {
		found, err := h.look(ctx)
		if err != nil {
			if ctx.Err() == nil {
				h.log.Error("looking for plugins", "error", err)
				h.apply(catalog.Result{})
			}
			return
		}
		if len(found.Pending) == 0 || i == pendingLooks {
			h.apply(found)
			return
		}
		select {
		case <-time.After(pendingWait):
		case <-ctx.Done():
			return
		}
	}
}

// look reads the plugin directories.
func (h *Host) look(ctx context.Context) (catalog.Result, error) {
	opts, err := h.catalogOptions(h.config.Load())
	if err != nil {
		return catalog.Result{}, err
	}
	found, err := catalog.Scan(ctx, opts)
	if ctx.Err() != nil {
		return catalog.Result{}, ctx.Err()
	}
	if err != nil {
		// The files concerned are pending, the rest of the result holds.
		h.log.Error("private copies of plugins", "error", err)
	}
	return found, nil
}

// apply has the supervisor run what was found. What a file that is still being
// written would replace goes on as it is.
func (h *Host) apply(found catalog.Result) supervise.Changes {
	cfg := h.config.Load()
	specs, refused := h.attachedSpecs(cfg)
	for _, c := range found.Accepted {
		spec, reason := h.spec(cfg, c)
		if addr := h.attached[c.Name]; addr != "" {
			reason = "the process at " + addr + " is used in its place, as " + attachVar + " says; start the host without that to run this file"
		}
		if reason != "" {
			refused = append(refused, supervise.Refusal{Name: c.Name, File: c.File, SHA256: c.SHA256, Reason: reason})
			continue
		}
		specs = append(specs, spec)
	}
	for _, r := range found.Refused {
		h.log.Warn("refused", "file", r.File, "reason", r.Reason)
		refused = append(refused, supervise.Refusal{Name: r.Name, File: r.File, Reason: r.Reason})
	}
	for _, p := range found.Pending {
		refused = append(refused, supervise.Refusal{Name: p.Name, File: p.File, Reason: "is still being written; it is looked at again by a reload"})
	}
	return h.supervisor.Apply(specs, refused)
}

func (h *Host) catalogOptions(cfg *config.Config) (catalog.Options, error) {
	o := catalog.Options{
		Dirs:  catalog.Dirs(h.opts.Getenv, cfg.Plugins.Dirs, h.opts.Executable),
		Store: h.store, Order: cfg.Plugins.Order,
	}
	if cfg.Plugins.Verify != "strict" {
		return o, nil
	}
	lock, err := catalog.ReadLock(cfg.Plugins.Lock)
	if err != nil {
		return o, fmt.Errorf("plugins.verify is strict: %w", err)
	}
	o.Lock, o.Strict = lock, true
	return o, nil
}

// spec is what the supervisor needs to run a plugin, or why it does not run.
func (h *Host) spec(cfg *config.Config, c catalog.Candidate) (spec supervise.Spec, reason string) {
	section := cfg.Plugins.For(c.Name)
	if section.Host.Disabled {
		return spec, "disabled by plugins." + c.Name + ".host.disabled in the configuration"
	}
	env, missing := catalog.Env(h.opts.Environ, section.Host.Env, section.Host.EnvFrom)
	if len(missing) > 0 {
		h.log.Warn("env_from names variables that are not set", "plugin", c.Name, "names", strings.Join(missing, " "))
	}
	state, cache, data, err := h.paths.forPlugin(c.Name)
	if err != nil {
		return spec, "its folders cannot be made: " + err.Error()
	}
	level := section.Host.LogLevel
	if level == "" {
		level = cfg.Log.Level
	}
	if l, err := observe.ParseLevel(level); err == nil {
		h.logs.SetLevel(c.Name, l)
	}
	return supervise.Spec{
		Name: c.Name, File: c.File, Exec: c.Exec, SHA256: c.SHA256, Env: env, Config: section.Config,
		StateDir: state, CacheDir: cache, DataDir: data, LogLevel: level,
		MaxInFlight: section.Host.MaxInFlight, MaxQueue: section.Host.Queue,
		MemoryMax: int64(section.Host.MemoryMax), CPUWeight: section.Host.CPUWeight, NoFile: section.Host.NoFile,
	}, ""
}

// pruneStore removes private copies that nothing runs any more.
func (h *Host) pruneStore() {
	var keep []string
	for _, st := range h.supervisor.List(true) {
		if st.SHA256 != "" {
			keep = append(keep, st.SHA256)
		}
	}
	if _, err := h.store.Prune(keep); err != nil {
		h.log.Warn("removing old copies of plugins", "error", err)
	}
}

// policy is the supervisor's, with what the configuration says.
func policy(c config.Supervise) supervise.Policy {
	return supervise.Policy{
		LaunchTimeout: c.StartTimeout, DescribeTimeout: c.DescribeTimeout, ConfigureTimeout: c.ConfigureTimeout,
		StartConcurrency: c.StartConcurrency, SettleTimeout: c.SettleTimeout,
		HealthEvery: c.HealthEvery, HealthTimeout: c.HealthTimeout, HealthMisses: c.HealthMisses,
		BackoffMin: c.BackoffMin, BackoffMax: c.BackoffMax, BackoffReset: c.BackoffReset,
		MaxFailures: c.MaxFailures, FailureWindow: c.FailureWindow,
		MaxInFlight: c.MaxInFlight, MaxQueue: c.Queue,
		Drain: c.Drain, ExclusiveDrain: c.ExclusiveDrain, StopGrace: c.StopGrace,
	}
}

func (h *Host) callFrom(ctx context.Context, from supervise.Origin, call *pluginv1.Call) *pluginv1.CallResult {
	return h.router.CallFrom(ctx, from, call)
}

func (h *Host) logDrops(plugin string) uint64 {
	s, _ := h.logs.Stats(plugin)
	return s.Dropped + s.FileDropped
}

// setCallLog switches the call log on or off.
func (h *Host) setCallLog(cfg *config.Config) {
	var next *observe.CallLog
	if cfg.Log.Calls {
		if h.calls.Load() != nil {
			return
		}
		next = observe.NewCallLog(filepath.Join(h.paths.logs, "calls.jsonl"), observe.Rotation{MaxSizeMB: cfg.Log.MaxSizeMB, MaxFiles: cfg.Log.MaxFiles})
	}
	if old := h.calls.Swap(next); old != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		if err := old.Close(ctx); err != nil {
			h.log.Warn("closing the call log", "error", err)
		}
	}
}

// record is told of every call.
func (h *Host) record(r router.Record) {
	calls := h.calls.Load()
	if calls == nil {
		return
	}
	program := r.Caller
	if r.PID > 0 {
		if exe, err := os.Readlink("/proc/" + strconv.Itoa(r.PID) + "/exe"); err == nil {
			program = exe
		}
	}
	calls.Record(observe.Call{Time: r.Start, Method: r.Method, Pid: r.PID, Program: program, Duration: r.Duration, Code: r.Code})
}

func jsonObject(name, value string) []byte {
	b, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		return nil // strings always have a JSON form
	}
	return b
}

func notEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
