//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

type forkRequest struct {
	path   string
	args   []string
	attr   *syscall.ProcAttr
	cgroup *os.File // there are none here
}

type handle struct{ pid int }

// fork starts a child. There is no death signal here: children of a parent
// that was killed are found by their marker where that can be read.
func fork(req forkRequest) (handle, error) {
	req.attr.Sys = &syscall.SysProcAttr{Setpgid: true}
	pid, _, err := syscall.StartProcess(req.path, req.args, req.attr)
	return handle{pid}, err
}

// bare is a handle of a child.
func bare(pid int) handle { return handle{pid} }
