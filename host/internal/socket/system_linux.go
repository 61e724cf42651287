package socket

import "golang.org/x/sys/unix"

// newStream makes a stream socket: non-blocking, closed on exec.
func newStream() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}

// accept takes one connection: non-blocking, closed on exec.
func accept(fd int) (int, error) {
	for {
		// The system call alone: the client's address says nothing, and
		// decoding it costs an allocation.
		conn, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
		switch errno {
		case 0:
			return int(conn), nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		}
		return -1, errno
	}
}

// PeerOf asks the kernel who connected; pid is the process that did, as seen
// from here, and 0 when it is of another pid namespace.
func PeerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}

// acceptsConnections says whether a socket listens.
func acceptsConnections(fd int) (bool, error) {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return v != 0, err
}
