package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// playActivated is a host that systemd may have started: it says what it
// serves, serves one client and ends.
func playActivated(path string) error {
	l, err := Listen(context.Background(), Options{Path: path})
	if err != nil {
		return err
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if v, set := os.LookupEnv(name); set {
			return fmt.Errorf("%s is still %q", name, v)
		}
	}
	if l.Activated() {
		flags, err := unix.FcntlInt(firstInherited, unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			return errors.New("the passed descriptor survives exec")
		}
	}
	fmt.Println("activated", l.Activated(), l.Path())
	if l.Activated() {
		fd, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("hello")); err != nil {
			return err
		}
		closeFD(fd)
	}
	return l.Close()
}

// listenFile is a listening socket to pass on, of mode 0600.
func listenFile(t *testing.T, path string) *os.File {
	t.Helper()
	fd, _, err := bind(path)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f
}

// runActivated passes files to a host and gives what it says.
func runActivated(t *testing.T, path string, files []*os.File, env ...string) string {
	t.Helper()
	cmd := command(t, "activated", path, env...)
	cmd.ExtraFiles = files
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

func TestAPassedSocketIsServedAndLeftToSystemd(t *testing.T) {
	for _, c := range []struct {
		name  string
		names string
		extra []string
	}{
		{"one, without a name", "", nil},
		{"one, of any name", "vant.socket", nil},
		{"two, by name", "other:vant", []string{"other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var files []*os.File
			for _, name := range c.extra {
				files = append(files, listenFile(t, filepath.Join(dir, name)))
			}
			path := filepath.Join(dir, "passed")
			files = append(files, listenFile(t, path))
			client, err := connect(path) // what made systemd start the host
			if err != nil {
				t.Fatal(err)
			}
			defer closeFD(client)
			out := runActivated(t, filepath.Join(dir, "configured"), files,
				"LISTEN_PID=self", fmt.Sprintf("LISTEN_FDS=%d", len(files)), "LISTEN_FDNAMES="+c.names)
			if out != "activated true "+path+"\n" {
				t.Errorf("it said %q", out)
			}
			buf := make([]byte, 16)
			if n, err := unix.Read(client, buf); err != nil || string(buf[:n]) != "hello" {
				t.Errorf("the client got %q, %v", buf[:max(n, 0)], err)
			}
			again, err := connect(path)
			if err != nil {
				t.Fatalf("the socket is gone with the host: %v", err)
			}
			closeFD(again)
			if _, err := os.Lstat(path + lockSuffix); err == nil {
				t.Error("the lock file is left")
			}
		})
	}
}

func TestWhatIsNotPassedToThisProcessIsIgnored(t *testing.T) {
	for name, env := range map[string][]string{
		"another pid": {"LISTEN_PID=1", "LISTEN_FDS=1"},
		"none":        {"LISTEN_PID=self", "LISTEN_FDS=0"},
		"no number":   {"LISTEN_PID=self"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			own := filepath.Join(dir, "own")
			out := runActivated(t, own, []*os.File{listenFile(t, filepath.Join(dir, "passed"))}, env...)
			if out != "activated false "+own+"\n" {
				t.Errorf("it said %q", out)
			}
		})
	}
}

func TestPassedSocketsThatCannotServeAreRefused(t *testing.T) {
	one := []string{"LISTEN_PID=self", "LISTEN_FDS=1"}
	two := []string{"LISTEN_PID=self", "LISTEN_FDS=2"}
	file := func(t *testing.T, c interface{ File() (*os.File, error) }) *os.File {
		t.Helper()
		f, err := c.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	for _, c := range []struct {
		name  string
		files func(t *testing.T, path string) []*os.File
		env   []string
		want  string
	}{
		{"not a number", func(t *testing.T, path string) []*os.File { return []*os.File{listenFile(t, path)} },
			[]string{"LISTEN_PID=self", "LISTEN_FDS=x"}, "not a number"},
		{"too many", func(t *testing.T, path string) []*os.File { return []*os.File{listenFile(t, path)} },
			[]string{"LISTEN_PID=self", "LISTEN_FDS=100000"}, "not a number from 0 to"},
		{"a file", func(t *testing.T, path string) []*os.File {
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return []*os.File{f}
		}, one, "not a socket"},
		{"network socket", func(t *testing.T, _ string) []*os.File {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return []*os.File{file(t, l.(*net.TCPListener))}
		}, one, "not a Unix stream socket"},
		{"datagram socket", func(t *testing.T, path string) []*os.File {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return []*os.File{file(t, c)}
		}, one, "not a Unix stream socket"},
		{"connected socket", func(t *testing.T, path string) []*os.File {
			fd, err := newStream()
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
				t.Fatal(err)
			}
			f := os.NewFile(uintptr(fd), path)
			t.Cleanup(func() { f.Close() })
			return []*os.File{f}
		}, one, "does not listen"},
		{"open to others", func(t *testing.T, path string) []*os.File {
			f := listenFile(t, path)
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			return []*os.File{f}
		}, one, "SocketMode=0600"},
		{"its file is gone", func(t *testing.T, path string) []*os.File {
			f := listenFile(t, path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return []*os.File{f}
		}, one, "no such file"},
		{"several without our name", func(t *testing.T, path string) []*os.File {
			return []*os.File{listenFile(t, path), listenFile(t, path+"2")}
		}, append(two, "LISTEN_FDNAMES=a:b"), "FileDescriptorName=vant"},
		{"several with our name", func(t *testing.T, path string) []*os.File {
			return []*os.File{listenFile(t, path), listenFile(t, path+"2")}
		}, append(two, "LISTEN_FDNAMES=vant:vant"), "several sockets named vant"},
		{"fewer than announced", func(t *testing.T, path string) []*os.File {
			return []*os.File{listenFile(t, path)}
		}, append(two, "LISTEN_FDNAMES=vant:x"), "not a socket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := socketPath(t)
			out := runActivated(t, path, c.files(t, path), c.env...)
			if !strings.HasPrefix(out, "error: ") || !strings.Contains(out, c.want) {
				t.Errorf("it said %q, want an error with %q", out, c.want)
			}
		})
	}
}
