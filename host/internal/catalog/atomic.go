package catalog

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeFile puts data in place of file by a rename, mode 0600. durable makes
// it survive a loss of power.
func writeFile(file string, data []byte, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*.part")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if durable {
		return syncDir(filepath.Dir(file))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL) {
		err = nil // the file system cannot sync directories; the rename holds
	}
	return errors.Join(err, d.Close())
}
