// Soak runs a private host under a mixed load and mistreats its plugins all the
// while. It fails when anything goes wrong that a fault does not explain, or
// when something is left behind.
//
// The load is 32 clients that share nothing but the socket: status, describe,
// long polls, echoes of several sizes, slow calls, calls of one plugin through
// the host to another, requests with junk behind them, and clients that hang
// up early. Beside it one fault follows another: in each round every kind of
// them once, in random order, on a random plugin. The seed is printed; -seed
// has the same faults again, though not at the same moments.
//
// What is allowed:
//
//   - A call in flight on a process that a fault ends is lost: it gets
//     plugin_unavailable and says that the process ended, or missed its health
//     checks, "while the call ran". It must have begun before the host's event
//     plugin.crashed and have ended after the fault was done and soon after that
//     event; at most the plugin's in-flight limit are lost a fault.
//   - A call that meets a plugin that is down is refused: plugin_unavailable
//     without these words, with the state backoff, starting or quarantined, and,
//     in backoff, with a time to come back. It must have ended after the fault
//     was done and begun before the event that says that the plugin serves
//     again. Such calls are counted apart.
//   - While a plugin's file is away, from its removal to the event that it
//     serves, its methods may be method_not_found, or plugin_unavailable with
//     the state draining or stopped.
//   - A call through another plugin fails with that plugin's internal_error,
//     whose message has the code and the message of the failure behind it:
//     these count.
//
// Nothing else may fail: restarts by the operator and replaced files lose no
// call. A plugin may crash only by a fault, once a fault, and be quarantined
// only after as many failures as the configuration says.
//
// Four hosts run one after the other in the same folders. The first shows that
// every check of what is left sees the thing while it lives; the second gives
// the number of goroutines of a host with nothing to do. The third has three
// quarters of the time, must then be back to what it had before the load, and
// is ended by SIGQUIT, which prints its goroutines and is a crash: nothing may
// outlive it, and the next host must clear up. The fourth has the rest of the
// time and is stopped by SIGTERM.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// calmLoad is how long the load runs before the first fault.
const calmLoad = 4 * time.Second

func main() {
	d := flag.Duration("for", 10*time.Minute, "length of the load")
	seed := flag.Uint64("seed", 0, "seed of the faults; 0 takes one at random")
	keep := flag.Bool("keep", false, "keep the folder with the hosts' logs")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Printf("soak for %v with seed %d, %s, %d CPUs\n", *d, *seed, runtime.Version(), runtime.NumCPU())
	status := 0
	if err := soak(ctx, *d, *seed, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		status = 1
	}
	stop()
	os.Exit(status)
}

// soak runs it all; its error says that the run has failed.
func soak(ctx context.Context, d time.Duration, seed uint64, keep bool) (err error) {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("it reads /proc, so it needs Linux")
	}
	dir, err := os.MkdirTemp("", "vs") // sockets need a short path
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && keep {
			fmt.Fprintln(os.Stderr, "logs:", dir)
		} else if rerr := os.RemoveAll(dir); err == nil {
			err = rerr
		}
	}()
	s := &stage{dir: dir}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	defer s.killLeft()
	fmt.Println("checks see what lives:")
	seen, err := prove(ctx, s)
	if err != nil {
		return fmt.Errorf("first host: %w", err)
	}
	idle, err := idleGoroutines(ctx, s, seen)
	if err != nil {
		return fmt.Errorf("second host: %w", err)
	}
	t := newTally()
	fmt.Printf("third host, %v, ended by SIGQUIT:\n", d*3/4)
	if err := crashed(ctx, s, t, d*3/4, seed, idle); err != nil {
		t.print()
		return fmt.Errorf("third host: %w", err)
	}
	fmt.Printf("fourth host, %v, ended by SIGTERM:\n", d/4)
	err = stopped(ctx, s, t, d/4, seed+1)
	t.print()
	if err != nil {
		return fmt.Errorf("fourth host: %w", err)
	}
	fmt.Println("passed")
	return nil
}

