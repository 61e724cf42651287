package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// backlog is the queue of connections that are not accepted yet; the kernel
// cuts it to its own limit. It is larger than the number of clients served at
// once, so that those beyond get an answer rather than a failing connect.
const backlog = 4096

// bind makes a listening socket at path. The caller holds the lock of path, and
// made sure that nothing is there. A socket that is bound but does not listen
// refuses connections, so nobody gets in before its permissions are right.
func bind(path string) (fd int, id inode, err error) {
	fd, err = newStream()
	if err != nil {
		return -1, inode{}, fmt.Errorf("make socket: %w", err)
	}
	id, err = bindFD(fd, path)
	if err != nil {
		closeFD(fd)
		return -1, inode{}, err
	}
	return fd, id, nil
}

func bindFD(fd int, path string) (inode, error) {
	// Where the system gives the file the descriptor's mode less the umask it
	// is right from its first moment; elsewhere the chmod below makes it so,
	// which is why a failure here is not one.
	modeBeforeBind := unix.Fchmod(fd, 0o600)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return inode{}, fmt.Errorf("bind socket %s: %w; check that its folder may be written to and that its file system takes sockets", path, err)
	}
	id, err := secure(path)
	if err != nil {
		return inode{}, errors.Join(err, modeBeforeBind)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return inode{}, errors.Join(fmt.Errorf("listen on socket %s: %w", path, err), id.removeAt(path))
	}
	return id, nil
}

// secure makes the mode of the socket that was just bound 0600.
func secure(path string) (inode, error) {
	info, err := ownSocket(path)
	if err != nil {
		return inode{}, err
	}
	id := inodeOf(info)
	if info.Mode().Perm() != 0o600 {
		if err := os.Chmod(path, 0o600); err != nil {
			return inode{}, errors.Join(fmt.Errorf("socket: %w", err), id.removeAt(path))
		}
		if info, err = ownSocket(path); err != nil {
			return inode{}, err
		}
	}
	if info.Mode().Perm() != 0o600 || inodeOf(info) != id {
		return inode{}, errors.Join(
			fmt.Errorf("socket %s cannot be kept at mode 0600 (it is %04o); choose a path on another file system", path, info.Mode().Perm()),
			id.removeAt(path))
	}
	return id, nil
}

// ownSocket looks at path without following links; anything but a socket of
// this user is an error.
func ownSocket(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is %s, not a socket; it is left alone: move it away or choose another path with --socket",
			path, kindOf(info.Mode()))
	}
	if uid := ownerOf(info); uid != geteuid() {
		return nil, fmt.Errorf("socket %s belongs to user %d; it is left alone: choose another path with --socket", path, uid)
	}
	return info, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "a special file"
}

// makeRoom sees to it that nothing is at path: it removes the socket of a host
// that is dead and nothing else. The caller holds the lock of path.
func makeRoom(path string) error {
	info, err := ownSocket(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := knock(path)
	switch {
	case err == nil:
		return fmt.Errorf("a program with pid %d listens on %s without holding its lock; stop it or choose another path with --socket", pid, path)
	case errors.Is(err, unix.ECONNREFUSED):
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("socket %s is in use or of another kind (%w); it is left alone: remove it or choose another path with --socket", path, err)
	}
	if err := inodeOf(info).removeAt(path); err != nil {
		return fmt.Errorf("remove the dead socket: %w", err)
	}
	return nil
}

// knock connects to a socket and gives the pid of who listens there, without
// ever waiting: a full queue is an error too.
func knock(path string) (pid int, err error) {
	fd, err := newStream()
	if err != nil {
		return 0, err
	}
	defer closeFD(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return 0, err
	}
	peer, err := PeerOf(fd)
	if err != nil {
		return 0, nil // somebody listens; who it is only adorns a message
	}
	return peer.PID, nil
}
