package supervise

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// contested plugins: a and b want x.one, b and c want x.two.
func contested(s Spec, _ int) script {
	switch s.Name {
	case "a":
		return script{methods: []string{"x.one", "a.own"}}
	case "b":
		return script{methods: []string{"x.one", "x.two", "b.own"}}
	case "c":
		return script{methods: []string{"x.two", "c.own"}}
	}
	return script{}
}

func TestContestedMethodGoesToTheEarlierWhateverTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 50 {
		t.Run(fmt.Sprint(i), bubble(func(t *testing.T) {
			waits := map[string]time.Duration{}
			for _, n := range []string{"a", "b", "c"} {
				waits[n] = time.Duration(r.IntN(50)) * time.Millisecond
			}
			w := newWorld(t, func(s Spec, n int) script {
				sc, wait := contested(s, n), waits[s.Name]
				sc.launch = func(context.Context) error { time.Sleep(wait); return nil }
				return sc
			})
			list := specs("a", "b", "c")
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			w.apply(list...)
			time.Sleep(time.Second)
			synctest.Wait()
			w.wantState("a", Ready)
			w.wantState("c", Ready)
			st := w.wantState("b", Refused)
			if want := `method "x.one" of plugin "b" is already claimed by plugin "a", which comes first; ` +
				`remove one of the two, or name "b" before "a" in plugins.order`; st.Reason != want {
				t.Errorf("reason is %q", st.Reason)
			}
			if diff := cmp.Diff([]string{"a.own", "c.own", "x.one", "x.two"}, w.tableMethods()); diff != "" {
				t.Error(diff)
			}
			for _, p := range w.launcher.of("b") {
				if !p.gone() {
					t.Error("a process of the refused plugin lives")
				}
			}
			if len(w.List(false)) != 2 {
				t.Error("List(false) shows what is refused")
			}
		}))
	}
}

func TestConfiguredOrderDecidesClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested, func(o *Options) { o.Order = []string{"b"} })
		w.apply(specs("a", "b", "c")...)
		synctest.Wait()
		w.wantState("b", Ready)
		w.wantState("a", Refused)
		w.wantState("c", Refused)
		var u *UnavailableError
		if err := invoke(w.known("a"), time.Second).wait(); !errors.As(err, &u) || u.State != Refused {
			t.Errorf("a call got %v", err)
		}
	})
}

func TestRefusedPluginIsTriedAgainWhenItsWinnerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested)
		w.apply(specs("a", "b", "c")...)
		w.wantState("b", Refused)
		w.apply(specs("b", "c")...)
		w.wantState("b", Ready)
		w.wantState("c", Refused) // it was the later all along
		if diff := cmp.Diff([]string{"b.own", "x.one", "x.two"}, w.tableMethods()); diff != "" {
			t.Error(diff)
		}
		w.apply(specs("c")...)
		w.wantState("c", Ready)
		w.apply(specs("c", "a")...)
		w.apply(specs("c", "a", "b")...)
		w.wantState("b", Refused)
		w.wantState("a", Ready)
		w.wantState("c", Ready)
	})
}

func TestRestartOfARefusedPluginSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested)
		w.apply(specs("a", "b")...)
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "b", false); !errors.As(err, &u) || u.State != Refused || u.Reason != w.status("b").Reason {
			t.Errorf("got %v", err)
		}
		w.wantState("b", Refused)
	})
}

func TestRefusedPluginIsSparedConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested)
		w.apply(spec("a"))
		w.apply(specs("a", "b")...)
		w.wantState("b", Refused)
		if w.proc("b", 1).configured.Load() != 0 {
			t.Error("it was configured")
		}
	})
}

func TestEvictedPluginEndsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			sc := contested(s, n)
			sc.invoke = busyFor(3 * time.Second)
			return sc
		})
		w.apply(spec("b"))
		c := invoke(w.plugin("b"), time.Minute)
		synctest.Wait()
		w.takeEvents()
		w.apply(specs("a", "b")...)
		w.wantState("b", Refused)
		if err := c.wait(); err != nil {
			t.Error(err)
		}
		for _, e := range w.takeEvents() {
			if e.Type == "methods.changed" {
				if diff := cmp.Diff(event{Type: "methods.changed", Added: []string{"a.own"}, Removed: []string{"b.own", "x.two"}}, e); diff != "" {
					t.Error(diff)
				}
			}
		}
	})
}

func TestPluginThatIsDownKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			sc := contested(s, n)
			if s.Name == "a" && n > 1 {
				sc.launch = func(context.Context) error { return errors.New("no") }
			}
			return sc
		})
		w.apply(specs("a", "b")...)
		w.proc("a", 1).crash()
		time.Sleep(time.Hour)
		w.wantState("a", Quarantined)
		w.wantState("b", Refused)
		if r, ok := w.registered("a"); !ok || r.State != Quarantined {
			t.Errorf("a is %v %+v in the table", ok, r)
		}
	})
}

func TestEvictedPluginThatIsDownIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested)
		w.apply(spec("b"))
		w.proc("b", 1).crash()
		synctest.Wait()
		w.wantState("b", Backoff)
		w.apply(specs("a", "b")...)
		w.wantState("b", Refused)
		time.Sleep(time.Minute)
		if n := w.launcher.count("b"); n != 1 {
			t.Errorf("it was started %d times", n)
		}
	})
}

func TestNewVersionThatLosesAClaimLeavesTheOldOneServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			if s.Name == "b" && s.SHA256 == "1" {
				return script{methods: []string{"b.own"}}
			}
			return contested(s, n)
		})
		w.apply(specs("a", "b")...)
		w.apply(spec("a"), version("b", "2"))
		if st := w.wantState("b", Ready); st.SHA256 != "1" || st.Reason == "" {
			t.Errorf("got %+v", st)
		}
		w.apply(version("b", "2")) // the winner goes
		if st := w.wantState("b", Ready); st.SHA256 != "2" || st.Reason != "" {
			t.Errorf("after its winner has gone: %+v", st)
		}
	})
}

func TestNewVersionMayGiveUpWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			if s.Name == "b" && s.SHA256 == "2" {
				return script{methods: []string{"b.own"}}
			}
			return contested(s, n)
		})
		w.apply(specs("a", "b")...)
		w.wantState("b", Refused)
		w.apply(spec("a"), version("b", "2"))
		w.wantState("b", Ready)
	})
}

func TestBrokenVersionOfARefusedPluginIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			sc := contested(s, n)
			if s.SHA256 == "2" {
				sc.methods = []string{"nodot"}
			}
			return sc
		})
		wantBroken := func() {
			t.Helper()
			if st := w.wantState("b", Refused); !strings.Contains(st.Reason, "nodot") {
				t.Errorf("b is refused because %q", st.Reason)
			}
		}
		w.apply(specs("a", "b")...)
		w.wantState("b", Refused)
		w.apply(spec("a"), version("b", "2"))
		wantBroken()
		w.apply(spec("a"), version("b", "2"), spec("c"))
		wantBroken()
		w.apply(version("b", "2"), spec("c")) // a goes: that changes nothing
		wantBroken()
	})
}

func TestEvictionDuringASwapWaitsForTheNewVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		methods []string
		want    State
	}{{"that wants less", []string{"b.own"}, Ready}, {"that wants as much", []string{"x.one"}, Refused}} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, func(s Spec, n int) script {
				sc := contested(s, n)
				if s.SHA256 == "2" {
					sc.methods = c.methods
					sc.launch = func(context.Context) error { time.Sleep(time.Second); return nil }
				}
				return sc
			})
			w.apply(spec("b"))
			w.apply(version("b", "2"))
			w.wantState("b", Ready)
			w.apply(spec("a"), version("b", "2"))
			w.wantState("b", Starting)
			time.Sleep(time.Second)
			synctest.Wait()
			w.wantState("b", c.want)
			w.wantState("a", Ready)
		}))
	}
}

func TestClaimThatIsFreeAgainIsTakenBackWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, contested)
		w.apply(spec("b"))
		// As if an earlier plugin had taken it and gone again at once.
		w.commit(func() bool {
			w.claims.of["b"].held = false
			w.plugins["b"].nudge()
			return true
		})
		synctest.Wait()
		if st := w.wantState("b", Ready); st.Generation != 1 {
			t.Errorf("got %+v", st)
		}
		if diff := cmp.Diff([]string{"b.own", "x.one", "x.two"}, w.tableMethods()); diff != "" {
			t.Error(diff)
		}
	})
}