// prove runs a host in which every kind of residue lives, and fails when a
// check does not see it. It gives the goroutines while calls ran.
func prove(ctx context.Context, s *stage) (all goroutines, err error) {
	h, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	defer h.kill()
	if err := h.warmUp(ctx); err != nil {
		return nil, err
	}
	base, err := settled(ctx, h)
	if err != nil {
		return nil, err
	}
	calls, release := context.WithCancel(ctx)
	defer release()
	if err := h.holdCalls(calls, provenCalls); err != nil {
		return nil, err
	}
	const extra = "extra"
	if err := s.put(extra, s.next()); err != nil {
		return nil, err
	}
	if err := h.await(ctx, extra, serves); err != nil {
		return nil, err
	}
	litter := filepath.Join(s.tmp(), "litter")
	if err := os.WriteFile(litter, nil, 0o600); err != nil {
		return nil, err
	}
	peak, err := h.fatten(ctx)
	if err != nil {
		return nil, err
	}
	live, err := measure(h)
	if err != nil {
		return nil, err
	}
	live.rss = peak
	if err := base.unseen(live); err != nil {
		return nil, err
	}
	fmt.Printf("  idle %v\n  live %v\n", base, live)
	if all, err = h.quit(); err != nil {
		return nil, err
	}
	if err := os.Remove(litter); err != nil {
		return nil, err
	}
	return all, s.take(extra)
}

// idleGoroutines are those of a host that has nothing to do.
func idleGoroutines(ctx context.Context, s *stage, live goroutines) (goroutines, error) {
	h, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	defer h.kill()
	if err := h.warmUp(ctx); err != nil {
		return nil, err
	}
	if _, err := settled(ctx, h); err != nil {
		return nil, err
	}
	idle, err := h.quit()
	if err != nil {
		return nil, err
	}
	fmt.Printf("  goroutines: idle %d, with %d calls %d\n", idle.total(), provenCalls, live.total())
	if live.total() < idle.total()+provenCalls {
		return nil, fmt.Errorf("%d calls ran and the host had %d goroutines, without them %d: the check does not see them", provenCalls, live.total(), idle.total())
	}
	return idle, nil
}

// crashed is the third host.
func crashed(ctx context.Context, s *stage, t *tally, d time.Duration, seed uint64, idle goroutines) error {
	h, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer h.kill()
	if err := mistreat(ctx, h, t, d, seed); err != nil {
		return err
	}
	after, err := h.quit()
	if err != nil {
		return err
	}
	fmt.Printf("  goroutines: %d, at first %d; more are %s\n", after.total(), idle.total(), cmp.Or(after.beyond(idle), "none"))
	if after.total() > idle.total()+spareGoroutines {
		return fmt.Errorf("%d goroutines are too many more than %d; they stand in %s, which -keep keeps", after.total(), idle.total(), h.logFile)
	}
	return nil
}

// stopped is the fourth host.
func stopped(ctx context.Context, s *stage, t *tally, d time.Duration, seed uint64) error {
	h, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer h.kill()
	if err := mistreat(ctx, h, t, d, seed); err != nil {
		return err
	}
	begun := time.Now()
	if err := h.stop(); err != nil {
		return err
	}
	fmt.Printf("  stopped after %v\n", time.Since(begun).Round(time.Millisecond))
	return s.nothingLeft()
}

// mistreat runs load and faults and checks what comes of them.
func mistreat(ctx context.Context, h *host, t *tally, d time.Duration, seed uint64) error {
	if err := h.warmUp(ctx); err != nil {
		return err
	}
	// Without faults first: nothing may fail, and what the allocator keeps of
	// the load is no residue of the faults.
	calm, end := context.WithTimeout(ctx, calmLoad)
	defer end()
	if v := judge(observations{failures: startLoad(calm, h.socket).wait(t)}); v.err() != nil {
		return fmt.Errorf("without any fault: %w", v.err())
	}
	base, err := settled(ctx, h)
	if err != nil {
		return err
	}
	loading, unload := context.WithCancel(ctx)
	defer unload()
	l := startLoad(loading, h.socket)
	c := &chaos{h: h, rand: rand.New(rand.NewPCG(seed, 0))}
	chaosErr := c.run(ctx, d)
	unload()
	failures := l.wait(t)
	o := observations{
		faults: c.faults, absences: c.absences, failures: failures, events: h.events.all(),
		limit: inFlight, maxFailures: maxFailures, window: failureWindow,
	}
	v := judge(o)
	t.add(c, v)
	if err := h.events.broken(); err != nil {
		return err
	}
	if err := v.err(); err != nil {
		return err
	}
	if chaosErr != nil {
		return chaosErr
	}
	after, err := returned(ctx, h, base)
	fmt.Printf("  before %v\n  after  %v\n", base, after)
	return err
}

func build(ctx context.Context, to, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	return nil
}
