package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestPluginsBecomeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.apply(specs("b", "a")...)
		if diff := cmp.Diff(Changes{Started: []string{"a", "b"}}, c); diff != "" {
			t.Error(diff)
		}
		st := w.wantState("a", Ready)
		if st.Pid == 0 || st.Generation != 1 || st.Version != "1.1" || st.Methods != 1 || st.SHA256 != "1" || st.File != "/plugins/vant-plugin-a" {
			t.Errorf("got %+v", st)
		}
		r, ok := w.registered("b")
		if !ok || r.State != Ready || r.Generation != 1 || r.SHA256 != "1" || r.Set.Methods[0].Name != "b.do" {
			t.Errorf("registered as %+v", r)
		}
		got := names(w.takeEvents())
		slices.Sort(got)
		want := []string{"methods.changed +[a.do] -[]", "methods.changed +[b.do] -[]", "plugin.ready a#1", "plugin.ready b#1"}
		if len(got) == 3 { // both in one table
			want = []string{"methods.changed +[a.do b.do] -[]", "plugin.ready a#1", "plugin.ready b#1"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := invoke(w.plugin("a"), time.Second).wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestStartHandsOverConfigAndFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *pluginv1.ConfigureRequest
		w := newWorld(t, func(Spec, int) script {
			return script{configure: func(_ context.Context, req *pluginv1.ConfigureRequest) error { got = req; return nil }}
		})
		s := spec("a")
		s.Config, s.StateDir, s.CacheDir, s.DataDir, s.LogLevel = []byte(`{"x":1}`), "/s", "/c", "/d", "debug"
		w.apply(s)
		if string(got.Config) != `{"x":1}` || got.StateDir != "/s" || got.CacheDir != "/c" || got.DataDir != "/d" ||
			got.LogLevel != "debug" || got.Generation != 1 {
			t.Errorf("got %v", got)
		}
	})
}

func TestConfigIsCheckedAgainstThePluginsSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{describe: func(_ context.Context, d *pluginv1.DescribeResponse) error {
				d.ConfigSchema = []byte(`{"type":"object"}`)
				return nil
			}}
		}, func(o *Options) {
			o.CheckConfig = func(plugin string, schema, config []byte) error {
				if string(schema) != `{"type":"object"}` {
					t.Errorf("schema is %s", schema)
				}
				if string(config) == "{}" {
					return nil
				}
				return errors.New(plugin + "/speed: expected integer")
			}
		})
		bad := spec("bad")
		bad.Config = []byte(`{"speed":"x"}`)
		w.apply(spec("good"), bad)
		w.wantState("good", Ready)
		if st := w.wantState("bad", Failed); st.Reason != "configure: bad/speed: expected integer" {
			t.Errorf("reason is %q", st.Reason)
		}
		if w.proc("bad", 1).configured.Load() != 0 {
			t.Error("the plugin was configured all the same")
		}
	})
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		script       script
	}{
		{"launch", "handshake: not a plugin", script{launch: func(context.Context) error {
			return &StartError{Step: "handshake", Permanent: true, Err: errors.New("not a plugin")}
		}}},
		{"name", `describe: the plugin calls itself "other" but its file is vant-plugin-a; rename one of them`, script{name: "other"}},
		{"description", "describe: ", script{methods: []string{"nodot"}}},
		{"not our service", "describe: unknown service", script{describe: func(context.Context, *pluginv1.DescribeResponse) error {
			return status.Error(codes.Unimplemented, "unknown service")
		}}},
		{"config", "configure: port must be a number", script{configure: func(context.Context, *pluginv1.ConfigureRequest) error {
			return status.Error(codes.InvalidArgument, "port must be a number")
		}}},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			broken := true
			w := newWorld(t, func(Spec, int) script {
				if broken {
					return c.script
				}
				return script{}
			})
			w.apply(spec("a"))
			time.Sleep(time.Hour)
			want := Refused
			if c.name == "config" {
				want = Failed
			}
			st := w.wantState("a", want)
			if !strings.HasPrefix(st.Reason, c.reason) {
				t.Errorf("reason is %q, want %q", st.Reason, c.reason)
			}
			if n := w.launcher.count("a"); n != 1 {
				t.Errorf("started %d times", n)
			}
			events := []string{"plugin.failed a#1"}
			if c.name == "config" { // its methods are known
				events = append([]string{"methods.changed +[a.do] -[]"}, events...)
			}
			if diff := cmp.Diff(events, names(w.takeEvents())); diff != "" {
				t.Error(diff)
			}
			if info, _ := w.Info("a"); len(info.Exits) != 1 || !strings.HasPrefix(info.Exits[0].Reason, c.reason) {
				t.Errorf("its history is %+v", info.Exits)
			}
			w.apply(spec("a")) // nothing has changed
			if n := w.launcher.count("a"); n != 1 {
				t.Errorf("the same file was started %d times", n)
			}
			var u *UnavailableError
			if err := invoke(w.known("a"), time.Second).wait(); !errors.As(err, &u) || u.State != want {
				t.Errorf("a call got %v", err)
			}
			broken = false
			if err := w.Reset(context.Background(), "a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.wantState("a", Ready)
		}))
	}
}

