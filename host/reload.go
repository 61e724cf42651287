package host

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/host/internal/supervise"
)

// Reload reads the configuration again and waits until it is in force. What can
// change while the host runs is applied and named, the rest is named too, and so
// are the plugins that do not serve by it. A configuration that is not valid
// changes nothing.
func (h *Host) Reload(ctx context.Context) (router.Reloaded, error) {
	if state, err := socket.Reloading(); err == nil {
		h.notify(state)
		defer h.notify(socket.Ready)
	}
	// Not the result itself: when ctx ends first, who is asked may still be
	// writing.
	var read router.Reloaded
	seen, err := h.reconciler.ask(ctx, 0, func() (err error) {
		read.Applied, read.NeedsRestart, err = h.readConfig()
		return err
	})
	if err != nil {
		return router.Reloaded{}, err
	}
	out := read
	// One with a section may have failed by it before.
	concerned := slices.Concat(seen.changes.Started, seen.changes.Replaced, slices.Collect(maps.Keys(h.config.Load().Plugins.Sections)))
	slices.Sort(concerned)
	out.Failed = h.failures(ctx, slices.Compact(concerned))
	out.Applied = slices.DeleteFunc(out.Applied, func(key string) bool {
		return slices.ContainsFunc(out.Failed, func(f router.RefusedFile) bool { return key == sectionKey(f.Name) })
	})
	failed := make([]string, len(out.Failed))
	for i, f := range out.Failed {
		failed[i] = f.Name
	}
	h.log.Info("configuration read", "applied", out.Applied, "needs_restart", out.NeedsRestart, "failed", failed)
	return out, ctx.Err()
}

// failures waits for what becomes of plugins, and gives those that do not serve
// as they were wished.
func (h *Host) failures(ctx context.Context, names []string) (failed []router.RefusedFile) {
	ctx, cancel := context.WithTimeout(ctx, outcomeBound)
	defer cancel()
	for _, name := range names {
		err := h.supervisor.Await(ctx, name)
		if none := (*supervise.NotFoundError)(nil); ctx.Err() != nil || errors.As(err, &none) {
			continue // what is not to run does not fail
		}
		// One that started well may have failed since.
		if info, known := h.supervisor.Info(name); known && info.Reason != "" {
			failed = append(failed, router.RefusedFile{Name: name, File: info.File, Reason: info.Reason})
		}
	}
	return failed
}

// readConfig puts a new configuration in force. It runs on the reconciler's
// goroutine, which looks by it next.
func (h *Host) readConfig() (applied, needsRestart []string, err error) {
	next, err := config.Load(h.opts.Config, h.opts.Getenv)
	if err != nil {
		return nil, nil, err
	}
	if err := h.checkSections(next); err != nil {
		return nil, nil, err
	}
	old := h.config.Load()
	applied, needsRestart = changes(old, next)
	// What is not applied keeps its old value, so that the next reload still
	// names it.
	running := *next
	running.Supervise, running.Plugins.Order = old.Supervise, old.Plugins.Order
	running.Log.Dir, running.Log.MaxSizeMB, running.Log.MaxFiles = old.Log.Dir, old.Log.MaxSizeMB, old.Log.MaxFiles
	h.config.Store(&running)
	if level, err := observe.ParseLevel(running.Log.Level); err == nil && h.opts.LogLevel == "" && old.Log.Level != running.Log.Level {
		h.log.SetLevel(level)
	}
	h.setCallLog(&running)
	return applied, needsRestart, nil
}

// checkSections checks the sections of plugins whose schema is known.
func (h *Host) checkSections(cfg *config.Config) error {
	var errs []error
	schemas := h.supervisor.ConfigSchemas()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if _, has := cfg.Plugins.Sections[name]; has {
			errs = append(errs, checkSection(cfg, name, schemas[name], cfg.Plugins.For(name).Config))
		}
	}
	return errors.Join(errs...)
}

// changes names the keys that differ.
func changes(old, next *config.Config) (applied, needsRestart []string) {
	applied, needsRestart = []string{}, []string{}
	note := func(list *[]string, key string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			*list = append(*list, key)
		}
	}
	note(&applied, "log.level", old.Log.Level, next.Log.Level)
	note(&applied, "log.calls", old.Log.Calls, next.Log.Calls)
	note(&applied, "plugins.dirs", old.Plugins.Dirs, next.Plugins.Dirs)
	note(&applied, "plugins.verify", old.Plugins.Verify, next.Plugins.Verify)
	note(&applied, "plugins.lock", old.Plugins.Lock, next.Plugins.Lock)
	note(&applied, "plugins.defaults", old.Plugins.Defaults, next.Plugins.Defaults)
	for _, name := range sectionNames(old, next) {
		a, b := old.Plugins.For(name), next.Plugins.For(name)
		if !bytes.Equal(a.Config, b.Config) || !reflect.DeepEqual(a.Host, b.Host) {
			applied = append(applied, sectionKey(name))
		}
	}
	note(&needsRestart, "log.dir", old.Log.Dir, next.Log.Dir)
	note(&needsRestart, "log.max_size_mb", old.Log.MaxSizeMB, next.Log.MaxSizeMB)
	note(&needsRestart, "log.max_files", old.Log.MaxFiles, next.Log.MaxFiles)
	note(&needsRestart, "plugins.order", old.Plugins.Order, next.Plugins.Order)
	note(&needsRestart, "supervise", old.Supervise, next.Supervise)
	return applied, needsRestart
}

// sectionKey names a plugin's section.
func sectionKey(plugin string) string { return "plugins." + plugin }

// sectionNames are the plugins that either configuration has a section for,
// sorted.
func sectionNames(a, b *config.Config) []string {
	names := slices.Collect(maps.Keys(a.Plugins.Sections))
	for name := range b.Plugins.Sections {
		if _, both := a.Plugins.Sections[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
