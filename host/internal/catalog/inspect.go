package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Candidate is a plugin that may run.
type Candidate struct {
	Name   string
	File   string // as the operator knows it
	Exec   string // the private copy to run
	SHA256 string // of the program, or of the whole folder; lower-case hex
	Dir    bool   // a folder plugin
}

// Copy is the private copy that the candidate runs from.
func (c Candidate) Copy() Copy { return Copy{Name: c.Name, SHA256: c.SHA256} }

// Pending is a file that is still being written: look again soon, and keep
// what runs under the name meanwhile.
type Pending struct{ Name, File string }

// verdict is what became of one directory entry. At most one field is set;
// none is when the entry went away.
type verdict struct {
	accepted *Candidate
	refused  *Refusal
	pending  bool
}

// inspector judges files for one scan.
type inspector struct {
	store  *Store
	lock   *Lock
	strict bool
	uid    uint32
	target target

	lockFile string
	lockErr  error
}

func newInspector(o Options) *inspector {
	return &inspector{
		store: o.Store, lock: o.Lock, strict: o.Strict, uid: o.Store.uid, target: hostTarget,
		lockFile: o.LockFile, lockErr: o.LockErr,
	}
}

// directory is an open plugin directory.
type directory struct {
	shown string // as configured
	real  string // without links
	root  *os.Root
}

// release closes a folder that was only read through: nothing is lost when
// that fails.
func release(root *os.Root) { _ = root.Close() }

// inspect judges the entry base of d. Its error is a failure of the store or
// the end of ctx; the verdict is then pending.
func (in *inspector) inspect(ctx context.Context, d *directory, base string) (v verdict, err error) {
	name, file := strings.TrimPrefix(base, Prefix), filepath.Join(d.shown, base)
	defer func() {
		if v.refused != nil {
			v.refused.Name, v.refused.File = name, file
		}
	}()
	if slices.Contains(configKeys, name) {
		return refused(refuse(CodeName, "has the name %s, which is a key of the configuration's section plugins, so that it could not be configured; rename the plugin and its file", name))
	}
	if !ValidName(name) {
		return refused(refuse(CodeName, "has no valid name: what follows %s must be a letter a-z, then letters, digits and - (at most 32 in all); rename it", Prefix))
	}
	pin := ""
	if in.lock != nil {
		pin = in.lock.Pins[name]
		if pin == "" && in.strict {
			return refused(refuse(CodeUnpinned, "is not in %s, and plugins.verify is strict; if you trust it, run: vant plugin lock", in.lock.File))
		}
	} else if in.strict {
		return refused(in.unpinnable())
	}

	rel, r, err := in.resolve(d, base, file)
	if r != nil || err != nil {
		return gone(r, err)
	}
	info, err := d.root.Lstat(rel)
	if err != nil {
		return gone(nil, err)
	}
	c := Candidate{Name: name, File: file, Dir: info.IsDir()}
	if c.Dir {
		c.SHA256, c.Exec, v, err = in.folder(ctx, d, rel, file, name, pin)
	} else {
		c.SHA256, c.Exec, v, err = in.program(ctx, d, rel, file, name, pin, info.Mode())
	}
	return in.conclude(c, v, err, pin)
}

// unpinnable refuses everything while there are no pins to go by.
func (in *inspector) unpinnable() *Refusal {
	switch {
	case in.lockFile == "":
		return refuse(CodeUnpinned, "is not pinned: plugins.verify is strict and no lock file is named; set plugins.lock")
	case in.lockErr == nil || errors.Is(in.lockErr, fs.ErrNotExist):
		return refuse(CodeUnpinned, "is not pinned: plugins.verify is strict and %s does not exist; make it, or if you trust what is there, run: vant plugin lock", in.lockFile)
	}
	return refuse(CodeUnpinned, "is not pinned: plugins.verify is strict and the pins cannot be read (%v); mend that, or if you trust what is there, run: vant plugin lock", in.lockErr)
}

// conclude turns the outcome of putting a plugin into the store to a verdict.
func (in *inspector) conclude(c Candidate, v verdict, err error, pin string) (verdict, error) {
	var read *readError
	switch {
	case v != verdict{}:
		return v, nil
	case err == nil && c.Exec == "":
		return verdict{}, nil // it vanished
	case err == nil:
		return verdict{accepted: &c}, nil
	case errors.Is(err, errChanged):
		return verdict{pending: true}, nil
	case errors.Is(err, errPin):
		return refused(refuse(CodeChecksum, "has the sha256 %s, but %s pins %s; put the pinned file back, or if you trust this one, run: vant plugin lock",
			c.SHA256, in.lock.File, pin))
	case errors.As(err, &read):
		return gone(nil, err)
	}
	return verdict{pending: true}, fmt.Errorf("copy %s into the plugin store: %w", c.File, err)
}

// resolve follows links from base and gives the path below d.root. What they
// lead through must be as safe as d itself.
func (in *inspector) resolve(d *directory, base, file string) (rel string, _ *Refusal, _ error) {
	info, err := d.root.Lstat(base)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return base, nil, err
	}
	target, err := d.root.Readlink(base)
	if err != nil {
		return "", nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(d.real, base))
	switch {
	case loopingLink(err):
		return "", refuse(CodeDangling, "is a link to %s, a loop: it leads back to itself; correct it, or run: rm %s", target, quote(file)), nil
	case danglingLink(err):
		return "", refuse(CodeDangling, "is a link to %s, which does not exist; correct it, or run: rm %s", target, quote(file)), nil
	case err != nil:
		return "", nil, err
	case !within(d.real, real):
		return "", refuse(CodeEscape, "is a link that leads out of %s (to %s); put the program there: cp --remove-destination %s %s",
			d.shown, target, quote(real), quote(file)), nil
	}
	rel, err = filepath.Rel(d.real, real)
	if err != nil {
		return "", nil, err
	}
	for up := filepath.Dir(rel); up != "."; up = filepath.Dir(up) {
		info, err := d.root.Lstat(up)
		if err != nil {
			return "", nil, err
		}
		shown := filepath.Join(d.shown, up)
		if r := judgeAccess(metaOf(info), in.uid, shown); r != nil {
			r.Reason = "leads through " + shown + ", which " + r.Reason
			return "", r, nil
		}
	}
	return rel, nil, nil
}

