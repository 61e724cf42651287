package socket

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inode identifies a file whatever its name.
type inode struct{ dev, ino uint64 }

func inodeOf(info fs.FileInfo) inode {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the widths differ by system
}

// geteuid is whose files are ours; tests are somebody else for a while.
var geteuid = os.Geteuid

func ownerOf(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

// isAt says whether the file at path is this inode.
func (i inode) isAt(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return inodeOf(info) == i, nil
}

// removeAt unlinks path if it is this inode, and leaves it alone otherwise.
func (i inode) removeAt(path string) error {
	ours, err := i.isAt(path)
	if err != nil || !ours {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// retryFD repeats a call that gives a descriptor while signals interrupt it.
func retryFD(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// closeFD closes a descriptor whose owner has no use for an error: nothing was
// written to it that could be lost, and it is closed either way.
func closeFD(fd int) { _ = unix.Close(fd) }
