package server

import "golang.org/x/sys/unix"

// peerGone says whether the other side is closed in both directions. Poll
// reports a hang-up for one direction here, but the peer's address is known
// for as long as the other is open.
func peerGone(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err != nil && err != unix.EINTR //nolint:errorlint // package unix gives the bare errno
}
