package fetch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files says where bodies may be written and how large they may be.
type Files struct {
	// Dirs are the folders below which files may be written; none: anywhere.
	Dirs []string
	// MaxBytes bounds one file; 0 means DefaultMaxFileBytes.
	MaxBytes int64
}

// DefaultMaxFileBytes bounds a file when the config does not.
const DefaultMaxFileBytes = 256 << 20

func (f Files) limit() int64 {
	if f.MaxBytes > 0 {
		return f.MaxBytes
	}
	return DefaultMaxFileBytes
}

// place is where a file is to be written: a folder that is held open, so that
// nothing that happens to its path meanwhile leads elsewhere.
type place struct {
	root *os.Root
	name string // within root
}

// close lets go of the folder.
func (p *place) close() {
	if p != nil {
		_ = p.root.Close() // nothing was written through it
	}
}

// place judges a path before anything is sent.
func (f Files) place(path string) (*place, error) {
	path = filepath.Clean(path)
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, &FileError{fmt.Errorf("the folder does not exist: %w", cause(err))}
	}
	base, name, err := f.within(dir, filepath.Base(path))
	if err != nil {
		return nil, &FileError{err}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, &FileError{cause(err)}
	}
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.Join(&FileError{errors.New("something that is not a regular file stands there")}, root.Close())
	}
	return &place{root, name}, nil
}

// within gives the folder to hold open, and the file's name below it.
func (f Files) within(dir, name string) (base, rel string, err error) {
	if len(f.Dirs) == 0 {
		return dir, name, nil
	}
	for _, allowed := range f.Dirs {
		base, err := filepath.EvalSymlinks(allowed)
		if err != nil {
			continue // a configured folder that is not there allows nothing
		}
		if rel, err := filepath.Rel(base, dir); err == nil && filepath.IsLocal(rel) {
			return base, filepath.Join(rel, name), nil
		}
	}
	return "", "", fmt.Errorf("%w: not below a folder of the plugin's files.dirs", fs.ErrPermission)
}

// write stores the whole body, or nothing at all.
func (p *place) write(body io.Reader, limit int64) (n int64, sum string, err error) {
	part := filepath.Join(filepath.Dir(p.name), ".vant-fetch-"+rand.Text())
	tmp, err := p.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, "", &FileError{cause(err)}
	}
	defer func() {
		if err != nil {
			tmp.Close()
			err = errors.Join(err, p.remove(part))
		}
	}()
	hash := sha256.New()
	n, err = io.Copy(io.MultiWriter(fileWriter{tmp}, hash), io.LimitReader(body, limit+1))
	if err != nil {
		return n, "", err
	}
	if n > limit {
		return n, "", &Error{Kind: KindBody, Message: fmt.Sprintf("the body is larger than the %d bytes that a file may have", limit)}
	}
	if err = tmp.Close(); err != nil {
		return n, "", &FileError{err}
	}
	if err = p.root.Rename(part, p.name); err != nil {
		return n, "", &FileError{cause(err)}
	}
	return n, hex.EncodeToString(hash.Sum(nil)), nil
}

func (p *place) remove(name string) error {
	if err := p.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &FileError{err}
	}
	return nil
}

// fileWriter keeps a full disk apart from a broken body.
type fileWriter struct{ f *os.File }

func (w fileWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil {
		err = &FileError{cause(err)}
	}
	return n, err
}

// cause leaves the path out of an error of package os: the caller knows it.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
