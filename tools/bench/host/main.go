// Host measures the host against the bare things it is made of: a Go server
// that echoes on a Unix socket, and one gRPC call to a go-plugin process.
// Rounds are interleaved, and a row whose sides moved different numbers of
// bytes fails the run, and so does a call that fails where none may. The last
// rows measure one host against itself: quiet, and while plugins are swapped,
// slow, dropped in or killed. Ratios that miss their goal are marked, not
// hidden.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/vant-run/vant/tools/bench/host/bareplugin"
	"github.com/vant-run/vant/tools/bench/internal/measure"
)

func main() {
	rounds := flag.Int("rounds", 2000, "interleaved rounds of a row, at least 1000 for figures to quote")
	seconds := flag.Duration("for", 2*time.Second, "length of a throughput segment")
	calls := flag.Int("calls", 1_000_000, "calls of the memory row")
	idle := flag.Duration("idle", 60*time.Second, "length of the idle row")
	only := flag.String("only", "", "comma list of rows: call,throughput,cli,start,memory,idle,swap,bulkhead,dropin,crash")
	flag.Parse()
	switch flag.Arg(0) {
	case "bare-echo":
		bareEcho(flag.Arg(1))
		return
	case "bare-plugin":
		bareplugin.Serve() // until it is told to end
		return
	}
	b := &bench{}
	defer b.close()
	if err := b.setUp(); err != nil {
		b.close()
		fail(err)
	}
	fmt.Printf("%s %s, %d CPUs, %d rounds a row, rounds in turn: bare echo, bare unary, ours (the order turns each round)\n\n", runtime.Version(), runtime.GOARCH, runtime.NumCPU(), *rounds)
	for _, row := range []struct {
		name string
		run  func() error
	}{
		{"call", func() error { return b.calls(*rounds) }},
		{"throughput", func() error { return b.throughput(*seconds) }},
		{"cli", func() error { return b.cli(max(*rounds/4, 200)) }},
		{"start", func() error { return b.start(20) }},
		{"memory", func() error { return b.memory(*calls) }},
		{"idle", func() error { return b.idle(*idle) }},
		{"swap", func() error { return b.swap(*seconds) }},
		{"bulkhead", func() error { return b.bulkhead(*seconds) }},
		{"dropin", func() error { return b.dropIn(10) }},
		{"crash", func() error { return b.crash(20) }},
	} {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), row.name) {
			continue
		}
		if err := row.run(); err != nil {
			b.close()
			fail(fmt.Errorf("%s: %w", row.name, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// bench holds what runs while rows are measured.
type bench struct {
	work        string
	vant, vantd string
	minimal     string
	host        *measure.Host
	echo        string // socket of the bare echo server
	unary       bareplugin.Echo
	closers     []func()
}

// setUp starts what the rows need. Whether or not it succeeds, close ends what
// it started.
func (b *bench) setUp() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	b.vant, b.vantd = filepath.Join(root, "bin/vant"), filepath.Join(root, "bin/vantd")
	if b.work, err = os.MkdirTemp("", "vant-bench-"); err != nil {
		return err
	}
	b.closers = append(b.closers, func() {
		if err := os.RemoveAll(b.work); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	})
	if err := b.build(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.echo = filepath.Join(b.work, "echo.sock")
	server := exec.Command(self, "bare-echo", b.echo)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	b.closers = append(b.closers, func() {
		if err := server.Process.Kill(); err == nil {
			_, _ = server.Process.Wait()
		}
	})
	if err := measure.WaitFor(10*time.Second, func() bool { _, err := os.Stat(b.echo); return err == nil }); err != nil {
		return err
	}
	unary, stop, err := bareplugin.Start(exec.Command(self, "bare-plugin"))
	if err != nil {
		return err
	}
	b.unary = unary
	b.closers = append(b.closers, stop)
	if b.host, err = b.startHost("main"); err != nil {
		return err
	}
	b.closers = append(b.closers, b.host.Stop)
	return nil
}

func (b *bench) build() error {
	b.minimal = filepath.Join(b.work, "minimal")
	plugins := filepath.Join(b.work, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		return err
	}
	flags := []string{"build", "-trimpath", "-ldflags", "-s -w"}
	for out, pkg := range map[string]string{b.minimal: "./tools/bench/host/minimal", filepath.Join(plugins, "vant-plugin-echo1"): "./tools/bench/host/echoplugin"} {
		cmd := exec.Command("go", append(flags, "-o", out, pkg)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	binary, err := os.ReadFile(filepath.Join(plugins, "vant-plugin-echo1"))
	if err != nil {
		return err
	}
	for _, name := range []string{"echo2", "echo3", "echo4"} {
		if err := os.WriteFile(filepath.Join(plugins, "vant-plugin-"+name), binary, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close() {
	for _, c := range slices.Backward(b.closers) {
		c()
	}
	b.closers = nil
}
