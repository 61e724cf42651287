package socket

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// States to Notify of. Status and Reloading make the others.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Watchdog = "WATCHDOG=1"
)

// notifyTimeout bounds one notification.
const notifyTimeout = time.Second

// Status is the state that shows text in systemctl status.
func Status(text string) string {
	return "STATUS=" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // a newline would begin another assignment
			return ' '
		}
		return r
	}, text)
}

// Reloading is the state at the beginning of a reload; Ready ends it.
func Reloading() (string, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "", fmt.Errorf("read the monotonic clock: %w", err)
	}
	return "RELOADING=1\nMONOTONIC_USEC=" + strconv.FormatInt(now.Nano()/1000, 10), nil
}

// Notify tells the service manager a state, or several on lines of their own.
// It does nothing and gives nil when no manager asked for it ($NOTIFY_SOCKET).
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] != '/' && path[0] != '@' {
		return fmt.Errorf("notify the service manager: NOTIFY_SOCKET is neither a path nor an abstract socket")
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer func() { _ = conn.Close() }() // the datagram is out, or its write failed
	if err := conn.SetWriteDeadline(time.Now().Add(notifyTimeout)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// WatchdogInterval is how often to Notify of Watchdog: half of what the service
// manager allows, so that one late notification does no harm. Zero when it
// does not watch this process.
func WatchdogInterval() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || usec <= 0 || usec > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond / 2
}
