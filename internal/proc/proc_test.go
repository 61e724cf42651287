package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/internal/proc"
)

func TestExitTellsHowAProcessEnded(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*running)
		role string
		want proc.Exit
		text string
	}{
		{"status 0", nil, "0", proc.Exit{Code: 0}, "exit status 0"},
		{"status 3", nil, "3", proc.Exit{Code: 3}, "exit status 3"},
		{"killed", func(r *running) { _ = r.Signal(syscall.SIGKILL) }, "", proc.Exit{Code: -1, Signal: "killed"}, "signal: killed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r *running
			if tc.end == nil {
				r = start(t, "exit", "PROC_TEST_CODE="+tc.role)
			} else {
				r = start(t, "stay")
				r.line()
				tc.end(r)
			}
			got := r.ends(5 * time.Second)
			if d := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(proc.Exit{}, "Time")); d != "" {
				t.Error(d)
			}
			if got.String() != tc.text || time.Since(got.Time) > time.Minute {
				t.Errorf("exit = %q at %v", got, got.Time)
			}
		})
	}
}

func TestEnvironmentIsExactlyTheOneGiven(t *testing.T) {
	t.Setenv("PROC_TEST_SECRET", "x")
	got := strings.Split(strings.TrimSpace(start(t, "env", "A=1", "B=").all()), "\n")
	slices.Sort(got)
	want := []string{"A=1", "B=", marker(), roleVar + "=env"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestErrorsDoNotTellTheEnvironment(t *testing.T) {
	_, err := proc.Start(proc.Command{Path: "/bin/true", Env: []string{"TOKEN=hush\x00"}})
	if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("err = %v", err)
	}
}

func TestNoDescriptorIsInherited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("descriptors are read from /proc: nothing to see here")
		return
	}
	// One that lacks close-on-exec, as an inherited or foreign one would.
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	for _, l := range strings.Split(strings.TrimSpace(start(t, "fds").all()), "\n") {
		fd, to, _ := strings.Cut(l, " ")
		// The child's own runtime opens some too, but no pipe and no socket.
		if !slices.Contains([]string{"0", "1", "2"}, fd) && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:")) {
			t.Errorf("child has descriptor %s", l)
		}
		if fd == "0" && to != os.DevNull {
			t.Errorf("standard input is %s", to)
		}
	}
}

func TestStopEndsWhatIgnoresSIGTERM(t *testing.T) {
	r := start(t, "deaf")
	r.line()
	if !r.Stop(50 * time.Millisecond) {
		t.Fatal("Stop says that the process lives")
	}
	if e := r.Exit(); e.Signal != "killed" {
		t.Errorf("exit = %v", e)
	}
}

