package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vant-run/vant/tools/internal/procfs"
)

// side is one of the things that take turns.
type side struct {
	name  string
	run   func() (int, error) // bytes moved
	took  []time.Duration
	bytes int
}

// interleave runs the sides in turn, a different one first each round.
func interleave(rounds int, sides ...*side) error {
	for i := range rounds + rounds/10 {
		for j := range sides {
			s := sides[(i+j)%len(sides)]
			begun := time.Now()
			n, err := s.run()
			d := time.Since(begun)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if i >= rounds/10 { // the first ones warm up
				s.took = append(s.took, d)
				s.bytes += n
			}
		}
	}
	for _, s := range sides {
		slices.Sort(s.took)
	}
	return nil
}

func (s *side) median() time.Duration { return s.took[len(s.took)/2] }
func (s *side) p99() time.Duration    { return s.took[len(s.took)*99/100] }

func (s *side) String() string {
	text := fmt.Sprintf("%s median %v p99 %v", s.name, s.median().Round(100*time.Nanosecond), s.p99().Round(time.Microsecond))
	if s.bytes > 0 {
		text += fmt.Sprintf(" bytes %d", s.bytes)
	}
	return text
}

// verdict prints a ratio beside its goal.
func verdict(what string, ratio, goal float64, atLeast bool) {
	met, sign := ratio <= goal, "≤"
	if atLeast {
		met, sign = ratio >= goal, "≥"
	}
	mark := "met"
	if !met {
		mark = "MISSED"
	}
	fmt.Printf("  %s: %.3f (goal %s %.2f) %s\n", what, ratio, sign, goal, mark)
}

// same fails a row whose sides moved different amounts. Times in a reply have
// a digit more now and then, hence a tolerance of one byte a round.
func same(rounds int, a, b int) error {
	if diff := a - b; diff > rounds || -diff > rounds {
		return fmt.Errorf("the sides moved different numbers of bytes: %d and %d", a, b)
	}
	return nil
}

func (b *bench) calls(rounds int) error {
	buf := make([]byte, 1<<20)
	size := 0
	ours := &side{name: "ours", run: func() (int, error) {
		reply, err := exchange(b.host.socket, statusLine, buf)
		size = len(reply)
		return len(statusLine) + size, err
	}}
	if _, err := ours.run(); err != nil {
		return err
	}
	echo := &side{name: "bare echo", run: func() (int, error) {
		line := bareLine(len(statusLine), size)
		reply, err := exchange(b.echo, line, buf)
		return len(line) + len(reply), err
	}}
	if err := interleave(rounds, echo, ours); err != nil {
		return err
	}
	fmt.Printf("status\n  %v\n  %v\n", echo, ours)
	if err := same(len(ours.took), echo.bytes, ours.bytes); err != nil {
		return err
	}
	verdict("status ÷ bare echo", float64(ours.median())/float64(echo.median()), 1.5, false)

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
	ours := &side{name: "ours", run: func() (int, error) {
		reply, err := exchange(b.host.socket, line, buf)
		if err == nil && !bytes.Contains(reply[:min(len(reply), 64)], []byte(`"ok":true`)) {
			err = fmt.Errorf("not ok: %.200s", reply)
		}
		return len(line) + len(reply), err
	}}
	n, err := ours.run()
	if err != nil {
		return err
	}
	bare := bareLine(len(line), n-len(line))
	echo := &side{name: "bare echo", run: func() (int, error) {
		reply, err := exchange(b.echo, bare, buf)
		return len(bare) + len(reply), err
	}}
	unary := &side{name: "bare unary", run: func() (int, error) {
		out, err := b.unary(context.Background(), p.params)
		return len(p.params) + len(out), err
	}}
	if err := interleave(rounds, echo, unary, ours); err != nil {
		return err
	}
	fmt.Printf("echo in a plugin, %s\n  %v\n  %v\n  %v\n", p.name, echo, unary, ours)
	if err := same(len(ours.took), echo.bytes, ours.bytes); err != nil {
		return err
	}
	if want := 2 * len(p.params) * len(unary.took); unary.bytes != want {
		return fmt.Errorf("bare unary moved %d bytes, want %d", unary.bytes, want)
	}
	verdict("ours ÷ (bare echo + bare unary)", float64(ours.median())/float64(echo.median()+unary.median()), goal, false)
	loop, err := tight(2*time.Second, 1, ours.run)
	if err != nil {
		return err
	}
	fmt.Printf("  tight loop: %.0f calls/s, one client\n", loop)
	return nil
}

