//go:build unix && !linux

package client

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// checkPeer makes sure, before anything is sent, that the socket belongs to
// user uid. The standard library has no call for the peer's own user here; the
// file's owner stands for it, since only he could have bound it.
func checkPeer(_ *net.UnixConn, socket string, uid int) error {
	info, err := os.Lstat(socket)
	if err != nil {
		return fmt.Errorf("owner of %s: %w", socket, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("owner of %s cannot be found out", socket)
	}
	if stat.Uid != uint32(uid) {
		return fmt.Errorf("%s: %w (uid %d, not %d): nothing was sent", socket, ErrWrongPeer, stat.Uid, uid)
	}
	return nil
}
