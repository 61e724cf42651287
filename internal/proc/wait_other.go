//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

// awaitExit returns when the child has ended and can be reaped; it does not
// reap it. A zombie still counts as existing for kill, so its state is asked.
func awaitExit(h handle) {
	for delay := time.Millisecond; ; delay = min(2*delay, 20*time.Millisecond) {
		if ended(h.pid) || syscall.Kill(h.pid, 0) != nil {
			return
		}
		time.Sleep(delay)
	}
}