func TestHangInAStepIsBounded(t *testing.T) {
	for _, c := range []struct {
		name   string
		bound  time.Duration
		reason string
		script script
	}{
		{"launch", 10 * time.Second, "launch: no handshake within 10s", script{launch: hang}},
		{"health", 2 * time.Second, "health: no answer within 2s", script{health: hang}},
		{"describe", 2 * time.Second, "describe: no answer within 2s", script{
			describe: func(ctx context.Context, _ *pluginv1.DescribeResponse) error { return hang(ctx) }}},
		{"configure", 5 * time.Second, "configure: no answer within 5s", script{
			configure: func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return hang(ctx) }}},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, func(s Spec, n int) script {
				if s.Name == "a" && n == 1 {
					return c.script
				}
				return script{}
			})
			w.apply(specs("a", "b")...)
			w.wantState("a", Starting)
			w.wantState("b", Ready)
			time.Sleep(c.bound - time.Millisecond)
			w.wantState("a", Starting)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if st := w.wantState("a", Backoff); !strings.HasPrefix(st.Reason, c.reason) {
				t.Errorf("reason is %q", st.Reason)
			}
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			w.wantState("a", Ready)
		}))
	}
}

func TestCrashInAStepNamesTheExit(t *testing.T) {
	for _, c := range []struct {
		name   string
		script script
	}{
		{"health", script{health: hang}},
		{"describe", script{describe: func(ctx context.Context, _ *pluginv1.DescribeResponse) error { return hang(ctx) }}},
		{"configure", script{configure: func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return hang(ctx) }}},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, func(_ Spec, n int) script {
				if n == 1 {
					return c.script
				}
				return script{}
			})
			w.apply(spec("a"))
			w.proc("a", 1).crash()
			synctest.Wait()
			if st := w.wantState("a", Backoff); st.Reason != c.name+": its process ended (exit status 3)" {
				t.Errorf("reason is %q", st.Reason)
			}
			info, _ := w.Info("a")
			if len(info.Exits) != 1 || info.Exits[0].Exit != "exit status 3" || info.Exits[0].Generation != 1 {
				t.Errorf("exits are %+v", info.Exits)
			}
		}))
	}
}

func TestCrashComesBackWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(spec("a"))
		w.takeEvents()
		w.proc("a", 1).crash()
		synctest.Wait()
		st := w.wantState("a", Backoff)
		if st.Pid != 0 || st.Methods != 1 {
			t.Errorf("got %+v", st)
		}
		if r, ok := w.registered("a"); !ok || r.State != Backoff {
			t.Errorf("a plugin that is down must keep its methods: %v %+v", ok, r)
		}
		time.Sleep(time.Second)
		st = w.wantState("a", Ready)
		if st.Generation != 2 || st.Restarts != 1 {
			t.Errorf("got %+v", st)
		}
		if diff := cmp.Diff([]event{
			{Type: "plugin.crashed", Plugin: "a", Version: "1.1", Generation: 1, Reason: "its process ended (exit status 3)", Exit: "exit status 3"},
			{Type: "plugin.restarted", Plugin: "a", Version: "1.1", Generation: 2},
		}, w.takeEvents()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCrashLoopBacksOffAndIsQuarantined(t *testing.T) {
	for _, c := range []struct {
		name string
		rand float64
		part float64
	}{{"least jitter", 0, 0.8}, {"no jitter", 0.5, 1}, {"most jitter", 0.999999, 1.2}} {
		t.Run(c.name, bubble(func(t *testing.T) {
			var starts []time.Time
			w := newWorld(t, func(Spec, int) script {
				return script{launch: func(context.Context) error {
					starts = append(starts, time.Now())
					return &StartError{Step: "handshake", Err: errors.New("exit status 1")}
				}}
			}, func(o *Options) { o.Rand = func() float64 { return c.rand } })
			w.apply(spec("a"))
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(starts) != 8 {
				t.Fatalf("started %d times, want 8", len(starts))
			}
			base := 200 * time.Millisecond
			for i := 1; i < len(starts); i++ {
				got, want := starts[i].Sub(starts[i-1]), time.Duration(float64(base)*c.part)
				if (got - want).Abs() > want/1000 {
					t.Errorf("wait %d is %v, want %v", i, got, want)
				}
				base *= 2
			}
			w.wantState("a", Quarantined)
			ev := w.takeEvents()
			if last := ev[len(ev)-1]; last.Type != "plugin.quarantined" || last.Reason != "handshake: exit status 1" {
				t.Errorf("last event is %+v", last)
			}
			var u *UnavailableError
			if err := invoke(w.known("a"), time.Second).wait(); !errors.As(err, &u) || u.State != Quarantined || u.RetryAfter != 0 {
				t.Errorf("a call got %v", err)
			}
		}))
	}
}

func TestBackoffIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		var longest time.Duration
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error {
				if !last.IsZero() {
					longest = max(longest, time.Since(last))
				}
				last = time.Now()
				return errors.New("no")
			}}
		}, func(o *Options) { o.Policy.MaxFailures = 100 })
		w.apply(spec("a"))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if longest != 30*time.Second {
			t.Errorf("longest wait is %v", longest)
		}
	})
}

func TestQuarantineEndsByReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n <= 8 {
				return script{health: func(context.Context) error { return status.Error(codes.Internal, "not serving") }}
			}
			return script{}
		})
		w.apply(spec("a"))
		time.Sleep(time.Hour)
		w.wantState("a", Quarantined)
		if err := w.Reset(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantState("a", Ready)
		// Its failures are forgiven: one more does not count as the ninth.
		w.proc("a", 9).crash()
		synctest.Wait()
		w.wantState("a", Backoff)
	})
}

func TestOneMinuteOfHealthResetsTheBackoff(t *testing.T) {
	for _, c := range []struct {
		name string
		well time.Duration
		want time.Duration
	}{{"before", 59 * time.Second, 400 * time.Millisecond}, {"after", 61 * time.Second, 200 * time.Millisecond}} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, nil)
			w.apply(spec("a"))
			w.proc("a", 1).crash()
			time.Sleep(time.Second)
			w.wantState("a", Ready)
			time.Sleep(c.well - time.Second + 200*time.Millisecond)
			w.proc("a", 2).crash()
			synctest.Wait()
			var u *UnavailableError
			if err := invoke(w.plugin("a"), time.Second).wait(); !errors.As(err, &u) || u.RetryAfter != c.want {
				t.Errorf("got %v (%+v), want a wait of %v", err, u, c.want)
			}
		}))
	}
}

func TestHangingPluginIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick atomic.Bool
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{}
			}
			return script{deaf: true, health: func(ctx context.Context) error {
				if sick.Load() {
					return hang(ctx)
				}
				return nil
			}, invoke: busyFor(time.Hour)}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 25*time.Second)
		time.Sleep(time.Second)
		sick.Store(true)
		time.Sleep(15*time.Second - time.Millisecond) // misses end at 6, 11 and 16 s
		w.wantState("a", Ready)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if st := w.wantState("a", Backoff); st.Reason != "it missed its health checks" {
			t.Errorf("reason is %q", st.Reason)
		}
		var u *UnavailableError
		if err := c.wait(); !errors.As(err, &u) || u.Reason != "it missed its health checks while the call ran" {
			t.Errorf("the call that hung got %v", err)
		}
		if c.took > 18*time.Second {
			t.Errorf("the call that hung took %v", c.took)
		}
		time.Sleep(time.Second)
		w.wantState("a", Ready)
	})
}

func TestHealthMissesInARowCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := newWorld(t, func(Spec, int) script {
			return script{health: func(context.Context) error {
				if n++; n%3 == 0 { // the first is the start's
					return nil
				}
				if n > 1 {
					return status.Error(codes.Internal, "busy")
				}
				return nil
			}}
		})
		w.apply(spec("a"))
		time.Sleep(5 * time.Minute)
		if st := w.wantState("a", Ready); st.Generation != 1 {
			t.Errorf("two misses in a row replaced it: %+v", st)
		}
	})
}

func TestRemovedPluginDrainsAndIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(10 * time.Second)} })
		w.apply(specs("a", "b")...)
		p := w.plugin("a")
		c := invoke(p, 20*time.Second)
		synctest.Wait()
		w.takeEvents()
		if diff := cmp.Diff(Changes{Removed: []string{"a"}}, w.apply(spec("b"))); diff != "" {
			t.Error(diff)
		}
		if st := w.wantState("a", Draining); st.InFlight != 1 {
			t.Errorf("got %+v", st)
		}
		if diff := cmp.Diff([]string{"b.do"}, w.tableMethods()); diff != "" {
			t.Error(diff)
		}
		var u *UnavailableError
		if err := invoke(p, time.Second).wait(); !errors.As(err, &u) || u.State != Draining {
			t.Errorf("a new call got %v", err)
		}
		if err := c.wait(); err != nil {
			t.Errorf("the call in flight got %v", err)
		}
		synctest.Wait()
		if _, ok := w.Info("a"); ok {
			t.Error("it is still listed")
		}
		if w.proc("a", 1).drains.Load() != 1 {
			t.Error("it was not asked to drain")
		}
		if diff := cmp.Diff([]string{"methods.changed +[] -[a.do]", "plugin.removed a#1"}, names(w.takeEvents())); diff != "" {
			t.Error(diff)
		}
	})
}

// Whoever has waited for a removal finds no method of it in the table, and is
// told of the file that is refused in its place.
func TestRemovalIsAnsweredWhenTheTableIsWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		slow := false
		w = newWorld(t, func(Spec, int) script { return script{invoke: busyFor(10 * time.Second)} }, func(o *Options) {
			publish := o.Publish
			o.Publish = func(list []Registered) {
				if slow {
					time.Sleep(time.Second)
				}
				publish(list)
			}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), 20*time.Second)
		synctest.Wait()
		slow = true
		w.Apply(nil, []Refusal{{Name: "a", File: "/plugins/vant-plugin-a", Reason: "a text"}})
		var gone *NotFoundError
		if err := w.Await(t.Context(), "a"); !errors.As(err, &gone) {
			t.Fatal(err)
		}
		if got := w.tableMethods(); len(got) != 0 {
			t.Errorf("%v are in the table", got)
		}
		list := func() (out []string) {
			for _, st := range w.List(true) {
				out = append(out, fmt.Sprintf("%s leaving %v described %v", st.State, st.Leaving, st.Described != nil))
			}
			return out
		}
		if diff := cmp.Diff([]string{"draining leaving true described true", "refused leaving false described false"}, list()); diff != "" {
			t.Error(diff)
		}
		if err := c.wait(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"refused leaving false described true"}, list()); diff != "" {
			t.Errorf("afterwards: %s", diff)
		}
		// What it had is forgotten with the file.
		w.apply()
		w.Apply(nil, []Refusal{{Name: "a", File: "/plugins/vant-plugin-a"}})
		if got := w.List(true); len(got) != 1 || got[0].Described != nil {
			t.Errorf("it is remembered: %+v", got)
		}
	})
}

