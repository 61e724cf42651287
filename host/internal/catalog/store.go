package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Store keeps private copies of plugins by content:
//
//	<dir>/bin/<sha256>/vant-plugin-<name>    a program, or a folder plugin
//	<dir>/tmp/                               copies in progress
//	<dir>/index.json                         what need not be hashed again
//
// Folders have mode 0700, programs 0500. A program in the store never changes,
// so replacing the original cannot disturb what runs (no "text file busy"),
// and what was hashed is what runs. All methods may be called concurrently;
// several processes may use one store, but only the host prunes it.
type Store struct {
	dir string
	uid uint32
	now func() time.Time

	mu    sync.Mutex // guards what follows; never held over I/O
	index index
	dirty bool
}

// staleTemp is the age at which a copy in progress was left by a dead process.
const staleTemp = time.Hour

// OpenStore opens the store in dir and makes it when it is missing. It refuses
// a folder that another user owns or can change. Close is not needed.
func OpenStore(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the plugin store: %w", err)
	}
	s := &Store{dir: dir, uid: uint32(os.Geteuid()), now: time.Now}
	for _, d := range []string{dir, s.binDir(), s.tmpDir()} {
		if err := s.makePrivate(d); err != nil {
			return nil, fmt.Errorf("open the plugin store: %w", err)
		}
	}
	if err := s.clearTemp(); err != nil {
		return nil, fmt.Errorf("open the plugin store: %w", err)
	}
	s.index = readIndex(s.indexFile())
	return s, nil
}

func (s *Store) binDir() string    { return filepath.Join(s.dir, "bin") }
func (s *Store) tmpDir() string    { return filepath.Join(s.dir, "tmp") }
func (s *Store) indexFile() string { return filepath.Join(s.dir, "index.json") }

func (s *Store) path(sha, name string) string {
	return filepath.Join(s.binDir(), sha, Prefix+name)
}

func (s *Store) makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	m := metaOf(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it", dir)
	case m.uid != s.uid:
		return fmt.Errorf("%s belongs to user %d; remove it", dir, m.uid)
	case m.mode.Perm()&0o022 != 0:
		return fmt.Errorf("%s could be changed by other users (mode %04o), its content cannot be trusted; run: rm -r %s",
			dir, m.mode.Perm(), quote(dir))
	case m.mode.Perm() != 0o700:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// clearTemp removes what dead processes left.
func (s *Store) clearTemp() error {
	entries, err := os.ReadDir(s.tmpDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if s.now().Sub(info.ModTime()) > staleTemp {
			if err := os.RemoveAll(filepath.Join(s.tmpDir(), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Copy names one copy: plugins of the same content have one each.
type Copy struct{ Name, SHA256 string }

// Prune removes every copy that is not in keep, and gives how many there were.
// Keep what still runs: a folder plugin reads its files as it goes.
func (s *Store) Prune(keep map[Copy]bool) (removed int, err error) {
	// The index forgets first: a copy that is half removed is never trusted.
	s.mu.Lock()
	if s.index.forget(keep) {
		s.dirty = true
	}
	s.mu.Unlock()
	if err := s.save(); err != nil {
		return 0, fmt.Errorf("prune the plugin store: %w", err)
	}

	removed, err = s.clearCopies(keep)
	if err != nil {
		err = fmt.Errorf("prune the plugin store: %w", err)
	}
	return removed, err
}

// clearCopies removes what keep does not name, and the folders of checksums
// that nothing is left of.
func (s *Store) clearCopies(keep map[Copy]bool) (removed int, err error) {
	sums := map[string]bool{}
	for c := range keep {
		sums[c.SHA256] = true
	}
	folders, err := os.ReadDir(s.binDir())
	if err != nil {
		return 0, err
	}
	var errs []error
	remove := func(path string) {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, err)
		} else {
			removed++
		}
	}
	for _, folder := range folders {
		sha, dir := folder.Name(), filepath.Join(s.binDir(), folder.Name())
		if !sums[sha] {
			remove(dir)
			continue
		}
		copies, err := os.ReadDir(dir)
		if err != nil {
			errs = append(errs, err)
		}
		for _, c := range copies {
			name, ok := strings.CutPrefix(c.Name(), Prefix)
			if !ok || !keep[Copy{Name: name, SHA256: sha}] {
				remove(filepath.Join(dir, c.Name()))
			}
		}
	}
	return removed, errors.Join(errs...)
}

// cached gives the checksum of the source with this signature when it and its
// copy are as they were when it was hashed. copySign signs the copy at a path.
func (s *Store) cached(key, name, signature string, copySign func(path string) (string, error)) (sha string, ok bool) {
	s.mu.Lock()
	src, found := s.index.Sources[key]
	want := s.index.Copies[copyKey(src.SHA256, name)]
	s.mu.Unlock()
	if !found || src.Signature != signature || want == "" {
		return "", false
	}
	have, err := copySign(s.path(src.SHA256, name))
	return src.SHA256, err == nil && have == want
}

// place moves a finished copy to its place, unless a good one is there, and
// remembers both. racy sources are not remembered: see index.
func (s *Store) place(temp, key, name, signature, sha string, racy bool, copySign func(path string) (string, error)) (string, error) {
	final := s.path(sha, name)
	s.mu.Lock()
	want := s.index.Copies[copyKey(sha, name)]
	s.mu.Unlock()
	have, err := copySign(final)
	if err != nil || want == "" || have != want {
		if err := s.replace(temp, final); err != nil {
			return "", err
		}
		if have, err = copySign(final); err != nil {
			return "", err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.Copies[copyKey(sha, name)] = have
	if racy {
		delete(s.index.Sources, key)
	} else {
		s.index.Sources[key] = sourceEntry{Signature: signature, SHA256: sha}
	}
	s.dirty = true
	return final, nil
}

// replace puts temp at final. A folder cannot be renamed over another one, so
// what is there is moved away first.
func (s *Store) replace(temp, final string) error {
	if err := s.makePrivate(filepath.Dir(final)); err != nil {
		return err
	}
	if info, err := os.Lstat(final); err == nil && info.IsDir() {
		old, err := os.MkdirTemp(s.tmpDir(), "old-*")
		if err != nil {
			return err
		}
		err = os.Rename(final, filepath.Join(old, "copy"))
		if err = errors.Join(err, os.RemoveAll(old)); err != nil {
			return err
		}
	}
	return os.Rename(temp, final)
}

// save writes the index when it has changed.
func (s *Store) save() error {
	s.mu.Lock()
	if !s.dirty {
		s.mu.Unlock()
		return nil
	}
	data, err := s.index.encode()
	s.dirty = false
	s.mu.Unlock()
	if err == nil {
		err = writeFile(s.indexFile(), data, false)
	}
	if err != nil {
		s.mu.Lock()
		s.dirty = true
		s.mu.Unlock()
		return fmt.Errorf("write the index of the plugin store: %w", err)
	}
	return nil
}
