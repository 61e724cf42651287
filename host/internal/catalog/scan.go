package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// maxEntries bounds the plugins of one directory.
const maxEntries = 1024

// Options say what Scan looks at.
type Options struct {
	// Dirs are absolute paths, most important first; see Dirs. One that does
	// not exist holds nothing.
	Dirs []string
	// Store receives the private copies. It is required.
	Store *Store
	// Order puts these names first in Result.Accepted, as in plugins.order.
	Order []string
	// Lock refuses content other than the pinned; nil pins nothing.
	Lock *Lock
	// Strict refuses what Lock does not pin. Without a Lock it refuses all;
	// LockFile and LockErr then say why there is none.
	Strict   bool
	LockFile string
	LockErr  error
}

// Result is what the directories hold. Its slices are the caller's.
type Result struct {
	Accepted []Candidate // by Options.Order, then by name
	Refused  []Refusal   // by file
	Pending  []Pending   // by file
	// Unread are the directories that could not be read for lack of resources:
	// what came from them goes on, and they are looked at again soon.
	Unread []string
}

// Scan judges everything in the plugin directories. It starts no program and
// never waits for a pipe or a device. The first directory that has an
// acceptable or unfinished plugin of a name keeps the name.
//
// An error other than ctx's comes from the store: the files it concerns are
// Pending and everything else in the result holds. Scan may run concurrently
// with itself.
func Scan(ctx context.Context, opts Options) (Result, error) {
	if opts.Store == nil {
		return Result{}, errors.New("scan plugins: no store given")
	}
	in := newInspector(opts)
	var res Result
	var errs []error
	taken := map[string]string{} // name to the file that has it
	seen := map[[2]uint64]bool{}
	for _, dir := range opts.Dirs {
		errs = append(errs, in.scanDir(ctx, dir, &res, taken, seen))
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("scan plugins: %w", err)
		}
	}
	errs = append(errs, opts.Store.save())

	rank := func(name string) int {
		if i := slices.Index(opts.Order, name); i >= 0 {
			return i
		}
		return len(opts.Order)
	}
	slices.SortFunc(res.Accepted, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(res.Refused, func(a, b Refusal) int { return cmp.Compare(a.File, b.File) })
	slices.SortFunc(res.Pending, func(a, b Pending) int { return cmp.Compare(a.File, b.File) })
	return res, errors.Join(errs...)
}

// ErrBeingWritten: the file is not complete yet.
var ErrBeingWritten = errors.New("it is still being written; try again")

// Inspect judges one file as if it lay in a good plugin directory, wherever it
// lies: what Scan would say of it after installing. Exactly one of accepted
// and refused is set unless it fails; a file that is still being written is
// ErrBeingWritten.
func Inspect(ctx context.Context, path string, opts Options) (accepted *Candidate, refused *Refusal, err error) {
	if opts.Store == nil {
		return nil, nil, errors.New("inspect a plugin: no store given")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("inspect %s: %w", path, err)
	}
	base := filepath.Base(abs)
	if !ofInterest(base) {
		if _, err := os.Lstat(abs); err != nil {
			return nil, nil, fmt.Errorf("inspect %s: %w", path, err)
		}
		r := refuse(CodeName, "is not named %s<name>; rename it", Prefix)
		r.File = abs
		return nil, r, nil
	}
	d, err := openDirectory(filepath.Dir(abs))
	if err != nil {
		return nil, nil, fmt.Errorf("inspect %s: %w", path, err)
	}
	defer release(d.root)
	in := newInspector(opts)
	v, err := in.inspect(ctx, d, base)
	if err = errors.Join(err, opts.Store.save()); err != nil {
		return nil, nil, fmt.Errorf("inspect %s: %w", path, err)
	}
	switch {
	case v.pending:
		return nil, nil, fmt.Errorf("inspect %s: %w", path, ErrBeingWritten)
	case v == verdict{}:
		return nil, nil, fmt.Errorf("inspect %s: %w", path, fs.ErrNotExist)
	}
	return v.accepted, v.refused, nil
}

func openDirectory(dir string) (*directory, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &directory{shown: dir, real: real, root: root}, nil
}

func (in *inspector) scanDir(ctx context.Context, dir string, res *Result, taken map[string]string, seen map[[2]uint64]bool) error {
	bad := func(err error, format string, args ...any) {
		if transient(err) {
			res.Unread = append(res.Unread, dir)
			return
		}
		r := refuse(CodeDirectory, format, args...)
		r.File = dir
		res.Refused = append(res.Refused, *r)
	}
	d, err := openDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		bad(err, "cannot be used as a plugin directory: %v", errors.Unwrap(err))
		return nil
	}
	defer release(d.root)
	info, err := d.root.Stat(".")
	if err != nil {
		bad(err, "cannot be used as a plugin directory: %v", err)
		return nil
	}
	m := metaOf(info)
	if key := [2]uint64{m.id.Dev, m.id.Ino}; seen[key] {
		return nil // named twice, or by two links
	} else {
		seen[key] = true
	}
	names, err := listDirectory(ctx, d.root)
	if err != nil {
		bad(err, "cannot be read: %v", err)
		return nil
	}
	if len(names) > maxEntries {
		bad(nil, "holds more than %d plugins; the rest is not looked at", maxEntries)
		names = names[:maxEntries]
	}

	// Whoever can write the directory can replace every file in it.
	unsafe := judgeAccess(m, in.uid, dir)
	var todo []string
	for _, base := range names {
		r := Refusal{Name: base[len(Prefix):], File: filepath.Join(dir, base)}
		winner, shadowed := taken[r.Name]
		switch {
		case shadowed:
			r.Code = CodeShadowed
			r.Reason = fmt.Sprintf("is not used: plugin %s comes from %s, an earlier directory; remove one of the two", r.Name, winner)
		case unsafe != nil:
			r.Code, r.Reason = unsafe.Code, "lies in "+dir+", which "+unsafe.Reason
		default:
			todo = append(todo, base)
			continue
		}
		res.Refused = append(res.Refused, r)
	}

	verdicts := make([]verdict, len(todo))
	errs := make([]error, len(todo))
	each(len(todo), func(i int) { verdicts[i], errs[i] = in.inspect(ctx, d, todo[i]) })
	for i, v := range verdicts {
		name, file := todo[i][len(Prefix):], filepath.Join(dir, todo[i])
		switch {
		case v.accepted != nil:
			taken[name] = file
			res.Accepted = append(res.Accepted, *v.accepted)
		case v.pending:
			taken[name] = file
			res.Pending = append(res.Pending, Pending{Name: name, File: file})
		case v.refused != nil:
			res.Refused = append(res.Refused, *v.refused)
		}
	}
	return errors.Join(errs...)
}

// listDirectory gives the sorted names of interest, one more than maxEntries
// at most.
func listDirectory(ctx context.Context, root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for ctx.Err() == nil {
		batch, err := f.Readdirnames(256)
		for _, name := range batch {
			if ofInterest(name) {
				names = append(names, name)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxEntries+1)], nil
}

// each runs f(0) to f(n-1), as many at once as there are processors: hashing
// is what takes the time.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
