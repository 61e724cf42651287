package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of a folder plugin.
const (
	maxTreeEntries = 20_000
	maxTreeBytes   = 1 << 30
	maxTreeDepth   = 32
)

// tree is a folder plugin's listing, in the order of its paths.
type tree struct {
	entries []treeEntry
	newest  int64 // change time of what changed last, nanoseconds since 1970
}

type treeEntry struct {
	rel string // slash-separated, below the folder
	meta
}

// listTree lists a folder plugin and refuses what no private copy should hold.
// shown is the folder's path for messages.
func listTree(ctx context.Context, root *os.Root, uid uint32, shown string) (*tree, *Refusal, error) {
	t := &tree{}
	var refusal *Refusal
	var bytes int64
	err := fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		m, path := metaOf(info), filepath.Join(shown, rel)
		t.newest = max(t.newest, m.id.CTime)
		inside := func(r *Refusal) error {
			if r != nil && rel != "." {
				r.Reason = "holds " + rel + ", which " + r.Reason
			}
			if refusal = r; r != nil {
				return fs.SkipAll
			}
			return nil
		}
		switch m.mode.Type() {
		case fs.ModeDir:
			if strings.Count(rel, "/") >= maxTreeDepth {
				return inside(refuse(CodeLimit, "is nested deeper than %d folders; flatten it", maxTreeDepth))
			}
			if r := judgeAccess(m, uid, path); r != nil {
				return inside(r)
			}
			if rel == "." {
				return nil
			}
		case 0:
			if r := judgeAccess(m, uid, path); r != nil {
				return inside(r)
			}
			bytes += m.id.Size
		case fs.ModeSymlink: // judged in the copy
		default:
			return inside(judgeType(m.mode, path))
		}
		t.entries = append(t.entries, treeEntry{rel, m})
		if len(t.entries) > maxTreeEntries || bytes > maxTreeBytes {
			refusal = refuse(CodeLimit, "holds more than %d files or %d MiB; leave out what the plugin does not need", maxTreeEntries, maxTreeBytes>>20)
			return fs.SkipAll
		}
		return nil
	})
	return t, refusal, err
}

// signature changes when a file of the tree can have changed.
func (t *tree) signature() string {
	h := sha256.New()
	for _, e := range t.entries {
		if e.mode.IsDir() {
			fmt.Fprintf(h, "%q\n", e.rel)
		} else {
			fmt.Fprintf(h, "%q %v %s\n", e.rel, e.mode, e.id.signature())
		}
	}
	return "tree." + hex.EncodeToString(h.Sum(nil))
}

