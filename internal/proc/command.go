// Package proc starts, watches and ends child processes. The host starts
// plugins with it, plugins start browsers, skills and agents with it.
//
// A process started here leads a process group of its own, dies with its
// parent (Linux), gets the environment and descriptors that it was given and
// no other, and is noticed to have ended from the process itself: somebody
// else who holds its pipes delays nothing. When the leader ends, the rest of
// its group is killed before the leader is reaped, while the group's number
// still cannot belong to anybody else.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Command describes a process to start. Start does not keep it.
type Command struct {
	// Path of the executable; it is not searched for.
	Path string
	// Args is the whole argument vector; empty: Path alone.
	Args []string
	// Env is the whole environment; nothing of the parent's is added.
	Env []string
	// Dir is the working directory; empty: the parent's.
	Dir string
	// Stdin, Stdout and Stderr are the child's ends; nil: /dev/null. They are
	// set to blocking mode, as children expect, and stay the caller's to close.
	Stdin, Stdout, Stderr *os.File
	// ExtraFiles become descriptors 3 and up.
	ExtraFiles []*os.File
	// Limits hold from the first moments of the process on.
	Limits Limits
	// Cgroup is the open folder of the control group (v2) that the process is
	// born into; nil: the parent's. Linux alone has them.
	Cgroup *os.File
}

// Limits bound a process and what it starts.
type Limits struct {
	// Nice is added to the parent's nice value; 0 adds nothing.
	Nice int
	// NoFile bounds open files, as far as the parent's own hard limit allows;
	// 0: as the parent.
	NoFile uint64
}

// A file that is being executed while another process still holds it open for
// writing (a fork between write and close is enough) is busy for a moment.
const (
	busyTries = 10
	busyDelay = 5 * time.Millisecond // grows linearly: 275 ms in all
)

// Start starts c. An error wraps the system's errno; nothing is left of a
// process that could not be started. It may be called concurrently.
func Start(c Command) (*Process, error) {
	if c.Path == "" {
		return nil, errors.New("start process: no path given")
	}
	args := c.Args
	if len(args) == 0 {
		args = []string{c.Path}
	}
	for _, e := range c.Env {
		if strings.IndexByte(e, 0) >= 0 || strings.IndexByte(e, '=') < 1 {
			// The value may be a secret: only the name is told.
			name, _, _ := strings.Cut(e, "=")
			return nil, fmt.Errorf("start %s: environment entry %q is not NAME=value", c.Path, name)
		}
	}
	files, null, err := childFiles(c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	if null != nil {
		defer null.Close()
	}
	req := forkRequest{path: c.Path, args: args, cgroup: c.Cgroup, attr: &syscall.ProcAttr{
		Dir: c.Dir,
		// Never nil: nil would mean the parent's environment.
		Env:   append(make([]string, 0, len(c.Env)), c.Env...),
		Files: files,
	}}
	var h handle
	for try := 1; ; try++ {
		h, err = fork(req)
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			break
		}
		time.Sleep(time.Duration(try) * busyDelay)
	}
	keepAlive(c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	// Not reaped yet, so the number is still this child's, dead or alive.
	return newProcess(h, limit(h.pid, c.Limits)), nil
}

// childFiles lists the child's descriptors, with /dev/null for absent ones.
func childFiles(c Command) (fds []uintptr, null *os.File, err error) {
	std := [3]*os.File{c.Stdin, c.Stdout, c.Stderr}
	for i, f := range std {
		if f != nil {
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, nil, err
			}
		}
		std[i] = null
	}
	for _, f := range append(std[:], c.ExtraFiles...) {
		fds = append(fds, f.Fd())
	}
	return fds, null, nil
}
