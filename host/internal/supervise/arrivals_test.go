package supervise

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// naming is a script of calls that answer at once and name events on Link.
func naming(number func() uint64) func(context.Context, *fakeProcess, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	return func(context.Context, *fakeProcess, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		return &pluginv1.InvokeResponse{Result: []byte(`{}`), LinkEvents: number()}, nil
	}
}

func constant(n uint64) func() uint64 { return func() uint64 { return n } }

func TestAnAnswerWaitsForTheEventsThatWereQueuedBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string // guarded by mu
		w := newWorld(t, func(Spec, int) script {
			return script{
				invoke: naming(constant(3)),
				link: func(ctx context.Context, h LinkHandler) error {
					for n, typ := range []string{"t.unnumbered", "t.one", "t.two", "t.three", "t.four"} {
						h.Event(&pluginv1.Event{Type: typ}, uint64(n))
						time.Sleep(100 * time.Millisecond)
					}
					return hang(ctx)
				},
			}
		}, func(o *Options) {
			o.Emit = func(typ string, _ []byte) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(typ, "t.") {
					got = append(got, typ)
				}
			}
		})
		w.apply(spec("a"))
		for range 2 { // the second has nothing to wait for
			c := invoke(w.plugin("a"), time.Minute)
			if err := c.wait(); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			diff := cmp.Diff([]string{"t.unnumbered", "t.one", "t.two", "t.three"}, got)
			mu.Unlock()
			if diff != "" {
				t.Error(diff)
			}
		}
		info, _ := w.Info("a")
		if info.InFlight != 0 {
			t.Errorf("%d calls in flight", info.InFlight)
		}
	})
}

// An event that the host does not publish has come, too.
func TestAnAnswerDoesNotWaitForEventsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{invoke: naming(constant(1)), link: func(ctx context.Context, h LinkHandler) error {
				time.Sleep(100 * time.Millisecond)
				h.Event(&pluginv1.Event{Type: "host.stopping"}, 1)
				return hang(ctx)
			}}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), time.Minute)
		if err := c.wait(); err != nil || c.took != 100*time.Millisecond {
			t.Errorf("it took %v: %v", c.took, err)
		}
	})
}

func TestTheWaitForEventsEnds(t *testing.T) {
	var said uint64
	silent := func(ctx context.Context, _ LinkHandler) error { return hang(ctx) }
	for _, tc := range []struct {
		name   string
		number func() uint64
		link   func(ctx context.Context, h LinkHandler) error
		bound  time.Duration
		want   []time.Duration // of calls one after the other
		warns  int
	}{
		{"at its bound, once for events that do not come", constant(3), silent, time.Minute, []time.Duration{arrivalBound, 0, 0}, 1},
		{"at its bound, for more than there can be", constant(1 << 63), silent, time.Minute, []time.Duration{arrivalBound, 0, 0}, 1},
		{"at its bound, again for others", func() uint64 { said++; return said }, silent, time.Minute, []time.Duration{arrivalBound, arrivalBound}, 1},
		{"with the call's time", constant(1), silent, 300 * time.Millisecond, []time.Duration{300 * time.Millisecond, 300 * time.Millisecond}, 0},
		{"with the stream", constant(1), func(context.Context, LinkHandler) error {
			time.Sleep(200 * time.Millisecond)
			return errors.New("stream broke")
		}, time.Minute, []time.Duration{200 * time.Millisecond, 0}, 0},
		{"at once when the stream is broken", constant(1), func(context.Context, LinkHandler) error {
			return errors.New("stream broke")
		}, time.Minute, []time.Duration{0, 0}, 0},
		{"at once without a link", constant(1), nil, time.Minute, []time.Duration{0, 0}, 0},
	} {
		t.Run(tc.name, bubble(func(t *testing.T) {
			var log bytes.Buffer
			w := newWorld(t, func(Spec, int) script { return script{invoke: naming(tc.number), link: tc.link} }, func(o *Options) {
				o.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
			})
			w.apply(spec("a"))
			var took []time.Duration
			for range tc.want {
				c := invoke(w.plugin("a"), tc.bound)
				if err := c.wait(); err != nil || string(c.res.GetResult()) != "{}" {
					t.Errorf("the call got %v, %v", c.res, err)
				}
				took = append(took, c.took)
			}
			if diff := cmp.Diff(tc.want, took); diff != "" {
				t.Error(diff)
			}
			arrivals := &w.plugin("a").current.Load().arrivals
			arrivals.mu.Lock()
			left := len(arrivals.waiting)
			arrivals.mu.Unlock()
			if left != 0 {
				t.Errorf("%d waits are left", left)
			}
			w.Stop(context.Background()) // nobody writes to the log any more
			if n := strings.Count(log.String(), "names events that do not come"); n != tc.warns {
				t.Errorf("%d warnings, want %d: %s", n, tc.warns, log.String())
			}
		}))
	}
}

