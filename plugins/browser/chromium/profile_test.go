package chromium

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// singleton makes the links of a browser that runs, or ran, on dir.
func singleton(t *testing.T, dir, host string, pid int) (socket string) {
	t.Helper()
	// Not the test's folder: a socket's name must be short.
	at, err := os.MkdirTemp("", "org.chromium.Chromium.")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	socket = filepath.Join(at, "SingletonSocket")
	err = errors.Join(os.MkdirAll(dir, 0o700),
		os.Symlink(fmt.Sprintf("%s-%d", host, pid), filepath.Join(dir, "SingletonLock")),
		os.Symlink("12345", filepath.Join(dir, "SingletonCookie")),
		os.Symlink("12345", filepath.Join(at, "SingletonCookie")),
		os.Symlink(socket, filepath.Join(dir, "SingletonSocket")))
	if err != nil {
		t.Fatal(err)
	}
	return socket
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// deadPid was a process's.
func deadPid(t *testing.T) int {
	t.Helper()
	c := exec.Command("/bin/true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

func TestAStaleLockIsCleared(t *testing.T) {
	for _, tc := range []struct {
		name, host string
		pid        int
		listened   bool
	}{
		{"dead process", hostname(t), deadPid(t), false},
		{"dead process and its socket", hostname(t), deadPid(t), true},
		{"pid of another program now", hostname(t), os.Getpid(), false},
		{"another host", "elsewhere-2", os.Getpid(), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t)
			socket := singleton(t, dir, tc.host, tc.pid)
			if tc.listened {
				l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
				if err != nil {
					t.Fatal(err)
				}
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			p := start(t, Options{Path: fake(t, "read x <&3"), Profile: dir})
			for _, name := range []string{filepath.Join(dir, "SingletonLock"), filepath.Join(dir, "SingletonSocket"), filepath.Join(dir, "SingletonCookie"), filepath.Dir(socket)} {
				if _, err := os.Lstat(name); err == nil {
					t.Errorf("%s is there still", name)
				}
			}
			stop(t, p, 10*time.Second)
		})
	}
}

func refused(t *testing.T, dir string) *InUseError {
	t.Helper()
	p, err := Start(t.Context(), Options{Path: fake(t, "read x <&3"), Profile: dir})
	if err == nil {
		stop(t, p, 10*time.Second)
	}
	var in *InUseError
	if !errors.Is(err, ErrProfileInUse) || !errors.As(err, &in) {
		t.Fatalf("error %v, want that the profile is in use", err)
	}
	return in
}

func TestABrowserOfAPersonKeepsItsProfile(t *testing.T) {
	t.Run("it answers at its socket", func(t *testing.T) {
		dir := folder(t)
		socket := singleton(t, dir, hostname(t), 4711)
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if in := refused(t, dir); in.Pid != 4711 || !in.Browser {
			t.Errorf("%+v", in)
		}
		if _, err := os.Lstat(filepath.Join(dir, "SingletonLock")); err != nil {
			t.Error("its lock was taken away")
		}
		// The folder is not held by the one that was refused.
		l.Close()
		stop(t, start(t, Options{Path: fake(t, "read x <&3"), Profile: dir}), 10*time.Second)
	})
	t.Run("it is seen by its command line", func(t *testing.T) {
		dir := folder(t)
		c := exec.Command(fake(t, "echo; read x"), "--user-data-dir="+dir)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { in.Close(); _ = c.Wait() }()
		within(t, 5*time.Second, "its command line is shown", func() bool { return len(residue(t, dir)) > 0 })
		singleton(t, dir, "other-name", 1)
		if in := refused(t, dir); in.Pid != c.Process.Pid || !in.Browser {
			t.Errorf("%+v, want process %d", in, c.Process.Pid)
		}
	})
}

func TestASecondHostIsToldWhoHasTheProfile(t *testing.T) {
	dir := folder(t)
	first := plugin(t, fake(t, "read x <&3"), dir)
	if in := refused(t, dir); in.Pid != first.Process.Pid || in.Browser {
		t.Errorf("%+v, want process %d", in, first.Process.Pid)
	}
	// By another name it is the same folder.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused(t, link)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	stop(t, start(t, Options{Path: fake(t, "read x <&3"), Profile: dir}), 10*time.Second)
}

func TestTheProfileFolderIsClosedToOthers(t *testing.T) {
	dir := filepath.Join(folder(t), "deep", "er")
	for range 2 {
		p := start(t, Options{Path: fake(t, "read x <&3"), Profile: dir})
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		stop(t, p, 10*time.Second)
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFolderThatCannotBeAProfileIsRefused(t *testing.T) {
	file := fake(t)
	for _, dir := range []string{"", "relative", file, filepath.Join(file, "x")} {
		if p, err := Start(t.Context(), Options{Path: fake(t), Profile: dir}); err == nil {
			stop(t, p, time.Second)
			t.Errorf("%q was taken", dir)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Path: fake(t), Profile: folder(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context's end", err)
	}
}
