package server

import "golang.org/x/sys/unix"

// peerGone says whether the other side is closed in both directions.
func peerGone(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}} // hang-up and error need no asking
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}
