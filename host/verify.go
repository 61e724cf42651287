package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/launch"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/proto/envelope"
)

// writerPatience is how long a file that is still being written is waited for
// by who wants to know about it.
const writerPatience = 3 * time.Second

// What a verdict says that the host would do.
const (
	actionStart   = "start"
	actionReplace = "replace"
	actionNone    = "none"
	actionRefuse  = "refuse"
)

// trial is a verdict and the private copy that it was given on.
type trial struct {
	router.Verdict
	copy catalog.Candidate
}

// try judges a plugin's file as if it lay in dir, one of the plugin directories
// or "" for none: first the file, then what a process made of it says. All that
// this needs lies in sandbox.
func (h *Host) try(ctx context.Context, path, dir, sandbox string) (trial, error) {
	t := trial{Verdict: router.Verdict{File: path}}
	refuse := func(format string, args ...any) (trial, error) {
		t.OK, t.Action, t.Reason = false, actionRefuse, fmt.Sprintf(format, args...)
		return t, nil
	}
	store, err := catalog.OpenStore(filepath.Join(sandbox, "store"))
	if err != nil {
		return trial{}, err
	}
	accepted, refused, err := inspect(ctx, path, store)
	switch {
	case err != nil:
		return trial{}, err
	case refused != nil:
		t.Name = refused.Name
		return refuse("%s", refused.Reason)
	}
	if dir == filepath.Dir(path) {
		// Who can write the directory can replace every file in it.
		info, err := os.Stat(dir)
		if err != nil {
			return trial{}, err
		}
		if r := catalog.CheckAccess(info, dir); r != nil {
			t.Name = accepted.Name
			return refuse("lies in %s, which %s", dir, r.Reason)
		}
	}
	t.copy, t.Name, t.SHA256 = *accepted, accepted.Name, accepted.SHA256
	cfg := h.config.Load()
	opts := h.catalogOptions(cfg)
	if opts.Strict {
		if opts.Lock == nil && !errors.Is(opts.LockErr, fs.ErrNotExist) {
			return refuse("is not pinned: plugins.verify is strict and the pins cannot be read (%v); mend that", opts.LockErr)
		}
		if opts.Lock == nil || opts.Lock.Pins[t.Name] != t.SHA256 {
			return refuse("is not pinned, and plugins.verify is strict; if you trust it, let %s have the line: %s %s",
				cmp.Or(cfg.Plugins.Lock, "the file that plugins.lock should name"), t.Name, t.SHA256)
		}
	}
	if winner := h.shadowing(opts.Dirs, t.Name, dir, path); winner != "" {
		return refuse("would not be used: plugin %s comes from %s, an earlier directory; remove one of the two", t.Name, winner)
	}

	section := cfg.Plugins.For(t.Name)
	launcher, err := launch.New(launch.Options{
		RuntimeDir: h.paths.runtime, Marker: marker + "=" + h.paths.id, HostVersion: release.Version(), Log: h.log.Named("verify"),
	})
	if err != nil {
		return trial{}, err
	}
	env, err := h.sandboxEnv(sandbox)
	if err != nil {
		return trial{}, err
	}
	probed, err := h.supervisor.Probe(ctx, launcher, supervise.Spec{
		Name: t.Name, File: path, Exec: t.copy.Exec, SHA256: t.SHA256, Env: env, Config: section.Config,
	})
	if probed.Set != nil {
		t.Version = probed.Set.Version
		t.Methods = probed.Set.Names()
	}
	var failed *supervise.StartError
	switch {
	case err != nil && h.isEnding():
		return trial{}, errEnding
	case ctx.Err() != nil:
		return trial{}, ctx.Err()
	case errors.As(err, &failed) && failed.Step == "claim":
		return refuse("%v", failed.Err)
	case failed != nil:
		return refuse("would not start: %v", failed)
	case err != nil:
		return trial{}, err
	}
	for _, name := range probed.Evicts {
		t.Notes = append(t.Notes, "plugin "+name+" would be refused: it has a method that this one would take")
	}
	t.OK, t.Action = true, actionStart
	now, known := h.supervisor.Info(t.Name)
	switch {
	case section.Host.Disabled:
		t.Action, t.Reason = actionNone, disabledBy(t.Name)
	case known && now.State != supervise.Refused && now.State != supervise.Stopped:
		t.Action = actionReplace
		if now.SHA256 == t.SHA256 {
			t.Action, t.Reason = actionNone, "the host has this very plugin already; it is "+string(now.State)
		}
	}
	return t, nil
}

// inspect judges a file, and waits a moment when it is still being written.
func inspect(ctx context.Context, path string, store *catalog.Store) (*catalog.Candidate, *catalog.Refusal, error) {
	for until := time.Now().Add(writerPatience); ; {
		accepted, refused, err := catalog.Inspect(ctx, path, catalog.Options{Store: store})
		switch {
		case errors.Is(err, catalog.ErrBeingWritten) && time.Now().Before(until):
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil, nil, &envelope.Error{Code: envelope.NotFound, Message: "there is no file " + path}
		case errors.Is(err, fs.ErrPermission):
			return nil, nil, &envelope.Error{Code: envelope.PermissionDenied, Message: err.Error()}
		default:
			return accepted, refused, err
		}
		select {
		case <-time.After(pendingMin):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// shadowing gives the file that would keep the name from one in dir, if there
// is one: it lies in an earlier directory.
func (h *Host) shadowing(dirs []string, name, dir, path string) string {
	last := h.discovery.last.Load()
	if last == nil {
		return ""
	}
	holder := ""
	for _, c := range last.Accepted {
		if c.Name == name {
			holder = c.File
		}
	}
	for _, p := range last.Pending {
		if p.Name == name {
			holder = p.File
		}
	}
	mine, its := slices.Index(dirs, dir), slices.Index(dirs, filepath.Dir(holder))
	if holder == "" || holder == path || mine < 0 || its < 0 || its >= mine {
		return ""
	}
	return holder
}

// sandboxEnv is what every plugin gets, with folders in the sandbox and nothing
// that the configuration gives to one plugin: whether this file is to be
// trusted with that is not known yet.
func (h *Host) sandboxEnv(sandbox string) ([]string, error) {
	set := map[string]string{}
	for name, folder := range map[string]string{
		"TMPDIR": "tmp", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
		"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config",
	} {
		set[name] = filepath.Join(sandbox, folder)
		if err := os.Mkdir(set[name], 0o700); err != nil {
			return nil, err
		}
	}
	env, _ := catalog.Env(h.opts.Environ, set, nil)
	return env, nil
}
