package socket

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

// roleVariable makes the test binary play a process of its own.
const roleVariable = "VANT_SOCKET_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Getenv("VANT_SOCKET_TEST_PATH")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play is what the test binary does in a role.
func play(role, path string) error {
	switch role {
	case "host": // serves until it is killed
		l, err := Listen(context.Background(), Options{Path: path})
		if err != nil {
			return err
		}
		fmt.Println("serving", l.Path())
		for {
			fd, err := l.Accept()
			if err != nil {
				return err
			}
			closeFD(fd)
		}
	case "activated":
		// The pid is known only here, as it is to systemd's child before exec.
		if os.Getenv("LISTEN_PID") == "self" {
			if err := os.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid())); err != nil {
				return err
			}
		}
		return playActivated(path)
	case "inheritance":
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
				fmt.Println(target)
			}
		}
		return nil
	}
	return fmt.Errorf("unknown role %q", role)
}

func command(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role, "VANT_SOCKET_TEST_PATH="+path), env...)
	return cmd
}

// startHost runs another process that serves path.
func startHost(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	var out hosttest.Log
	cmd := command(t, "host", path)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	hosttest.Eventually(t, "the other host serves", func() bool { return strings.Contains(out.String(), "serving") })
	return cmd
}

// kill ends a process without a chance to clean up. Calling it twice is fine.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func mustListen(t *testing.T, path string) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func socketPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

// connect is a client; the caller closes what it gets.
func connect(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		closeFD(fd)
		return -1, err
	}
	return fd, nil
}

// reaches says whether a client at path is accepted by l.
func reaches(t *testing.T, l *Listener, path string) bool {
	t.Helper()
	client, err := connect(path)
	if err != nil {
		return false
	}
	defer closeFD(client)
	fd, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(fd)
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		return false
	}
	n, err := unix.Read(client, make([]byte, 1))
	return n == 1 && err == nil
}

// deadSocket leaves the file of a socket that nobody listens at.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	fd, _, err := bind(path)
	if err != nil {
		t.Fatal(err)
	}
	closeFD(fd)
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
