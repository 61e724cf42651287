package supervise

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// Random operations on random plugins must keep what always holds: no
// exclusive process beside another of its plugin, no claim held twice, calls
// that end in a known way, nothing in flight and nothing running at the end,
// and a stable outcome once plugins behave.
func TestRandomOperationsKeepInvariants(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), bubble(func(t *testing.T) { randomLife(t, &dice{r: rand.New(rand.NewPCG(seed, 1))}) }))
	}
}

// dice are random numbers for several goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func randomLife(t *testing.T, r *dice) {
	all := []string{"a", "b", "c", "d"}
	methods := map[string][]string{"a": {"x.one", "a.do"}, "b": {"x.one", "b.do"}, "c": {"c.do"}, "d": {"d.do"}}
	var tame atomic.Bool
	w := newWorld(t, nil)
	// alone makes an exclusive plugin look around when it is configured: from
	// then on it owns what only one may own.
	alone := func(sc script) script {
		if !sc.exclusive {
			return sc
		}
		inner := sc.configure
		sc.configure = func(ctx context.Context, req *pluginv1.ConfigureRequest) error {
			n := 0
			for _, p := range w.launcher.of("d") {
				if p.touched.Load() && !p.gone() {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%d exclusive processes have been configured and live", n)
			}
			if inner != nil {
				return inner(ctx, req)
			}
			return nil
		}
		return sc
	}
	w.launcher.plan = func(s Spec, _ int) script {
		sc := script{methods: methods[s.Name], exclusive: s.Name == "d"}
		sc.invoke = busyFor(time.Duration(r.IntN(4000)) * time.Millisecond)
		if tame.Load() {
			return alone(sc)
		}
		sc.deaf = r.IntN(3) == 0
		pause := time.Duration(r.IntN(1500)) * time.Millisecond
		slow := func(ctx context.Context) error {
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		switch r.IntN(10) {
		case 0:
			sc.launch = func(context.Context) error { return errors.New("no") }
		case 1:
			sc.launch = slow
		case 2:
			sc.configure = func(ctx context.Context, _ *pluginv1.ConfigureRequest) error { return slow(ctx) }
		case 3:
			sc.describe = func(ctx context.Context, _ *pluginv1.DescribeResponse) error { return hang(ctx) }
		case 4:
			sc.drain = hang
		case 5:
			n := 0
			sc.health = func(ctx context.Context) error {
				if n++; n > 1 {
					return hang(ctx)
				}
				return nil
			}
		case 6:
			sc.invoke = func(_ context.Context, p *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				p.crash()
				return nil, status.Error(codes.Unavailable, "EOF")
			}
		case 7:
			sc.configure = func(context.Context, *pluginv1.ConfigureRequest) error {
				return status.Error(codes.InvalidArgument, "bad")
			}
		}
		return alone(sc)
	}
	desired := func() []Spec {
		var list []Spec
		for _, n := range all {
			if r.IntN(4) > 0 {
				list = append(list, version(n, fmt.Sprint(r.IntN(2))))
			}
		}
		for i := range list {
			j := r.IntN(i + 1)
			list[i], list[j] = list[j], list[i]
		}
		return list
	}
	check := func() {
		for _, st := range w.List(true) {
			if st.InFlight < 0 || st.InFlight > 5*64 {
				t.Errorf("%s has %d in flight", st.Name, st.InFlight)
			}
			if st.Errors > st.Calls {
				t.Errorf("%s has %d errors in %d calls", st.Name, st.Errors, st.Calls)
			}
		}
		seen := map[string]bool{}
		for _, m := range w.tableMethods() {
			if seen[m] {
				t.Errorf("%s is in the table twice", m)
			}
			seen[m] = true
		}
	}

	var calls []*call
	var waits []func() (uint64, error)
	w.apply(desired()...)
	for range 80 {
		name := all[r.IntN(len(all))]
		p := w.known(name)
		switch op := r.IntN(10); {
		case op == 0:
			w.Apply(desired(), nil)
		case op == 1 && p != nil:
			waits = append(waits, restart(w, name, r.IntN(3) == 0))
		case op == 2 && p != nil:
			if err := w.Reset(context.Background(), name); err != nil {
				var nf *NotFoundError
				if !errors.As(err, &nf) {
					t.Error(err)
				}
			}
		case op == 3:
			if list := w.launcher.of(name); len(list) > 0 {
				list[len(list)-1].crash()
			}
		case p != nil:
			for range r.IntN(20) {
				calls = append(calls, invoke(p, time.Duration(1+r.IntN(8000))*time.Millisecond))
			}
		}
		time.Sleep(time.Duration(r.IntN(1200)) * time.Millisecond)
		synctest.Wait()
		check()
	}
	if r.IntN(2) == 0 {
		// Everybody behaves from here on: all must come to rest as if nothing
		// had been.
		tame.Store(true)
		w.Apply(nil, nil)
		time.Sleep(time.Minute)
		w.apply(specs("d", "c", "b", "a")...)
		time.Sleep(time.Minute)
		synctest.Wait()
		for n, want := range map[string]State{"a": Ready, "b": Refused, "c": Ready, "d": Ready} {
			w.wantState(n, want)
		}
	}
	began := time.Now()
	w.Stop(context.Background())
	if d := time.Since(began); d >= 8*time.Second {
		t.Errorf("Stop took %v", d)
	}
	for _, c := range calls {
		err := c.wait()
		var u *UnavailableError
		var b *BusyError
		if err != nil && !errors.As(err, &u) && !errors.As(err, &b) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call got %T %v", err, err)
		}
	}
	for _, wait := range waits {
		if _, err := wait(); err != nil {
			var u *UnavailableError
			var nf *NotFoundError
			if !errors.As(err, &u) && !errors.As(err, &nf) {
				t.Errorf("a restart got %T %v", err, err)
			}
		}
	}
}