func TestStopEndsAStoppedProcess(t *testing.T) {
	for _, role := range []string{"stay", "deaf"} {
		r := start(t, role)
		r.line()
		if err := r.SignalGroup(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if !r.Stop(100 * time.Millisecond) {
			t.Errorf("%s: Stop says that the process lives", role)
		}
	}
}

func TestStopEndsTheGroup(t *testing.T) {
	r := start(t, "group")
	grandchild := r.pid()
	r.Stop(2 * time.Second)
	gone(t, grandchild, 2*time.Second)
}

func TestGroupDiesWithItsLeader(t *testing.T) {
	r := start(t, "leave")
	grandchild := r.pid()
	if e := r.ends(2 * time.Second); e.Code != 0 {
		t.Errorf("exit = %v", e)
	}
	gone(t, grandchild, 2*time.Second)
}

func TestEndIsNoticedThoughAGrandchildHoldsThePipes(t *testing.T) {
	r := start(t, "leave-apart")
	grandchild := r.pid()
	defer gone(t, grandchild, 2*time.Second)
	defer func() { _ = proc.Signal(grandchild, syscall.SIGKILL) }()
	r.ends(2 * time.Second)
	if !proc.Alive(grandchild) {
		t.Error("the grandchild outside of the group is gone: nothing held the pipe")
	}
}

func TestSignalsAfterTheEndGoToNobody(t *testing.T) {
	r := start(t, "exit", "PROC_TEST_CODE=0")
	r.ends(5 * time.Second)
	for name, err := range map[string]error{
		"Signal":             r.Signal(syscall.SIGKILL),
		"SignalGroup":        r.SignalGroup(syscall.SIGKILL),
		"Signal by identity": proc.Signal(r.Identity(), syscall.SIGKILL),
		"group by identity":  proc.SignalGroup(r.Identity(), syscall.SIGKILL),
	} {
		if !errors.Is(err, proc.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !r.Stop(time.Second) || proc.Alive(r.Identity()) {
		t.Error("an ended process counts as alive")
	}
}

func TestIdentityOfAnotherStartTimeIsNotSignalled(t *testing.T) {
	r := start(t, "stay")
	r.line()
	other := r.Identity()
	other.Start++
	if proc.Alive(other) {
		t.Error("a process of another start time counts as alive")
	}
	for _, err := range []error{proc.Signal(other, syscall.SIGKILL), proc.SignalGroup(other, syscall.SIGKILL)} {
		if !errors.Is(err, proc.ErrGone) {
			t.Errorf("err = %v", err)
		}
	}
	if !proc.Alive(r.Identity()) {
		t.Error("the process was hit")
	}
	if err := proc.Signal(r.Identity(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.ends(2 * time.Second)
}

func TestAwaitSeesAForeignProcessEnd(t *testing.T) {
	r := start(t, "group")
	grandchild := r.pid()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- proc.Await(ctx, grandchild) }()
	if err := proc.Signal(grandchild, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Await = %v", err)
	}
	go func() { ended <- proc.Await(ctx, r.Identity()) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Await = %v", err)
	}
}

func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	got := make(chan *running)
	go func() {
		// A goroutine that ends while locked takes its thread with it.
		runtime.LockOSThread()
		got <- start(t, "stay")
	}()
	r := <-got
	r.line()
	// Thread ends are not reported; other children come and go meanwhile.
	for range 5 {
		start(t, "exit", "PROC_TEST_CODE=0").ends(5 * time.Second)
	}
	if !proc.Alive(r.Identity()) {
		t.Errorf("the child died: %v", r.ends(time.Second))
	}
}

func TestChildDiesWithItsKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("there is no death signal here")
		return
	}
	r := start(t, "parent")
	child := r.pid()
	if err := r.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, child, 3*time.Second)
}

func TestFailedStartsNameTheReason(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("not a program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path string
		want error
	}{{filepath.Join(dir, "none"), syscall.ENOENT}, {text, syscall.ENOEXEC}, {dir, syscall.EACCES}} {
		if _, err := proc.Start(proc.Command{Path: tc.path}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.path, err, tc.want)
		}
	}
}

func TestBusyTextIsRetriedForAWhile(t *testing.T) {
	self, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "busy")
	if err := os.WriteFile(file, self, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	if runtime.GOOS == "linux" {
		if _, err := proc.Start(proc.Command{Path: file}); !errors.Is(err, syscall.ETXTBSY) {
			t.Errorf("while it is written: %v", err)
		}
	}
	timer := time.AfterFunc(20*time.Millisecond, func() { _ = f.Close() })
	defer timer.Stop()
	p, err := proc.Start(proc.Command{Path: file})
	if err != nil {
		t.Fatalf("it was closed 20 ms later: %v", err)
	}
	if e := p.Wait(); e.Code != 0 {
		t.Errorf("exit = %v", e)
	}
}

func TestStartsMayRunConcurrently(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			p, err := proc.Start(proc.Command{Path: self, Env: childEnv("exit", "PROC_TEST_CODE=7")})
			if err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 {
				p.Kill()
			} else if e := p.Wait(); e.Code != 7 {
				t.Errorf("exit = %v", e)
			}
		})
	}
	wg.Wait()
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob("/dev/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
