package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a folder with the files of a delegated group.
func fake(t *testing.T, controllers string, inside ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cgroup.controllers": controllers + "\n", subtree: "", procs: strings.Join(inside, "\n") + "\n", kill: "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files gives what is written in the files of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range list {
		if d.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[d.Name()] = string(b)
	}
	return found
}

func open(t *testing.T, dir string) *Tree {
	t.Helper()
	tree, err := Open(dir, "ab12")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func group(t *testing.T, tree *Tree, l Limits) *Group {
	t.Helper()
	g, err := tree.New("x.demo.1", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.folder.Close() })
	return g
}

func TestLimitsAreWrittenIntoTheGroup(t *testing.T) {
	dir := fake(t, "cpuset cpu memory pids", strconv.Itoa(os.Getpid()))
	// A fake hands down what was written last: memory is there already.
	if err := os.WriteFile(filepath.Join(dir, subtree), []byte("memory"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree := open(t, dir)
	if got := files(t, filepath.Join(dir, leaf))[procs]; got != strconv.Itoa(os.Getpid()) {
		t.Errorf("the host did not move below: %q", got)
	}
	if got := files(t, dir)[subtree]; got != "+cpu" {
		t.Errorf("handed down %q", got)
	}
	tree.memory = true // the fake has forgotten
	g := group(t, tree, Limits{MemoryMax: 512 << 20, CPUWeight: 50})
	want := map[string]string{"memory.max": "536870912", "memory.oom.group": "1", "memory.swap.max": "0", "cpu.weight": "50"}
	if d := cmp.Diff(want, files(t, filepath.Join(dir, "ab12.x.demo.1"))); d != "" || !g.Memory || !g.CPU {
		t.Errorf("memory %t, cpu %t, %s", g.Memory, g.CPU, d)
	}
}

func TestNoLimitWritesNothing(t *testing.T) {
	dir := fake(t, "cpu memory", strconv.Itoa(os.Getpid()))
	tree := open(t, dir)
	tree.memory, tree.cpu = true, true
	g := group(t, tree, Limits{})
	if got := files(t, g.dir); len(got) > 0 || g.Memory || g.CPU {
		t.Errorf("memory %t, cpu %t, files %v", g.Memory, g.CPU, got)
	}
}

func TestTheHostMovesNobodyElse(t *testing.T) {
	dir := fake(t, "cpu memory", strconv.Itoa(os.Getpid()), "1")
	tree := open(t, dir)
	if tree.memory || tree.cpu {
		t.Errorf("%v though another process is in the group", tree)
	}
	if _, err := os.Stat(filepath.Join(dir, leaf)); err == nil {
		t.Error("the host moved")
	}
	if got := files(t, dir)[subtree]; got != "" {
		t.Errorf("handed down %q", got)
	}
	if g := group(t, tree, Limits{MemoryMax: 1 << 30, CPUWeight: 10}); g.Memory || g.CPU {
		t.Error("limits are said to hold that do not")
	}
}

func TestWithoutControllersTheHostStays(t *testing.T) {
	dir := fake(t, "", strconv.Itoa(os.Getpid()))
	tree := open(t, dir)
	if _, err := os.Stat(filepath.Join(dir, leaf)); err == nil || tree.memory || tree.cpu {
		t.Errorf("the host moved for nothing: %v", tree)
	}
}

func TestAGroupThatCannotBeKilledIsNotUsed(t *testing.T) {
	dir := fake(t, "cpu memory")
	if err := os.Remove(filepath.Join(dir, kill)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "ab12"); err == nil || !strings.Contains(err.Error(), "5.14") {
		t.Errorf("err = %v", err)
	}
}

func TestKillsForMemoryAreReadFromTheEvents(t *testing.T) {
	tree := open(t, fake(t, "memory"))
	g := group(t, tree, Limits{})
	for text, want := range map[string]bool{
		"low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 1\n": true,
		"low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n": false,
		"": false,
	} {
		if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := g.OutOfMemory(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestEndIsBounded(t *testing.T) {
	// What cannot be removed: a fake's files are not the kernel's.
	tree := open(t, fake(t, "memory"))
	g := group(t, tree, Limits{})
	if err := os.WriteFile(filepath.Join(g.dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := g.End(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("err = %v, context %v", err, ctx.Err())
	}
}

func TestTheOwnGroupIsFoundInEveryMount(t *testing.T) {
	const (
		unified = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "33 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 24 0:31 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
		part    = "35 24 0:30 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	)
	for _, tc := range []struct{ name, self, mounts, mount, path, fails string }{
		{"unified", "0::/user.slice/vant.service\n", unified, "/sys/fs/cgroup", "/user.slice/vant.service", ""},
		{"hybrid", "9:memory:/a\n0::/b\n", hybrid, "/sys/fs/cgroup/unified", "/b", ""},
		{"root", "0::/\n", unified, "/sys/fs/cgroup", "/", ""},
		{"part of it is mounted", "0::/docker/c1/vant\n", part, "/sys/fs/cgroup", "/vant", ""},
		{"just that part", "0::/docker/c1\n", part, "/sys/fs/cgroup", "/", ""},
		{"another part is mounted", "0::/docker/c12/vant\n", part, "", "", "not mounted"},
		{"version 1 alone", "9:memory:/a\n", hybrid, "", "", "version 2"},
		{"no mount", "0::/a\n", "", "", "", "not mounted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mount, path, err := locate(tc.self, tc.mounts)
			if mount != tc.mount || path != tc.path || (err == nil) != (tc.fails == "") {
				t.Errorf("%q, %q, %v", mount, path, err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("err = %v", err)
			}
		})
	}
}
