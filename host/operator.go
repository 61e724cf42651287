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
	"time"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
)

// outcomeBound is how long a request waits for plugins to start: more than the
// steps of a start take.
const outcomeBound = 25 * time.Second

// operator answers plugins.rescan, verify, install, remove and lock.
type operator struct{ h *Host }

var _ router.Catalog = operator{}

// Rescan looks, and waits until all that is new serves or has failed, also what
// the host has found by itself a moment ago.
func (o operator) Rescan(ctx context.Context) (router.Rescan, error) {
	seen, err := o.h.reconciler.ask(ctx, writerPatience, nil)
	if err != nil {
		return router.Rescan{}, coded(err)
	}
	outcomes, cancel := context.WithTimeout(ctx, outcomeBound)
	defer cancel()
	for _, p := range o.h.supervisor.List(true) {
		_ = o.h.supervisor.Await(outcomes, p.Name) // what came of it stands in the list
	}
	if err := ctx.Err(); err != nil {
		return router.Rescan{}, err
	}
	out := router.Rescan{Removed: seen.changes.Removed}
	failed := map[string]bool{}
	for _, p := range o.h.supervisor.List(true) {
		switch p.State {
		case supervise.Starting, supervise.Draining, supervise.Stopped:
			continue
		case supervise.Ready:
			if p.Reason == "" {
				continue // else a new generation of it does not start
			}
		}
		failed[p.Name] = failed[p.Name] || p.SHA256 != "" // and no other file of the name
		out.Refused = append(out.Refused, router.RefusedFile{Name: p.Name, File: p.File, Reason: p.Reason})
	}
	good := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return failed[name] })
	}
	out.Started, out.Replaced = good(seen.changes.Started), good(seen.changes.Replaced)
	return out, nil
}

// whyNot is the reason of a start that failed, without the plugin's name, or of
// a refusal.
func (o operator) whyNot(name string, err error) string {
	var u *supervise.UnavailableError
	if errors.As(err, &u) {
		return u.Reason
	}
	if info, known := o.h.supervisor.Info(name); known && info.Reason != "" {
		return info.Reason
	}
	return err.Error()
}

// Verify says what the host would do with a file.
func (o operator) Verify(ctx context.Context, path string) (router.Verdict, error) {
	return onFiles(ctx, o.h, func() (router.Verdict, error) {
		dirs := o.h.catalogOptions(o.h.config.Load()).Dirs
		dir := filepath.Dir(path)
		if !slices.Contains(dirs, dir) {
			dir, _ = catalog.OwnDir(dirs) // without one, no other file is in its way
		}
		t, err := o.h.inSandbox(ctx, path, dir, nil)
		return t.Verdict, coded(err)
	})
}

// Install checks a file and puts it into the user's plugin folder. What was
// checked is what is put there: the private copy.
func (o operator) Install(ctx context.Context, path string) (router.Verdict, error) {
	return onFiles(ctx, o.h, func() (router.Verdict, error) {
		dir, err := catalog.OwnDir(o.h.catalogOptions(o.h.config.Load()).Dirs)
		if err != nil {
			return router.Verdict{}, &envelope.Error{Code: envelope.PermissionDenied, Message: err.Error()}
		}
		t, err := o.h.inSandbox(ctx, path, dir, func(t trial) error {
			staged, err := catalog.Stage(t.copy, dir)
			if err != nil {
				return err
			}
			// No look may come between the steps of a replacement.
			_, err = o.h.reconciler.ask(ctx, writerPatience, staged.Place)
			return errors.Join(err, staged.Discard())
		})
		if err != nil || !t.OK {
			return t.Verdict, coded(err)
		}
		t.File = filepath.Join(dir, catalog.Prefix+t.Name)
		if t.Action == actionNone {
			return t.Verdict, nil
		}
		if err := o.h.supervisor.Await(ctx, t.Name); err != nil && ctx.Err() == nil {
			t.OK, t.Reason = false, "is installed, but does not serve: "+o.whyNot(t.Name, err)
		}
		return t.Verdict, ctx.Err()
	})
}

// Remove takes a plugin out of the user's plugin folder and waits until its
// methods are gone.
func (o operator) Remove(ctx context.Context, name string) error {
	_, err := onFiles(ctx, o.h, func() (struct{}, error) { return struct{}{}, o.remove(ctx, name) })
	return err
}