// tight counts calls a second of some clients at once.
func tight(d time.Duration, clients int, run func() (int, error)) (float64, error) {
	var wg sync.WaitGroup
	var calls atomic.Int64
	errs := make(chan error, clients)
	begun := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(begun) < d {
				if _, err := run(); err != nil {
					errs <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	rate := float64(calls.Load()) / time.Since(begun).Seconds()
	select {
	case err := <-errs:
		return 0, err
	default:
		return rate, nil
	}
}

func (b *bench) throughput(segment time.Duration) error {
	const clients = 32
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	over := func(socket string, line []byte) func() (int, error) {
		return func() (int, error) {
			buf := buffers.Get().(*[]byte)
			defer buffers.Put(buf)
			reply, err := exchange(socket, line, *buf)
			return len(line) + len(reply), err
		}
	}
	p := payloads()[0]
	line := p.line()
	sizeOf := func(run func() (int, error), n int) (int, error) { m, err := run(); return m - n, err }
	statusSize, err := sizeOf(over(b.host.socket, statusLine), len(statusLine))
	if err != nil {
		return err
	}
	echoSize, err := sizeOf(over(b.host.socket, line), len(line))
	if err != nil {
		return err
	}
	bareStatus := over(b.echo, bareLine(len(statusLine), statusSize))
	bareCall := over(b.echo, bareLine(len(line), echoSize))
	rows := []struct {
		name       string
		bare, ours func() (int, error)
		goal       float64
	}{
		{"status ÷ bare echo", bareStatus, over(b.host.socket, statusLine), 0.7},
		{"echo in a plugin, 64 B ÷ echo then unary", func() (int, error) {
			n, err := bareCall()
			if err != nil {
				return n, err
			}
			_, err = b.unary(context.Background(), p.params)
			return n, err
		}, over(b.host.socket, line), 0.75},
	}
	fmt.Printf("throughput, %d clients, %d segments of %v a side in turn\n", clients, segments, segment)
	for _, row := range rows {
		var bare, ours []float64
		for range segments {
			x, err := tight(segment, clients, row.bare)
			if err != nil {
				return err
			}
			y, err := tight(segment, clients, row.ours)
			if err != nil {
				return err
			}
			bare, ours = append(bare, x), append(ours, y)
		}
		slices.Sort(bare)
		slices.Sort(ours)
		fmt.Printf("  bare %.0f/s, ours %.0f/s (medians)\n", bare[segments/2], ours[segments/2])
		verdict(row.name, ours[segments/2]/bare[segments/2], row.goal, true)
	}
	return nil
}

func (b *bench) cli(rounds int) error {
	run := func(name string, args ...string) func() (int, error) {
		return func() (int, error) {
			cmd := exec.Command(name, args...)
			cmd.Env = b.host.env
			out, err := cmd.Output()
			return len(out), err
		}
	}
	minimal := &side{name: "minimal Go program", run: run(b.minimal)}
	ours := &side{name: "vant agent --json status", run: run(b.vant, "agent", "--json", "status")}
	if err := interleave(rounds, minimal, ours); err != nil {
		return err
	}
	fmt.Printf("whole process, %d rounds\n  %v\n  %v\n", rounds, minimal, ours)
	if err := same(rounds, minimal.bytes, ours.bytes); err != nil {
		return err
	}
	verdict("vant ÷ minimal", float64(ours.median())/float64(minimal.median()), 1.4, false)
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
	verdict("ms to the first status, median", float64(first[times/2].Microseconds())/1000, 50, false)
	verdict("ms to 4 plugins ready, median", float64(all[times/2].Microseconds())/1000, 300, false)
	return nil
}

// startOnce gives the times from the start of a host to its first status and
// to four plugins ready.
func (b *bench) startOnce() (first, all time.Duration, err error) {
	h, err := b.launch("start")
	if err != nil {
		return 0, 0, err
	}
	defer h.stop()
	if err := waitFor(15*time.Second, func() bool { _, err := h.ready(); return err == nil }); err != nil {
		return 0, 0, err
	}
	first = time.Since(h.begun)
	err = waitFor(15*time.Second, func() bool { n, _ := h.ready(); return n == 4 })
	return first, time.Since(h.begun), err
}

func (b *bench) memory(calls int) error {
	h, err := b.startHost("memory")
	if err != nil {
		return err
	}
	defer h.stop()
	pid := h.cmd.Process.Pid
	if err := settle(pid); err != nil {
		return err
	}
	idle, err := procfs.RSS(pid)
	if err != nil {
		return err
	}
	fmt.Printf("memory of the host with 4 echo plugins, 32 clients\n")
	verdict("MiB idle", idle, 25, false)
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
					if _, err := exchange(h.socket, line, buf); err != nil {
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
			verdict("growth between the two", now/at50k, 1.05, false)
		}
	}
	return nil
}

func (b *bench) idle(d time.Duration) error {
	h, err := b.startHost("idle")
	if err != nil {
		return err
	}
	defer h.stop()
	pid := h.cmd.Process.Pid
	if err := settle(pid); err != nil {
		return err
	}
	before, err := cpu(pid)
	if err != nil {
		return err
	}
	time.Sleep(d)
	after, err := cpu(pid)
	if err != nil {
		return err
	}
	fmt.Printf("idle for %v with 4 plugins: %v of CPU time\n", d, after-before)
	verdict("percent of a core", 100*float64(after-before)/float64(d), 0.1, false)
	return nil
}

// settle waits until the process has stopped working off its start.
func settle(pid int) error {
	last, err := cpu(pid)
	if err != nil {
		return err
	}
	return waitFor(20*time.Second, func() bool {
		time.Sleep(time.Second)
		now, err := cpu(pid)
		quiet := err != nil || now-last < 2*time.Millisecond
		last = now
		return quiet
	})
}

// cpu is the time that all the process's threads have run.
func cpu(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that just ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ns)
	}
	return total, nil
}
