package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/supervise"
)

// lookout is a reconciler in a synctest bubble over looks that a test plans.
type lookout struct {
	*reconciler
	hint  chan struct{}
	begun time.Time
	at    []time.Duration // of the looks
}

// newLookout runs a reconciler until the test ends. plan gives the n-th look's
// outcome, from 1.
func newLookout(t *testing.T, plan func(ctx context.Context, n int) sight) *lookout {
	t.Helper()
	l := &lookout{hint: make(chan struct{}, 1), begun: time.Now()}
	l.reconciler = newReconciler(func(ctx context.Context) sight {
		l.at = append(l.at, time.Since(l.begun))
		return plan(ctx, len(l.at))
	}, l.hint)
	ctx, stop := context.WithCancel(context.Background())
	go l.run(ctx)
	t.Cleanup(func() {
		stop()
		<-l.done
	})
	synctest.Wait()
	return l
}

func nothing(context.Context, int) sight { return sight{} }

// looks gives the times of the looks since the test began, in milliseconds.
func (l *lookout) looks(t *testing.T, want ...int64) {
	t.Helper()
	synctest.Wait()
	var got []int64
	for _, d := range l.at {
		got = append(got, d.Milliseconds())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("looks at (-want +got):\n%s", diff)
	}
}

func bubble(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}

func TestLooksComeWhenTheyAreDue(t *testing.T) {
	t.Run("at once and then now and then", bubble(func(t *testing.T) {
		l := newLookout(t, nothing)
		time.Sleep(65 * time.Second)
		l.looks(t, 0, 30_000, 60_000)
	}))
	t.Run("often when no hints will come", bubble(func(t *testing.T) {
		l := newLookout(t, func(context.Context, int) sight { return sight{blind: true} })
		time.Sleep(5 * time.Second)
		l.looks(t, 0, 2000, 4000)
	}))
	t.Run("when hints have come to rest", bubble(func(t *testing.T) {
		l := newLookout(t, nothing)
		for range 3 {
			time.Sleep(50 * time.Millisecond)
			l.hint <- struct{}{}
		}
		time.Sleep(time.Second)
		l.looks(t, 0, 225)
	}))
	t.Run("though hints never rest", bubble(func(t *testing.T) {
		l := newLookout(t, nothing)
		for range 100 {
			time.Sleep(15 * time.Millisecond)
			l.hint <- struct{}{}
		}
		l.looks(t, 0, 415, 820, 1225)
	}))
	t.Run("ever later while a file is being written", bubble(func(t *testing.T) {
		l := newLookout(t, func(_ context.Context, n int) sight { return sight{pending: n < 6} })
		time.Sleep(3 * time.Second)
		l.looks(t, 0, 200, 500, 950, 1550, 2150)
	}))
	t.Run("soon again after a hint about a file that was being written for long", bubble(func(t *testing.T) {
		l := newLookout(t, func(context.Context, int) sight { return sight{pending: true} })
		time.Sleep(2200 * time.Millisecond)
		l.hint <- struct{}{}
		time.Sleep(400 * time.Millisecond)
		l.looks(t, 0, 200, 500, 950, 1550, 2150, 2275, 2475)
	}))
}

func TestAskGetsALookOfItsOwn(t *testing.T) {
	t.Run("after what it does first", bubble(func(t *testing.T) {
		done := false
		l := newLookout(t, func(_ context.Context, n int) sight {
			if done != (n == 2) {
				t.Errorf("look %d: what comes first is done: %v", n, done)
			}
			return sight{changes: supervise.Changes{Started: []string{"a"}}}
		})
		time.Sleep(time.Second)
		seen, err := l.ask(t.Context(), 0, func() error { done = true; return nil })
		if err != nil || len(seen.changes.Started) != 1 {
			t.Errorf("got %+v, %v", seen, err)
		}
		l.looks(t, 0, 1000)
	}))
	t.Run("and none when that failed", bubble(func(t *testing.T) {
		l := newLookout(t, nothing)
		fault := errors.New("a fault")
		if _, err := l.ask(t.Context(), 0, func() error { return fault }); !errors.Is(err, fault) {
			t.Errorf("got %v", err)
		}
		l.looks(t, 0)
	}))
	t.Run("and the sum of all until files are complete", bubble(func(t *testing.T) {
		l := newLookout(t, func(_ context.Context, n int) sight {
			name := string(rune('a' + n))
			return sight{changes: supervise.Changes{Started: []string{name}, Removed: []string{"x"}}, pending: n < 4}
		})
		seen, err := l.ask(t.Context(), time.Minute, nil)
		if diff := cmp.Diff(supervise.Changes{Started: []string{"c", "d", "e"}, Replaced: nil, Removed: []string{"x"}}, seen.changes); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}))
	t.Run("and not for ever when they never are", bubble(func(t *testing.T) {
		l := newLookout(t, func(context.Context, int) sight { return sight{pending: true} })
		began := time.Now()
		if seen, err := l.ask(t.Context(), 2*time.Second, nil); err != nil || !seen.pending {
			t.Errorf("got %+v, %v", seen, err)
		}
		if d := time.Since(began); d < 2*time.Second || d > 2*time.Second+pendingMax {
			t.Errorf("it took %v", d)
		}
	}))
}

// A file system that hangs must not keep whoever asks.
func TestLookThatHangsKeepsNobodyPastTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := newLookout(t, func(_ context.Context, n int) sight {
			if n == 2 {
				<-free // deaf to everything, as a system call is
			}
			return sight{}
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			_, err := l.ask(ctx, 0, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		close(free)
		if _, err := l.ask(t.Context(), 0, func() error { return nil }); err != nil {
			t.Errorf("once it goes on: %v", err)
		}
	})
}

func TestAskWhoseTimeHasPassedDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLookout(t, func(_ context.Context, n int) sight {
			if n == 2 {
				time.Sleep(3 * time.Second)
			}
			return sight{}
		})
		go l.ask(t.Context(), 0, nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.ask(ctx, 0, func() error { t.Error("it was done for nobody"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(5 * time.Second)
	})
}

func TestAskEndsWithTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReconciler(func(ctx context.Context) sight {
			<-ctx.Done()
			return sight{}
		}, nil)
		ctx, stop := context.WithCancel(t.Context())
		go r.run(ctx)
		time.AfterFunc(time.Second, stop)
		if _, err := r.ask(t.Context(), 0, nil); !errors.Is(err, errEnding) {
			t.Errorf("got %v", err)
		}
	})
}
