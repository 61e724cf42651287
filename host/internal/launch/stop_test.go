package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestStopIsBoundedWhateverTheProcessDoes(t *testing.T) {
	const grace = 200 * time.Millisecond
	for _, tc := range []struct {
		name, role string
		prepare    func(supervise.Process)
		signal     string
	}{
		{"obeys", "good", func(supervise.Process) {}, "terminated"},
		{"ignores SIGTERM", "deaf", func(supervise.Process) {}, "killed"},
		{"stopped", "good", stopped, "terminated"},
		{"stopped and ignores SIGTERM", "deaf", stopped, "killed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, forkThread)
			b := newBench(t)
			p, err := b.launch(spec(tc.role))
			if err != nil {
				t.Fatal(err)
			}
			tc.prepare(p)
			began := time.Now()
			p.Stop(grace)
			if d := time.Since(began); d > grace+soon {
				t.Errorf("Stop took %v", d)
			}
			if e := exits(t, p, 0); e.Signal != tc.signal || e.Code != -1 {
				t.Errorf("exit = %v", e)
			}
			b.noFiles()
		})
	}
}

// stopped stops the process. A thread that runs at that moment goes on for a
// little, so it waits for each of them where threads can be seen.
func stopped(p supervise.Process) {
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil {
		panic(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); ; <-tick.C {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid()))
		if err != nil {
			panic(err)
		}
		if !slices.ContainsFunc(threads, runs) {
			return
		}
		if time.Now().After(deadline) {
			panic(fmt.Sprintf("process %d does not stop", p.Pid()))
		}
	}
}

// runs reads the state that follows the name, which is in parentheses.
func runs(stat string) bool {
	b, err := os.ReadFile(stat)
	if err != nil {
		return false // the thread has ended
	}
	return !strings.HasPrefix(string(b[strings.LastIndexByte(string(b), ')')+1:]), " T")
}

func TestAGrandchildThatHoldsThePipesHoldsNothingUp(t *testing.T) {
	b := newBench(t)
	for _, end := range []struct {
		name string
		how  func(supervise.Process)
	}{
		{"crash", func(p supervise.Process) {
			_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
			exits(t, p, soon)
			p.Stop(0)
		}},
		{"exit", func(p supervise.Process) {
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			defer cancel()
			_, _ = p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "exit", Params: []byte("0")})
			exits(t, p, soon)
			p.Stop(0)
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, forkThread)
			files := openFiles(t)
			// The race detector would wait a second before an exit.
			p, err := b.launch(spec("good", "GORACE=atexit_sleep_ms=0"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(string(call(t, p, "hold", "").Result))
			if err != nil {
				t.Fatal(err)
			}
			holder, err := proc.Identify(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = proc.Signal(holder, syscall.SIGKILL) }()
			if !proc.Alive(holder) {
				t.Error("nothing holds the pipes")
			}
			began := time.Now()
			end.how(p)
			if d := time.Since(began); d > soon {
				t.Errorf("it took %v", d)
			}
			if !proc.Alive(holder) {
				t.Error("what held the pipes has ended")
			}
			b.noFiles()
			settles(t, "descriptors are left", func() bool { return openFiles(t) <= files })
		})
	}
}

func TestCallsInFlightFailWhenTheProcessEnds(t *testing.T) {
	b := newBench(t)
	for _, tc := range []struct {
		name string
		hold bool // a grandchild keeps copies of the descriptors
	}{{"alone", false}, {"with a grandchild", true}} {
		t.Run(tc.name, func(t *testing.T) {
			p := b.started("good")
			if tc.hold {
				pid, err := strconv.Atoi(string(call(t, p, "hold", "").Result))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
			}
			b.mu.Lock()
			b.lines = nil
			b.mu.Unlock()
			failed := make(chan error, 1)
			go func() {
				_, err := p.Invoke(context.Background(), &pluginv1.InvokeRequest{Method: "wait"})
				failed <- err
			}()
			b.untilText(t, "waiting")
			killed := time.Now()
			if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			err := <-failed
			if d := time.Since(killed); d > soon {
				t.Errorf("the call failed %v after the end", d)
			}
			if status.Code(err) != codes.Unavailable {
				t.Errorf("err = %v", err)
			}
			exits(t, p, soon)
		})
	}
}

