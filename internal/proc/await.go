package proc

import (
	"context"
	"time"
)

// Await returns nil when the process, which need not be a child, has ended,
// or ctx's error.
func Await(ctx context.Context, id Identity) error {
	if awaitFD(ctx, id) {
		return nil
	}
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for Alive(id) {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
