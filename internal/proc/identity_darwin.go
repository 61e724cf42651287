package proc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

func inspect(pid int) (start uint64, dead bool, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false, err
	}
	t := k.Proc.P_starttime
	return uint64(t.Sec)*1e6 + uint64(t.Usec), k.Proc.P_stat == zombie, nil
}

func ended(pid int) bool {
	_, dead, err := inspect(pid)
	return err != nil || dead
}

func signal(id Identity, sig syscall.Signal) error {
	if !Alive(id) {
		return ErrGone
	}
	if err := unix.Kill(id.Pid, sig); err != nil {
		if err == unix.ESRCH {
			return ErrGone
		}
		return fmt.Errorf("signal process %d: %w", id.Pid, err)
	}
	return nil
}
