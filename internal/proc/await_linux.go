package proc

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// awaitFD waits for the end of a process that need not be a child. It is
// false when the kernel offers no descriptor to wait on, or ctx ended.
func awaitFD(ctx context.Context, id Identity) bool {
	fd, err := unix.PidfdOpen(id.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if !Alive(id) {
		return true
	}
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()
	return awaitReadable(f)
}
