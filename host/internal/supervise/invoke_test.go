package supervise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestCallWaitsWhileThePluginStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { time.Sleep(2 * time.Second); return nil }}
		})
		w.apply(spec("a"))
		p := w.known("a")
		short, long := invoke(p, time.Second), invoke(p, time.Minute)
		if err := short.wait(); !errors.Is(err, context.DeadlineExceeded) || short.took != time.Second {
			t.Errorf("got %v after %v", err, short.took)
		}
		if err := long.wait(); err != nil || long.took != 2*time.Second {
			t.Errorf("got %v after %v", err, long.took)
		}
	})
}

func TestCallsThatWaitForAStartAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { time.Sleep(time.Second); return nil }, invoke: busyFor(time.Second)}
		})
		s := spec("a")
		s.MaxInFlight, s.MaxQueue = 2, 3
		w.apply(s)
		var calls []*call
		for range 5 {
			calls = append(calls, invoke(w.known("a"), time.Minute))
		}
		synctest.Wait()
		var busy *BusyError
		if err := invoke(w.known("a"), time.Minute).wait(); !errors.As(err, &busy) {
			t.Errorf("the sixth got %v", err)
		}
		for i, c := range calls {
			if err := c.wait(); err != nil {
				t.Errorf("call %d got %v", i, err)
			}
		}
	})
}

func TestFailedStartTellsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{launch: func(context.Context) error { time.Sleep(time.Second); return errors.New("no") }}
		})
		w.apply(spec("a"))
		var u *UnavailableError
		c := invoke(w.known("a"), time.Minute)
		if err := c.wait(); !errors.As(err, &u) || u.State != Backoff || u.RetryAfter != 200*time.Millisecond || u.Reason != "launch: no" {
			t.Errorf("got %v: %+v", err, u)
		}
		if c.took != time.Second {
			t.Errorf("took %v", c.took)
		}
	})
}

func TestCrashFailsCallsAtOnceAndRepeatsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Hour)} })
		w.apply(specs("a", "b")...)
		var calls []*call
		for range 70 { // six of them in the queue
			calls = append(calls, invoke(w.plugin("a"), time.Hour))
		}
		other := invoke(w.plugin("b"), 2*time.Hour)
		synctest.Wait()
		time.Sleep(time.Second)
		w.proc("a", 1).crash()
		for i, c := range calls {
			var u *UnavailableError
			if err := c.wait(); !errors.As(err, &u) || u.State != Backoff || u.RetryAfter <= 0 {
				t.Fatalf("call %d got %v: %+v", i, err, u)
			}
			if c.took > time.Second+100*time.Millisecond {
				t.Fatalf("call %d learned it after %v", i, c.took-time.Second)
			}
		}
		if n := w.proc("a", 1).calls.Load(); n != 64 {
			t.Errorf("%d calls were sent", n)
		}
		time.Sleep(time.Second)
		w.wantState("a", Ready)
		if n := w.proc("a", 2).calls.Load(); n != 0 {
			t.Errorf("%d calls were repeated", n)
		}
		if other.ended() {
			t.Error("a call of another plugin was touched")
		}
		if err := other.wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestLateNewsOfACrashStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{invoke: func(_ context.Context, p *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				// The connection breaks before the process is known to have ended.
				time.AfterFunc(20*time.Millisecond, p.crash)
				return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
			}}
		})
		w.apply(spec("a"))
		var u *UnavailableError
		c := invoke(w.plugin("a"), time.Minute)
		if err := c.wait(); !errors.As(err, &u) || u.State != Backoff || u.Reason != "its process ended (exit status 3) while the call ran" {
			t.Errorf("got %v", err)
		}
	})
}

// A caller learns of a crash in far less than the tenth of a second that it may
// take, whenever the news of the process's end comes.
func TestABrokenCallIsAnsweredWithoutWaitingLongForTheEnd(t *testing.T) {
	for _, tt := range []struct{ end, want time.Duration }{
		{0, 0}, {20 * time.Millisecond, 20 * time.Millisecond}, {time.Hour, exitNotice},
	} {
		t.Run(tt.end.String(), bubble(func(t *testing.T) {
			w := newWorld(t, func(Spec, int) script {
				return script{invoke: func(_ context.Context, p *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
					if tt.end == 0 {
						p.crash()
					} else if tt.end < time.Hour {
						time.AfterFunc(tt.end, p.crash)
					}
					return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
				}}
			})
			w.apply(spec("a"))
			c := invoke(w.plugin("a"), time.Minute)
			if err := c.wait(); !errors.As(err, new(*UnavailableError)) || c.took != tt.want {
				t.Errorf("answered after %v, want %v: %v", c.took, tt.want, err)
			}
		}))
	}
}

