package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
)

const (
	segments = 5
	swaps    = 20 // over all segments
	rate     = 500
	// slots is the calls in flight that a plugin may have.
	slots = 64
	// patience bounds what a row waits for.
	patience = 15 * time.Second
)

var okReply = []byte(`"ok":true`)

// times are those of many calls made side by side.
type times struct {
	mu   sync.Mutex // guards what follows
	took []time.Duration
	err  error
}

func (t *times) add(d time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took = append(t.took, d)
	t.err = errors.Join(t.err, err)
}

// side gives the times as one of the sides of a row.
func (t *times) side(name string) *measure.Side {
	slices.Sort(t.took)
	return &measure.Side{Name: name, Took: t.took}
}

func echo(h *measure.Host, line []byte) error {
	reply, err := measure.Exchange(h.Socket, line, make([]byte, 4<<10))
	if err == nil && !bytes.Contains(reply[:min(len(reply), 64)], okReply) {
		err = fmt.Errorf("a call failed: %.300s", reply)
	}
	return err
}

// paced makes calls at a fixed rate until stop is closed. A call's time counts
// from when it was due, so that a host that stands still is charged for all
// that had to wait.
func paced(h *measure.Host, t *times, stop <-chan struct{}) {
	line := payloads()[0].line()
	var wg sync.WaitGroup
	defer wg.Wait()
	begun := time.Now()
	for i := 0; ; i++ {
		due := begun.Add(time.Duration(i) * time.Second / rate)
		select {
		case <-stop:
			return
		case <-time.After(time.Until(due)):
		}
		wg.Go(func() {
			err := echo(h, line)
			t.add(time.Since(due), err)
		})
	}
}

// flatOut makes calls of 32 clients as fast as they go until stop is closed.
func flatOut(h *measure.Host, t *times, stop <-chan struct{}) {
	line := payloads()[0].line()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				begun := time.Now()
				err := echo(h, line)
				t.add(time.Since(begun), err)
			}
		})
	}
	wg.Wait()
}

