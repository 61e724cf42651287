package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vant-run/vant/tools/internal/procfs"
)

const (
	// settleBound is how long a host may take to be as it was.
	settleBound = 20 * time.Second
	// spareGoroutines may be more than before: timers and polls that end.
	spareGoroutines = 4
	// spareMemory in MiB is by how much the allocator may keep more of one load
	// than of another.
	spareMemory = 48
)

// snapshot is what a host holds at a moment.
type snapshot struct {
	descriptors int
	open        string // what they are, for a message
	processes   int    // the host, its plugins, theirs
	sockets     int    // in its folders
	files       int    // sockets' folders, private copies and temporary files
	lying       string // their names, for a message
	rss         float64
}

func (s snapshot) String() string {
	return fmt.Sprintf("%d descriptors, %d processes, %d sockets, %d files, %.1f MiB", s.descriptors, s.processes, s.sockets, s.files, s.rss)
}

// unseen says which check does not tell more from less.
func (s snapshot) unseen(live snapshot) error {
	var errs []error
	for _, c := range []struct {
		what       string
		idle, live float64
	}{
		{"descriptors", float64(s.descriptors), float64(live.descriptors)}, {"processes", float64(s.processes), float64(live.processes)},
		{"sockets", float64(s.sockets), float64(live.sockets)}, {"files", float64(s.files), float64(live.files)}, {"MiB", s.rss, live.rss},
	} {
		if c.live <= c.idle {
			errs = append(errs, fmt.Errorf("the check of %s sees nothing: %v idle, %v live", c.what, c.idle, c.live))
		}
	}
	return errors.Join(errs...)
}

// exceeds says what is more than it was.
func (s snapshot) exceeds(base snapshot) error {
	var errs []error
	for _, c := range []struct {
		what     string
		now, was int
	}{
		{"descriptors", s.descriptors, base.descriptors}, {"processes", s.processes, base.processes},
		{"sockets", s.sockets, base.sockets}, {"files", s.files, base.files},
	} {
		if c.now > c.was {
			errs = append(errs, fmt.Errorf("%d %s are left, there were %d", c.now, c.what, c.was))
		}
	}
	if s.descriptors > base.descriptors {
		errs = append(errs, fmt.Errorf("open are %s, open were %s", s.open, base.open))
	}
	if s.sockets > base.sockets || s.files > base.files {
		errs = append(errs, fmt.Errorf("there are %s, there were %s", s.lying, base.lying))
	}
	if s.rss > base.rss+spareMemory {
		errs = append(errs, fmt.Errorf("%.1f MiB are left, there were %.1f", s.rss, base.rss))
	}
	return errors.Join(errs...)
}

// measure takes a snapshot of a running host.
func measure(h *host) (s snapshot, err error) {
	pid := h.cmd.Process.Pid
	if s.descriptors, s.open, err = descriptors(pid); err != nil {
		return s, err
	}
	s.processes = len(marked(h.dir))
	if s.sockets, s.files, s.lying, err = h.litter(); err != nil {
		return s, err
	}
	s.rss, err = procfs.RSS(pid)
	return s, err
}

// descriptors counts a process's, and says how many there are of each kind.
func descriptors(pid int) (n int, kinds string, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return 0, "", err
	}
	count := map[string]int{}
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		n++
		if kind, _, ok := strings.Cut(target, ":["); ok {
			target = kind // without the number of a socket or a pipe
		}
		count[target]++
	}
	return n, counts(count), nil
}

// litter counts sockets, and what else lies where only what lives may lie, and
// names both.
func (s *stage) litter() (sockets, files int, names string, err error) {
	var all []string
	copies := filepath.Join(s.dir, ".local", "state", "vant", "hosts")
	for _, dir := range []string{s.run(), s.tmp(), copies} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it went while we looked
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "log" && dir == copies:
				return filepath.SkipDir
			case path == dir:
				return nil
			case d.Type()&fs.ModeSocket != 0:
				sockets++
			default:
				files++
			}
			all = append(all, strings.TrimPrefix(path, s.dir))
			return nil
		})
		if err != nil {
			return 0, 0, "", err
		}
	}
	return sockets, files, strings.Join(all, " "), nil
}

// settled waits until nothing changes and gives what there is then.
func settled(ctx context.Context, h *host) (snapshot, error) {
	if err := h.look(); err != nil {
		return snapshot{}, err
	}
	last, err := measure(h)
	for begun := time.Now(); err == nil; {
		if err = pause(ctx, time.Second); err != nil {
			break
		}
		var now snapshot
		if now, err = measure(h); err != nil {
			break
		}
		was := last
		last = now
		if now.rss, was.rss = 0, 0; now == was {
			return last, nil
		}
		if time.Since(begun) > settleBound {
			return last, fmt.Errorf("with nothing to do the host still changes after %v: %v, then %v", settleBound, was, now)
		}
	}
	return last, err
}

// returned waits until nothing is more than it was.
func returned(ctx context.Context, h *host, base snapshot) (snapshot, error) {
	for begun := time.Now(); ; {
		if err := h.look(); err != nil {
			return snapshot{}, err
		}
		// That call's own connection goes first.
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return snapshot{}, err
		}
		now, err := measure(h)
		if err != nil {
			return now, err
		}
		more := now.exceeds(base)
		if more == nil {
			return now, nil
		}
		if time.Since(begun) > settleBound {
			return now, more
		}
		if err := pause(ctx, time.Second); err != nil {
			return now, err
		}
	}
}

// look has the host look at its plugin folders, which it does by itself every
// half minute: when nothing has changed it clears private copies away.
func (h *host) look() error { return h.call("plugins.rescan", "{}", nil) }

// nothingLeft checks what a stopped host leaves.
func (s *stage) nothingLeft() error {
	if left := waitGone(s.dir, goneBound); len(left) > 0 {
		return fmt.Errorf("processes are left: %s", strings.Join(left, ", "))
	}
	var found []string
	for _, dir := range []string{s.run(), s.tmp()} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path != dir && path != s.path()+".lock" {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("files are left: %s", strings.Join(found, ", "))
	}
	return nil
}

// marked finds the processes that have dir in their environment: all that the
// host or a plugin has started. Zombies have none and are no survivors.
func marked(dir string) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(dir+"/")) {
			continue // ended meanwhile, or another user's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitGone waits until no process is marked, and names those that stay.
func waitGone(dir string, bound time.Duration) (names []string) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		pids := marked(dir)
		if len(pids) == 0 {
			return nil
		}
		if time.Since(begun) < bound {
			continue
		}
		for _, pid := range pids {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if err == nil {
				names = append(names, fmt.Sprintf("%s (%d)", bytes.TrimSpace(name), pid))
			}
		}
		return names
	}
}

// killLeft ends what a failed run has left.
func (s *stage) killLeft() {
	for _, pid := range marked(s.dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