func TestAnEndedProcessAnswersUnavailable(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	_, err := p.Invoke(context.Background(), &pluginv1.InvokeRequest{Method: "exit", Params: []byte("3")})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the call that ended it: %v", err)
	}
	if e := exits(t, p, soon); e.String() != "exit status 3" || e.Time.IsZero() {
		t.Errorf("exit = %v at %v", e, e.Time)
	}
	p.Stop(time.Second)
	ctx := context.Background()
	_, describe := p.Describe(ctx)
	_, invoke := p.Invoke(ctx, &pluginv1.InvokeRequest{})
	for name, err := range map[string]error{
		"Health": p.Health(ctx), "Describe": describe, "Invoke": invoke,
		"Configure": p.Configure(ctx, &pluginv1.ConfigureRequest{}),
		"Drain":     p.Drain(ctx, time.Second), "Link": p.Link(ctx, nil),
	} {
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Stop(time.Second) // again
}

func TestStopsMayOverlap(t *testing.T) {
	b := newBench(t)
	p := b.started("deaf")
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			p.Stop(50 * time.Millisecond)
			exits(t, p, 0)
		})
	}
	wg.Wait()
	b.noFiles()
}

// residue is what starts may leave in the host.
type residue struct{ goroutines, files, sockets int }

func measure(t *testing.T, dir string) residue {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return residue{runtime.NumGoroutine(), openFiles(t), len(left)}
}

func TestFiftyCyclesLeaveNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*testing.T, supervise.Process)
	}{
		{"stop", func(t *testing.T, p supervise.Process) { p.Stop(time.Second) }},
		{"crash", func(t *testing.T, p supervise.Process) {
			if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			exits(t, p, soon)
			p.Stop(0)
		}},
		{"crash without a stop", func(t *testing.T, p supervise.Process) {
			_, err := p.Invoke(context.Background(), &pluginv1.InvokeRequest{Method: "exit", Params: []byte("1")})
			if err == nil {
				t.Error("it survived")
			}
			exits(t, p, soon)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			cycle := func() {
				p, err := b.launch(spec("good"))
				if err != nil {
					t.Fatal(err)
				}
				call(t, p, "echo", "1")
				tc.end(t, p)
			}
			cycle() // what is made once and kept
			base := residue{}
			settles(t, "the first cycle does not end", func() bool {
				base = measure(t, b.dir)
				return base.sockets == 0 && goleak.Find(forkThread, goleak.IgnoreTopFunction("testing.(*T).Run")) == nil
			})
			for range 50 {
				cycle()
			}
			settles(t, "residue", func() bool {
				now := measure(t, b.dir)
				return now.goroutines <= base.goroutines && now.files <= base.files && now.sockets == 0
			})
		})
	}
}

func TestReattachOnlyConnects(t *testing.T) {
	defer goleak.VerifyNone(t, forkThread)
	b := newBench(t)
	p, err := b.launch(spec("good"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(time.Second)
	sockets, err := filepath.Glob(filepath.Join(b.dir, "*", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, %v", sockets, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	again, err := b.Reattach(ctx, "dev", sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	if again.Pid() != p.Pid() {
		t.Errorf("pid %d, want %d", again.Pid(), p.Pid())
	}
	if got := string(call(t, again, "echo", "7").Result); got != "7" {
		t.Errorf("echo = %s", got)
	}
	if err := again.Health(ctx); err != nil {
		t.Error(err)
	}
	again.Stop(time.Second)
	exits(t, again, 0)
	if got := string(call(t, p, "echo", "8").Result); got != "8" {
		t.Errorf("after the other let go: %s", got)
	}

	again, err = b.Reattach(ctx, "dev", sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Second)
	exits(t, again, soon)
	again.Stop(0)
	for _, addr := range []string{sockets[0], "relative", "/dev/null"} {
		if _, err := b.Reattach(ctx, "dev", addr); err == nil {
			t.Errorf("%s was accepted", addr)
		}
	}
}