// swap replaces a plugin's process again and again under load.
func (b *bench) swap(segment time.Duration) error {
	for _, load := range []struct {
		name string
		run  func(*measure.Host, *times, <-chan struct{})
		goal float64
	}{{fmt.Sprintf("%d calls/s", rate), paced, 3}, {"32 clients flat out", flatOut, 2}} {
		quiet, swapped := &times{}, &times{}
		for range segments {
			if err := during(b.host, load.run, quiet, segment, nil); err != nil {
				return err
			}
			if err := during(b.host, load.run, swapped, segment, func() error {
				for i := range swaps / segments {
					if i > 0 {
						time.Sleep(segment / (swaps/segments + 1))
					}
					if _, err := measure.Ask(b.host.Socket, "plugins.restart", `{"name":"echo1"}`); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
		}
		a, s := quiet.side("quiet"), swapped.side("swapped")
		fmt.Printf("%s while their plugin is swapped %d times, %d and %d calls, none failed\n  %v\n  %v\n", load.name, swaps, len(a.Took), len(s.Took), a, s)
		measure.Verdict("p99 swapped ÷ quiet", float64(s.P99())/float64(a.P99()), load.goal, false)
	}
	return nil
}

// during runs a load for at least d, and meanwhile something else. A call that
// fails is an error.
func during(h *measure.Host, load func(*measure.Host, *times, <-chan struct{}), t *times, d time.Duration, do func() error) error {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		load(h, t, stop)
	}()
	begun := time.Now()
	var err error
	if do != nil {
		err = do()
	}
	time.Sleep(d - time.Since(begun))
	close(stop)
	<-ended
	return errors.Join(err, t.err)
}

// bulkhead measures a plugin beside one that has all its calls in use.
func (b *bench) bulkhead(segment time.Duration) error {
	one := func(h *measure.Host, t *times, stop <-chan struct{}) {
		line := payloads()[0].line()
		for {
			select {
			case <-stop:
				return
			default:
			}
			begun := time.Now()
			err := echo(h, line)
			t.add(time.Since(begun), err)
		}
	}
	alone, beside := &times{}, &times{}
	for range segments {
		if err := during(b.host, one, alone, segment, nil); err != nil {
			return err
		}
		release, err := b.occupy("echo2")
		if err == nil {
			err = during(b.host, one, beside, segment, nil)
		}
		if err := errors.Join(err, release()); err != nil {
			return err
		}
	}
	a, s := alone.side("alone"), beside.side("beside")
	fmt.Printf("a plugin's echo beside another one that has %d calls of 29 s, %d and %d calls, none failed\n  %v\n  %v\n", slots, len(a.Took), len(s.Took), a, s)
	measure.Verdict("p99 beside ÷ alone", float64(s.P99())/float64(a.P99()), 1.25, false)
	return nil
}

// occupy takes all of a plugin's calls. Release gives them back and waits until
// the plugin has ended them.
func (b *bench) occupy(plugin string) (release func() error, err error) {
	var conns []net.Conn
	runs := func(n int) error {
		return measure.WaitFor(patience, func() bool {
			r, err := b.host.Plugin(plugin)
			return err == nil && r.InFlight == n
		})
	}
	release = func() error {
		for _, c := range conns {
			_ = c.Close() // that is all it is for
		}
		return runs(0)
	}
	for range slots {
		c, err := net.Dial("unix", b.host.Socket)
		if err != nil {
			return release, err
		}
		conns = append(conns, c)
		if _, err := c.Write(measure.Request(plugin+".sleep", `{"ms":29000}`)); err != nil {
			return release, err
		}
	}
	return release, runs(slots)
}

// dropIn measures from the moment that a plugin's file is in place to the end
// of the first call that it answers.
func (b *bench) dropIn(times int) error {
	plugins := filepath.Join(b.work, "plugins")
	binary, err := os.ReadFile(filepath.Join(plugins, "vant-plugin-echo1"))
	if err != nil {
		return err
	}
	s := &measure.Side{Name: "first call"}
	part, file := filepath.Join(plugins, ".part"), filepath.Join(plugins, "vant-plugin-dropped")
	for i := range times {
		// Each is a new file, that the host must copy.
		if err := os.WriteFile(part, fmt.Appendf(bytes.Clone(binary), "\nversion %d\n", i), 0o755); err != nil {
			return err
		}
		if err := os.Rename(part, file); err != nil {
			return err
		}
		took, err := b.until("dropped", "method_not_found")
		if err != nil {
			return err
		}
		s.Took = append(s.Took, took)
		if err := os.Remove(file); err != nil {
			return err
		}
		if err := measure.WaitFor(patience, func() bool {
			_, err := measure.Ask(b.host.Socket, "dropped.text", `{"data":"x"}`)
			return measure.Failed(err, "method_not_found")
		}); err != nil {
			return fmt.Errorf("a plugin that was removed stays: %w", err)
		}
	}
	slices.Sort(s.Took)
	worst := s.Took[len(s.Took)-1]
	fmt.Printf("a plugin dropped in, %d times\n  median %v worst %v\n", times, s.Median().Round(time.Millisecond), worst.Round(time.Millisecond))
	measure.Verdict("seconds to the first call, worst", worst.Seconds(), 2, false)
	return nil
}

// until gives the time until a plugin answers. Before that it may only fail
// with the code.
func (b *bench) until(plugin, code string) (time.Duration, error) {
	begun := time.Now()
	for {
		_, err := measure.Ask(b.host.Socket, plugin+".text", `{"data":"x"}`)
		took := time.Since(begun)
		switch {
		case err == nil:
			return took, nil
		case !measure.Failed(err, code):
			return 0, err
		case took > patience:
			return 0, fmt.Errorf("after %v: %w", took, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// crash measures from a plugin's end to the answer of its call in flight, and
// to its next answer.
func (b *bench) crash(times int) error {
	answer, again := &measure.Side{Name: "answer"}, &measure.Side{Name: "serving"}
	for range times {
		// It forgives the failures before: each crash is the first one.
		if _, err := measure.Ask(b.host.Socket, "plugins.restart", `{"name":"echo3"}`); err != nil {
			return err
		}
		type end struct {
			err error
			at  time.Time
		}
		ended := make(chan end, 1)
		go func() {
			_, err := measure.Ask(b.host.Socket, "echo3.sleep", `{"ms":29000}`)
			ended <- end{err, time.Now()}
		}()
		var r measure.Plugin
		if err := measure.WaitFor(patience, func() bool {
			var err error
			r, err = b.host.Plugin("echo3")
			return err == nil && r.InFlight == 1 && r.Pid > 1
		}); err != nil {
			return err
		}
		killed := time.Now()
		if err := syscall.Kill(r.Pid, syscall.SIGKILL); err != nil {
			return err
		}
		e := <-ended
		if !measure.Failed(e.err, "plugin_unavailable") {
			return fmt.Errorf("the call in flight got %w", e.err)
		}
		if _, err := b.until("echo3", "plugin_unavailable"); err != nil {
			return err
		}
		answer.Took, again.Took = append(answer.Took, e.at.Sub(killed)), append(again.Took, time.Since(killed))
	}
	slices.Sort(answer.Took)
	slices.Sort(again.Took)
	worst := func(s *measure.Side) time.Duration { return s.Took[len(s.Took)-1] }
	fmt.Printf("a plugin killed with a call in flight, %d times\n  answer median %v worst %v\n  serving median %v worst %v\n", times,
		answer.Median().Round(10*time.Microsecond), worst(answer).Round(10*time.Microsecond), again.Median().Round(time.Millisecond), worst(again).Round(time.Millisecond))
	measure.Verdict("ms to the failure's answer, worst", float64(worst(answer).Microseconds())/1000, 100, false)
	measure.Verdict("seconds until it serves again, worst", worst(again).Seconds(), 1, false)
	return nil
}