func TestErrorsOfProcessesAreToldApart(t *testing.T) {
	var fault *PluginFault
	var gone *UnavailableError
	for _, c := range []struct {
		name string
		err  func(ctx context.Context) error
		ok   func(error) bool
	}{
		{"too large", func(context.Context) error {
			return status.Error(codes.ResourceExhausted, "grpc: received message larger than max")
		}, func(err error) bool { return errors.Is(err, ErrResultTooLarge) }},
		{"deadline", hang, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		{"too large to be sent, in another language", func(context.Context) error {
			return status.Error(codes.ResourceExhausted, "Sent message larger than max (17825792 vs. 16777216)")
		}, func(err error) bool { return errors.Is(err, ErrResultTooLarge) }},
		{"out of something else", func(context.Context) error { return status.Error(codes.ResourceExhausted, "no more tokens") },
			func(err error) bool { return errors.As(err, &fault) && fault.Message == "no more tokens" }},
		{"the deadline by the plugin's clock", func(context.Context) error {
			time.Sleep(900 * time.Millisecond)
			return status.Error(codes.DeadlineExceeded, "late")
		}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		{"a deadline of the plugin's own", func(context.Context) error { return status.Error(codes.DeadlineExceeded, "database: late") },
			func(err error) bool { return errors.As(err, &fault) && fault.Message == "database: late" }},
		{"panic", func(context.Context) error { return status.Error(codes.Internal, "index out of range") },
			func(err error) bool {
				return errors.As(err, &fault) && *fault == PluginFault{Plugin: "a", Message: "index out of range"}
			}},
		{"about to end", func(context.Context) error { return status.Error(codes.Unavailable, "a is stopping") },
			func(err error) bool {
				return errors.As(err, &gone) && gone.Reason == "a is stopping" && gone.RetryAfter > 0
			}},
		{"no status", func(context.Context) error { return errors.New("odd") },
			func(err error) bool { return errors.As(err, &fault) && fault.Message == "odd" }},
		{"long and not UTF-8", func(context.Context) error { return status.Error(codes.Unknown, "\xff"+strings.Repeat("x", 5000)) },
			func(err error) bool { return errors.As(err, &fault) && len(fault.Message) < 1100 }},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			w := newWorld(t, func(Spec, int) script {
				return script{invoke: func(ctx context.Context, _ *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
					return nil, c.err(ctx)
				}}
			})
			w.apply(spec("a"))
			call := invoke(w.plugin("a"), time.Second)
			if err := call.wait(); !c.ok(err) {
				t.Errorf("got %T %v", err, err)
			}
			st := w.wantState("a", Ready)
			if st.Calls != 1 || st.Errors != 1 || st.InFlight != 0 {
				t.Errorf("got %+v", st)
			}
			if err := call.err; strings.Contains(fmt.Sprint(err), "\xff") {
				t.Error("the message is not UTF-8")
			}
		}))
	}
}

func TestCancelledCallIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, exclusive := range []bool{false, true} {
			w := newWorld(t, func(Spec, int) script { return script{exclusive: exclusive, invoke: busyFor(time.Hour)} })
			w.apply(spec("a"))
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			if _, err := w.plugin("a").Invoke(ctx, request()); !errors.Is(err, context.Canceled) {
				t.Errorf("exclusive %v: got %v", exclusive, err)
			}
		}
	})
}

func TestCallInTheQueueIsNotSentToAProcessThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // whether the machine sees the end first is chance
			w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(time.Hour)} })
			s := spec("a")
			s.MaxInFlight, s.MaxQueue = 2, 10
			w.apply(s)
			var calls []*call
			for range 6 {
				calls = append(calls, invoke(w.plugin("a"), 20*time.Second))
			}
			synctest.Wait()
			proc := w.proc("a", 1)
			proc.crash()
			lost := 0
			for _, c := range calls {
				var u *UnavailableError
				if err := c.wait(); !errors.As(err, &u) || u.State != Backoff || u.RetryAfter <= 0 {
					t.Errorf("got %v", err)
				} else if strings.HasSuffix(u.Reason, "while the call ran") {
					lost++
				}
			}
			if n := proc.calls.Load(); n != 2 || lost != 2 {
				t.Errorf("%d calls reached the process and %d say so, want 2", n, lost)
			}
			w.end()
		}
	})
}

