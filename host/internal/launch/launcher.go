// Package launch runs plugins as real processes. Package supervise asks it
// through its Launcher and Process interfaces; nothing else calls it, and no
// other package of the host imports go-plugin.
//
// go-plugin's Client does the handshake and owns the gRPC connection, always
// on a runner of ours over package proc. It is given as little to go wrong
// with as possible: a handshake line that was checked and written anew, no
// log output to parse, no process whose end it could wait for in vain, and a
// Kill that comes last, when the connection is closed and the process gone.
//
// There is no TLS between host and plugin. A folder of mode 0700 made for each
// start, and a check that the peer on the socket is the child or a process of
// its group, stand in for it.
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/cgroup"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
)

// MaxRuntimeDir bounds the runtime folder's path in bytes: a socket's path
// takes at most 107, and up to 38 are added below the folder.
const MaxRuntimeDir = 69

// Options configure a Launcher.
type Options struct {
	// RuntimeDir is where each start gets a folder for its sockets: absolute,
	// at most MaxRuntimeDir bytes. It is made if absent, and must be a folder
	// of this user's with mode 0700. Nobody else may use it.
	RuntimeDir string
	// Marker, in the form NAME=value, is added to every plugin's environment,
	// so that Clear finds what a killed host left. Empty: none.
	Marker string
	// Cgroups gives every process a control group; nil: there are none, and the
	// launcher does with less.
	Cgroups *cgroup.Tree
	// HostVersion is told to plugins, for information.
	HostVersion string
	// Log is for the launcher's own messages; nil: none.
	Log hclog.Logger
	// Output receives what plugins print and log, a line at a time. It may be
	// called concurrently for one plugin, and must not block: the plugin would
	// wait for it. Nil: lines are thrown away.
	Output func(plugin string, line LogLine)
	// Dropped says that n more lines of a plugin's were dropped because it
	// printed too much. The rules of Output hold.
	Dropped func(plugin string, n uint64)
}

// Launcher starts plugin processes. It may be used concurrently.
type Launcher struct {
	opts    Options
	id      string // no other launcher's, ever
	starts  atomic.Uint64
	sampler sampler
}

var _ supervise.Launcher = (*Launcher)(nil)

// New checks the options and makes the runtime folder.
func New(o Options) (*Launcher, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Output == nil {
		o.Output = func(string, LogLine) {}
	}
	if o.Dropped == nil {
		o.Dropped = func(string, uint64) {}
	}
	if o.Marker != "" && strings.IndexByte(o.Marker, '=') < 1 {
		return nil, fmt.Errorf("marker %q: must be NAME=value", o.Marker)
	}
	if err := checkRuntimeDir(o.RuntimeDir); err != nil {
		return nil, err
	}
	return &Launcher{opts: o, id: rand.Text()[:16]}, nil
}

func checkRuntimeDir(dir string) error {
	switch {
	case !filepath.IsAbs(dir) || filepath.Clean(dir) != dir:
		return fmt.Errorf("runtime folder %q: must be an absolute path in its shortest form", dir)
	case len(dir) > MaxRuntimeDir:
		return fmt.Errorf("runtime folder %s: its path has %d bytes, at most %d leave room for socket names; choose a shorter one",
			dir, len(dir), MaxRuntimeDir)
	case strings.ContainsAny(dir, "|\n\r"):
		// They separate fields and lines of the handshake.
		return fmt.Errorf("runtime folder %q: must not contain | or line breaks", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("runtime folder: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("runtime folder: %w", err)
	}
	switch st, ok := fi.Sys().(*syscall.Stat_t); {
	case !fi.IsDir():
		return fmt.Errorf("runtime folder %s: is not a folder", dir)
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("runtime folder %s: belongs to uid %d, not to %d", dir, st.Uid, os.Geteuid())
	case fi.Mode().Perm() != 0o700:
		return fmt.Errorf("runtime folder %s: has mode %04o, must have 0700", dir, fi.Mode().Perm())
	}
	return nil
}

// Clear ends processes and removes folders that a host left which could not
// do it itself. The caller holds the lock that makes it the only host, and
// calls Clear before the first Launch. It returns how many processes it
// ended.
func (l *Launcher) Clear(ctx context.Context) (killed int, err error) {
	var errs []error
	if l.opts.Marker != "" {
		ids, err := proc.KillMarked(ctx, l.opts.Marker)
		killed = len(ids)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			errs = append(errs, err)
		}
	}
	if l.opts.Cgroups != nil {
		if err := l.opts.Cgroups.Clear(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	old, err := filepath.Glob(filepath.Join(l.opts.RuntimeDir, "plugin-dir*"))
	if err != nil {
		errs = append(errs, err)
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
		}
	}
	return killed, errors.Join(errs...)
}

// abortWait is how long Launch waits, once ctx has ended, for what it began
// to be undone. It goes on in the background if the kernel is slower.
const abortWait = 800 * time.Millisecond

// Launch starts spec's executable and returns when it has answered the
// handshake and its socket was reached. A spec that names a running plugin's
// address is attached to instead.
func (l *Launcher) Launch(ctx context.Context, spec supervise.Spec) (supervise.Process, error) {
	if spec.Attach != "" {
		return l.Reattach(ctx, spec.Name, spec.Attach)
	}
	sink := newSink(spec.Name, l.opts.Output, l.opts.Dropped)
	r := newRunner(l, spec, sink)
	return l.begin(ctx, newSession(l, r.name, r, sink))
}

// begin runs a session's start inside ctx.
func (l *Launcher) begin(ctx context.Context, s *session) (supervise.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &supervise.StartError{Step: stepLaunch, Err: &givenUp{"the start was given up before it began", err}}
	}
	began := time.Now()
	done := make(chan error, 1)
	go func() {
		err := s.start()
		if err != nil {
			s.release()
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return newProcess(s), nil
	case <-ctx.Done():
	}
	err := s.peer.abort(ctx.Err(), time.Since(began))
	s.dialer.shut(err)
	t := time.NewTimer(abortWait)
	defer t.Stop()
	select {
	case started := <-done:
		if started == nil {
			// It came up in the very moment; nobody waits for it any more.
			s.release()
		}
	case <-t.C:
		l.opts.Log.Warn("a plugin's start hangs in the kernel and is cleaned up later", "plugin", s.name)
		go func() {
			if <-done == nil {
				s.release()
			}
		}()
	}
	return nil, err
}

// discard closes what has no error worth telling.
func discard(c io.Closer) { _ = c.Close() }
