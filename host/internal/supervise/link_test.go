package supervise

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// What may be said is package events' to know.
func TestEventsOfPluginsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name, typ, data string
		want            []string
		drops           uint64
	}{
		{"as it is", "tab.created", `{"tab_id":1}`, []string{`tab.created {"tab_id":1}`}, 0},
		{"without data", "tab.created", ``, []string{`tab.created `}, 0},
		{"with data that is no object", "a.b", `[1]`, []string{`a.b `}, 1},
		{"of the host's", "host.stopping", `{}`, nil, 1},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			var got []string
			w := newWorld(t, func(Spec, int) script {
				return script{link: func(ctx context.Context, h LinkHandler) error {
					h.Event(&pluginv1.Event{Type: c.typ, Data: []byte(c.data)}, 0)
					return hang(ctx)
				}}
			}, func(o *Options) {
				o.Emit = func(typ string, data []byte) {
					if typ == c.typ {
						got = append(got, typ+" "+string(data))
					}
				}
			})
			w.apply(spec("a"))
			info, _ := w.Info("a")
			if diff := cmp.Diff(c.want, got); diff != "" || info.EventDrops != c.drops {
				t.Errorf("%d drops, want %d; events (-want +got):\n%s", info.EventDrops, c.drops, diff)
			}
		}))
	}
}

func TestCallsThroughTheHostAreOneDeeper(t *testing.T) {
	var got []uint32
	for _, c := range []struct {
		name   string
		depth  uint32 // of the parent
		parent func(id uint64) uint64
		want   uint32
	}{
		{"client's call", 0, func(id uint64) uint64 { return id }, 1},
		{"deep call", 7, func(id uint64) uint64 { return id }, 8},
		{"one that is too deep", 8, func(id uint64) uint64 { return id }, 9},
		{"one that is far too deep", 4000, func(id uint64) uint64 { return id }, 16},
		{"no parent", 5, func(uint64) uint64 { return 0 }, 1},
		{"unknown parent", 5, func(id uint64) uint64 { return id + 1 }, 1},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			got = nil
			handler := make(chan LinkHandler, 1)
			w := newWorld(t, func(Spec, int) script {
				return script{
					link: func(ctx context.Context, h LinkHandler) error { handler <- h; return hang(ctx) },
					invoke: func(ctx context.Context, _ *fakeProcess, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
						res := (<-handler).Call(ctx, &pluginv1.Call{Id: 77, Method: "b.do", Parent: c.parent(req.Context.CallId)})
						if res.Id != 77 {
							t.Errorf("the answer is to %d", res.Id)
						}
						return &pluginv1.InvokeResponse{Result: []byte("{}")}, nil
					},
				}
			}, func(o *Options) {
				o.Call = func(_ context.Context, from Origin, call *pluginv1.Call) *pluginv1.CallResult {
					if from.Plugin != "a" || call.Method != "b.do" {
						t.Errorf("from %+v: %v", from, call)
					}
					got = append(got, from.Depth)
					return &pluginv1.CallResult{}
				}
			})
			w.apply(spec("a"))
			req := request()
			req.Context.Depth = c.depth
			if _, err := w.plugin("a").Invoke(context.Background(), req); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]uint32{c.want}, got); diff != "" {
				t.Error(diff)
			}
		}))
	}
}

func TestBrokenLinkIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []time.Duration
		began := time.Now()
		w := newWorld(t, func(Spec, int) script {
			return script{link: func(ctx context.Context, _ LinkHandler) error {
				opened = append(opened, time.Since(began))
				if len(opened) < 4 {
					return errors.New("stream broke")
				}
				return hang(ctx)
			}}
		})
		w.apply(spec("a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, opened); diff != "" {
			t.Error(diff)
		}
		w.wantState("a", Ready)
	})
}

func TestPluginWithoutLinkIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		w := newWorld(t, func(Spec, int) script {
			return script{link: func(context.Context, LinkHandler) error { opened++; return nil }}
		})
		w.apply(spec("a"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if opened != 1 {
			t.Errorf("opened %d times", opened)
		}
	})
}

func TestLinkServesCallsUntilTheLastOneHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		w := newWorld(t, func(_ Spec, n int) script {
			if n > 1 {
				return script{}
			}
			return script{invoke: busyFor(10 * time.Second),
				link: func(ctx context.Context, _ LinkHandler) error { <-ctx.Done(); ended.Store(true); return nil }}
		})
		w.apply(spec("a"))
		c := invoke(w.plugin("a"), time.Minute)
		synctest.Wait()
		if _, err := w.Restart(context.Background(), "a", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if ended.Load() {
			t.Error("the link ended while a call runs")
		}
		if err := c.wait(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !ended.Load() {
			t.Error("the link outlives its generation")
		}
	})
}

func TestHostWithoutCallsAnswersSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var code atomic.Value
		w := newWorld(t, func(Spec, int) script {
			return script{link: func(ctx context.Context, h LinkHandler) error {
				res := h.Call(ctx, &pluginv1.Call{Id: 3, Method: "b.do"})
				code.Store(res.Error.GetCode())
				return hang(ctx)
			}}
		})
		w.apply(spec("a"))
		if code.Load() != "internal_error" {
			t.Errorf("got %v", code.Load())
		}
	})
}
