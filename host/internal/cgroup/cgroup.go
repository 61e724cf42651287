// Package cgroup gives each plugin process a control group (version 2) of its
// own, below one that was delegated to this host. Package host opens the Tree,
// package launch makes the groups.
//
// A group holds whatever a process starts, wherever it moves to: it is how
// deep descendants are found and ended, and how memory and processor are
// bounded. Where nothing was delegated there is no Tree, and package launch
// does with less.
package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Files of a control group.
const (
	procs   = "cgroup.procs"
	subtree = "cgroup.subtree_control"
	kill    = "cgroup.kill"
)

// leaf is the group that this process moves into: a group that hands
// controllers down may hold no process itself.
const leaf = "vantd"

// Limits of a group; 0: none.
type Limits struct {
	MemoryMax int64 // bytes
	CPUWeight int   // 1 to 10000; a group without one has 100
}

// Tree is a delegated control group. Its methods may be called concurrently.
type Tree struct {
	dir, id     string
	memory, cpu bool
}

// Open takes the delegated group in dir for the host called id. Controllers
// are handed down only when nobody but this process is in dir itself, which
// then moves into a group below; else groups serve to end processes alone.
func Open(dir, id string) (*Tree, error) {
	if _, err := os.Stat(filepath.Join(dir, kill)); err != nil {
		return nil, fmt.Errorf("control group %s cannot be killed: Linux 5.14 or later is needed", dir)
	}
	t := &Tree{dir: dir, id: id}
	if err := t.handDown(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tree) handDown() error {
	has, err := words(filepath.Join(t.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	down, err := words(filepath.Join(t.dir, subtree))
	if err != nil {
		return err
	}
	var wanted []string
	for _, c := range []string{"memory", "cpu"} {
		if slices.Contains(has, c) && !slices.Contains(down, c) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) > 0 && t.makeRoom() {
		for _, c := range wanted {
			// One that is refused is not there below.
			_ = write(t.dir, subtree, "+"+c)
		}
		if down, err = words(filepath.Join(t.dir, subtree)); err != nil {
			return err
		}
	}
	has = nil
	for _, c := range down {
		has = append(has, strings.TrimPrefix(c, "+"))
	}
	t.memory, t.cpu = slices.Contains(has, "memory"), slices.Contains(has, "cpu")
	return nil
}

// makeRoom leaves dir without a process of its own, if that is possible by
// moving this one alone.
func (t *Tree) makeRoom() bool {
	in, err := words(filepath.Join(t.dir, procs))
	if err != nil {
		return false
	}
	self := strconv.Itoa(os.Getpid())
	switch {
	case len(in) == 0:
		return true
	case len(in) > 1 || in[0] != self:
		return false
	}
	below := filepath.Join(t.dir, leaf)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	return write(below, procs, self) == nil
}

// String says what the groups are good for.
func (t *Tree) String() string {
	return fmt.Sprintf("%s (memory: %t, cpu: %t)", t.dir, t.memory, t.cpu)
}

// Clear ends what an earlier host of this id left in groups, and removes them.
func (t *Tree) Clear(ctx context.Context) error {
	old, err := filepath.Glob(filepath.Join(t.dir, t.id+".*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range old {
		errs = append(errs, end(ctx, dir))
	}
	return errors.Join(errs...)
}

// Group is the control group of one process and of all that it starts.
type Group struct {
	dir    string
	folder *os.File
	// Memory and CPU say whether the group bounds them.
	Memory, CPU bool
}

// New makes a group. What l asks for and the tree has no controller for is not
// bounded. The owner must call End.
func (t *Tree) New(name string, l Limits) (*Group, error) {
	g := &Group{dir: filepath.Join(t.dir, t.id+"."+name)}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if t.memory && l.MemoryMax > 0 {
		g.Memory = write(g.dir, "memory.max", strconv.FormatInt(l.MemoryMax, 10)) == nil
		// The rest of a plugin is of no use when one of its processes is killed.
		_ = write(g.dir, "memory.oom.group", "1")
		// Else it would slow the machine down before it meets the limit.
		_ = write(g.dir, "memory.swap.max", "0")
	}
	if t.cpu && l.CPUWeight > 0 {
		g.CPU = write(g.dir, "cpu.weight", strconv.Itoa(l.CPUWeight)) == nil
	}
	var err error
	if g.folder, err = os.Open(g.dir); err != nil {
		return nil, errors.Join(err, os.Remove(g.dir))
	}
	return g, nil
}

// Folder is the group for package proc; it stays the group's to close.
func (g *Group) Folder() *os.File { return g.folder }

// OutOfMemory says whether the kernel killed processes of the group because it
// met its limit. It is not known any more after End.
func (g *Group) OutOfMemory() bool {
	b, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

// End kills all processes of the group and removes it. It returns when both is
// done, or ctx ends.
func (g *Group) End(ctx context.Context) error {
	g.folder.Close()
	return end(ctx, g.dir)
}

func end(ctx context.Context, dir string) error {
	for delay := time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		if err := remove(dir); !errors.Is(err, unix.EBUSY) {
			return err
		}
		if err := write(dir, kill, "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("control group %s: its processes do not end: %w", dir, ctx.Err())
		}
	}
}

// remove removes a group with those that its processes have made below it. It
// is EBUSY while there is a process in one of them.
func remove(dir string) error {
	below, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range below {
		if d.IsDir() {
			if err := remove(filepath.Join(dir, d.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove control group %s: %w", dir, err)
	}
	return nil
}

// write sets a file of a group in one write, as the kernel wants it.
func write(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

func words(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, w := range bytes.Fields(b) {
		list = append(list, string(w))
	}
	return list, nil
}