func TestPluginComesBackAfterRemoval(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		name := map[bool]string{false: "side by side", true: "exclusive"}[exclusive]
		t.Run(name, bubble(func(t *testing.T) {
			w := newWorld(t, func(Spec, int) script {
				return script{exclusive: exclusive, invoke: busyFor(10 * time.Second)}
			})
			w.apply(spec("a"))
			c := invoke(w.plugin("a"), 20*time.Second)
			synctest.Wait()
			w.apply()
			w.apply(spec("a"))
			if exclusive {
				w.wantState("a", Starting)
				if len(w.launcher.of("a")) != 1 {
					t.Error("two exclusive processes live")
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
			}
			if st := w.wantState("a", Ready); st.Generation != 2 {
				t.Errorf("generations count on in the host's life: %+v", st)
			}
			var u *UnavailableError
			if err := c.wait(); exclusive != errors.As(err, &u) {
				t.Errorf("the old call got %v", err)
			}
			synctest.Wait()
			w.wantState("a", Ready)
			if diff := cmp.Diff([]string{"a.do"}, w.tableMethods()); diff != "" {
				t.Error(diff)
			}
		}))
	}
}

func TestMethodsOfARemovedPluginGoEvenWhenItIsBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{launch: func(context.Context) error { time.Sleep(time.Second); return nil }}
			}
			return script{}
		})
		w.apply(spec("a"))
		old := w.known("a")
		w.Apply(nil, nil)
		w.apply(spec("a"))
		if got := w.tableMethods(); len(got) != 0 {
			t.Errorf("%v are in the table, and nobody serves them", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w.plugin("a") == old {
			t.Error("the table has the removed plugin")
		}
		// However late the old one notices, the claim is the new one's.
		newMachine(old).withdraw()
		if diff := cmp.Diff([]string{"a.do"}, w.tableMethods()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStartThatNobodyWantsAnyMoreIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { time.Sleep(time.Second); return nil }}
		})
		w.apply(spec("a"))
		p := w.known("a")
		w.mu.Lock()
		p.wish.gone = true // the machine is not told yet
		w.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if !w.proc("a", 1).gone() || len(w.tableMethods()) != 0 {
			t.Error("it serves")
		}
		p.nudge()
		synctest.Wait()
		if w.known("a") != nil {
			t.Error("it is still there")
		}
	})
}

func TestSettledWhenAllHaveHadTheirTurn(t *testing.T) {
	settled := func(w *world) bool {
		select {
		case <-w.Settled():
			return true
		default:
			return false
		}
	}
	t.Run("nothing to start", bubble(func(t *testing.T) {
		w := newWorld(t, nil)
		if settled(w) {
			t.Error("settled before the first Apply")
		}
		w.Apply(nil, nil)
		if !settled(w) {
			t.Error("not settled")
		}
	}))
	t.Run("ready and failed", bubble(func(t *testing.T) {
		w := newWorld(t, func(s Spec, _ int) script {
			switch s.Name {
			case "slow":
				return script{launch: func(context.Context) error { time.Sleep(3 * time.Second); return nil }}
			case "bad":
				return script{launch: func(context.Context) error { return errors.New("no") }}
			case "same":
				return script{methods: []string{"good.do"}}
			}
			return script{}
		})
		w.apply(specs("slow", "bad", "good", "same")...)
		if settled(w) {
			t.Error("settled while one starts")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !settled(w) {
			t.Error("not settled")
		}
	}))
	t.Run("bound", bubble(func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{configure: func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return hang(ctx) },
				launch: func(context.Context) error { time.Sleep(9 * time.Second); return nil }}
		})
		w.apply(spec("a"))
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		if settled(w) {
			t.Error("settled too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !settled(w) {
			t.Error("not settled after ten seconds")
		}
	}))
	t.Run("removed before its turn", bubble(func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{launch: hang} })
		w.apply(spec("a"))
		w.apply()
		if !settled(w) {
			t.Error("not settled")
		}
	}))
}

func TestStartConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, peak := 0, 0
		w := newWorld(t, nil)
		w.launcher.plan = func(Spec, int) script {
			return script{launch: func(context.Context) error {
				w.launcher.mu.Lock()
				running++
				peak = max(peak, running)
				w.launcher.mu.Unlock()
				time.Sleep(time.Second)
				w.launcher.mu.Lock()
				running--
				w.launcher.mu.Unlock()
				return nil
			}}
		}
		w.starts = make(chan struct{}, 2)
		w.apply(specs("a", "b", "c", "d", "e")...)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, st := range w.List(false) {
			if st.State != Ready {
				t.Errorf("%s is %s", st.Name, st.State)
			}
		}
		if peak != 2 {
			t.Errorf("peak is %d", peak)
		}
	})
}

func TestListHidesRefusedUnlessAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		other := version("a", "2")
		other.File = "/elsewhere/vant-plugin-a"
		w.Apply([]Spec{spec("a"), other}, []Refusal{{Name: "x", File: "/plugins/vant-plugin-x", SHA256: "9", Reason: "not executable; chmod +x it"}})
		synctest.Wait()
		if l := w.List(false); len(l) != 1 || l[0].Name != "a" {
			t.Errorf("got %+v", l)
		}
		want := []Status{
			{Name: "a", State: Refused, File: "/elsewhere/vant-plugin-a", SHA256: "2", Reason: "another file has the same plugin name; remove one of them"},
			{Name: "x", State: Refused, File: "/plugins/vant-plugin-x", SHA256: "9", Reason: "not executable; chmod +x it"},
		}
		l := w.List(true)
		if diff := cmp.Diff(want, []Status{l[0], l[2]}); diff != "" {
			t.Error(diff)
		}
		info, ok := w.Info("x")
		if !ok || info.State != Refused || info.Reason != want[1].Reason {
			t.Errorf("info of a refused file: %v %+v", ok, info)
		}
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "x", false); !errors.As(err, &u) || u.State != Refused {
			t.Errorf("restart of a refused file: %v", err)
		}
		var nf *NotFoundError
		if _, err := w.Restart(context.Background(), "aa", false); !errors.As(err, &nf) || !cmp.Equal(nf.Near, []string{"a"}) {
			t.Errorf("restart of an unknown name: %v", err)
		}
		if err := w.Reset(context.Background(), "zz"); !errors.As(err, &nf) {
			t.Errorf("reset of an unknown name: %v", err)
		}
		if _, ok := w.Info("zz"); ok {
			t.Error("an unknown name has an info")
		}
	})
}

func TestInfoTellsWhatIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{methods: []string{"a.two", "a.one"}, invoke: busyFor(8 * time.Millisecond)}
		}, func(o *Options) { o.LogDrops = func(string) uint64 { return 7 } })
		s := spec("a")
		s.Config, s.MaxInFlight = []byte(`{"token":"t","n":1}`), 3
		w.apply(s)
		for range 12 {
			if err := invoke(w.plugin("a"), time.Second).wait(); err != nil {
				t.Fatal(err)
			}
		}
		for n := 1; n <= 12; n++ {
			w.proc("a", n).crash()
			time.Sleep(2 * time.Minute)
		}
		info, ok := w.Info("a")
		if !ok {
			t.Fatal("no info")
		}
		if !cmp.Equal(info.MethodNames, []string{"a.one", "a.two"}) || string(info.Config) != `{"n":1,"token":"***"}` ||
			info.Limits.MaxInFlight != 3 || info.Limits.MaxQueue != 64 || info.LogDrops != 7 || info.Calls != 12 || info.Restarts != 12 {
			t.Errorf("got %+v", info)
		}
		if info.P50US < 7500 || info.P50US > 8500 || info.P99US != info.P50US || len(info.Latency) != 1 || info.Latency[0].Count != 12 {
			t.Errorf("latency: %d %d %v", info.P50US, info.P99US, info.Latency)
		}
		if len(info.Exits) != 10 || info.Exits[9].Generation != 12 || info.Exits[9].UptimeMS != (2*time.Minute-200*time.Millisecond).Milliseconds() ||
			info.Exits[9].Exit != "exit status 3" || info.Exits[9].Reason != "its process ended (exit status 3)" {
			t.Errorf("exits: %+v", info.Exits)
		}
		if info.UptimeMS != (2*time.Minute - 200*time.Millisecond).Milliseconds() {
			t.Errorf("uptime %d", info.UptimeMS)
		}
	})
}

func TestAStartAfterAFailureSaysWhyItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ Spec, n int) script {
			return script{launch: func(ctx context.Context) error {
				if n == 2 {
					time.Sleep(3 * time.Second)
					return errors.New("no handshake within 3s")
				}
				if n == 3 {
					return hang(ctx)
				}
				return nil
			}}
		})
		w.apply(spec("a"))
		if st := w.wantState("a", Ready); st.Reason != "" {
			t.Errorf("at first: %q", st.Reason)
		}
		w.proc("a", 1).crash()
		time.Sleep(time.Second)
		if st := w.wantState("a", Starting); !strings.Contains(st.Reason, "exit status 3") {
			t.Errorf("after a crash: %q", st.Reason)
		}
		time.Sleep(4 * time.Second)
		if st := w.wantState("a", Starting); !strings.Contains(st.Reason, "no handshake within 3s") {
			t.Errorf("after a start that failed: %q", st.Reason)
		}
		if info, _ := w.Info("a"); len(info.Exits) != 2 || !strings.Contains(info.Exits[1].Reason, "no handshake within 3s") {
			t.Errorf("its history is %+v", info.Exits)
		}
	})
}

func TestMethodsOfAPluginThatDoesNotTakeItsConfigurationExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, n int) script {
			sc := contested(s, n)
			if s.Name == "a" {
				sc.configure = func(context.Context, *pluginv1.ConfigureRequest) error {
					return status.Error(codes.InvalidArgument, "port must be a number")
				}
			}
			return sc
		})
		w.apply(specs("a", "b")...) // both want x.one, and a comes first
		if r, ok := w.registered("a"); !ok || r.State != Failed {
			t.Errorf("registered: %v %+v", ok, r)
		}
		var u *UnavailableError
		if err := invoke(w.plugin("a"), time.Second).wait(); !errors.As(err, &u) || u.State != Failed {
			t.Errorf("a call got %v", err)
		}
		w.wantState("b", Refused)
		w.apply(spec("b"))
		w.wantState("b", Ready)
	})
}

func TestPluginThatKeepsCrashingIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(spec("a"))
		for n := 1; n <= 8; n++ {
			w.wantState("a", Ready)
			w.proc("a", n).crash()
			synctest.Wait()
			if n < 8 {
				w.wantState("a", Backoff)
				time.Sleep(65 * time.Second) // well in between, and yet too often
			}
		}
		w.wantState("a", Quarantined)
		if r, ok := w.registered("a"); !ok || r.State != Quarantined {
			t.Errorf("registered: %v %+v", ok, r)
		}
		ev := w.takeEvents()
		if got := names(ev[len(ev)-2:]); !cmp.Equal(got, []string{"plugin.crashed a#8", "plugin.quarantined a#8"}) {
			t.Errorf("last events are %v", got)
		}
		var u *UnavailableError
		if _, err := w.Restart(context.Background(), "a", false); !errors.As(err, &u) || u.State != Quarantined || !strings.Contains(u.Reason, "reset") {
			t.Errorf("restart: %v", err)
		}
		if err := w.Reset(context.Background(), "a"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if st := w.wantState("a", Ready); st.Generation != 9 {
			t.Errorf("after the reset: %+v", st)
		}
	})
}
