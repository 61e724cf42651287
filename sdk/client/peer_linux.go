package client

import (
	"fmt"
	"net"
	"syscall"
)

// checkPeer makes sure, before anything is sent, that the process that listens
// on the socket is of user uid.
func checkPeer(conn *net.UnixConn, socket string, uid int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("peer of %s: %w", socket, err)
	}
	var cred *syscall.Ucred
	var sys error
	if err := raw.Control(func(fd uintptr) {
		cred, sys = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("peer of %s: %w", socket, err)
	}
	if sys != nil {
		return fmt.Errorf("peer of %s: %w", socket, sys)
	}
	if cred.Uid != uint32(uid) {
		return fmt.Errorf("%s: %w (uid %d, not %d): nothing was sent", socket, ErrWrongPeer, cred.Uid, uid)
	}
	return nil
}
