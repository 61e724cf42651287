package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// firstLooks is how often the first look is repeated while files are still
// being written, so that a start settles with them.
const firstLooks = 6

// discovery is what the reconciler's goroutine knows of the plugin directories.
type discovery struct {
	watcher *catalog.Watcher
	looks   int
	// kept are the candidates that were applied last, by name.
	kept  map[string]catalog.Candidate
	notes notes
	// last is the last result, for whoever wants to know which file has a name.
	last atomic.Pointer[catalog.Result]
}

// look reads the plugin directories and has the supervisor run what is there.
func (h *Host) look(ctx context.Context) sight {
	d := &h.discovery
	opts := h.catalogOptions(h.config.Load())
	blind := d.watcher.Watch(opts.Dirs, []string{opts.LockFile})
	if blind != nil {
		d.notes.warn(h.log, "plugin directories are looked at every few seconds instead", "error", blind)
	}
	found, err := catalog.Scan(ctx, opts)
	if ctx.Err() != nil {
		return sight{}
	}
	if err != nil {
		// The files concerned are pending, the rest of the result holds.
		d.notes.warn(h.log, "private copies of plugins", "error", err)
	}
	pending := len(found.Pending)+len(found.Unread) > 0
	d.looks++
	if pending && d.looks < firstLooks && len(d.kept) == 0 {
		return sight{pending: true, blind: blind != nil}
	}
	d.looks = firstLooks
	seen := h.apply(found)
	seen.pending, seen.blind = pending, blind != nil
	d.notes.turn()
	d.last.Store(&found)
	h.tidy(found, seen.changes)
	return seen
}

// apply has the supervisor run what was found. What a file that is still being
// written would replace goes on as it is, and so does what lies in a directory
// that could not be read this time.
func (h *Host) apply(found catalog.Result) sight {
	d := &h.discovery
	cfg := h.config.Load()
	candidates := slices.Clone(found.Accepted)
	specs, refused := h.attachedSpecs(cfg)
	for _, r := range found.Refused {
		d.notes.warn(h.log, "refused", "file", r.File, "reason", r.Reason)
		refused = append(refused, supervise.Refusal{Name: r.Name, File: r.File, Reason: r.Reason})
	}
	for _, p := range found.Pending {
		if c, ok := d.kept[p.Name]; ok {
			candidates = append(candidates, c)
			continue
		}
		refused = append(refused, supervise.Refusal{Name: p.Name, File: p.File, Reason: "is still being written; the host looks again by itself"})
	}
	for _, dir := range found.Unread {
		d.notes.warn(h.log, "the plugin directory cannot be read at the moment", "dir", dir)
		for _, c := range d.kept {
			if filepath.Dir(c.File) == dir && !slices.ContainsFunc(candidates, func(o catalog.Candidate) bool { return o.Name == c.Name }) {
				candidates = append(candidates, c)
			}
		}
	}

	d.kept = map[string]catalog.Candidate{}
	for _, c := range candidates {
		d.kept[c.Name] = c
		spec, not := h.spec(cfg, c)
		if addr := h.attached[c.Name]; addr != "" {
			not = &supervise.Refusal{Reason: "the process at " + addr + " is used in its place, as " + attachVar + " says; start the host without that to run this file"}
		}
		if not != nil {
			not.Name, not.File, not.SHA256 = c.Name, c.File, c.SHA256
			refused = append(refused, *not)
			continue
		}
		specs = append(specs, spec)
	}
	return sight{changes: h.supervisor.Apply(specs, refused), refused: refused}
}

func (h *Host) catalogOptions(cfg *config.Config) catalog.Options {
	o := catalog.Options{
		Dirs:  catalog.Dirs(h.opts.Getenv, cfg.Plugins.Dirs, h.opts.Executable),
		Store: h.store, Order: cfg.Plugins.Order,
	}
	if cfg.Plugins.Verify == "strict" {
		o.Strict, o.LockFile = true, cfg.Plugins.Lock
		o.Lock, o.LockErr = catalog.ReadLock(cfg.Plugins.Lock)
	}
	return o
}

// spec is what the supervisor needs to run a plugin, or why it does not run.
func (h *Host) spec(cfg *config.Config, c catalog.Candidate) (spec supervise.Spec, not *supervise.Refusal) {
	section := cfg.Plugins.For(c.Name)
	if section.Host.Disabled {
		return spec, &supervise.Refusal{Stopped: true, Reason: disabledBy(c.Name)}
	}
	env, missing := catalog.Env(h.opts.Environ, section.Host.Env, section.Host.EnvFrom)
	if len(missing) > 0 {
		h.discovery.notes.warn(h.log, "env_from names variables that are not set", "plugin", c.Name, "names", strings.Join(missing, " "))
	}
	state, cache, data, err := h.paths.forPlugin(c.Name)
	if err != nil {
		return spec, &supervise.Refusal{Reason: "its folders cannot be made: " + err.Error()}
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
	}, nil
}

// checkSection checks a plugin's section of the configuration against the
// schema that the plugin gave.
func (h *Host) checkSection(plugin string, schema, section []byte) error {
	return checkSection(h.config.Load(), plugin, schema, section)
}

func checkSection(cfg *config.Config, plugin string, schema, section []byte) error {
	return method.CheckConfig(schema, section, func(pointer string) string {
		return cfg.Place(append([]string{"plugins", plugin}, wire.PointerSteps(pointer)...)...)
	})
}

func disabledBy(name string) string {
	return "switched off by plugins." + name + ".host.disabled in the configuration"
}

// tidy removes private copies that nothing needs, once nothing changes: what was
// replaced may still be ending. A look that changes nothing can have made one too,
// of a file that went on to change.
func (h *Host) tidy(found catalog.Result, c supervise.Changes) {
	if len(c.Started)+len(c.Replaced)+len(c.Removed) > 0 {
		return
	}
	keep := map[catalog.Copy]bool{}
	for _, c := range found.Accepted {
		keep[c.Copy()] = true
	}
	for _, c := range h.discovery.kept {
		keep[c.Copy()] = true
	}
	for c := range h.supervisor.Copies() {
		keep[catalog.Copy(c)] = true
	}
	if _, err := h.store.Prune(keep); err != nil {
		h.discovery.notes.warn(h.log, "removing old copies of plugins", "error", err)
	}
}

// notes are the warnings of a look. One that the look before it had too is not
// logged again.
type notes struct{ last, now map[string]bool }

func (n *notes) warn(log hclog.Logger, text string, args ...any) {
	key := fmt.Sprint(append([]any{text}, args...)...)
	if !n.last[key] && !n.now[key] {
		log.Warn(text, args...)
	}
	if n.now == nil {
		n.now = map[string]bool{}
	}
	n.now[key] = true
}

func (n *notes) turn() { n.last, n.now = n.now, nil }

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
