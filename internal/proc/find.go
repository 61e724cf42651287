package proc

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	killed, err := killAll(ctx, func() ([]Identity, error) { return FindMarked(marker) })
	return killed, named(marker, err)
}

// KillLeft ends what leader left when it ended: what carries its marker, what
// is still there of known, its descendants as they were found before, and what
// belongs to either by descent or process group. For the rest it is like
// KillMarked.
func KillLeft(ctx context.Context, leader Identity, marker string, known []Identity) ([]Identity, error) {
	killed, err := killAll(ctx, func() ([]Identity, error) { return left(leader, marker, known) })
	return killed, named(marker, err)
}

func named(marker string, err error) error {
	if err != nil {
		return fmt.Errorf("processes marked %s: %w", marker, err)
	}
	return nil
}

// killAll kills what find finds until it finds nothing and all of that has
// ended: a process that is ending has lost its environment already.
func killAll(ctx context.Context, find func() ([]Identity, error)) ([]Identity, error) {
	var killed []Identity
	seen := map[Identity]bool{}
	for delay := time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		found, err := find()
		if err != nil {
			return killed, err
		}
		for _, id := range killed {
			if Alive(id) && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
		if len(found) == 0 {
			return killed, nil
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
			return killed, fmt.Errorf("%d of them do not end: %w", len(found), last)
		}
	}
}
