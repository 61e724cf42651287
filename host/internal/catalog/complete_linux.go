package catalog

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// noWriter asks the kernel whether somebody has f open for writing. It takes
// a read lease, which is only granted when nobody has, and gives it back at
// once: an opener that meets the lease waits for microseconds. known is false
// where leases do not work: a file of another owner, a network file system.
func noWriter(f *os.File) (free, known bool, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, false, err
	}
	var lease, release error
	err = raw.Control(func(fd uintptr) {
		if _, lease = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK); lease == nil {
			_, release = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		}
	})
	switch {
	case err != nil:
		return false, false, err
	case lease == nil && release != nil:
		return false, false, fmt.Errorf("give back the read lease on %s: %w", f.Name(), release)
	case lease == nil:
		return true, true, nil
	case errors.Is(lease, unix.EAGAIN):
		return false, true, nil
	}
	return false, false, nil
}
