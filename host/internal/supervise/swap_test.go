package supervise

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// restart runs Restart beside the test.
func restart(w *world, name string, now bool) func() (uint64, error) {
	type result struct {
		n   uint64
		err error
	}
	c := make(chan result, 1)
	go func() {
		n, err := w.Restart(context.Background(), name, now)
		c <- result{n, err}
	}()
	return func() (uint64, error) { r := <-c; return r.n, r.err }
}

func TestRestartServesANewGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(spec("a"))
		w.takeEvents()
		n, err := w.Restart(context.Background(), "a", false)
		if n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		if r, _ := w.registered("a"); r.Generation != 2 || r.State != Ready {
			t.Errorf("the table has %+v when Restart returns", r)
		}
		synctest.Wait()
		if p := w.proc("a", 1); p.drains.Load() != 1 || !p.gone() {
			t.Error("the old process was not drained and stopped")
		}
		if diff := cmp.Diff([]string{"plugin.restarted a#2"}, names(w.takeEvents())); diff != "" {
			t.Error(diff)
		}
		if st := w.status("a"); st.Restarts != 1 {
			t.Errorf("got %+v", st)
		}
	})
}

func TestCallEndsOnTheGenerationItBeganOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(20 * time.Second)} })
		w.apply(spec("a"))
		p := w.plugin("a")
		old := invoke(p, time.Minute)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		fresh := invoke(p, time.Minute)
		synctest.Wait()
		if st := w.status("a"); st.InFlight != 2 {
			t.Errorf("%d in flight over both generations", st.InFlight)
		}
		if err := old.wait(); err != nil || string(old.res.Result) != "1" {
			t.Errorf("old call: %v %v", old.res, err)
		}
		if err := fresh.wait(); err != nil || string(fresh.res.Result) != "2" {
			t.Errorf("new call: %v %v", fresh.res, err)
		}
	})
}

func TestLongCallsMayOutliveTheUsualDrainBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{timeout: 300 * time.Second, invoke: busyFor(299 * time.Second)}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 300*time.Second)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		if err := c.wait(); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallsPastTheDrainBoundAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{timeout: time.Second, invoke: busyFor(time.Hour)} })
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || u.State != Ready || !strings.HasPrefix(u.Reason, "it was cut short") {
			t.Errorf("got %v", err)
		}
		if c.took != 30*time.Second {
			t.Errorf("cut after %v", c.took)
		}
	})
}

func TestRestartNowDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Hour), deaf: true} })
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		if n, err := w.Restart(context.Background(), "a", true); n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) {
			t.Errorf("got %v", err)
		}
		if c.took != time.Second || w.proc("a", 1).drains.Load() != 0 {
			t.Errorf("cut after %v with %d drains", c.took, w.proc("a", 1).drains.Load())
		}
	})
}

func TestChangedFileOrConfigIsANewGeneration(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   uint64
	}{
		{"nothing", func(*Spec) {}, 1},
		{"path alone", func(s *Spec) { s.File = "/other/vant-plugin-a" }, 1},
		{"store alone", func(s *Spec) { s.Exec = "/store2/1" }, 1},
		{"content", func(s *Spec) { s.SHA256 = "2" }, 2},
		{"config", func(s *Spec) { s.Config = []byte(`{"a":1}`) }, 2},
		{"environment", func(s *Spec) { s.Env = []string{"A=b"} }, 2},
		{"log level", func(s *Spec) { s.LogLevel = "debug" }, 2},
		{"limits", func(s *Spec) { s.MaxInFlight = 9 }, 2},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, nil)
			w.apply(spec("a"))
			s := spec("a")
			c.change(&s)
			changes := w.apply(s)
			if (len(changes.Replaced) == 1) != (c.want == 2) {
				t.Errorf("changes are %+v", changes)
			}
			if st := w.wantState("a", Ready); st.Generation != c.want || st.File != s.File || st.SHA256 != s.SHA256 {
				t.Errorf("got %+v", st)
			}
		}))
	}
}

func TestSwapChangesTheMethodTableInOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, _ int) script {
			if s.SHA256 == "2" {
				return script{methods: []string{"a.both", "a.new"}}
			}
			return script{methods: []string{"a.both", "a.old"}}
		})
		w.apply(spec("a"))
		w.takeEvents()
		w.apply(version("a", "2"))
		if diff := cmp.Diff([]event{
			{Type: "methods.changed", Added: []string{"a.new"}, Removed: []string{"a.old"}},
			{Type: "plugin.restarted", Plugin: "a", Version: "1.2", Generation: 2},
		}, w.takeEvents()); diff != "" {
			t.Error(diff)
		}
		if r, _ := w.registered("a"); r.SHA256 != "2" || r.Set.Version != "1.2" {
			t.Errorf("registered as %+v", r)
		}
	})
}