func (o operator) remove(ctx context.Context, name string) error {
	if !catalog.ValidName(name) {
		return &envelope.Error{Code: envelope.InvalidParams, Message: "name: this is no plugin's name; it is what follows " + catalog.Prefix}
	}
	dir, err := catalog.OwnDir(o.h.catalogOptions(o.h.config.Load()).Dirs)
	if err != nil {
		return &envelope.Error{Code: envelope.PermissionDenied, Message: err.Error()}
	}
	seen, err := o.h.reconciler.ask(ctx, 0, func() error { return catalog.Uninstall(name, dir) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text := fmt.Sprintf("%s has no plugin %s", dir, name)
		if info, known := o.h.supervisor.Info(name); known && filepath.Dir(info.File) != dir {
			text += ": it lies at " + info.File + ", which is not yours to remove from here; remove that file"
		}
		return &envelope.Error{Code: envelope.NotFound, Message: text}
	case err != nil:
		return coded(err)
	}
	if slices.Contains(seen.changes.Removed, name) {
		// It is gone, or another file of its name took its place.
		if err := o.h.supervisor.Await(ctx, name); ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Lock pins what the plugin directories hold, whatever the pins say now, except
// what is switched off.
func (o operator) Lock(ctx context.Context) (router.LockFile, error) {
	return onFiles(ctx, o.h, func() (router.LockFile, error) {
		var out router.LockFile
		_, err := o.h.reconciler.ask(ctx, writerPatience, func() (err error) {
			out, err = o.h.lock(ctx)
			return err
		})
		if err != nil {
			return router.LockFile{}, coded(err)
		}
		return out, nil
	})
}

// lock writes the lock file. It runs on the reconciler's goroutine.
func (h *Host) lock(ctx context.Context) (router.LockFile, error) {
	cfg := h.config.Load()
	out := router.LockFile{File: cfg.Plugins.Lock}
	if out.File == "" {
		return out, errors.New("no lock file is named; set plugins.lock in the configuration")
	}
	opts := h.catalogOptions(cfg)
	opts.Lock, opts.Strict = nil, false
	found, err := catalog.Scan(ctx, opts)
	switch {
	case err != nil:
		return out, err
	case len(found.Pending) > 0:
		return out, fmt.Errorf("%s is still being written; try again", found.Pending[0].File)
	case len(found.Unread) > 0:
		return out, fmt.Errorf("%s cannot be read at the moment; try again", found.Unread[0])
	}
	lock := catalog.Lock{Pins: map[string]string{}}
	for _, c := range found.Accepted {
		if !cfg.Plugins.For(c.Name).Host.Disabled {
			lock.Pins[c.Name] = c.SHA256
			out.Plugins = append(out.Plugins, router.Pin{Name: c.Name, SHA256: c.SHA256})
		}
	}
	slices.SortFunc(out.Plugins, func(a, b router.Pin) int { return cmp.Compare(a.Name, b.Name) })
	return out, lock.Write(out.File)
}

// inSandbox tries a file out and then has use act on the copy, when the verdict
// is good. Nothing of the sandbox is left.
func (h *Host) inSandbox(ctx context.Context, path, dir string, use func(trial) error) (t trial, err error) {
	if !filepath.IsAbs(path) {
		return t, &envelope.Error{Code: envelope.InvalidParams, Message: "path: must be absolute"}
	}
	sandbox, err := h.paths.sandbox()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(sandbox)) }()
	t, err = h.try(ctx, filepath.Clean(path), dir, sandbox)
	if err == nil && t.OK && use != nil {
		err = use(t)
	}
	return t, err
}

// onFiles runs work on plugin files, one at a time. A file system that hangs
// keeps the next one waiting, each inside its own ctx.
func onFiles[T any](ctx context.Context, h *Host, work func() (T, error)) (T, error) {
	var none T
	select {
	case h.files <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := work()
		<-h.files
		done <- outcome{result, err}
	}()
	select {
	case out := <-done:
		return out.result, out.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// coded gives failures of the file system and of a stop their codes; others
// are the operator's to read.
func coded(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &envelope.Error{Code: envelope.PermissionDenied, Message: err.Error()}
	case errors.Is(err, errEnding):
		return &envelope.Error{Code: envelope.InternalError, Message: err.Error()}
	}
	return err
}