func TestErrorOfAPluginThatIsBeingEndedIsNoAnswerOfTheMethod(t *testing.T) {
	for name, answer := range map[string]*pluginv1.InvokeResponse{
		"error":  {Error: &pluginv1.Error{Code: "internal_error", Message: "the link to the host broke"}},
		"result": {Result: []byte("true")},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			begun := time.Now()
			w := newWorld(t, func(_ Spec, n int) script {
				if n > 1 {
					return script{}
				}
				// Three misses end at 16 s; the process hears of it and does not end at once.
				return script{deaf: true, health: func(ctx context.Context) error {
					if time.Since(begun) > time.Second {
						return hang(ctx)
					}
					return nil
				}, invoke: func(_ context.Context, _ *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
					time.Sleep(16500 * time.Millisecond)
					return answer, nil
				}}
			})
			w.apply(spec("a"))
			err := invoke(w.plugin("a"), 25*time.Second).wait()
			var u *UnavailableError
			if lost := errors.As(err, &u) && u.Reason == "it missed its health checks while the call ran"; lost != (answer.Error != nil) || !lost && err != nil {
				t.Errorf("got %v", err)
			}
		}))
	}
}

func TestErrorOfAMethodIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script {
			return script{invoke: func(context.Context, *fakeProcess, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				return &pluginv1.InvokeResponse{Error: &pluginv1.Error{Code: "not_found"}}, nil
			}}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), time.Second)
		if err := c.wait(); err != nil || c.res.Error.Code != "not_found" {
			t.Errorf("got %v, %v", c.res, err)
		}
		if st := w.status("a"); st.Calls != 1 || st.Errors != 1 {
			t.Errorf("got %+v", st)
		}
	})
}

func TestBulkheadRefusesWhatIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s Spec, _ int) script {
			if s.Name == "a" {
				return script{invoke: busyFor(29 * time.Second)}
			}
			return script{}
		})
		w.apply(specs("a", "b")...)
		var calls []*call
		for range 128 {
			calls = append(calls, invoke(w.plugin("a"), time.Minute))
		}
		synctest.Wait()
		if n := w.proc("a", 1).running.Load(); n != 64 {
			t.Errorf("%d run at once", n)
		}
		info, _ := w.Info("a")
		if info.Queued != 64 || info.InFlight != 64 {
			t.Errorf("queued %d, in flight %d", info.Queued, info.InFlight)
		}
		var busy *BusyError
		c := invoke(w.plugin("a"), time.Minute)
		if err := c.wait(); !errors.As(err, &busy) || busy.Plugin != "a" || busy.Limit != 64 || c.took != 0 {
			t.Errorf("got %v after %v", err, c.took)
		}
		if c := invoke(w.plugin("b"), time.Minute); c.wait() != nil || c.took != 0 {
			t.Errorf("a slow plugin held up another: %v after %v", c.err, c.took)
		}
		for i, c := range calls {
			if err := c.wait(); err != nil {
				t.Errorf("call %d got %v", i, err)
			}
		}
	})
}

func TestCallNumbersAreUniqueAndCarryDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[uint64]bool{}
		w := newWorld(t, func(Spec, int) script {
			return script{invoke: func(_ context.Context, p *fakeProcess, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				id := req.Context.CallId
				if id == 0 || seen[id] {
					t.Errorf("number %d again", id)
				}
				seen[id] = true
				return &pluginv1.InvokeResponse{Result: []byte("{}")}, nil
			}}
		})
		w.apply(specs("a", "b")...)
		for i := range 20 {
			req := &pluginv1.InvokeRequest{Method: "a.do"}
			if i%2 == 0 {
				req.Context = &pluginv1.CallContext{Depth: uint32(i), RequestId: "r"}
			}
			if _, err := w.plugin([]string{"a", "b"}[i%2]).Invoke(context.Background(), req); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCallInTheQueueKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(Spec, int) script { return script{invoke: busyFor(10 * time.Second)} })
		s := spec("a")
		s.MaxInFlight = 1
		w.apply(s)
		first := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		c := invoke(w.plugin("a"), time.Second)
		if err := c.wait(); !errors.Is(err, context.DeadlineExceeded) || c.took != time.Second {
			t.Errorf("got %v after %v", err, c.took)
		}
		if err := first.wait(); err != nil {
			t.Error(err)
		}
		if n := w.proc("a", 1).calls.Load(); n != 1 {
			t.Errorf("%d calls were sent", n)
		}
	})
}
