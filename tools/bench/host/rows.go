package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
	"github.com/vant-run/vant/tools/internal/procfs"
)

func (b *bench) calls(rounds int) error {
	buf := make([]byte, 1<<20)
	size := 0
	ours := &measure.Side{Name: "ours", Run: func() (int, error) {
		reply, err := measure.Exchange(b.host.Socket, measure.StatusLine, buf)
		size = len(reply)
		return len(measure.StatusLine) + size, err
	}}
	if _, err := ours.Run(); err != nil {
		return err
	}
	echo := &measure.Side{Name: "bare echo", Run: func() (int, error) {
		line := bareLine(len(measure.StatusLine), size)
		reply, err := measure.Exchange(b.echo, line, buf)
		return len(line) + len(reply), err
	}}
	if err := measure.Interleave(rounds, echo, ours); err != nil {
		return err
	}
	fmt.Printf("status\n  %v\n  %v\n", echo, ours)
	if err := measure.Same(len(ours.Took), echo.Bytes, ours.Bytes); err != nil {
		return err
	}
	measure.Verdict("status ÷ bare echo", float64(ours.Median())/float64(echo.Median()), 1.5, false)

	for i, p := range payloads() {
		if err := b.echoRow(rounds, p, []float64{1.25, 1.25, 1.4}[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) echoRow(rounds int, p payload, goal float64) error {
	buf := make([]byte, 1<<20)
	line := p.line()
	ours := &measure.Side{Name: "ours", Run: func() (int, error) {
		reply, err := measure.Exchange(b.host.Socket, line, buf)
		if err == nil && !bytes.Contains(reply[:min(len(reply), 64)], []byte(`"ok":true`)) {
			err = fmt.Errorf("not ok: %.200s", reply)
		}
		return len(line) + len(reply), err
	}}
	n, err := ours.Run()
	if err != nil {
		return err
	}
	bare := bareLine(len(line), n-len(line))
	echo := &measure.Side{Name: "bare echo", Run: func() (int, error) {
		reply, err := measure.Exchange(b.echo, bare, buf)
		return len(bare) + len(reply), err
	}}
	unary := &measure.Side{Name: "bare unary", Run: func() (int, error) {
		out, err := b.unary(context.Background(), p.params)
		return len(p.params) + len(out), err
	}}
	if err := measure.Interleave(rounds, echo, unary, ours); err != nil {
		return err
	}
	fmt.Printf("echo in a plugin, %s\n  %v\n  %v\n  %v\n", p.name, echo, unary, ours)
	if err := measure.Same(len(ours.Took), echo.Bytes, ours.Bytes); err != nil {
		return err
	}
	if want := 2 * len(p.params) * len(unary.Took); unary.Bytes != want {
		return fmt.Errorf("bare unary moved %d bytes, want %d", unary.Bytes, want)
	}
	measure.Verdict("ours ÷ (bare echo + bare unary)", float64(ours.Median())/float64(echo.Median()+unary.Median()), goal, false)
	loop, err := measure.Tight(2*time.Second, 1, ours.Run)
	if err != nil {
		return err
	}
	fmt.Printf("  tight loop: %.0f calls/s, one client\n", loop)
	return nil
}

func (b *bench) throughput(segment time.Duration) error {
	const clients = 32
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	over := func(socket string, line []byte) func() (int, error) {
		return func() (int, error) {
			buf := buffers.Get().(*[]byte)
			defer buffers.Put(buf)
			reply, err := measure.Exchange(socket, line, *buf)
			return len(line) + len(reply), err
		}
	}
	p := payloads()[0]
	line := p.line()
	sizeOf := func(run func() (int, error), n int) (int, error) { m, err := run(); return m - n, err }
	statusSize, err := sizeOf(over(b.host.Socket, measure.StatusLine), len(measure.StatusLine))
	if err != nil {
		return err
	}
	echoSize, err := sizeOf(over(b.host.Socket, line), len(line))
	if err != nil {
		return err
	}
	bareStatus := over(b.echo, bareLine(len(measure.StatusLine), statusSize))
	bareCall := over(b.echo, bareLine(len(line), echoSize))
	rows := []struct {
		name       string
		bare, ours func() (int, error)
		goal       float64
	}{
		{"status ÷ bare echo", bareStatus, over(b.host.Socket, measure.StatusLine), 0.7},
		{"echo in a plugin, 64 B ÷ echo then unary", func() (int, error) {
			n, err := bareCall()
			if err != nil {
				return n, err
			}
			_, err = b.unary(context.Background(), p.params)
			return n, err
		}, over(b.host.Socket, line), 0.75},
	}
	fmt.Printf("throughput, %d clients, %d segments of %v a side in turn\n", clients, segments, segment)
	for _, row := range rows {
		var bare, ours []float64
		for range segments {
			x, err := measure.Tight(segment, clients, row.bare)
			if err != nil {
				return err
			}
			y, err := measure.Tight(segment, clients, row.ours)
			if err != nil {
				return err
			}
			bare, ours = append(bare, x), append(ours, y)
		}
		slices.Sort(bare)
		slices.Sort(ours)
		fmt.Printf("  bare %.0f/s, ours %.0f/s (medians)\n", bare[segments/2], ours[segments/2])
		measure.Verdict(row.name, ours[segments/2]/bare[segments/2], row.goal, true)
	}
	return nil
}

func (b *bench) cli(rounds int) error {
	run := func(name string, args ...string) func() (int, error) {
		return func() (int, error) {
			cmd := exec.Command(name, args...)
			cmd.Env = b.host.Env
			out, err := cmd.Output()
			return len(out), err
		}
	}
	minimal := &measure.Side{Name: "minimal Go program", Run: run(b.minimal)}
	ours := &measure.Side{Name: "vant agent --json status", Run: run(b.vant, "agent", "--json", "status")}
	if err := measure.Interleave(rounds, minimal, ours); err != nil {
		return err
	}
	fmt.Printf("whole process, %d rounds\n  %v\n  %v\n", rounds, minimal, ours)
	if err := measure.Same(rounds, minimal.Bytes, ours.Bytes); err != nil {
		return err
	}
	measure.Verdict("vant ÷ minimal", float64(ours.Median())/float64(minimal.Median()), 1.4, false)
	return nil
}

func (b *bench) start(times int) error {
	var first, all []time.Duration
	var cold time.Duration
	for i := range times + 1 {
		a, c, err := b.startOnce()
		if err != nil {
			return err
		}
		if i == 0 {
			cold = c
			continue
		}
		first, all = append(first, a), append(all, c)
	}
	slices.Sort(first)
	slices.Sort(all)
	fmt.Printf("start, %d times; the very first, with nothing copied yet, had 4 plugins after %v\n", times, cold.Round(time.Millisecond))
	measure.Verdict("ms to the first status, median", float64(first[times/2].Microseconds())/1000, 50, false)
	measure.Verdict("ms to 4 plugins ready, median", float64(all[times/2].Microseconds())/1000, 300, false)
	return nil
}

// startOnce gives the times from the start of a host to its first status and
// to four plugins ready.
func (b *bench) startOnce() (first, all time.Duration, err error) {
	h, err := b.launch("start")
	if err != nil {
		return 0, 0, err
	}
	defer h.Stop()
	if err := measure.WaitFor(15*time.Second, func() bool { _, err := h.Ready(); return err == nil }); err != nil {
		return 0, 0, err
	}
	first = time.Since(h.Begun)
	err = measure.WaitFor(15*time.Second, func() bool { n, _ := h.Ready(); return n == 4 })
	return first, time.Since(h.Begun), err
}

func (b *bench) memory(calls int) error {
	h, err := b.startHost("memory")
	if err != nil {
		return err
	}
	defer h.Stop()
	pid := h.Pid()
	if err := measure.Settle(pid); err != nil {
		return err
	}
	idle, err := procfs.RSS(pid)
	if err != nil {
		return err
	}
	fmt.Printf("memory of the host with 4 echo plugins, 32 clients\n")
	measure.Verdict("MiB idle", idle, 25, false)
	line := payloads()[0].line()
	var at50k float64
	done := 0
	for _, upTo := range []int{50_000, calls} {
		var left atomic.Int64
		left.Store(int64(upTo - done))
		var wg sync.WaitGroup
		errs := make(chan error, 32)
		for range 32 {
			wg.Go(func() {
				buf := make([]byte, 64<<10)
				for left.Add(-1) >= 0 {
					if _, err := measure.Exchange(h.Socket, line, buf); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		if len(errs) > 0 {
			return <-errs
		}
		done = upTo
		now, err := procfs.RSS(pid)
		if err != nil {
			return err
		}
		fmt.Printf("  after %d calls: %.1f MiB\n", done, now)
		if at50k == 0 {
			at50k = now
		} else {
			measure.Verdict("growth between the two", now/at50k, 1.05, false)
		}
	}
	return nil
}

func (b *bench) idle(d time.Duration) error {
	h, err := b.startHost("idle")
	if err != nil {
		return err
	}
	defer h.Stop()
	pid := h.Pid()
	if err := measure.Settle(pid); err != nil {
		return err
	}
	before, err := measure.CPU(pid)
	if err != nil {
		return err
	}
	time.Sleep(d)
	after, err := measure.CPU(pid)
	if err != nil {
		return err
	}
	fmt.Printf("idle for %v with 4 plugins: %v of CPU time\n", d, after-before)
	measure.Verdict("percent of a core", 100*float64(after-before)/float64(d), 0.1, false)
	return nil
}
