//go:build !race

package router

import (
	"context"
	"testing"
)

// The race detector makes pools forget at random: allocations are counted
// without it.
func TestAllocationsOfACall(t *testing.T) {
	r := newStill(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	buf := make([]byte, 0, 4096)
	got := map[string]float64{}
	for name, line := range map[string][]byte{"status": statusLine, "plugin": echoLine} {
		got[name] = testing.AllocsPerRun(1000, func() { buf = r.Serve(ctx, 4242, line, buf[:0]) })
	}
	if got["status"] > 3 || got["plugin"] > 8 {
		t.Errorf("allocations a call: %v, want at most 3 for status and 8 for a plugin's", got)
	}
}