func TestBrokenNewFileLeavesTheOldOneServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, _ int) script {
			if s.SHA256 == "2" {
				return script{launch: func(context.Context) error {
					return &StartError{Step: "handshake", Permanent: true, Err: errors.New("garbage")}
				}}
			}
			return script{}
		})
		w.apply(spec("a"))
		w.apply(version("a", "2"))
		st := w.wantState("a", Ready)
		if st.SHA256 != "1" || st.Generation != 1 || st.Reason != "the new generation did not start: handshake: garbage" {
			t.Errorf("got %+v", st)
		}
		if err := invoke(w.plugin("a"), time.Second).wait(); err != nil {
			t.Error(err)
		}
		// What worked comes back after a crash, what is broken does not.
		w.proc("a", 1).crash()
		time.Sleep(time.Second)
		if st := w.wantState("a", Ready); st.SHA256 != "1" || !strings.Contains(st.Reason, "garbage") {
			t.Errorf("after a crash: %+v", st)
		}
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "a", false); !errors.As(err, &u) || u.State != Ready || !strings.Contains(u.Reason, "garbage") {
			t.Errorf("restart: %v", err)
		}
		w.apply(version("a", "3"))
		if st := w.wantState("a", Ready); st.SHA256 != "3" || st.Reason != "" {
			t.Errorf("a good file: %+v", st)
		}
	})
}

func TestFlakyNewFileIsTriedAgainWhileTheOldOneServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			if s.SHA256 == "2" && n < 4 {
				return script{launch: func(context.Context) error { return errors.New("flaky") }}
			}
			return script{}
		})
		w.apply(spec("a"))
		w.apply(version("a", "2"))
		w.wantState("a", Ready)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := w.wantState("a", Ready); st.SHA256 != "2" || st.Generation != 4 {
			t.Errorf("got %+v", st)
		}
	})
}

func TestRestartDuringAStartBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n == 1 {
				return script{configure: func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return hang(ctx) }}
			}
			return script{}
		})
		w.apply(spec("a"))
		time.Sleep(time.Second)
		began := time.Now()
		n, err := w.Restart(context.Background(), "a", false)
		if n != 2 || err != nil || time.Since(began) > 0 {
			t.Errorf("got %d, %v after %v", n, err, time.Since(began))
		}
		synctest.Wait()
		if !w.proc("a", 1).gone() {
			t.Error("the process of the start that was given up lives")
		}
	})
}

func TestRestartsFollowOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { time.Sleep(time.Second); return nil }}
		})
		w.apply(spec("a"))
		time.Sleep(time.Second)
		synctest.Wait()
		first := restart(w, "a", false)
		time.Sleep(500 * time.Millisecond)
		second := restart(w, "a", false)
		n1, err1 := first()
		n2, err2 := second()
		if err1 != nil || err2 != nil || n1 != 3 || n2 != 3 {
			t.Errorf("got %d %v and %d %v, want the third generation for both", n1, err1, n2, err2)
		}
	})
}

func TestRestartGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{launch: hang}
			}
			return script{}
		})
		w.apply(spec("a"))
		ctx, cancel := within(time.Second)
		defer cancel()
		if _, err := w.Restart(ctx, "a", false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n := len(w.known("a").waiters); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}

func TestRestartThatFailsSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { return errors.New("no such thing") }}
		})
		w.apply(spec("a"))
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "a", false); !errors.As(err, &u) || u.State != Backoff ||
			u.Reason != "launch: no such thing" || u.RetryAfter != 200*time.Millisecond {
			t.Errorf("got %v", err)
		}
	})
}

func TestCrashDuringASwapLeavesCallsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n == 2 {
				return script{launch: func(context.Context) error { time.Sleep(time.Second); return nil }}
			}
			return script{}
		})
		w.apply(spec("a"))
		w.apply(version("a", "2"))
		w.proc("a", 1).crash()
		synctest.Wait()
		w.wantState("a", Starting)
		c := invoke(w.plugin("a"), 5*time.Second)
		if err := c.wait(); err != nil || c.took != time.Second {
			t.Errorf("got %v after %v", err, c.took)
		}
	})
}

func TestCrashWhileDrainingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Minute)} })
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		w.takeEvents()
		w.proc("a", 1).crash()
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || u.State != Ready {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"plugin.crashed a#1"}, names(w.takeEvents())); diff != "" {
			t.Error(diff)
		}
		if st := w.wantState("a", Ready); st.Generation != 2 {
			t.Errorf("got %+v", st)
		}
	})
}

func TestHangWhileDrainingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{}
			}
			return script{deaf: true, drain: hang}
		})
		w.apply(spec("a"))
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second - time.Millisecond) // Drain 2 s, SIGTERM 1 s
		if w.proc("a", 1).gone() {
			t.Error("killed too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !w.proc("a", 1).gone() {
			t.Error("still there")
		}
	})
}

func TestHealthIsWatchedWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick atomic.Bool
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{}
			}
			return script{timeout: 300 * time.Second, invoke: busyFor(time.Hour), health: func(ctx context.Context) error {
				if sick.Load() {
					return hang(ctx)
				}
				return nil
			}}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 300*time.Second)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		sick.Store(true)
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || c.took > 18*time.Second || !strings.Contains(u.Reason, "health") {
			t.Errorf("got %v after %v", err, c.took)
		}
	})
}

func TestTooManyRetiringGenerationsAreHastened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(25 * time.Second)} })
		w.apply(spec("a"))
		var calls []*call
		for range maxRetiring + 1 {
			calls = append(calls, invoke(w.plugin("a"), time.Minute))
			synctest.Wait()
			if _, err := w.Restart(context.Background(), "a", false); err != nil {
				t.Fatal(err)
			}
		}
		var u *UnavailableError
		if err := calls[0].wait(); !errors.As(err, &u) || calls[0].took != 5*time.Second {
			t.Errorf("the oldest got %v after %v", err, calls[0].took)
		}
		for i, c := range calls[1:] {
			if err := c.wait(); err != nil {
				t.Errorf("call %d got %v", i+2, err)
			}
		}
	})
}

func TestExclusivePluginNeverRunsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.launcher.plan = func(Spec, int) script {
			for _, p := range w.launcher.of("a") {
				if !p.gone() {
					t.Error("launched while another process lives")
				}
			}
			return script{exclusive: true, invoke: busyFor(3 * time.Second),
				launch: func(context.Context) error { time.Sleep(time.Second); return nil }}
		}
		w.apply(spec("a"))
		time.Sleep(time.Second)
		synctest.Wait()
		p := w.plugin("a")
		old := invoke(p, 30*time.Second)
		synctest.Wait()
		done := restart(w, "a", false)
		synctest.Wait()
		w.wantState("a", Draining)
		fresh := invoke(p, 30*time.Second)
		time.Sleep(3*time.Second + time.Millisecond)
		w.wantState("a", Starting)
		if err := old.wait(); err != nil || string(old.res.Result) != "1" {
			t.Errorf("old call: %v %v", old.res, err)
		}
		if n, err := done(); n != 2 || err != nil {
			t.Errorf("restart: %d %v", n, err)
		}
		if err := fresh.wait(); err != nil || string(fresh.res.Result) != "2" || fresh.took != 7*time.Second {
			t.Errorf("new call: %v %v after %v", fresh.res, err, fresh.took)
		}
		w.proc("a", 2).crash()
		time.Sleep(2 * time.Second)
		w.wantState("a", Ready)
	})
}

func TestAnExclusivePluginComesBackWhenItsReplacementIsNone(t *testing.T) {
	for name, bad := range map[string]script{
		"not a plugin": {launch: func(context.Context) error {
			return &StartError{Step: "handshake", Permanent: true, Err: errors.New("not a plugin")}
		}},
		"bad description": {exclusive: true, methods: []string{"nodot"}},
		"no configuration": {exclusive: true, configure: func(context.Context, *pluginv1.ConfigureRequest) error {
			return status.Error(codes.InvalidArgument, "no")
		}},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			w := newWorld(t, func(s Spec, _ int) script {
				if s.SHA256 == "2" {
					return bad
				}
				return script{exclusive: true}
			})
			w.apply(spec("a"))
			w.wantState("a", Ready)
			w.Apply([]Spec{version("a", "2")}, nil)
			c := invoke(w.plugin("a"), 30*time.Second)
			synctest.Wait()
			if err := c.wait(); err != nil {
				t.Errorf("a call meanwhile: %v", err)
			}
			st := w.wantState("a", Ready)
			if st.SHA256 != "1" || st.Generation != 3 || !strings.HasPrefix(st.Reason, "the new generation did not start") {
				t.Errorf("got %+v", st)
			}
			// Who asks after it serves again is told of what was wished.
			for range 2 {
				if err := w.Await(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "the new generation did not start") {
					t.Errorf("asked what became of the wish: %v", err)
				}
			}
			if got := w.Copies(); !got[Copy{Name: "a", SHA256: "1"}] {
				t.Errorf("its copy is not kept: %v", got)
			}
			processes := w.launcher.of("a")
			processes[len(processes)-1].crash()
			time.Sleep(time.Second)
			if st := w.wantState("a", Ready); st.SHA256 != "1" {
				t.Errorf("after a crash: %+v", st)
			}
			w.apply(version("a", "3")) // a good one
			if st := w.wantState("a", Ready); st.SHA256 != "3" || st.Reason != "" {
				t.Errorf("after the repair: %+v", st)
			}
		}))
	}
}

