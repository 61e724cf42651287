package supervise

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestStopEndsEverythingWithinEightSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			switch s.Name {
			case "hangs", "retires":
				if n > 1 {
					return script{}
				}
				return script{deaf: true, drain: hang, invoke: busyFor(time.Hour)}
			case "starts":
				return script{deaf: true, configure: func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return hang(ctx) }}
			case "launches":
				return script{launch: func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Second) // as long as a launcher may take
					return ctx.Err()
				}}
			case "down":
				return script{launch: func(context.Context) error { return errors.New("no") }}
			}
			return script{}
		})
		w.apply(specs("hangs", "retires", "starts", "launches", "down", "good")...)
		hangs := invoke(w.plugin("hangs"), time.Hour)
		retires := invoke(w.plugin("retires"), time.Hour)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "retires", false); err != nil {
			t.Fatal(err)
		}
		waits := invoke(w.known("starts"), time.Hour)
		synctest.Wait()
		began := time.Now()
		w.Stop(context.Background())
		if d := time.Since(began); d >= 8*time.Second {
			t.Errorf("took %v", d)
		}
		for name, c := range map[string]*call{"hangs": hangs, "retires": retires, "waits": waits} {
			var u *UnavailableError
			if err := c.wait(); !errors.As(err, &u) {
				t.Errorf("%s got %v", name, err)
			}
		}
		for _, st := range w.List(true) {
			if st.State != Stopped || st.Pid != 0 {
				t.Errorf("%s is %s", st.Name, st.State)
			}
		}
		if w.proc("good", 1).drains.Load() != 1 {
			t.Error("a good plugin was not drained")
		}
	})
}

func TestStopLetsCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Second)} })
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		began := time.Now()
		w.Stop(context.Background())
		if err := c.wait(); err != nil {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d != time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestStopKillsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{deaf: true, drain: hang, invoke: busyFor(time.Hour)} })
		w.apply(specs("a", "b")...)
		c := invoke(w.plugin("a"), time.Hour)
		synctest.Wait()
		ctx, cancel := within(100 * time.Millisecond)
		defer cancel()
		began := time.Now()
		w.Stop(ctx)
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("took %v", d)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStopIsBoundedEvenWhenALauncherIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { <-free; return errors.New("at last") }}
		})
		w.apply(spec("a"))
		began := time.Now()
		w.Stop(context.Background())
		if d := time.Since(began); d >= 8*time.Second {
			t.Errorf("took %v", d)
		}
		close(free)
	})
}

func TestStopDuringExclusiveSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{exclusive: true, invoke: busyFor(time.Hour)} })
		w.apply(spec("a"))
		invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		done := restart(w, "a", false)
		synctest.Wait()
		w.wantState("a", Draining)
		began := time.Now()
		w.Stop(context.Background())
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("took %v", d)
		}
		var u *UnavailableError
		if _, err := done(); !errors.As(err, &u) || u.State != Stopped {
			t.Errorf("restart got %v", err)
		}
	})
}

func TestStopDuringBackoffAndQuarantine(t *testing.T) {
	for _, wait := range []time.Duration{100 * time.Millisecond, time.Hour} {
		t.Run(wait.String(), bubble(func(t *testing.T) {
			w := newWorld(t, func(Spec, int) script {
				return script{launch: func(context.Context) error { return errors.New("no") }}
			})
			w.apply(spec("a"))
			time.Sleep(wait)
			began := time.Now()
			w.Stop(context.Background())
			if d := time.Since(began); d != 0 {
				t.Errorf("took %v", d)
			}
		}))
	}
}

func TestStopDuringRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Hour)} })
		w.apply(spec("a"))
		invoke(w.plugin("a"), 2*time.Hour)
		synctest.Wait()
		w.apply()
		began := time.Now()
		w.Stop(context.Background())
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("took %v, want the two seconds that calls have", d)
		}
	})
}

func TestNothingHappensAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(spec("a"))
		p := w.plugin("a")
		w.Stop(context.Background())
		w.apply(specs("a", "b")...)
		if n := w.launcher.count("b"); n != 0 {
			t.Error("Apply started something")
		}
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "a", false); !errors.As(err, &u) || u.State != Stopped {
			t.Errorf("Restart: %v", err)
		}
		if err := w.Reset(context.Background(), "a"); !errors.As(err, &u) {
			t.Errorf("Reset: %v", err)
		}
		if err := invoke(p, time.Second).wait(); !errors.As(err, &u) || u.State != Stopped {
			t.Errorf("Invoke: %v", err)
		}
		w.Stop(context.Background())
	})
}

func TestStopBeforeApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.Stop(context.Background())
	})
}

func TestHundredsOfRestartsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(spec("a"))
		for range 200 {
			if _, err := w.Restart(context.Background(), "a", false); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		p := w.known("a")
		w.mu.Lock()
		if len(p.live) != 1 || len(p.exits) != keptExits || len(p.waiters) != 0 {
			t.Errorf("left: %d live, %d exits, %d waiters", len(p.live), len(p.exits), len(p.waiters))
		}
		w.mu.Unlock()
		alive := 0
		for _, q := range w.launcher.of("a") {
			if !q.gone() {
				alive++
			}
		}
		if alive != 1 {
			t.Errorf("%d processes live", alive)
		}
	})
}
