package devtools

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// listenAs listens as a user, as whom this process may act.
func listenAs(t *testing.T, user int) net.Listener {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The file system's user alone is the thread's own, and is a new socket's.
	syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(user), 0, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(os.Geteuid()), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestABrowserOfAnotherUserIsRefused(t *testing.T) {
	const nobody = 65534
	l, user := listenAs(t, os.Geteuid()), nobody // whom this socket is another's for
	if os.Geteuid() == 0 {
		l, user = listenAs(t, nobody), 0
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := owned(conn, user); err == nil || !strings.Contains(err.Error(), "attach to a browser of your own") {
		t.Errorf("it gives %v", err)
	}
	if os.Geteuid() == 0 {
		a, err := Parse("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := a.Dial(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "user 65534 listens there") {
			t.Errorf("dialling gives %v", err)
		}
	}
	mine := listenAs(t, os.Geteuid())
	conn, err = net.Dial("tcp", mine.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := owned(conn, os.Geteuid()); err != nil {
		t.Errorf("one's own gives %v", err)
	}
	mine.Close()
	if err := owned(conn, os.Geteuid()); err == nil {
		t.Error("a socket that nobody listens at is trusted")
	}
}

func TestTheSocketThatAConnectionMeetsIsFound(t *testing.T) {
	line := func(address string, port, user int, state string) string {
		a := netip.MustParseAddr(address).AsSlice()
		var text strings.Builder
		for ; len(a) > 0; a = a[4:] {
			fmt.Fprintf(&text, "%08X", binary.NativeEndian.Uint32(a))
		}
		return fmt.Sprintf("   0: %s:%04X %s:0000 %s 00000000:00000000 00:00000000 00000000 %5d        0 1 1 0\n",
			text.String(), port, strings.Repeat("0", text.Len()), state, user)
	}
	for name, test := range map[string]struct {
		at    string
		lines []string
		want  string
	}{
		"the address itself":           {"127.0.0.1:9", []string{line("127.0.0.1", 9, 1, "0A")}, "[1]"},
		"another port":                 {"127.0.0.1:9", []string{line("127.0.0.1", 10, 1, "0A")}, "[]"},
		"another address":              {"127.0.0.1:9", []string{line("127.0.0.2", 9, 1, "0A")}, "[]"},
		"one that does not listen":     {"127.0.0.1:9", []string{line("127.0.0.1", 9, 1, "01")}, "[]"},
		"all addresses":                {"127.0.0.1:9", []string{line("0.0.0.0", 9, 1, "0A")}, "[1]"},
		"the address before all":       {"127.0.0.1:9", []string{line("0.0.0.0", 9, 1, "0A"), line("127.0.0.1", 9, 2, "0A"), line("::", 9, 3, "0A")}, "[2]"},
		"the protocol before both":     {"127.0.0.1:9", []string{line("::", 9, 1, "0A"), line("0.0.0.0", 9, 2, "0A")}, "[2]"},
		"both protocols":               {"127.0.0.1:9", []string{line("::", 9, 1, "0A")}, "[1]"},
		"several at one":               {"127.0.0.1:9", []string{line("127.0.0.1", 9, 1, "0A"), line("127.0.0.1", 9, 2, "0A")}, "[1 2]"},
		"IPv6":                         {"[::1]:9", []string{line("::1", 9, 1, "0A"), line("0.0.0.0", 9, 2, "0A")}, "[1]"},
		"IPv6 at all addresses":        {"[::1]:9", []string{line("0.0.0.0", 9, 2, "0A"), line("::", 9, 1, "0A")}, "[1]"},
		"not the other protocol alone": {"[::1]:9", []string{line("0.0.0.0", 9, 2, "0A")}, "[]"},
		"IPv4 in IPv6":                 {"127.0.0.1:9", []string{line("::ffff:127.0.0.1", 9, 1, "0A")}, "[1]"},
	} {
		var l listeners
		if err := l.read(strings.NewReader("  sl  local_address\n"+strings.Join(test.lines, "")), netip.MustParseAddrPort(test.at)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := fmt.Sprint(l.users); got != test.want {
			t.Errorf("%s: users %s, want %s", name, got, test.want)
		}
	}
}
