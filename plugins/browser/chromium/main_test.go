package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/internal/proc"
)

// roleVar makes the test binary play a plugin that starts a browser: its value
// is the browser and its profile.
const roleVar = "CHROMIUM_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		path, dir, _ := strings.Cut(role, "|")
		p, err := Start(context.Background(), Options{Path: path, Profile: dir, Headless: true})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if strings.Contains(path, "chrom") {
			ask(p).call("Browser.getVersion", "")
		}
		fmt.Println("ready", p.Pid())
		stay := make(chan os.Signal, 1)
		signal.Notify(stay, syscall.SIGUSR2)
		<-stay
		os.Exit(0)
	}
	goleak.VerifyTestMain(m,
		// The thread that all children come from lives as long as the program.
		goleak.IgnoreTopFunction("github.com/vant-run/vant/internal/proc.forkLoop"))
}

// plugin starts another process that starts a browser, and waits until that
// one runs.
func plugin(t *testing.T, path, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVar+"="+path+"|"+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("the plugin says %q, %v", line, err)
	}
	return c
}

// real is the browser that is installed.
func real(t *testing.T) string {
	t.Helper()
	path, err := Find("", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fake writes a browser of a few lines.
func fake(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// folder is a new profile's, short enough for a socket's name; nothing of a
// browser on it outlives the test.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "profile")
	t.Cleanup(func() {
		left := residue(t, dir)
		for _, id := range left {
			_ = proc.Signal(id, syscall.SIGKILL)
		}
		if len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return dir
}

func start(t *testing.T, o Options) *Process {
	t.Helper()
	o.Headless = true
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p, 20*time.Second) })
	return p
}

func stop(t *testing.T, p *Process, bound time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("closed, but not done")
	}
}

func ends(t *testing.T, p *Process) string {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the browser has not ended")
	}
	return p.Exit()
}

// residue finds every process that belongs to a browser on dir.
func residue(t *testing.T, dir string) []proc.Identity {
	t.Helper()
	found, err := proc.FindMarked((&profile{dir: dir}).marker())
	if err != nil {
		t.Fatal(err)
	}
	users, err := usersOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		if !slices.Contains(found, u.id) {
			found = append(found, u.id)
		}
	}
	return found
}

// within waits for a condition that nothing announces.
func within(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
		<-tick.C
	}
}

// asker speaks the protocol as far as tests need it.
type asker struct {
	p    *Process
	r    *bufio.Reader
	next int
}

func ask(p *Process) *asker {
	r, _ := p.Pipe()
	return &asker{p: p, r: bufio.NewReaderSize(r, 1<<16)}
}

func (a *asker) send(method, session string, params ...any) int {
	a.next++
	m := map[string]any{"id": a.next, "method": method}
	if session != "" {
		m["sessionId"] = session
	}
	if len(params) > 0 {
		m["params"] = params[0]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	_, w := a.p.Pipe()
	if _, err := w.Write(append(b, 0)); err != nil {
		panic(err)
	}
	return a.next
}

func (a *asker) call(method, session string, params ...any) (result json.RawMessage) {
	id := a.send(method, session, params...)
	for {
		b, err := a.r.ReadBytes(0)
		if err != nil {
			panic(fmt.Sprint(method, ": ", err))
		}
		var m struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &m); err != nil {
			panic(err)
		}
		if m.ID == id {
			if m.Error != nil {
				panic(fmt.Sprint(method, ": ", string(m.Error)))
			}
			return m.Result
		}
	}
}

// logged is a log and what was written to it.
func logged(level hclog.Level) (hclog.Logger, *safeBuffer) {
	b := &safeBuffer{}
	return hclog.New(&hclog.LoggerOptions{Output: b, Level: level}), b
}
