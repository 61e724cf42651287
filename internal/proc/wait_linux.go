package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the child has ended and can be reaped; it does not
// reap it. With a pidfd the goroutine is parked in the poller: a blocked
// waitid would cost a thread for each child.
func awaitExit(h handle) {
	if h.pidfd >= 0 {
		f, err := pollable(h.pidfd)
		if err != nil {
			_ = unix.Close(h.pidfd)
		} else {
			ok := awaitReadable(f)
			_ = f.Close()
			if ok {
				return
			}
		}
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, h.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func pollable(pidfd int) (*os.File, error) {
	if err := unix.SetNonblock(pidfd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(pidfd), "pidfd"), nil
}

// awaitReadable waits for a pidfd to say that its process has ended. It is
// false when the descriptor cannot be polled or was closed meanwhile.
func awaitReadable(f *os.File) bool {
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = rc.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		return n > 0 && err == nil
	})
	return err == nil
}
