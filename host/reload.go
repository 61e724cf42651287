package host

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/socket"
)

// Reload reads the configuration again. What can change while the host runs is
// applied and named, the rest is named in needsRestart. A configuration that
// is not valid changes nothing.
func (h *Host) Reload(ctx context.Context) (applied, needsRestart []string, err error) {
	if state, err := socket.Reloading(); err == nil {
		h.notify(state)
		defer h.notify(socket.Ready)
	}
	// Not the results themselves: when ctx ends first, who is asked may still
	// be writing.
	var live, rest []string
	_, err = h.reconciler.ask(ctx, 0, func() (err error) {
		live, rest, err = h.readConfig()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	applied, needsRestart = live, rest
	h.log.Info("configuration read", "applied", applied, "needs_restart", needsRestart)
	return applied, needsRestart, nil
}

// readConfig puts a new configuration in force. It runs on the reconciler's
// goroutine, which looks by it next.
func (h *Host) readConfig() (applied, needsRestart []string, err error) {
	next, err := config.Load(h.opts.Config, h.opts.Getenv)
	if err != nil {
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
			applied = append(applied, "plugins."+name)
		}
	}
	note(&needsRestart, "log.dir", old.Log.Dir, next.Log.Dir)
	note(&needsRestart, "log.max_size_mb", old.Log.MaxSizeMB, next.Log.MaxSizeMB)
	note(&needsRestart, "log.max_files", old.Log.MaxFiles, next.Log.MaxFiles)
	note(&needsRestart, "plugins.order", old.Plugins.Order, next.Plugins.Order)
	note(&needsRestart, "supervise", old.Supervise, next.Supervise)
	return applied, needsRestart
}

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
