// Package socket owns the host's place in the file system: the Unix socket at
// which clients find it, the lock that keeps a second host away, and the
// permissions of both. It also speaks to systemd: socket activation in, state
// notifications out.
//
// The host opens a Listener at its start, hands it to package server, which
// accepts from it, and closes it last. Other host packages make their runtime
// folders with PrivateDir.
//
// What counts as ours is decided by owner and inode, never by name: a file
// that is not a socket of ours is never removed or replaced.
package socket
