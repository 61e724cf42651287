package catalog

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap puts made in the place of another thing, in one step where the file
// system can. The other thing then lies where made was, or at old.
func swap(made, place, old string) error {
	err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return swapByTwo(made, place, old)
	}
	return err
}
