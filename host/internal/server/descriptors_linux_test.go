package server

import (
	"context"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/vant-run/vant/host/internal/hosttest"
)

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNoDescriptorIsLeftBehind(t *testing.T) {
	calls := make(chan *call, 1)
	slow := blocking(calls)
	f := start(t, handlerFunc(func(ctx context.Context, line, dst []byte) []byte {
		switch string(line) {
		case "panic":
			panic("on purpose")
		case "slow":
			return slow.Serve(ctx, 0, line, dst)
		}
		return append(dst, '\n')
	}), nil)
	readAll(t, f.send("{}\n")) // the poller has its descriptors now
	hosttest.Eventually(t, "the first connection ends", f.none)
	// A descriptor that only the collector closes is left behind too.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := openDescriptors(t)
	for range 20 {
		for _, text := range []string{"{}\n", "panic\n", "GET / HTTP/1.1\r\n", strings.Repeat("x", 1<<20+1), "{}\nmore"} {
			c := f.send(text)
			readAll(t, c)
			hangUp(c)
		}
		hangUp(f.send("unfinished"))
		c := f.send("slow\n")
		hosttest.Receive(t, calls, "the slow call")
		hangUp(c) // goes during its call
	}
	hosttest.Eventually(t, "all connections end", f.none)
	hosttest.Eventually(t, "all descriptors are closed", func() bool { return openDescriptors(t) <= before })
}
