package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

// watching is a running "vant agent watch".
type watching struct {
	cmd    *exec.Cmd
	lines  chan string
	stderr strings.Builder
}

func watch(t *testing.T, socket string, args ...string) *watching {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	w := &watching{cmd: run{args: append([]string{"agent", "watch"}, args...), socket: socket}.command(ctx), lines: make(chan string, 64)}
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	return w
}

func (w *watching) status(t *testing.T) int {
	t.Helper()
	for line := range w.lines { // ends with the process
		t.Errorf("unexpected line %s", line)
	}
	err := w.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return w.cmd.ProcessState.ExitCode()
}

func events(ring *clienttest.Ring) clienttest.Handler {
	return clienttest.Methods(map[string]clienttest.Handler{"events.since": ring.Serve})
}

func TestWatchPrintsEachEventAndEndsWith0OnSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			ring := clienttest.NewRing("one")
			first := ring.Add("a.one")
			host := clienttest.Start(t, events(ring))
			w := watch(t, host.Socket)
			if got := readLine(t, w.lines); got != first {
				t.Errorf("line %s, want %s", got, first)
			}
			second := ring.Add("a.two")
			if got := readLine(t, w.lines); got != second {
				t.Errorf("line %s, want %s", got, second)
			}
			if err := w.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if status := w.status(t); status != 0 || w.stderr.String() != "" {
				t.Errorf("status %d, stderr %q", status, w.stderr.String())
			}
		})
	}
}

func TestWatchGoesOnAfterARestart(t *testing.T) {
	socket := filepath.Join(tempDir(t), "s")
	old := clienttest.NewRing("old")
	for range 3 {
		old.Add("old.event")
	}
	polls := make(chan struct{}, 16)
	host := clienttest.StartAt(t, socket, func(conn net.Conn, r clienttest.Request) {
		polls <- struct{}{}
		events(old)(conn, r)
	})
	w := watch(t, socket)
	for range 3 {
		readLine(t, w.lines)
	}
	<-polls // the look
	<-polls // the poll that waits
	host.Stop()
	fresh := clienttest.NewRing("new")
	want := fresh.Add("new.first")
	clienttest.StartAt(t, socket, events(fresh))
	if got := readLine(t, w.lines); got != want {
		t.Errorf("line %s, want %s", got, want)
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := w.status(t); status != 0 {
		t.Errorf("status %d, stderr %q", status, w.stderr.String())
	}
}

func TestWatchEndsWith1WhenTheHostStaysAway(t *testing.T) {
	t.Parallel()
	ring := clienttest.NewRing("one")
	ring.Add("a.one")
	host := clienttest.Start(t, events(ring))
	w := watch(t, host.Socket)
	readLine(t, w.lines)
	host.Stop()
	began := time.Now()
	status := w.status(t)
	if spent := time.Since(began); spent < 4*time.Second || spent > 15*time.Second {
		t.Errorf("ended after %v, want about 5s", spent)
	}
	if want := "vant agent: the host at " + host.Socket + " went away and did not come back within 5s\n"; status != 1 || w.stderr.String() != want {
		t.Errorf("status %d, stderr %q", status, w.stderr.String())
	}
}
