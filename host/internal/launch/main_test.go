package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// The test binary is its own plugin: with roleVar set it plays that role.
const roleVar = "LAUNCH_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, forkThread)
}

// forkThread lives as long as the program.
var forkThread = goleak.IgnoreTopFunction("github.com/vant-run/vant/internal/proc.forkLoop")

// output collects what a launcher hands on.
type output struct {
	mu      sync.Mutex
	lines   []LogLine
	dropped uint64
	more    chan struct{}
}

func (o *output) line(_ string, l LogLine) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) < 20_000 {
		o.lines = append(o.lines, l)
	}
	o.wake()
}

func (o *output) drop(_ string, n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += n
	o.wake()
}

func (o *output) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// until waits for want to hold of what came so far.
func (o *output) until(t *testing.T, what string, want func(lines []LogLine, dropped uint64) bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		o.mu.Lock()
		ok := want(o.lines, o.dropped)
		n, d := len(o.lines), o.dropped
		o.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-o.more:
		case <-deadline:
			t.Fatalf("no %s; %d lines came, %d were dropped", what, n, d)
		}
	}
}

func (o *output) untilText(t *testing.T, text string) LogLine {
	t.Helper()
	var found LogLine
	o.until(t, fmt.Sprintf("line with %q", text), func(lines []LogLine, _ uint64) bool {
		i := slices.IndexFunc(lines, func(l LogLine) bool { return strings.Contains(l.Text, text) })
		if i >= 0 {
			found = lines[i]
		}
		return i >= 0
	})
	return found
}

// bench is a launcher in a folder of its own.
type bench struct {
	*Launcher
	*output
	t   testing.TB
	dir string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	// t.TempDir has a long name; sockets cannot.
	dir, err := os.MkdirTemp("", "vl")
	if err != nil {
		t.Fatal(err)
	}
	out := &output{more: make(chan struct{}, 1)}
	l, err := New(Options{RuntimeDir: dir, Output: out.line, Dropped: out.drop})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Launcher: l, output: out, t: t, dir: dir}
	t.Cleanup(func() {
		b.noFiles()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return b
}

// noFiles: nothing is left of any start.
func (b *bench) noFiles() {
	b.t.Helper()
	left, err := filepath.Glob(filepath.Join(b.dir, "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	if len(left) > 0 {
		b.t.Errorf("left in the runtime folder: %v", left)
	}
}

func spec(role string, env ...string) supervise.Spec {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return supervise.Spec{Name: "test", Exec: self, Env: append([]string{roleVar + "=" + role}, env...)}
}

func (b *bench) launch(s supervise.Spec) (supervise.Process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return b.Launch(ctx, s)
}

// started is a launched plugin that the test's end stops.
func (b *bench) started(role string, env ...string) supervise.Process {
	b.t.Helper()
	return b.startedAs(spec(role, env...))
}

// startedAs is started for any spec.
func (b *bench) startedAs(s supervise.Spec) supervise.Process {
	b.t.Helper()
	p, err := b.launch(s)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { p.Stop(2 * time.Second) })
	return p
}

func (b *bench) failed(s supervise.Spec) *supervise.StartError {
	b.t.Helper()
	p, err := b.launch(s)
	if err == nil {
		p.Stop(0)
		b.t.Fatal("it started")
	}
	var se *supervise.StartError
	if !errors.As(err, &se) {
		b.t.Fatalf("error is a %T: %v", err, err)
	}
	b.noFiles()
	return se
}

func call(t testing.TB, p supervise.Process, method, params string) *pluginv1.InvokeResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: method, Params: []byte(params)})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

// soon bounds what takes moments when nobody else uses the machine, and for ever, or
// until a much later bound, when it goes wrong.
const soon = 10 * time.Second

func exits(t testing.TB, p supervise.Process, within time.Duration) supervise.Exit {
	t.Helper()
	select {
	case <-p.Exited():
		return p.Exit()
	default:
	}
	select {
	case <-p.Exited():
	case <-time.After(within):
		t.Fatalf("process %d has not ended after %v", p.Pid(), within)
	}
	return p.Exit()
}

func openFiles(t testing.TB) int {
	t.Helper()
	names, err := filepath.Glob("/dev/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// settles waits until f is true, for state that has no event.
func settles(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(soon)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%s; goroutines:\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		<-tick.C
	}
}