// complete says that nobody is writing the tree: nobody has a file of it open
// for writing, and nothing changed for settleTime, as between two files of a
// copy in progress none is open.
func (t *tree) complete(root *os.Root, shown string, now time.Time) (bool, error) {
	if now.Sub(time.Unix(0, t.newest)) < settleTime {
		return false, nil
	}
	for _, e := range t.entries {
		if !e.mode.IsRegular() {
			continue
		}
		f, _, r, err := open(root, e.rel, filepath.Join(shown, filepath.FromSlash(e.rel)), e.mode)
		if err != nil || r != nil {
			return false, err
		}
		ok, err := Complete(f)
		if err = errors.Join(err, f.Close()); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// entry gives the entry at rel, or nil.
func (t *tree) entry(rel string) *treeEntry {
	for i := range t.entries {
		if t.entries[i].rel == rel {
			return &t.entries[i]
		}
	}
	return nil
}

// signCopy signs the copy at path of t: what came from the source. Files that
// the plugin's interpreter adds beside them do not count.
func (t *tree) signCopy(path string) (string, error) {
	h := sha256.New()
	for _, e := range t.entries {
		if e.mode.IsDir() {
			continue
		}
		info, err := os.Lstat(filepath.Join(path, filepath.FromSlash(e.rel)))
		if err != nil {
			return "", err
		}
		if info.Mode().Type() != e.mode.Type() {
			return "", fmt.Errorf("%s is no copy of its original", e.rel)
		}
		fmt.Fprintf(h, "%q %v %s\n", e.rel, info.Mode(), metaOf(info).id.signature())
	}
	return "tree." + hex.EncodeToString(h.Sum(nil)), nil
}

// addTree puts a folder plugin into the store, as addFile does a program. The
// checksum covers paths, kinds, the executable bit, contents and the targets
// of links, and nothing that differs between two copies.
func (s *Store) addTree(ctx context.Context, root *os.Root, t *tree, key, name, pin string) (sha, path string, refusal *Refusal, err error) {
	signature := t.signature()
	if sha, ok := s.cached(key, name, signature, t.signCopy); ok {
		if pin != "" && sha != pin {
			return sha, "", nil, errPin
		}
		return sha, s.path(sha, name), nil, nil
	}

	racy := identity{CTime: t.newest}.racy(s.now())
	work, err := os.MkdirTemp(s.tmpDir(), name+"-*")
	if err != nil {
		return "", "", nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	temp := filepath.Join(work, Prefix+name)
	sha, refusal, err = copyTree(ctx, root, t, temp)
	if err != nil || refusal != nil {
		return "", "", refusal, err
	}
	if pin != "" && sha != pin {
		return sha, "", nil, errPin
	}
	path, err = s.place(temp, key, name, signature, sha, racy, t.signCopy)
	return sha, path, nil, err
}

func copyTree(ctx context.Context, root *os.Root, t *tree, dst string) (sha string, refusal *Refusal, err error) {
	if err := os.Mkdir(dst, 0o700); err != nil {
		return "", nil, err
	}
	h := sha256.New()
	for _, e := range t.entries {
		to := filepath.Join(dst, filepath.FromSlash(e.rel))
		switch e.mode.Type() {
		case fs.ModeDir:
			if err := os.Mkdir(to, 0o700); err != nil {
				return "", nil, err
			}
			fmt.Fprintf(h, "dir %q\n", e.rel)
		case fs.ModeSymlink:
			target, err := root.Readlink(e.rel)
			if err != nil {
				return "", nil, sourceError(err)
			}
			if err := os.Symlink(target, to); err != nil {
				return "", nil, err
			}
			fmt.Fprintf(h, "link %q %q\n", e.rel, target)
		default:
			mode := fs.FileMode(0o400)
			if e.mode.Perm()&0o111 != 0 {
				mode = 0o500
			}
			sum, err := copyTreeFile(ctx, root, e, to, mode)
			if err != nil {
				return "", nil, err
			}
			fmt.Fprintf(h, "file %q %04o %d %x\n", e.rel, mode, e.id.Size, sum)
		}
	}
	for _, e := range t.entries {
		if e.mode.Type() == fs.ModeSymlink {
			if refusal, err := judgeTreeLink(dst, e.rel); refusal != nil || err != nil {
				return "", refusal, err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil, nil
}

func copyTreeFile(ctx context.Context, root *os.Root, e treeEntry, to string, mode fs.FileMode) ([]byte, error) {
	src, err := root.OpenFile(e.rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, sourceError(err)
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return nil, &readError{err}
	}
	if metaOf(info) != e.meta {
		return nil, errChanged
	}
	dst, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if err := fillCopy(ctx, dst, src, e.meta, h, mode); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// sourceError sorts failures to open what was listed before.
func sourceError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL) {
		return errChanged
	}
	return &readError{err}
}

// judgeTreeLink refuses a link that leads out of the copy or nowhere. It looks
// at the copy, which nobody else changes, not at the original.
func judgeTreeLink(dst, rel string) (*Refusal, error) {
	target, err := os.Readlink(filepath.Join(dst, filepath.FromSlash(rel)))
	if err != nil {
		return nil, err
	}
	if filepath.IsAbs(target) {
		return refuse(CodeEscape, "holds the link %s to %s, an absolute path; make it relative or copy the file", rel, target), nil
	}
	end, err := endOf(dst, rel)
	if err != nil {
		return nil, err
	}
	switch end {
	case linkOutside:
		return refuse(CodeEscape, "holds the link %s to %s, which leads out of the folder; copy the file into the folder", rel, target), nil
	case linkNowhere:
		return refuse(CodeDangling, "holds the link %s to %s, which does not exist; remove or correct it", rel, target), nil
	case linkLoop:
		return refuse(CodeDangling, "holds the link %s to %s, a loop: it leads back to itself; remove or correct it", rel, target), nil
	}
	return nil, nil
}

// within says that path lies below dir; both are clean and without links.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}
