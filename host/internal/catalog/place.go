package catalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// OwnDir gives the first of dirs that is the user's own: where plugins are
// installed. It need not exist when the user may make it.
func OwnDir(dirs []string) (string, error) {
	uid := uint32(os.Geteuid())
	for _, dir := range dirs {
		for at := dir; ; at = filepath.Dir(at) {
			info, err := os.Stat(at)
			if errors.Is(err, fs.ErrNotExist) && at != "/" {
				continue // it would be made
			}
			if err != nil || !info.IsDir() || metaOf(info).uid != uid {
				break
			}
			if r := judgeAccess(metaOf(info), uid, at); r != nil {
				return "", fmt.Errorf("%s %s", at, r.Reason)
			}
			return dir, nil
		}
	}
	return "", fmt.Errorf("none of the plugin directories is yours (%s); name one of your own in plugins.dirs or $VANT_PLUGIN_PATH", strings.Join(dirs, ", "))
}

// Staged is a plugin that is ready to be placed, or to be given up.
type Staged struct {
	work, made, place string

	begun atomic.Bool   // Place or Discard was called
	moved chan struct{} // closed when nothing moves any more
}

// Stage copies the private copy of c into dir, under a name that no scan looks
// at. The folder is made when it is missing.
func Stage(c Candidate, dir string) (*Staged, error) {
	fail := func(err error) (*Staged, error) { return nil, fmt.Errorf("install %s: %w", c.Name, err) }
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	if err := clearWork(dir); err != nil {
		return fail(err)
	}
	work, err := os.MkdirTemp(dir, workPrefix+"*")
	if err != nil {
		return fail(err)
	}
	s := &Staged{
		work: work, made: filepath.Join(work, Prefix+c.Name), place: filepath.Join(dir, Prefix+c.Name),
		moved: make(chan struct{}),
	}
	from := c.Exec
	if c.Dir {
		from = filepath.Dir(c.Exec)
	}
	if err := copyOut(from, s.made); err != nil {
		return fail(errors.Join(err, s.Discard()))
	}
	return s, nil
}

// Place puts the plugin under its name, in place of what is there: in one step
// where the file system can, so that nobody finds half of it or nothing. It
// can be called once, and not after Discard.
func (s *Staged) Place() error {
	if !s.begun.CompareAndSwap(false, true) {
		return fmt.Errorf("install %s: it was given up", s.place)
	}
	defer close(s.moved)
	old, err := os.Lstat(s.place)
	var made fs.FileInfo
	if err == nil {
		made, err = os.Lstat(s.made)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !old.IsDir() && !made.IsDir():
		err = os.Rename(s.made, s.place)
	case err == nil:
		err = swap(s.made, s.place, filepath.Join(s.work, "old"))
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.place))
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", s.place, err)
	}
	return nil
}

// Discard removes what is left: the copy that was not placed, or what was there
// before it. It waits for a Place under way, whose caller may have gone.
func (s *Staged) Discard() error {
	if s.begun.CompareAndSwap(false, true) {
		close(s.moved)
	}
	<-s.moved
	return os.RemoveAll(s.work)
}

// Uninstall takes the plugin of this name out of dir. Its error is
// fs.ErrNotExist when it is not there.
func Uninstall(name, dir string) (err error) {
	place := filepath.Join(dir, Prefix+name)
	if _, err := os.Lstat(place); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	work, err := os.MkdirTemp(dir, workPrefix+"*")
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	// A folder must not be found while it goes away file by file.
	err = os.Rename(place, filepath.Join(work, "old"))
	if err == nil {
		err = syncDir(dir)
	}
	if err = errors.Join(err, os.RemoveAll(work)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// workPrefix begins the names of folders of work in progress: no scan looks
// at them.
const workPrefix = ".vant-"

// clearWork removes what dead processes left in dir.
func clearWork(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > staleTemp {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// swapByTwo puts made in the place of another thing, which goes to old, where
// that cannot be done in one step.
func swapByTwo(made, place, old string) error {
	if err := os.Rename(place, old); err != nil {
		return err
	}
	if err := os.Rename(made, place); err != nil {
		return errors.Join(err, os.Rename(old, place))
	}
	return nil
}

// copyOut copies a program or a tree of the store to a new place, with modes
// for people, down to the disk.
func copyOut(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := to
		if rel != "." {
			target = filepath.Join(to, rel)
		}
		switch d.Type() {
		case fs.ModeDir:
			return os.Mkdir(target, 0o755)
		case fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return copyOutFile(path, target)
	})
}

func copyOutFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info.Mode().Perm()&0o100 != 0 {
		mode = 0o755
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(mode)
	}
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}
