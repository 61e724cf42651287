package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// firstInherited is the first descriptor that systemd passes.
	firstInherited = 3
	// maxInherited bounds what LISTEN_FDS may announce.
	maxInherited = 64
	// activationName tells our socket among several (FileDescriptorName=).
	activationName = "vant"
)

// passedSocket is a listening socket that came with the process.
type passedSocket struct {
	fd   int
	path string
	id   inode
}

// inherited gives the socket that systemd passed, or nil. It takes the
// variables that announce it out of the environment, so that no child believes
// them to be its own, and no passed descriptor survives an exec.
func inherited() (*passedSocket, error) {
	pid, count, names := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxInherited {
		return nil, fmt.Errorf("LISTEN_FDS is not a number from 0 to %d; check the unit that starts this host", maxInherited)
	}
	if n == 0 {
		return nil, nil
	}
	fd, err := chooseInherited(n, names)
	if err != nil {
		return nil, err
	}
	s, err := verifyInherited(fd)
	if err != nil {
		closeFD(fd)
		return nil, fmt.Errorf("socket passed by systemd: %w", err)
	}
	return s, nil
}

// chooseInherited closes all passed sockets but the one that is ours.
func chooseInherited(n int, names string) (int, error) {
	var fault error
	var sockets []int
	for fd := firstInherited; fd < firstInherited+n; fd++ {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			// Not closed: it may be something of this process's own.
			fault = fmt.Errorf("LISTEN_FDS announces descriptor %d, which is not a socket; check the unit that starts this host", fd)
			continue
		}
		unix.CloseOnExec(fd)
		sockets = append(sockets, fd)
	}
	chosen := firstInherited
	if n > 1 && fault == nil {
		chosen = -1
		for i, name := range strings.Split(names, ":") {
			if name != activationName || i >= n {
				continue
			}
			if chosen >= 0 {
				fault = fmt.Errorf("systemd passed several sockets named %s; keep one", activationName)
			}
			chosen = firstInherited + i
		}
		if chosen < 0 {
			fault = fmt.Errorf("systemd passed %d sockets and none is named %s; set FileDescriptorName=%s in its unit", n, activationName, activationName)
		}
	}
	for _, fd := range sockets {
		if fault != nil || fd != chosen {
			closeFD(fd)
		}
	}
	return chosen, fault
}

// verifyInherited makes sure that a passed socket is one that this host could
// have made itself.
func verifyInherited(fd int) (*passedSocket, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return nil, err
	}
	addr, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	local, ok := addr.(*unix.SockaddrUnix)
	if !ok || kind != unix.SOCK_STREAM {
		return nil, errors.New("it is not a Unix stream socket; use ListenStream= with a path")
	}
	if local.Name == "" || local.Name[0] != '/' {
		return nil, errors.New("it has no path in the file system, so no permissions; use ListenStream= with a path")
	}
	if listening, err := acceptsConnections(fd); err != nil {
		return nil, err
	} else if !listening {
		return nil, errors.New("it does not listen; use Accept=no")
	}
	info, err := ownSocket(local.Name)
	if err != nil {
		return nil, fmt.Errorf("%w (SocketUser= says whom it belongs to)", err)
	}
	if info.Mode().Perm() != 0o600 {
		return nil, fmt.Errorf("%s has mode %04o; set SocketMode=0600 in its unit", local.Name, info.Mode().Perm())
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return &passedSocket{fd: fd, path: local.Name, id: inodeOf(info)}, nil
}

// adopt makes a passed socket the listener's, also closing it when it fails.
func (l *Listener) adopt(ctx context.Context, s *passedSocket) error {
	e, err := newEndpoint(s.fd, s.path, s.id)
	if err != nil {
		return err
	}
	lock, err := takeLock(ctx, s.path)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		// systemd itself keeps a second host of the unit away.
		l.log.Info("no lock file beside the socket that systemd passed", "path", s.path, "error", err)
	case err != nil:
		e.file.Close()
		return err
	}
	if l.path != "" && l.path != s.path {
		l.log.Info("serving the socket that systemd passed in place of the configured one", "path", s.path, "configured", l.path)
	}
	l.path, l.activated, l.lock, l.ends = s.path, true, lock, []*endpoint{e}
	return nil
}
