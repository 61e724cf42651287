package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// maxFileBytes bounds one plugin file.
const maxFileBytes = 1 << 30

var (
	// errChanged: the source changed while it was copied.
	errChanged = errors.New("changed while it was copied")
	// errPin: the content is not the pinned one.
	errPin = errors.New("not the pinned checksum")
)

// readError is a failure of the source; other failures are the store's.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// addFile puts a program into the store and gives its checksum and its copy's
// path. f has the identity m.id; pin is the only checksum accepted when it is
// not "".
func (s *Store) addFile(ctx context.Context, f *os.File, m meta, key, name, pin string) (sha, path string, err error) {
	signature := m.id.signature()
	if sha, ok := s.cached(key, name, signature, signFile); ok {
		if pin != "" && sha != pin {
			return sha, "", errPin
		}
		return sha, s.path(sha, name), nil
	}

	racy := m.id.racy(s.now())
	temp, err := os.CreateTemp(s.tmpDir(), name+"-*")
	if err != nil {
		return "", "", err
	}
	defer func() {
		// After place the name is gone, and that is no error.
		if rerr := os.Remove(temp.Name()); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	h := sha256.New()
	if err := fillCopy(ctx, temp, f, m, h, 0o500); err != nil {
		return "", "", err
	}
	sha = hex.EncodeToString(h.Sum(nil))
	if pin != "" && sha != pin {
		return sha, "", errPin
	}
	path, err = s.place(temp.Name(), key, name, signature, sha, racy, signFile)
	return sha, path, err
}

// fillCopy copies src into dst, feeds h with what it wrote, sets dst's mode
// and closes it, whatever happens. It fails with errChanged unless src has the
// identity m.id before and after.
func fillCopy(ctx context.Context, dst, src *os.File, m meta, h hash.Hash, mode os.FileMode) error {
	n, err := copyHashed(ctx, dst, src, h)
	if err == nil {
		err = dst.Chmod(mode)
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	info, err := src.Stat()
	if err != nil {
		return &readError{err}
	}
	if n != m.id.Size || metaOf(info).id != m.id {
		return errChanged
	}
	return nil
}

// copyHashed hashes the very bytes that the copy holds: the blocks are shared
// first and the copy is read, or each piece is hashed and written.
func copyHashed(ctx context.Context, dst, src *os.File, h hash.Hash) (int64, error) {
	cloned := clone(dst, src)
	from := src
	if cloned {
		from = dst
	}
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := from.ReadAt(*buf, total)
		if n > 0 {
			piece := (*buf)[:n]
			h.Write(piece) // a hash.Hash never fails
			if !cloned {
				if _, werr := dst.Write(piece); werr != nil {
					return total, werr
				}
			}
			total += int64(n)
		}
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, &readError{err}
		case total > maxFileBytes:
			return total, errChanged
		}
	}
}

// signFile signs a copied program: its identity, and that it is executable.
func signFile(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if info.Mode() != 0o500 {
		return "", fmt.Errorf("%s is not a program of mode 0500", filepath.Base(path))
	}
	return metaOf(info).id.signature(), nil
}
