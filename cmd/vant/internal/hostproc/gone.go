package hostproc

import (
	"errors"
	"syscall"
)

// Gone says whether no process of this number runs any more. One that has
// ended and whom nobody has waited for is gone.
func Gone(pid int) bool {
	if pid <= 0 {
		return true
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	return zombie(pid)
}
