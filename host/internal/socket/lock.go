package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// HeldError says that another host serves the socket.
type HeldError struct {
	Path string // the socket
	PID  int    // the other host, 0 when it could not be learnt
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another host serves %s; stop it (vant down) or choose another path with --socket", e.Path)
	}
	return fmt.Sprintf("a host with pid %d serves %s; stop it (vant down) or choose another path with --socket", e.PID, e.Path)
}

const (
	lockSuffix = ".lock"
	// lockPatience is how long a lock without a living holder's pid is tried:
	// a host that starts has not yet written it, and one that ends may be
	// survived by its descriptor in a child that has not yet called exec.
	lockPatience = 500 * time.Millisecond
	lockRetry    = 10 * time.Millisecond
)

// lock is a held lock file. The file is removed at the end while it is still
// locked, and whoever locks one checks afterwards that it still is the file at
// the path. So nobody can hold a removed file and believe it to be the lock.
type lock struct {
	path string
	file *os.File
	id   inode
}

// takeLock locks the file beside a socket and writes this process's pid to it.
// Its error is a *HeldError when another process has it.
func takeLock(ctx context.Context, socketPath string) (*lock, error) {
	path := socketPath + lockSuffix
	deadline := time.Now().Add(lockPatience)
	for {
		l, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if l != nil {
			return l, nil
		}
		pid := readPID(path)
		// A holder that shares this process (a second Listen) is alive too.
		if pid != 0 && alive(pid) {
			return nil, &HeldError{Path: socketPath, PID: pid}
		}
		if time.Now().After(deadline) {
			return nil, &HeldError{Path: socketPath}
		}
		select {
		case <-time.After(lockRetry):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock gives nil and no error when the lock is held or was just removed.
func tryLock(path string) (*lock, error) {
	fd, err := retryFD(func() (int, error) {
		return unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("lock file %s is a symbolic link; remove it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open lock file %s: %w; check who owns it and its folder", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	l, err := lockFile(path, file)
	if l == nil {
		file.Close()
	}
	return l, err
}

func lockFile(path string, file *os.File) (*lock, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("lock file %s is not a regular file; remove it", path)
	}
	if uid := ownerOf(info); uid != geteuid() {
		return nil, fmt.Errorf("lock file %s belongs to user %d; remove it or choose another socket path with --socket", path, uid)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w; its file system may not know locks, choose another socket path with --socket", path, err)
	}
	id := inodeOf(info)
	switch current, err := id.isAt(path); {
	case err != nil:
		return nil, fmt.Errorf("lock file: %w", err)
	case !current: // its holder removed it after we had opened it
		return nil, nil
	}
	if info.Mode().Perm() != 0o600 {
		if err := file.Chmod(0o600); err != nil {
			return nil, fmt.Errorf("lock file: %w", err)
		}
	}
	if err := writePID(file); err != nil {
		return nil, fmt.Errorf("write pid to lock file %s: %w", path, err)
	}
	return &lock{path: path, file: file, id: id}, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID gives the pid in a lock file, 0 when there is none yet.
func readPID(path string) int {
	fd, err := retryFD(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
	if err != nil {
		return 0
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil || !strings.HasSuffix(string(text), "\n") {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n"))
	if err != nil || pid <= 0 {
		return 0
	}
	return pid
}

func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// lost says whether the file at the lock's path is no longer the locked one.
func (l *lock) lost() (bool, error) {
	current, err := l.id.isAt(l.path)
	return !current, err
}

// release removes the lock file if it still is ours, then unlocks it.
func (l *lock) release() error {
	err := l.id.removeAt(l.path)
	if errors.Is(err, fs.ErrPermission) {
		err = nil // a file without a lock on it keeps nobody away
	}
	// Unlocked by name: a child between fork and exec may share the lock, and
	// would hold it a moment longer than this process.
	return errors.Join(err, unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
