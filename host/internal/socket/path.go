package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/proto/envelope"
)

// checkPath gives the absolute form of a socket's path, or says what is wrong
// with it. An absolute path also cannot mean an abstract socket.
func checkPath(path string) (string, error) {
	if path == "" {
		return "", errors.New("no socket path given; set --socket or VANT_SOCKET")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("socket path %q contains a zero byte; choose another", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("socket path %s: %w", path, err)
	}
	if len(abs) > envelope.MaxSocketPath {
		return "", fmt.Errorf("socket path %s is %d bytes long, the limit is %d; choose a shorter one with --socket or VANT_SOCKET",
			abs, len(abs), envelope.MaxSocketPath)
	}
	return abs, nil
}

// checkParent says why the folder of a socket cannot be trusted to keep it:
// whoever may rename in it can put another socket in the place of ours.
func checkParent(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %s of the socket does not exist; make it (mode 0700) or choose another path with --socket", dir)
	}
	if err != nil {
		return fmt.Errorf("folder of the socket: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; choose another socket path with --socket", dir)
	}
	if uid := ownerOf(info); uid != geteuid() && uid != 0 {
		return fmt.Errorf("folder %s of the socket belongs to user %d, who could replace it; choose another path with --socket", dir, uid)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others may write to folder %s (mode %04o) and could replace the socket; run chmod go-w on it or choose another path with --socket",
			dir, info.Mode().Perm())
	}
	return nil
}

// Check says why a host could not serve at path, as far as a look can tell.
func Check(path string) error {
	path, err := checkPath(path)
	if err != nil {
		return err
	}
	if err := checkParent(path); err != nil {
		return err
	}
	if _, err := ownSocket(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// PrivateDir makes the folder path with mode 0700, or checks that what is
// there is such a folder: owned by this user, mode 0700, not a symbolic link.
// Its parent must exist. Nothing that is there already is changed.
func PrivateDir(path string) error {
	err := os.Mkdir(path, 0o700)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make private folder: %w", err)
	}
	// Opened without following a link, so that what is checked and what is
	// changed are the same folder.
	fd, err := retryFD(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return privateDirOpenError(path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return fmt.Errorf("private folder: %w", err)
	}
	if uid := ownerOf(info); uid != geteuid() {
		return fmt.Errorf("folder %s belongs to user %d, not to user %d; remove it or choose another", path, uid, geteuid())
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if !made {
		return fmt.Errorf("folder %s has mode %04o; run chmod 700 on it, after a look at what others left there", path, info.Mode().Perm())
	}
	if err := dir.Chmod(0o700); err != nil { // the umask took bits away
		return fmt.Errorf("private folder: %w", err)
	}
	return nil
}

// privateDirOpenError tells apart why path is not a folder that can be opened.
func privateDirOpenError(path string, cause error) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; a private folder must be a real one: remove the link or choose another path", path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it or choose another path", path)
	}
	return fmt.Errorf("open private folder %s: %w; it must be a folder of mode 0700 that belongs to user %d", path, cause, geteuid())
}
