// Browser measures the browser plugin: against the bare CDP calls that its
// methods must make, and with -peers against agent-browser. The raw side is the
// smallest client that there can be, on a Chromium of its own with the flags of
// ours; the calls of a snapshot and a click evaluate the plugin's own script, so
// that both sides do the same work in the page.
//
// Rounds are interleaved. Each answer is counted, and a row whose sides give
// different numbers of elements, or whose clicks do not all arrive, fails the
// run. Ratios that miss their goal are marked, not hidden.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// patience bounds what a row waits for.
const patience = 30 * time.Second

func main() {
	rounds := flag.Int("rounds", 200, "interleaved rounds of a row, at least 200 for figures to quote")
	seconds := flag.Duration("for", 3*time.Second, "length of a throughput segment")
	snapshots := flag.Int("snapshots", 10_000, "snapshots of the memory row")
	tabs := flag.Int("tabs", 1000, "tabs that its row opens and closes")
	peers := flag.Bool("peers", false, "measure against agent-browser instead of bare CDP")
	alone := flag.Bool("alone", false, "with -peers: agent-browser without us, and no ratios")
	only := flag.String("rows", "", "comma list of rows: javascript,snapshot,click,fill,cold,parallel,load,memory,tabs; of peers: evaluate,tabs,snapshot,click,pause,fill,open,cold,cli,parallel")
	flag.Parse()
	b := &bench{rounds: *rounds, segment: *seconds}
	rows := []row{
		{"javascript", b.javascript},
		{"snapshot", b.snapshots},
		{"click", b.click},
		{"fill", b.fill},
		{"cold", b.cold},
		{"parallel", b.parallel},
		{"load", b.load},
		{"memory", func() error { return b.memory(*snapshots) }},
		{"tabs", func() error { return b.tabs(*tabs) }},
	}
	if *peers {
		p := &peerBench{bench: b, alone: *alone}
		rows = p.rows()
		b.begin = p.setUp
	}
	if err := b.run(rows, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line of the goals.
type row struct {
	name string
	run  func() error
}

// bench holds what runs while rows are measured.
type bench struct {
	rounds  int
	segment time.Duration
	begin   func() error // what is set up beside ours; nil: the raw side

	work string
	site *site
	ours *ours
	raw  *raw

	mu      sync.Mutex // guards closers
	closers []func() error
}

// run runs the rows that are asked for, and ends all that they started, also
// when it is interrupted: a daemon has left the terminal and would not hear it.
func (b *bench) run(rows []row, only string) error {
	if only != "" {
		names := strings.Split(only, ",")
		for _, name := range names {
			if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
				return fmt.Errorf("there is no row %s", name)
			}
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(names, r.name) })
	}
	work, err := os.MkdirTemp("", "vant-bench-")
	if err != nil {
		return err
	}
	b.work = work
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	var failed error
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		failed = b.measure(rows)
	}()
	select {
	case <-ran:
		err = failed
	case <-interrupted:
		err = errors.Join(errors.New("interrupted"), b.close())
		select { // it may have been about to start something
		case <-ran:
		case <-time.After(patience):
		}
	}
	return errors.Join(err, b.close(), os.RemoveAll(work))
}

func (b *bench) measure(rows []row) error {
	b.site = serve()
	b.later(b.site.close)
	if b.begin == nil {
		b.begin = b.beside
	}
	if err := b.begin(); err != nil {
		return err
	}
	fmt.Printf("%s %s, %d CPUs, %d rounds a row, rounds in turn (the order turns each round)\n\n", runtime.Version(), runtime.GOARCH, runtime.NumCPU(), b.rounds)
	for _, r := range rows {
		if err := r.run(); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// beside starts ours, and the raw side with the flags of our browser.
func (b *bench) beside() error {
	if err := b.startOurs(); err != nil {
		return err
	}
	raw, err := b.startRaw("raw")
	if err != nil {
		return err
	}
	b.raw = raw
	b.later(raw.close)
	return nil
}

// later has c called at the end, before those that were given earlier.
func (b *bench) later(c func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closers = append(b.closers, c)
}

func (b *bench) close() error {
	b.mu.Lock()
	closers := b.closers
	b.closers = nil
	b.mu.Unlock()
	var err error
	for _, c := range slices.Backward(closers) {
		err = errors.Join(err, c())
	}
	return err
}

// cleared waits until no process is left that has dir as its home, and kills
// those that do not go.
func cleared(dir string) error {
	marker := "HOME=" + dir
	if measure.WaitFor(5*time.Second, func() bool {
		left, err := proc.FindMarked(marker)
		return err == nil && len(left) == 0
	}) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	killed, err := proc.KillMarked(ctx, marker)
	if err == nil && len(killed) > 0 {
		err = fmt.Errorf("%d processes were left and have been killed", len(killed))
	}
	return err
}

// build makes the plugin whose echo is the hop, beside a copy of ours.
func (b *bench) build() (plugins string, err error) {
	plugins = filepath.Join(b.work, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(plugins, "vant-plugin-echo1"), "./tools/bench/host/echoplugin")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	binary, err := os.ReadFile("bin/plugins/vant-plugin-browser")
	if err != nil {
		return "", fmt.Errorf("run make build: %w", err)
	}
	return plugins, os.WriteFile(filepath.Join(plugins, "vant-plugin-browser"), binary, 0o755)
}
