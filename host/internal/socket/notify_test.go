package socket

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/hosttest"
)

// notifyManager listens as a service manager does; what it gives waits for one
// notification.
func notifyManager(t *testing.T, name string) func() string {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func() string {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(hosttest.Patience)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func TestNotifySendsStates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	manager := notifyManager(t, path)
	t.Setenv("NOTIFY_SOCKET", path)
	for _, c := range []struct{ state, want string }{
		{Ready, "READY=1"},
		{Stopping, "STOPPING=1"},
		{Watchdog, "WATCHDOG=1"},
		{Status("3/4 plugins"), "STATUS=3/4 plugins"},
		{Status("a\nREADY=1\x00"), "STATUS=a READY=1 "},
		{Ready + "\n" + Status("up"), "READY=1\nSTATUS=up"},
	} {
		if err := Notify(c.state); err != nil {
			t.Fatal(err)
		}
		if got := manager(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestReloadingHasTheTime(t *testing.T) {
	state, err := Reloading()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`^RELOADING=1\nMONOTONIC_USEC=(\d+)$`).FindStringSubmatch(state)
	if m == nil {
		t.Fatalf("got %q", state)
	}
	sent, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	if age := now.Nano()/1000 - sent; age < 0 || age > hosttest.Patience.Microseconds() {
		t.Errorf("it is %d µs old", age)
	}
}

func TestNotifyWithoutAManagerDoesNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Notify(Ready); err != nil {
		t.Error(err)
	}
}

func TestNotifyTellsOfAManagerThatIsNotThere(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "absent"), "vsock:2:1234"} {
		t.Setenv("NOTIFY_SOCKET", name)
		wantError(t, Notify(Ready), "notify the service manager")
	}
}

func TestWatchdogInterval(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"", "", 0},
		{"30000000", "", 15 * time.Second},
		{"30000000", self, 15 * time.Second},
		{"30000000", "1", 0},
		{"-1", self, 0},
		{"0", self, 0},
		{"many", self, 0},
		{"9223372036854775807", self, 0},
	} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := WatchdogInterval(); got != c.want {
			t.Errorf("%s µs for %q: %v, want %v", c.usec, c.pid, got, c.want)
		}
	}
}
