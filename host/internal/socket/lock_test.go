package socket

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASecondHostLearnsThePidOfTheFirst(t *testing.T) {
	path := socketPath(t)
	other := startHost(t, path)
	_, err := Listen(t.Context(), Options{Path: path})
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("got %v", err)
	}
	if held.PID != other.Process.Pid || held.Path != path {
		t.Errorf("pid %d path %s", held.PID, held.Path)
	}
	wantError(t, err, strconv.Itoa(other.Process.Pid), path, "--socket")
	if client, err := connect(path); err != nil {
		t.Errorf("the first host is gone: %v", err)
	} else {
		closeFD(client)
	}
}

func TestAHostTakesOverFromOneThatWasKilled(t *testing.T) {
	path := socketPath(t)
	kill(startHost(t, path))
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the dead host left nothing: %v", err)
	}
	l := mustListen(t, path)
	if !reaches(t, l, path) {
		t.Error("cannot connect")
	}
	if got := readPID(path + lockSuffix); got != os.Getpid() {
		t.Errorf("lock file has pid %d, want %d", got, os.Getpid())
	}
}

// giveAway makes path another user's: in truth when the test may do that, else
// by making this process believe to be another user. It gives the owner.
func giveAway(t *testing.T, path string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		geteuid = func() int { return os.Geteuid() + 1 }
		t.Cleanup(func() { geteuid = os.Geteuid })
		return strconv.Itoa(os.Geteuid())
	}
	if err := os.Lchown(path, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	return "54321"
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	t.Run("socket", func(t *testing.T) {
		path := socketPath(t)
		deadSocket(t, path)
		owner := giveAway(t, path)
		wantError(t, makeRoom(path), "belongs to user "+owner, "left alone")
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("lock", func(t *testing.T) {
		path := socketPath(t) + lockSuffix
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		owner := giveAway(t, path)
		_, err := tryLock(path)
		wantError(t, err, "lock file", "belongs to user "+owner)
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("folder of the socket", func(t *testing.T) {
		dir := t.TempDir()
		owner := giveAway(t, dir)
		wantError(t, checkParent(filepath.Join(dir, "s")), dir, "belongs to user "+owner, "--socket")
	})
	t.Run("private folder", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		owner := giveAway(t, dir)
		wantError(t, PrivateDir(dir), dir, "belongs to user "+owner)
	})
}

func TestTheEndOfTheStartsContextEndsTheWaitForALock(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	// A holder that has not yet written its pid is waited for.
	if err := os.Truncate(path+lockSuffix, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Listen(ctx, Options{Path: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err := Listen(t.Context(), Options{Path: path})
	wantError(t, err, "another host serves", path)
	if !reaches(t, l, path) {
		t.Error("the first host is gone")
	}
}

func TestALockFileThatWasRemovedLocksNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	first, err := tryLock(path)
	if err != nil || first == nil {
		t.Fatalf("%v, %v", first, err)
	}
	late, err := os.OpenFile(path, os.O_RDWR, 0) // comes before the first one lets go
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close() }()
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	if l, err := lockFile(path, late); l != nil || err != nil {
		t.Fatalf("it locked a file that is no longer at the path: %v, %v", l, err)
	}
	second, err := tryLock(path)
	if err != nil || second == nil {
		t.Fatalf("%v, %v", second, err)
	}
	// Nor while a new file is there.
	if l, err := lockFile(path, late); l != nil || err != nil {
		t.Fatalf("it locked a file that is no longer at the path: %v, %v", l, err)
	}
	if err := second.release(); err != nil {
		t.Fatal(err)
	}
}

func TestALockThatIsNotAFileOfOursIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(path string) error
		want string
	}{
		{"link", func(p string) error { return os.Symlink(p+"x", p) }, "symbolic link"},
		{"named pipe", func(p string) error { return unix.Mkfifo(p, 0o600) }, "not a regular file"},
		{"folder", func(p string) error { return os.Mkdir(p, 0o700) }, "lock file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := socketPath(t)
			if err := c.put(path + lockSuffix); err != nil {
				t.Fatal(err)
			}
			_, err := Listen(t.Context(), Options{Path: path})
			wantError(t, err, c.want, path+lockSuffix)
			if _, err := os.Lstat(path + lockSuffix + "x"); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a link was followed")
			}
		})
	}
}