func TestTheWaitForEventsEndsWithTheProcess(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		for name, end := range map[string]func(w *world){
			"crash":   func(w *world) { w.proc("a", 1).crash() },
			"restart": func(w *world) { _, _ = w.Restart(context.Background(), "a", true) },
		} {
			t.Run(name, bubble(func(t *testing.T) {
				w := newWorld(t, func(_ Spec, n int) script {
					return script{exclusive: exclusive, invoke: naming(constant(1)), link: func(ctx context.Context, _ LinkHandler) error { return hang(ctx) }}
				})
				w.apply(spec("a"))
				c := invoke(w.plugin("a"), time.Minute)
				time.Sleep(300 * time.Millisecond)
				end(w)
				if err := c.wait(); err != nil || c.took != 300*time.Millisecond {
					t.Errorf("exclusive %t: it took %v: %v", exclusive, c.took, err)
				}
			}))
		}
	}
}

func TestTheWaitForEventsHoldsUpNoOtherPlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, _ int) script {
			if s.Name != "a" {
				return script{}
			}
			return script{invoke: naming(constant(1 << 63)), link: func(ctx context.Context, _ LinkHandler) error { return hang(ctx) }}
		})
		w.apply(specs("a", "b")...)
		slow := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		if c := invoke(w.plugin("b"), time.Minute); c.wait() != nil || c.took != 0 {
			t.Errorf("the other's call took %v: %v", c.took, c.err)
		}
		if slow.ended() {
			t.Error("nothing was waited for")
		}
		if err := slow.wait(); err != nil {
			t.Error(err)
		}
	})
}

// Numbers go on over streams: what the first one lost is not counted.
func TestTheWaitForEventsGoesOnWithTheNextStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var number uint64
		streams := 0
		w := newWorld(t, func(Spec, int) script {
			return script{
				invoke: naming(func() uint64 { return number }),
				link: func(ctx context.Context, h LinkHandler) error {
					if streams++; streams == 1 {
						h.Event(&pluginv1.Event{Type: "t.one"}, 1)
						return errors.New("stream broke")
					}
					time.Sleep(100 * time.Millisecond)
					h.Event(&pluginv1.Event{Type: "t.five"}, 5)
					return hang(ctx)
				},
			}
		}, func(o *Options) { o.Emit = func(string, []byte) {} })
		w.apply(spec("a"))
		took := func(n uint64) time.Duration {
			number = n
			c := invoke(w.plugin("a"), time.Minute)
			if err := c.wait(); err != nil {
				t.Error(err)
			}
			return c.took
		}
		var got []time.Duration
		got = append(got, took(1), took(5))
		time.Sleep(linkRetryMin)
		synctest.Wait()
		got = append(got, took(5), took(5))
		if diff := cmp.Diff([]time.Duration{0, 0, 100 * time.Millisecond, 0}, got); diff != "" {
			t.Error(diff)
		}
	})
}
