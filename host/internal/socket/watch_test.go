package socket

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

func mustCheck(t *testing.T, l *Listener, want bool) {
	t.Helper()
	again, err := l.check()
	if err != nil || again != want {
		t.Fatalf("check: bound again is %v, want %v; %v", again, want, err)
	}
}

// unwatched listens with a watch that never looks within a test.
func unwatched(t *testing.T, path string) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), Options{Path: path, CheckEvery: 24 * time.Hour})
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

func TestASocketThatIsStillThereIsLeftAlone(t *testing.T) {
	path := socketPath(t)
	l := unwatched(t, path)
	mustCheck(t, l, false)
	if !reaches(t, l, path) {
		t.Error("cannot connect")
	}
}

func TestALostSocketIsBoundAgain(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"replaced by a dead socket": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			deadSocket(t, path)
		},
		"removed with its lock": func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Remove(path+lockSuffix)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := socketPath(t)
			l := unwatched(t, path)
			for range 3 {
				early, err := connect(path) // waits at the old socket
				if err != nil {
					t.Fatal(err)
				}
				lose(t, path)
				mustCheck(t, l, true)
				mustCheck(t, l, false)
				fd, err := l.Accept()
				if err != nil {
					t.Fatalf("the client of the old socket: %v", err)
				}
				if _, err := unix.Write(fd, []byte("x")); err != nil {
					t.Fatal(err)
				}
				if n, err := unix.Read(early, make([]byte, 1)); n != 1 || err != nil {
					t.Errorf("the client of the old socket got %d bytes, %v", n, err)
				}
				closeFD(fd)
				closeFD(early)
				if !reaches(t, l, path) {
					t.Fatal("cannot connect to the new socket")
				}
				if n := len(l.ends); n != 1 {
					t.Errorf("%d endpoints are left", n)
				}
				var held *HeldError
				if _, err := Listen(t.Context(), Options{Path: path}); !errors.As(err, &held) {
					t.Errorf("a second host got: %v", err)
				}
			}
			info, err := os.Lstat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func TestWhatIsNotOursIsNotReplacedByTheWatch(t *testing.T) {
	path := socketPath(t)
	l := unwatched(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	t.Run("file", func(t *testing.T) {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := l.check()
		wantError(t, err, "a regular file", "left alone")
		if got, err := os.ReadFile(path); err != nil || string(got) != "mine" {
			t.Errorf("%q, %v", got, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("live socket", func(t *testing.T) {
		other, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.check()
		wantError(t, err, "without holding its lock")
		other.Close()
	})
	t.Run("and when it goes, the path is ours again", func(t *testing.T) {
		mustCheck(t, l, true)
		if !reaches(t, l, path) {
			t.Error("cannot connect")
		}
	})
}

func TestAHostThatLostItsLockToAnotherDoesNotFight(t *testing.T) {
	path := socketPath(t)
	l := unwatched(t, path)
	if err := errors.Join(os.Remove(path), os.Remove(path+lockSuffix)); err != nil {
		t.Fatal(err)
	}
	other := startHost(t, path)
	_, err := l.check()
	var held *HeldError
	if !errors.As(err, &held) || held.PID != other.Process.Pid {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if client, err := connect(path); err != nil {
		t.Errorf("the other host lost its socket: %v", err)
	} else {
		closeFD(client)
	}
}

func TestTheWatchTurnsAWaitingAcceptToTheNewSocket(t *testing.T) {
	path := socketPath(t)
	l, err := Listen(t.Context(), Options{Path: path, CheckEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		fd, err := l.Accept()
		if err == nil {
			closeFD(fd)
		}
		accepted <- err
	}()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var client int
	hosttest.Eventually(t, "the path leads to the host again", func() bool {
		client, err = connect(path)
		return err == nil
	})
	defer closeFD(client)
	select {
	case err := <-accepted:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hosttest.Patience):
		t.Error("accept still waits at the old socket")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
