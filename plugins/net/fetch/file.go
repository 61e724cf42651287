package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// check judges a path before anything is sent.
func (f Files) check(path string) error {
	path = filepath.Clean(path)
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return &FileError{fmt.Errorf("the folder does not exist: %w", cause(err))}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return &FileError{errors.New("something that is not a regular file stands there")}
	}
	if len(f.Dirs) == 0 {
		return nil
	}
	for _, allowed := range f.Dirs {
		root, err := filepath.EvalSymlinks(allowed)
		if err != nil {
			continue // a configured folder that is not there allows nothing
		}
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return nil
		}
	}
	return &FileError{fmt.Errorf("%w: not below a folder of the plugin's files.dirs", fs.ErrPermission)}
}

// write stores the whole body under path, or nothing at all.
func (f Files) write(path string, body io.Reader) (n int64, sum string, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".vant-fetch-*")
	if err != nil {
		return 0, "", &FileError{cause(err)}
	}
	defer func() {
		if err != nil {
			tmp.Close()
			err = errors.Join(err, removed(tmp.Name()))
		}
	}()
	hash := sha256.New()
	n, err = io.Copy(io.MultiWriter(fileWriter{tmp}, hash), io.LimitReader(body, f.limit()+1))
	if err != nil {
		return n, "", err
	}
	if n > f.limit() {
		return n, "", &Error{Kind: KindBody, Message: fmt.Sprintf("the body is larger than the %d bytes that a file may have", f.limit())}
	}
	if err = tmp.Close(); err != nil {
		return n, "", &FileError{err}
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return n, "", &FileError{cause(err)}
	}
	return n, hex.EncodeToString(hash.Sum(nil)), nil
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
