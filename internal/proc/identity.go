package proc

import (
	"errors"
	"syscall"
)

// Identity names one process for as long as the machine runs: pids are used
// again, a pid together with its start time is not.
type Identity struct {
	Pid int `json:"pid"`
	// Start is the start time in the kernel's own unit; 0: not known, and then
	// the identity matches nothing.
	Start uint64 `json:"start"`
}

// ErrGone: the process that was named does not exist any more.
var ErrGone = errors.New("process has ended")

// Identify gives the identity of a process that exists, a zombie too.
func Identify(pid int) (Identity, error) {
	start, _, err := inspect(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Pid: pid, Start: start}, nil
}

// Alive reports whether that very process still runs. A zombie does not.
func Alive(id Identity) bool {
	start, dead, err := inspect(id.Pid)
	return err == nil && !dead && id.Start != 0 && start == id.Start
}

// Signal sends sig to that very process, never to another one that has its
// pid now; then it is ErrGone. Sig 0 only asks.
func Signal(id Identity, sig syscall.Signal) error {
	if id.Pid <= 1 || id.Start == 0 {
		return ErrGone
	}
	return signal(id, sig)
}

// SignalGroup sends sig to the group that id leads, if id is still there
// (running or a zombie) to keep the group's number its own.
func SignalGroup(id Identity, sig syscall.Signal) error {
	if id.Pid <= 1 || id.Start == 0 {
		return ErrGone
	}
	if start, _, err := inspect(id.Pid); err != nil || start != id.Start {
		return ErrGone
	}
	if err := syscall.Kill(-id.Pid, sig); err != nil {
		if err == syscall.ESRCH {
			return ErrGone
		}
		return err
	}
	return nil
}