func TestExclusiveSwapCancelsWhatIsLeftAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		finished := false
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{exclusive: true}
			}
			return script{exclusive: true, timeout: 300 * time.Second,
				invoke: func(ctx context.Context, _ *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
					<-ctx.Done()
					close(cancelled)
					return nil, ctx.Err()
				},
				drain: func(ctx context.Context) error { // finishes what runs
					select {
					case <-cancelled:
						finished = true
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		if n, err := w.Restart(context.Background(), "a", false); n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || c.took != 5*time.Second || !strings.Contains(u.Reason, "cancelled") {
			t.Errorf("got %v after %v", err, c.took)
		}
		if !finished {
			t.Error("the plugin could not finish its call and drain")
		}
	})
}

func TestExclusiveRestartNowCutsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{exclusive: true, invoke: busyFor(time.Hour)} })
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		if n, err := w.Restart(context.Background(), "a", true); n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || c.took != 0 {
			t.Errorf("got %v after %v", err, c.took)
		}
	})
}

func TestPluginThatBecomesExclusiveIsConfiguredAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.launcher.plan = func(s Spec, _ int) script {
			if s.SHA256 != "2" {
				return script{invoke: busyFor(time.Minute)}
			}
			return script{exclusive: true, configure: func(context.Context, *pluginv1.ConfigureRequest) error {
				for _, p := range w.launcher.of("a") {
					if p.spec.SHA256 != "2" && !p.gone() {
						t.Error("configured while an old process lives")
					}
				}
				return nil
			}}
		}
		w.apply(spec("a"))
		p := w.plugin("a")
		invoke(p, time.Minute)
		synctest.Wait()
		w.apply(version("a", "1b"))
		// Two generations retire, the first at its ease so far.
		w.apply(version("a", "2"))
		c := invoke(p, time.Minute)
		if err := c.wait(); err != nil || c.took != 5*time.Second {
			t.Errorf("got %v after %v", err, c.took)
		}
		w.wantState("a", Ready)
	})
}

func TestSwapUnderLoadFailsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(3 * time.Millisecond)} })
		s := spec("a")
		s.MaxInFlight, s.MaxQueue = 8, 64 // many wait in the queue at each swap
		w.apply(s)
		p := w.plugin("a")
		var stop atomic.Bool
		var ok, failed atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				for !stop.Load() {
					ctx, cancel := within(30 * time.Second)
					if _, err := p.Invoke(ctx, request()); err != nil {
						failed.Add(1)
						t.Errorf("a call got %v", err)
					} else {
						ok.Add(1)
					}
					cancel()
				}
			})
		}
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			if _, err := w.Restart(context.Background(), "a", false); err != nil {
				t.Error(err)
			}
		}
		stop.Store(true)
		wg.Wait()
		if failed.Load() != 0 || ok.Load() < 1000 {
			t.Errorf("%d calls, %d failed", ok.Load(), failed.Load())
		}
	})
}

// The same without fake time, for real interleavings.
func TestSwapAtFullSpeedFailsNoCall(t *testing.T) {
	w := newWorld(t, nil)
	w.Apply(specs("a"), nil)
	<-w.Settled()
	p := w.plugin("a")
	var stop atomic.Bool
	progress := make(chan struct{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for n := 1; !stop.Load(); n++ {
				if _, err := p.Invoke(context.Background(), request()); err != nil {
					t.Errorf("a call got %v", err)
				}
				if n%50 == 0 {
					select {
					case progress <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	for range 50 {
		<-progress // calls are made between any two restarts
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
}
