package proc

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// KillMarked ends every process of this user that carries marker, an
// environment entry in the form NAME=value, the caller apart. It is how a host
// clears what a killed predecessor left, however deep it was started and
// whatever group it moved to. It looks again until none is left or ctx ends,
// and returns those that it signalled. Where environments cannot be read the
// error is errors.ErrUnsupported.
func KillMarked(ctx context.Context, marker string) ([]Identity, error) {
	var killed []Identity
	seen := map[Identity]bool{}
	for delay := time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		found, err := FindMarked(marker)
		if err != nil || len(found) == 0 {
			return killed, err
		}
		var last error
		for _, id := range found {
			err := Signal(id, syscall.SIGKILL)
			if err != nil && !errors.Is(err, ErrGone) {
				last = err
				continue
			}
			if !seen[id] {
				seen[id] = true
				killed = append(killed, id)
			}
		}
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			if last == nil {
				last = ctx.Err()
			}
			return killed, fmt.Errorf("%d processes marked %s do not end: %w", len(found), marker, last)
		}
	}
}
