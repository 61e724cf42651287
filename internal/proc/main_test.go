package proc_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/internal/proc"
)

// roleVar makes the test binary play a child instead of running tests.
const roleVar = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m,
		// The thread that all children come from lives as long as the program.
		goleak.IgnoreTopFunction("github.com/vant-run/vant/internal/proc.forkLoop"))
}

// play is the child's side. Every role that stays prints a line when it is
// ready, so that tests wait for an event and not for a time.
func play(role string) {
	switch role {
	case "stay":
		fmt.Println("ready")
		stay()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		stay()
	case "exit":
		code, err := strconv.Atoi(os.Getenv("PROC_TEST_CODE"))
		must(err)
		os.Exit(code)
	case "env":
		for _, e := range os.Environ() {
			fmt.Println(e)
		}
	case "fds":
		names, err := filepath.Glob("/proc/self/fd/*")
		must(err)
		for _, n := range names {
			if to, err := os.Readlink(n); err == nil {
				fmt.Println(filepath.Base(n), to)
			}
		}
	case "group": // a grandchild in the group, then stay
		c := spawn(false)
		fmt.Println(c)
		stay()
	case "leave": // a grandchild in the group, then go
		fmt.Println(spawn(false))
	case "leave-apart": // a grandchild out of the group that holds the pipes
		fmt.Println(spawn(true))
	case "find": // what carries our mark, seen from a child of ours
		c := exec.Command(os.Args[0])
		c.Env = childEnv("find-here")
		c.Stdout = os.Stdout
		must(c.Run())
	case "find-here":
		found, err := proc.FindMarked(marker())
		must(err)
		for _, id := range found {
			if id.Pid == os.Getpid() || id.Pid == os.Getppid() {
				fmt.Println("found those above")
			}
		}
		fmt.Println("others", len(found))
	case "limits": // what limits it sees, in a thread made before and one made now
		var l unix.Rlimit
		must(unix.Getrlimit(unix.RLIMIT_NOFILE, &l))
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		must(err)
		fmt.Println(l.Cur, l.Max, 20-nice)
	case "leave-bare": // the same, and it forgets its environment
		fmt.Println(spawn(true, "PROC_TEST_MARK=none"))
	case "stay-bare": // a grandchild that forgot, and stay
		fmt.Println(spawn(true, "PROC_TEST_MARK=none"))
		stay()
	case "eat": // memory
		n, err := strconv.Atoi(os.Getenv("PROC_TEST_CODE"))
		must(err)
		kept = make([]byte, n)
		for i := 0; i < n; i += 512 {
			kept[i] = 1
		}
		fmt.Println("ready")
		stay()
	case "parent": // a child by Start, as a host would
		r, w, err := os.Pipe()
		must(err)
		p, err := proc.Start(proc.Command{Path: os.Args[0], Env: childEnv("stay"), Stdout: w})
		must(err)
		_, err = bufio.NewReader(r).ReadString('\n')
		must(err)
		fmt.Println(p.Pid())
		stay()
	default:
		must(fmt.Errorf("no role %q", role))
	}
}

// kept keeps memory from being collected.
var kept []byte

// stay waits for a signal that nobody sends; the runtime calls a bare select
// a deadlock.
func stay() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	<-c
}

// spawn starts a grandchild that shares standard output.
func spawn(apart bool, env ...string) int {
	c := exec.Command(os.Args[0])
	c.Env = append(childEnv("stay"), env...)
	// Its readiness goes to its own pipe; descriptor 3 keeps ours open.
	r, err := c.StdoutPipe()
	must(err)
	c.ExtraFiles = []*os.File{os.Stdout}
	if apart {
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	must(c.Start())
	_, err = bufio.NewReader(r).ReadString('\n')
	must(err)
	return c.Process.Pid
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func childEnv(role string, more ...string) []string {
	return append([]string{roleVar + "=" + role}, append(more, marker())...)
}

// marker ties every process of this test run together.
func marker() string {
	if m := os.Getenv("PROC_TEST_MARK"); m != "" {
		return "PROC_TEST_MARK=" + m
	}
	return "PROC_TEST_MARK=" + strconv.Itoa(os.Getpid())
}

// running is a child with its output.
type running struct {
	*proc.Process
	t   *testing.T
	out *bufio.Reader
}

func start(t *testing.T, role string, more ...string) *running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Command{Path: self, Env: childEnv(role, more...), Stdout: w, Stderr: os.Stderr})
	if cerr := w.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		if !p.Kill() {
			t.Errorf("process %d does not end", p.Pid())
		}
	})
	return &running{p, t, bufio.NewReader(r)}
}

func (r *running) line() string {
	r.t.Helper()
	s, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("child printed no line: %v", err)
	}
	return strings.TrimSpace(s)
}

func (r *running) all() string {
	r.t.Helper()
	b, err := io.ReadAll(r.out)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *running) pid() proc.Identity {
	r.t.Helper()
	pid, err := strconv.Atoi(r.line())
	if err != nil {
		r.t.Fatal(err)
	}
	id, err := proc.Identify(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *running) ends(within time.Duration) proc.Exit {
	r.t.Helper()
	select {
	case <-r.Done():
	case <-time.After(within):
		r.t.Fatalf("process %d still runs after %v", r.Pid(), within)
	}
	return r.Exit()
}

// gone waits until a process that is not a child has ended.
func gone(t *testing.T, id proc.Identity, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for proc.Alive(id) {
		if time.Now().After(deadline) {
			_ = proc.Signal(id, syscall.SIGKILL)
			t.Fatalf("process %d is alive after %v", id.Pid, within)
		}
		<-tick.C
	}
}
