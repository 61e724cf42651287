package supervise

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func attachedSpec(name string) Spec {
	s := spec(name)
	s.File, s.SHA256, s.Attach = "reattach:/dev.sock", "", "/dev.sock"
	return s
}

func TestAnAttachedPluginIsNeitherProbedNorDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		w := newWorld(t, func(Spec, int) script {
			started := false
			return script{health: func(ctx context.Context) error {
				asked.Add(1)
				if started {
					return hang(ctx) // at a breakpoint
				}
				started = true
				return nil
			}}
		})
		w.apply(attachedSpec("a"))
		time.Sleep(10 * time.Minute)
		w.wantState("a", Ready)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked for its health %d times", n)
		}
		if n, err := w.Restart(context.Background(), "a", false); n != 2 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		synctest.Wait()
		if p := w.proc("a", 1); p.drains.Load() != 0 || p.stops.Load() != 1 {
			t.Errorf("%d drains, %d stops", p.drains.Load(), p.stops.Load())
		}
	})
}

func TestAnAttachedPluginIsLetGoBeforeItIsAttachedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		w = newWorld(t, func(_ Spec, n int) script {
			return script{launch: func(context.Context) error {
				if n == 2 && !w.proc("a", 1).gone() {
					t.Error("two connections at once")
				}
				return nil
			}}
		})
		w.apply(attachedSpec("a"))
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
	})
}

func TestALostAttachedPluginIsLookedForUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Bool
		there.Store(true)
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error {
				if !there.Load() {
					return &StartError{Step: "launch", Err: errors.New("no plugin can be reached")}
				}
				return nil
			}}
		})
		w.apply(attachedSpec("a"))
		w.takeEvents()
		there.Store(false)
		w.proc("a", 1).crash()
		time.Sleep(time.Hour)
		st := w.status("a")
		if st.State != Backoff && st.State != Starting {
			t.Fatalf("got %+v", st)
		}
		// An hour of failures is told once.
		if d := cmp.Diff([]string{"plugin.crashed a#1", "plugin.failed a#2"}, names(w.takeEvents())); d != "" {
			t.Error(d)
		}
		there.Store(true)
		time.Sleep(2 * attachRetryMax)
		w.wantState("a", Ready)
	})
}

func TestAFaultOfAnAttachedPluginIsNotForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		w := newWorld(t, func(Spec, int) script {
			s := script{name: "other"}
			if mended.Load() {
				s.name = "a"
			}
			return s
		})
		w.apply(attachedSpec("a"))
		time.Sleep(time.Minute)
		mended.Store(true)
		time.Sleep(2 * attachRetryMax)
		w.wantState("a", Ready)
	})
}

func TestAChangedLimitIsANewGeneration(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"memory_max": func(s *Spec) { s.MemoryMax = 1 << 30 },
		"cpu_weight": func(s *Spec) { s.CPUWeight = 50 },
		"nofile":     func(s *Spec) { s.NoFile = 1024 },
		"address":    func(s *Spec) { s.Attach = "/other.sock" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				s := spec("a")
				w.apply(s)
				change(&s)
				w.apply(s)
				if st := w.status("a"); st.Generation != 2 {
					t.Errorf("got %+v", st)
				}
				w.apply(s)
				if st := w.status("a"); st.Generation != 2 {
					t.Errorf("the same again: %+v", st)
				}
			})
		})
	}
}

func TestTheReasonForAnEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		s := spec("a")
		s.MemoryMax, s.NoFile = 512<<20, 99
		w.apply(s)
		info, _ := w.Info("a")
		if l := info.Limits; l.MemoryMax != 512<<20 || l.MemoryBy != "sampling" || l.NoFile != 99 || l.RSS != 4096 {
			t.Errorf("limits %+v", l)
		}
		w.takeEvents()
		const why = "its memory of 612 MiB exceeded memory_max 512 MiB"
		w.proc("a", 1).end(Exit{Code: -1, Signal: "killed", Reason: why})
		synctest.Wait()
		if st := w.wantState("a", Backoff); st.Reason != why {
			t.Errorf("reason %q", st.Reason)
		}
		if e := w.takeEvents(); len(e) == 0 || e[0].Type != "plugin.crashed" || e[0].Reason != why || e[0].Exit != "signal: killed" {
			t.Errorf("events %+v", e)
		}
		info, _ = w.Info("a")
		if l := info.Limits; l.MemoryMax != 512<<20 || l.MemoryBy != "" || l.RSS != 0 {
			t.Errorf("limits of what does not run: %+v", l)
		}
		if x := info.Exits; len(x) != 1 || x[0].Reason != why || x[0].Exit != "signal: killed" {
			t.Errorf("exits %+v", x)
		}
	})
}
