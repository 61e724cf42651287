package catalog

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap puts made in the place of another thing, in one step where the file
// system can. The other thing then lies where made was, or at old.
func swap(made, place, old string) error {
	err := unix.RenamexNp(made, place, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return swapByTwo(made, place, old)
	}
	return err
}
