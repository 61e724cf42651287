package chromium

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/internal/proc"
)

// ErrProfileInUse: another process has the profile folder. The error that
// wraps it is an *InUseError.
var ErrProfileInUse = errors.New("profile is in use")

// InUseError says who has the folder.
type InUseError struct {
	Profile string
	Pid     int  // 0: not known
	Browser bool // a browser that somebody started by hand, not another host
}

func (e *InUseError) Error() string {
	who, do := "another host's browser plugin", "stop that host, or give this one another folder"
	if e.Browser {
		who, do = "a browser that was started by hand", "close it, or use another folder"
	}
	if e.Pid > 0 {
		who += fmt.Sprintf(" (process %d)", e.Pid)
	}
	return fmt.Sprintf("profile %s is in use by %s; %s", e.Profile, who, do)
}

func (e *InUseError) Unwrap() error { return ErrProfileInUse }

// profile is a profile folder that this process alone starts browsers on.
type profile struct {
	dir  string
	lock *os.File
	temp string // the browser's folder of temporary files, "" when it has none of its own
}

// lockName is in the profile folder. The file is never removed: whoever has
// opened it locks what the next one opens. It holds the pid of the process that
// locks it, and nothing after a browser has ended with all that it started.
const lockName = "vant.lock"

// openProfile makes the folder, locks it, and frees it of what a killed
// predecessor left. Its error is an *InUseError when somebody else has it.
func openProfile(ctx context.Context, dir string) (*profile, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("profile folder %q is not an absolute path", dir)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("profile folder: %w", err)
	}
	// Chromium and its children show the folder by this name.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("profile folder: %w", err)
	}
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("profile folder: %w", err)
	}
	p := &profile{dir: dir, lock: file}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid := p.owner()
		file.Close()
		return nil, &InUseError{Profile: dir, Pid: pid}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w; its file system may not know locks: use another folder", path, err)
	}
	if err := p.claim(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// makeDir makes the folder, closed to others: cookies are in it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d; use a folder of your own", dir, stat.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// owner is the pid in the lock file, 0 when there is none.
func (p *profile) owner() int {
	b, err := io.ReadAll(io.NewSectionReader(p.lock, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

func (p *profile) write(text string) error {
	if err := p.lock.Truncate(0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	if _, err := p.lock.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

// claim makes sure that no browser lives on the locked folder, and ends what a
// killed predecessor left. That costs nothing when the last one ended well.
func (p *profile) claim(ctx context.Context) error {
	left := p.owner() != 0
	if left {
		if _, err := proc.KillMarked(ctx, p.marker()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("end what was left on profile %s: %w", p.dir, err)
		}
	}
	_, err := os.Lstat(filepath.Join(p.dir, "SingletonLock"))
	if linked := err == nil; linked || left {
		if pid, alive := p.inUse(); alive {
			return &InUseError{Profile: p.dir, Pid: pid, Browser: true}
		}
		p.unlink()
	}
	return p.write(strconv.Itoa(os.Getpid()) + "\n")
}

// temporary is the folder of the browser's temporary files below the one that is
// everybody's: one that is killed leaves some, among them its socket's folder. It is
// named after the profile, so that the next start finds it.
func (p *profile) temporary(all string) string {
	sum := sha256.Sum256([]byte(p.dir))
	return filepath.Join(all, fmt.Sprintf("vantb-%x", sum[:4]))
}

// maxSocket bounds the path of a socket on all systems, and socketIn is the longest
// that a browser's has in its folder of temporary files.
const (
	maxSocket = 103
	socketIn  = "/org.chromium.Chromium.XXXXXX/SingletonSocket"
)

// makeTemporary makes that folder anew. It gives "" where there cannot be one: the
// browser's socket would have too long a name there, or somebody else has the name.
func (p *profile) makeTemporary(all string) string {
	dir := p.temporary(all)
	if len(dir)+len(socketIn) > maxSocket || os.RemoveAll(dir) != nil || os.Mkdir(dir, 0o700) != nil {
		return ""
	}
	p.temp = dir
	return dir
}

// marker is in the environment of every process of a browser on this folder.
func (p *profile) marker() string { return "VANT_BROWSER_PROFILE=" + p.dir }

// inUse says whether a browser lives on the folder, which then is somebody
// else's, and which, if that is known. Chromium's SingletonLock names its host
// and pid, but outlives it, and pids are used again. A live one answers at its
// socket, or has the folder in its command line.
func (p *profile) inUse() (pid int, alive bool) {
	target, err := os.Readlink(filepath.Join(p.dir, "SingletonLock"))
	if i := strings.LastIndexByte(target, '-'); err == nil && i >= 0 {
		if host, err := os.Hostname(); err == nil && host == target[:i] {
			pid, _ = strconv.Atoi(target[i+1:]) // 0: not known
		}
	}
	if answers(filepath.Join(p.dir, "SingletonSocket")) {
		return pid, true
	}
	users, err := usersOf(p.dir)
	if err != nil {
		// It cannot be seen here. A pid that is in use on this host decides.
		return pid, pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH
	}
	for _, u := range users {
		if !u.child {
			return u.id.Pid, true
		}
	}
	// Children without their browser end by themselves, but not at once.
	for _, u := range users {
		_ = proc.Signal(u.id, syscall.SIGKILL)
	}
	return 0, false
}

func answers(socket string) bool {
	// The link's target is short, the folder's own path may be too long.
	target, err := os.Readlink(socket)
	if err != nil {
		return false
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	unix.CloseOnExec(fd)
	if unix.SetNonblock(fd, true) != nil {
		return false
	}
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: target})
	// EAGAIN: somebody listens, and is stopped or busy.
	return err == nil || errors.Is(err, unix.EAGAIN)
}

// unlink removes what says that a browser lives on the folder, and the folder
// of its socket.
func (p *profile) unlink() {
	if socket, err := os.Readlink(filepath.Join(p.dir, "SingletonSocket")); err == nil {
		dir := filepath.Dir(socket)
		if base := filepath.Base(dir); strings.Contains(base, "org.chromium.") || strings.Contains(base, "com.google.Chrome.") {
			_ = os.Remove(socket)
			_ = os.Remove(filepath.Join(dir, "SingletonCookie"))
			_ = os.Remove(dir) // only when it is empty now
		}
	}
	for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		_ = os.Remove(filepath.Join(p.dir, name))
	}
}

// release gives the folder back after a browser's end: clean says that nothing
// of it is left.
func (p *profile) release(clean bool) error {
	var err error
	if clean {
		p.unlink()
		err = p.write("")
		if p.temp != "" {
			err = errors.Join(err, os.RemoveAll(p.temp))
		}
	}
	return errors.Join(err, p.close())
}

// close unlocks by name: a child between fork and exec may share the lock, and
// would hold it a moment longer.
func (p *profile) close() error {
	return errors.Join(unix.Flock(int(p.lock.Fd()), unix.LOCK_UN), p.lock.Close())
}
