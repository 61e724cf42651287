package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// newStream makes a stream socket: non-blocking, closed on exec.
func newStream() (int, error) {
	syscall.ForkLock.RLock() // no child may start before the flag is set
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	return prepare(fd)
}

// accept takes one connection: non-blocking, closed on exec.
func accept(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for {
		conn, _, err := unix.Accept(fd) // fd is non-blocking
		switch err {
		case nil:
			return prepare(conn)
		case unix.EINTR, unix.ECONNABORTED:
			continue
		}
		return -1, err
	}
}

func prepare(fd int) (int, error) {
	unix.CloseOnExec(fd)
	err := unix.SetNonblock(fd, true)
	if err == nil {
		// A write to a client that has gone must be an error, not a signal.
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NOSIGPIPE, 1)
	}
	if err != nil {
		closeFD(fd)
		return -1, err
	}
	return fd, nil
}

// PeerOf asks the kernel who connected.
func PeerOf(fd int) (Peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(cred.Uid), PID: pid}, nil
}

// acceptsConnections says whether a socket listens.
func acceptsConnections(fd int) (bool, error) {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return v != 0, err
}
