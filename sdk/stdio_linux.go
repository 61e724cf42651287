package sdk

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout sets standard output aside for the handshake and lets all other
// writers to descriptor 1, printing libraries and child processes among them,
// write to the log: a stray line can neither break the handshake nor fill a
// pipe that nobody reads.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "handshake"), nil
}
