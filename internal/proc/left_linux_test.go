package proc_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/internal/proc"
)

func uniqueMark(what string) string {
	return "PROC_TEST_MARK=" + what + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

func killLeft(t *testing.T, leader proc.Identity, mark string, known ...proc.Identity) []proc.Identity {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	killed, err := proc.KillLeft(ctx, leader, mark, known)
	if err != nil {
		t.Error(err)
	}
	return killed
}

func TestWhatAProcessLeftIsEnded(t *testing.T) {
	t.Run("by its marker", func(t *testing.T) {
		mark := uniqueMark("left")
		r := start(t, "leave-apart", mark)
		grandchild := r.pid()
		r.ends(2 * time.Second)
		if killed := killLeft(t, r.Identity(), mark); !slices.Contains(killed, grandchild) || proc.Alive(grandchild) {
			t.Errorf("killed %v; %v lives: %t", killed, grandchild, proc.Alive(grandchild))
		}
	})
	t.Run("by its descent before the end", func(t *testing.T) {
		mark := uniqueMark("bare")
		r := start(t, "stay-bare", mark)
		grandchild := r.pid()
		known, err := proc.Descendants(r.Pid())
		if err != nil || !slices.Contains(known, grandchild) {
			t.Fatalf("descendants %v, %v", known, err)
		}
		r.Kill()
		if !proc.Alive(grandchild) {
			t.Fatal("it ended with its parent: nothing was left")
		}
		killLeft(t, r.Identity(), mark, known...)
		if proc.Alive(grandchild) {
			t.Error("it is alive")
		}
	})
}

func TestOnlyWhatBelongsToAProcessIsEnded(t *testing.T) {
	mark := uniqueMark("mine")
	// Neither another marker, nor one that begins the same, nor another start
	// time is a reason.
	other := start(t, "stay", mark+"0")
	other.line()
	reused := start(t, "stay", uniqueMark("reused"))
	reused.line()
	stale := reused.Identity()
	stale.Start--
	// Nor is a marker alone, when what carries it is older than the leader.
	older := start(t, "stay", mark)
	older.line()
	untilNextTick(t, older.Identity())
	mine := start(t, "stay", mark)
	mine.line()
	killed := killLeft(t, mine.Identity(), mark, stale)
	mine.ends(2 * time.Second)
	if !slices.Equal(killed, []proc.Identity{mine.Identity()}) {
		t.Errorf("killed %v, want %v alone", killed, mine.Identity())
	}
	for _, r := range []*running{other, reused, older} {
		if !proc.Alive(r.Identity()) {
			t.Errorf("process %d was hit", r.Pid())
		}
	}
}

// untilNextTick waits until a process that starts has a later start time.
func untilNextTick(t *testing.T, id proc.Identity) {
	t.Helper()
	for start(t, "exit", "PROC_TEST_CODE=0").Identity().Start <= id.Start {
	}
}

func TestKillingEndsWithItsContext(t *testing.T) {
	mark := uniqueMark("bound")
	r := start(t, "stay", mark)
	r.line()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := proc.KillLeft(ctx, r.Identity(), mark, nil); err == nil {
		t.Error("no error though it could not wait for the end")
	}
}

func TestMemoryOfAFamilyIsSummed(t *testing.T) {
	const size = 48 << 20
	a := start(t, "eat", "PROC_TEST_CODE="+strconv.Itoa(size))
	a.line()
	b := start(t, "eat", "PROC_TEST_CODE="+strconv.Itoa(size))
	b.line()
	table, err := proc.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	one, both := table.RSS([]proc.Identity{a.Identity()}), table.RSS([]proc.Identity{a.Identity(), b.Identity()})
	if one < size || one > 6*size || both < one+size {
		t.Errorf("one has %d bytes, both have %d; each took %d", one, both, size)
	}
	if family := table.Family(proc.Identity{Pid: a.Pid(), Start: a.Identity().Start + 1}); len(family) > 0 {
		t.Errorf("a pid of another start time has the family %v", family)
	}
	self, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if family := table.Family(self); !slices.Contains(family, a.Identity()) || !slices.Contains(family, b.Identity()) {
		t.Errorf("the test's family %v lacks its children", family)
	}
}

func TestLimitsHoldFromTheStart(t *testing.T) {
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := proc.Limits{Nice: 5, NoFile: 77}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The shell starts what looks: limits are inherited.
	p, err := proc.Start(proc.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "read x; exec " + self}, Env: childEnv("limits"), Stdout: w, Stdin: stdin(t), Limits: want,
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if p.Limits() != want {
		t.Errorf("in force %+v, want %+v", p.Limits(), want)
	}
	var soft, hard uint64
	var nice int
	if _, err := fmt.Fscan(r, &soft, &hard, &nice); err != nil {
		t.Fatal(err)
	}
	if soft != 77 || hard != 77 || nice != min(20-own+5, 19) {
		t.Errorf("the process sees files %d/%d and nice %d", soft, hard, nice)
	}
}

func TestEveryThreadGetsTheNiceValue(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := proc.Start(proc.Command{Path: self, Env: childEnv("stay"), Stdout: w, Limits: proc.Limits{Nice: 7}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid()))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads %v, %v", threads, err)
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		tid, err := strconv.Atoi(th.Name())
		if err != nil {
			t.Fatal(err)
		}
		n, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		if err != nil || 20-n != min(20-own+7, 19) {
			t.Errorf("thread %d has nice %d, %v", tid, 20-n, err)
		}
	}
}

func TestALimitThatCannotBeSetIsNotSaidToHold(t *testing.T) {
	r := start(t, "exit", "PROC_TEST_CODE=0")
	if r.Limits() != (proc.Limits{}) {
		t.Errorf("limits %+v without any asked for", r.Limits())
	}
}

// stdin gives a line, and is closed when the test ends.
func stdin(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return r
}

func TestAStaleIdentityIsNeverSignalledThoughItsPidIsAlive(t *testing.T) {
	r := start(t, "stay")
	r.line()
	for _, id := range []proc.Identity{
		{Pid: r.Pid()}, {Pid: r.Pid(), Start: 1}, {Pid: r.Pid(), Start: r.Identity().Start + 1}, {Pid: -r.Pid(), Start: r.Identity().Start}, {Pid: 1, Start: 1}, {},
	} {
		if err := proc.Signal(id, syscall.SIGKILL); err == nil {
			t.Errorf("%+v was signalled", id)
		}
	}
	if !proc.Alive(r.Identity()) {
		t.Error("the process was hit")
	}
}
