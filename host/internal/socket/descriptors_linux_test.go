package socket

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAPassedAbstractSocketIsRefused(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("@vant-test-%d", os.Getpid()), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := runActivated(t, socketPath(t), []*os.File{f}, "LISTEN_PID=self", "LISTEN_FDS=1")
	if !strings.Contains(out, "no path in the file system") {
		t.Errorf("it said %q", out)
	}
}

func TestNotifyReachesAnAbstractSocket(t *testing.T) {
	name := fmt.Sprintf("@vant-notify-test-%d", os.Getpid())
	manager := notifyManager(t, name)
	t.Setenv("NOTIFY_SOCKET", name)
	if err := Notify(Ready); err != nil {
		t.Fatal(err)
	}
	if got := manager(); got != "READY=1" {
		t.Errorf("got %q", got)
	}
}

func TestNothingIsInheritedByAChild(t *testing.T) {
	path := socketPath(t)
	l := mustListen(t, path)
	client, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(fd)
	defer closeFD(client)
	unix.CloseOnExec(client) // it is the test's and must not count
	out, err := command(t, "inheritance", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "socket:") || strings.Contains(string(out), lockSuffix) {
		t.Errorf("a child has:\n%s", out)
	}
}

func TestNoDescriptorIsLeftBehind(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	path := socketPath(t)
	dead := path + "-dead"
	round := func() {
		l := unwatched(t, path)
		if _, err := Listen(t.Context(), Options{Path: path}); err == nil {
			t.Fatal("two hosts")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, l, true)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dead, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(t.Context(), Options{Path: dead}); err == nil {
			t.Fatal("a file was replaced")
		}
	}
	round() // the poller has its descriptors now
	before := count()
	for range 20 {
		round()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