// open opens a regular file below root and never waits for one: a pipe that
// took its place is opened without blocking and refused. mode is what lstat
// saw, so that a device is not opened at all.
func open(root *os.Root, rel, file string, mode fs.FileMode) (*os.File, meta, *Refusal, error) {
	if r := judgeType(mode, file); r != nil {
		return nil, meta{}, r, nil
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, meta{}, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, meta{}, nil, errors.Join(err, f.Close())
	}
	if r := judgeType(info.Mode(), file); r != nil {
		return nil, meta{}, r, f.Close()
	}
	return f, metaOf(info), nil, nil
}

// program judges a single file and stores it.
func (in *inspector) program(ctx context.Context, d *directory, rel, file, name, pin string, mode fs.FileMode) (sha, exec string, v verdict, err error) {
	f, m, r, err := open(d.root, rel, file, mode)
	if r != nil || err != nil {
		v, err = gone(r, err)
		return "", "", v, err
	}
	defer f.Close()
	if v, err := in.judge(f, m, file); v != (verdict{}) || err != nil {
		return "", "", v, err
	}
	sha, exec, err = in.store.addFile(ctx, f, m, file, name, pin)
	return sha, exec, verdict{}, err
}

// judge looks at an open program. Whether it is complete comes first: a file
// that is being written has neither its mode nor its content yet.
func (in *inspector) judge(f *os.File, m meta, file string) (verdict, error) {
	complete, err := Complete(f)
	if err != nil {
		return gone(nil, err)
	}
	if !complete {
		return verdict{pending: true}, nil
	}
	if r := judgeAccess(m, in.uid, file); r != nil {
		return refused(r)
	}
	if m.mode.Perm()&0o111 == 0 {
		return refused(refuse(CodeNotExecutable, "is not executable; run: chmod +x %s", quote(file)))
	}
	if m.id.Size > maxFileBytes {
		return refused(refuse(CodeLimit, "is larger than %d MiB; strip it (go build -ldflags=-s)", maxFileBytes>>20))
	}
	if r := judgeFormat(f, m.id.Size, file, in.target); r != nil {
		return refused(r)
	}
	return verdict{}, nil
}

// folder judges a folder plugin and stores it whole.
func (in *inspector) folder(ctx context.Context, d *directory, rel, file, name, pin string) (sha, exec string, v verdict, err error) {
	fail := func(v verdict, err error) (string, string, verdict, error) { return "", "", v, err }
	root, err := d.root.OpenRoot(rel)
	if err != nil {
		return fail(gone(nil, err))
	}
	defer release(root)
	t, r, err := listTree(ctx, root, in.uid, file)
	if r != nil || err != nil {
		return fail(goneInside(r, err))
	}
	if _, known := in.store.cached(file, name, t.signature(), t.signCopy); !known {
		if ok, err := t.complete(root, file, in.store.now()); err != nil || !ok {
			return fail(goneInside(nil, err))
		}
	}
	main := Prefix + name
	entry := t.entry(main)
	if entry == nil {
		return fail(refused(refuse(CodeNotProgram, "holds no program named %s; a folder plugin needs one", main)))
	}
	f, m, r, err := open(root, main, filepath.Join(file, main), entry.mode)
	if r != nil || err != nil {
		return fail(goneInside(r, err))
	}
	v, err = in.judge(f, m, filepath.Join(file, main))
	if err = errors.Join(err, f.Close()); err != nil || v != (verdict{}) {
		if v.refused != nil {
			v.refused.Reason = "holds " + main + ", which " + v.refused.Reason
		}
		return fail(v, err)
	}
	sha, path, r, err := in.store.addTree(ctx, root, t, file, name, pin)
	if r != nil {
		return fail(refused(r))
	}
	return sha, filepath.Join(path, main), verdict{}, err
}

func refused(r *Refusal) (verdict, error) { return verdict{refused: r}, nil }

// gone sorts failures of reading the source: what vanished is no news, what
// cannot be read is refused.
func gone(r *Refusal, err error) (verdict, error) {
	switch {
	case r != nil:
		return refused(r)
	case errors.Is(err, fs.ErrNotExist):
		return verdict{}, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return verdict{pending: true}, err
	case errors.Is(err, fs.ErrPermission):
		return refused(refuse(CodeUnreadable, "cannot be read; run: chmod u+r on it and its folders"))
	case errors.Is(err, unix.ELOOP):
		return verdict{pending: true}, nil // replaced by a link while we looked
	case transient(err):
		return verdict{pending: true}, nil
	}
	return refused(refuse(CodeUnreadable, "cannot be read: %v", err))
}

// transient says that the fault is not the file's: this host, or this machine,
// is short of something at the moment.
func transient(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR, unix.EAGAIN, unix.ESTALE, unix.EIO, unix.ETIMEDOUT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// goneInside is gone for what lies in a folder plugin, which is itself still
// there: what vanishes or has nothing wrong is being changed.
func goneInside(r *Refusal, err error) (verdict, error) {
	if r == nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return verdict{pending: true}, nil
	}
	return gone(r, err)
}
