package supervise

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestProbeSaysWhatWouldBecomeOfAPlugin(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name   string
		s      script
		says   string
		evicts []string
	}{
		{"it would serve", script{methods: []string{"m.new"}}, "", nil},
		{"it would take the place of what runs under its name", script{methods: []string{"m.do"}}, "", nil},
		{"it comes after one that has its method", script{methods: []string{"a.do"}}, `"a.do" of plugin "m" is already claimed by plugin "a"`, nil},
		{"it comes before one that has its method", script{methods: []string{"z.do"}}, "", []string{"z"}},
		{"it calls itself another name", script{name: "q"}, "rename one of them", nil},
		{"it cannot be launched", script{launch: func(context.Context) error { return errors.New("no handshake") }}, "no handshake", nil},
		{"it hangs", script{health: hang}, "health: no answer", nil},
		{"its configuration is not valid", script{describe: func(_ context.Context, d *pluginv1.DescribeResponse) error {
			d.ConfigSchema = []byte(`{"type":"object"}`)
			return nil
		}}, "configure: bad section", nil},
	} {
		t.Run(tt.name, bubble(func(t *testing.T) {
			w := newWorld(t, nil, func(o *Options) {
				o.CheckConfig = func(_ string, _, _ []byte) error { return errors.New("bad section") }
			})
			w.apply(specs("a", "m", "z")...)
			before := w.List(true)
			tt.s.configure = func(context.Context, *pluginv1.ConfigureRequest) error {
				t.Error("it was configured")
				return nil
			}
			beside := &fakeLauncher{plan: func(Spec, int) script { return tt.s }, starts: map[string]int{}}
			got, err := w.Probe(t.Context(), beside, version("m", "2"))
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if diff := cmp.Diff(tt.evicts, got.Evicts); diff != "" {
				t.Error(diff)
			}
			for _, p := range beside.procs {
				if p.stops.Load() == 0 {
					t.Error("its process was left")
				}
			}
			after := w.List(true)
			for i := range after {
				after[i].UptimeMS = before[i].UptimeMS
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("what runs has changed: %s", diff)
			}
		}))
	}
}

func TestProbeEndsWithItsCallerAndWithTheHost(t *testing.T) {
	for _, who := range []string{"caller", "host"} {
		t.Run(who, bubble(func(t *testing.T) {
			w := newWorld(t, nil)
			beside := &fakeLauncher{starts: map[string]int{}, plan: func(Spec, int) script {
				return script{launch: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, func() {
				if who == "caller" {
					cancel()
				} else {
					w.Stop(context.Background())
				}
			})
			began := time.Now()
			if _, err := w.Probe(ctx, beside, spec("m")); err == nil || time.Since(began) > 2*time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}))
	}
	t.Run("nothing starts in a host that has ended", bubble(func(t *testing.T) {
		w := newWorld(t, nil)
		w.Stop(context.Background())
		if _, err := w.Probe(t.Context(), w.launcher, spec("m")); err == nil || len(w.launcher.procs) != 0 {
			t.Errorf("got %v, %d processes", err, len(w.launcher.procs))
		}
	}))
}

func TestAwaitTellsTheOutcomeOfWhatWasApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := false
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error {
				time.Sleep(time.Second)
				if bad {
					return &StartError{Step: "handshake", Permanent: true, Err: errors.New("no plugin")}
				}
				return nil
			}}
		})
		await := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			return w.Await(ctx, "a")
		}
		w.Apply(specs("a"), nil)
		if err := await(); err != nil {
			t.Errorf("its start: %v", err)
		}
		if err := await(); err != nil { // and it stays told
			t.Errorf("after that: %v", err)
		}
		bad = true
		w.Apply([]Spec{version("a", "2")}, nil)
		var u *UnavailableError
		if err := await(); !errors.As(err, &u) || u.State != Ready || !strings.Contains(u.Reason, "no plugin") {
			t.Errorf("a replacement that fails: %v", err)
		}
		bad = false
		w.Apply([]Spec{version("a", "3")}, nil)
		if err := await(); err != nil {
			t.Errorf("one that does not: %v", err)
		}
		w.Apply(nil, nil)
		var gone *NotFoundError
		if err := await(); !errors.As(err, &gone) {
			t.Errorf("its removal: %v", err)
		}
		if _, there := w.registered("a"); there {
			t.Error("its methods are left")
		}
		if err := w.Await(t.Context(), "never"); !errors.As(err, &gone) {
			t.Errorf("of what never was: %v", err)
		}
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		})
		w.Apply(specs("a"), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Await(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSwitchedOffPluginsAreShownAsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.apply(specs("a")...)
		off := []Refusal{{Name: "a", File: "/p/a", SHA256: "1", Reason: "switched off", Stopped: true}, {Name: "b", File: "/p/b", Reason: "bad"}}
		c := w.Apply(nil, off)
		if diff := cmp.Diff([]string{"a"}, c.Removed); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Minute) // until it is gone
		for all, want := range map[bool][]string{false: {"a stopped"}, true: {"a stopped", "b refused"}} {
			var got []string
			for _, st := range w.List(all) {
				got = append(got, st.Name+" "+string(st.State))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("all=%v: %s", all, diff)
			}
		}
		if info, ok := w.Info("a"); !ok || info.State != Stopped || info.Reason != "switched off" {
			t.Errorf("got %+v", info)
		}
		var u *UnavailableError
		if _, err := w.Restart(t.Context(), "a", false); !errors.As(err, &u) || u.State != Stopped {
			t.Errorf("its restart: %v", err)
		}
	})
}

// copies are those of plugin a with these checksums.
func copies(sums ...string) map[Copy]bool {
	m := map[Copy]bool{}
	for _, sum := range sums {
		m[Copy{Name: "a", SHA256: sum}] = true
	}
	return m
}

func TestCopiesAreNeededUntilTheirProcessesHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{invoke: func(context.Context, *fakeProcess, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				time.Sleep(20 * time.Second)
				return &pluginv1.InvokeResponse{}, nil
			}}
		})
		w.apply(version("a", "1"))
		call := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		w.apply(version("a", "2"))
		if diff := cmp.Diff(copies("1", "2"), w.Copies()); diff != "" {
			t.Errorf("while a call runs on the old one: %s", diff)
		}
		// Its name goes and comes back while both still end.
		w.apply()
		w.apply(version("a", "3"))
		if diff := cmp.Diff(copies("1", "2", "3"), w.Copies()); diff != "" {
			t.Errorf("while the old ones end under a new one: %s", diff)
		}
		_ = call.wait()
		time.Sleep(2 * time.Minute)
		if diff := cmp.Diff(copies("3"), w.Copies()); diff != "" {
			t.Errorf("when they are gone: %s", diff)
		}
	})
}

func TestPluginsOfTheSameContentNeedACopyEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{} })
		w.apply(version("a", "1"), version("b", "1"))
		w.apply(version("a", "1"), version("b", "2"))
		time.Sleep(time.Minute)
		want := map[Copy]bool{{Name: "a", SHA256: "1"}: true, {Name: "b", SHA256: "2"}: true}
		if diff := cmp.Diff(want, w.Copies()); diff != "" {
			t.Error(diff)
		}
	})
}
