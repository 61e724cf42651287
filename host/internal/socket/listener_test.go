package socket

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

func TestTheSocketAndItsLockArePrivateWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o177} {
		path := socketPath(t)
		before := unix.Umask(mask)
		l, err := Listen(t.Context(), Options{Path: path})
		unix.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, path + lockSuffix} {
			info, err := os.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("umask %04o: %s has mode %v", mask, filepath.Base(name), info.Mode())
			}
		}
		if !reaches(t, l, path) {
			t.Errorf("umask %04o: cannot connect", mask)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestASocketOfAnotherModeIsMadePrivateBeforeItListens(t *testing.T) {
	path := socketPath(t)
	fd, err := newStream()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(path); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a bound socket let a client in: %v", err)
	}
	id, err := secure(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || inodeOf(info) != id {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	for range 2 { // the second does nothing
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	mustListen(t, path)
}

func TestCloseLeavesASocketThatIsNotItsOwn(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "mine" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCloseWakesAnAccept(t *testing.T) {
	for name, end := range map[string]func(*Listener){
		"close":  func(l *Listener) { _ = l.Close() },
		"retire": (*Listener).Retire,
	} {
		t.Run(name, func(t *testing.T) {
			l := mustListen(t, socketPath(t))
			ended := make(chan error, 1)
			go func() {
				_, err := l.Accept()
				ended <- err
			}()
			end(l)
			select {
			case err := <-ended:
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			case <-time.After(hosttest.Patience):
				t.Fatal("accept still waits")
			}
		})
	}
}

func TestRetireLetsNobodyInAndKeepsTheLock(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	early, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(early)
	l.Retire()
	if _, err := connect(path); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a client got: %v", err)
	}
	fd, err := l.Accept()
	if err != nil {
		t.Fatalf("the one who connected before: %v", err)
	}
	closeFD(fd)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("then: %v", err)
	}
	var held *HeldError
	if _, err := Listen(t.Context(), Options{Path: path}); !errors.As(err, &held) {
		t.Errorf("a second host got: %v", err)
	}
}

func TestACleanStopLogsNothing(t *testing.T) {
	kinds := map[string]func(t *testing.T, log hclog.Logger) *Listener{
		"own socket": func(t *testing.T, log hclog.Logger) *Listener {
			l, err := Listen(t.Context(), Options{Path: socketPath(t), Log: log})
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		"passed socket": func(t *testing.T, log hclog.Logger) *Listener {
			path := socketPath(t)
			fd, id, err := bind(path)
			if err != nil {
				t.Fatal(err)
			}
			l := &Listener{log: log, stopWatch: make(chan struct{}), watchDone: make(chan struct{})}
			close(l.watchDone)
			if err := l.adopt(t.Context(), &passedSocket{fd, path, id}); err != nil {
				t.Fatal(err)
			}
			return l
		},
	}
	for name, listen := range kinds {
		t.Run(name, func(t *testing.T) {
			for range 20 { // Accept may be anywhere when the stop comes
				var log hosttest.Log
				l := listen(t, hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn}))
				ended := make(chan error, 1)
				go func() {
					for {
						fd, err := l.Accept()
						if err != nil {
							ended <- err
							return
						}
						closeFD(fd)
					}
				}()
				client, err := connect(l.Path())
				if err != nil {
					t.Fatal(err)
				}
				l.Retire()
				if err := <-ended; !errors.Is(err, net.ErrClosed) {
					t.Errorf("accept ended with %v", err)
				}
				closeFD(client)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if log.String() != "" {
					t.Fatalf("it logged %s", log.String())
				}
			}
		})
	}
}

func TestAnEndpointThatAcceptGaveUpNeedsNoWaking(t *testing.T) {
	l := unwatched(t, socketPath(t))
	if err := os.Remove(l.Path()); err != nil {
		t.Fatal(err)
	}
	old := l.ends[0]
	mustCheck(t, l, true)
	l.drop(old)
	if err := l.wake(old); err != nil {
		t.Errorf("waking an endpoint that is gone: %v", err)
	}
	held := l.ends[0]
	held.file.Close()
	if err := l.wake(held); err == nil {
		t.Error("an endpoint that is in use and cannot be woken goes unnoticed")
	}
}

func TestOnlyADeadSocketOfOursIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name  string
		put   func(t *testing.T, path string)
		wants []string
	}{
		{"regular file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"a regular file", "left alone"}},
		{"folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"a folder", "left alone"}},
		{"link to a dead socket", func(t *testing.T, path string) {
			deadSocket(t, path+"x")
			if err := os.Symlink(path+"x", path); err != nil {
				t.Fatal(err)
			}
		}, []string{"a symbolic link", "left alone"}},
		{"named pipe", func(t *testing.T, path string) {
			if err := unix.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"a named pipe", "left alone"}},
		{"live socket without a lock", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, []string{"listens", strconv.Itoa(os.Getpid())}},
		{"live datagram socket", func(t *testing.T, path string) {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}, []string{"of another kind", "left alone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := socketPath(t)
			c.put(t, path)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Listen(t.Context(), Options{Path: path})
			wantError(t, err, append(c.wants, path, "--socket")...)
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("it was touched: %v", err)
			}
			if _, err := os.Lstat(path + lockSuffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the lock file stayed: %v", err)
			}
		})
	}
	t.Run("dead socket", func(t *testing.T) {
		path := socketPath(t)
		deadSocket(t, path)
		if l := mustListen(t, path); !reaches(t, l, path) {
			t.Error("cannot connect")
		}
	})
}

func TestPeerOfSaysWhoConnected(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	client, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(client)
	fd, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(fd)
	peer, err := PeerOf(fd)
	if want := (Peer{UID: os.Geteuid(), PID: os.Getpid()}); err != nil || peer != want {
		t.Errorf("got %+v, %v, want %+v", peer, err, want)
	}
}
