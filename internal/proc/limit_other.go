//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

// limit sets the nice value. The limits of another process cannot be set here.
func limit(pid int, want Limits) (set Limits) {
	if want.Nice == 0 {
		return set
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return set
	}
	if unix.Setpriority(unix.PRIO_PROCESS, pid, max(-20, min(own+want.Nice, 20))) == nil {
		set.Nice = want.Nice
	}
	return set
}
