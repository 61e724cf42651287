package router

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/host/internal/hosttest"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// ringTypes lists what is in a ring, in order.
func ringTypes(ring *events.Ring) []string {
	var types []string
	for _, e := range ring.Since(0, 4096, nil).Events {
		types = append(types, e.Type)
	}
	return types
}

func TestEventsOfACallAreKeptInOrderWithoutTheBadOnes(t *testing.T) {
	var log hosttest.Log
	opt := options()
	opt.Log = log.Logger()
	r := New(opt)
	d := demo(t)
	d.invoke.(fakePlugin)["demo.null"] = func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		return &pluginv1.InvokeResponse{Result: []byte("1"), Events: []*pluginv1.Event{
			{Type: "a.first"}, {Type: "plugin.ready"}, {Type: "a.second", Data: []byte(`"s3cret"`)}, nil, {Type: "a.third"},
		}}, nil
	}
	r.set([]source{d})
	serve(t, r, nullLine)
	if diff := cmp.Diff([]string{"a.first", "a.second", "a.third"}, ringTypes(opt.Events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	text := log.String()
	if !strings.Contains(text, "plugin=demo dropped=2 data_dropped=1") || strings.Contains(text, "s3cret") {
		t.Errorf("log: %s", text)
	}
}

func TestEventsOfACallAreBounded(t *testing.T) {
	opt := options()
	opt.Events = events.New(4096)
	r := New(opt)
	d := demo(t)
	many := make([]*pluginv1.Event, maxCallEvents+5)
	for i := range many {
		many[i] = &pluginv1.Event{Type: "a.b"}
	}
	d.invoke.(fakePlugin)["demo.null"] = func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		return &pluginv1.InvokeResponse{Result: []byte("1"), Events: many}, nil
	}
	r.set([]source{d})
	serve(t, r, nullLine)
	if n := len(ringTypes(opt.Events)); n != maxCallEvents {
		t.Errorf("%d events, want %d", n, maxCallEvents)
	}
}

func TestEventsOfAFailedCallAreKept(t *testing.T) {
	for name, resp := range map[string]*pluginv1.InvokeResponse{
		"error":      {Error: &pluginv1.Error{Code: "not_found", Message: "m"}},
		"not JSON":   {Result: []byte("{")},
		"too large":  {Result: []byte(`"` + strings.Repeat("x", 100) + `"`)},
		"no message": {Error: &pluginv1.Error{}},
	} {
		t.Run(name, func(t *testing.T) {
			opt := options()
			opt.Limits.ResultBytes = 60
			r := New(opt)
			d := demo(t)
			resp.Events = []*pluginv1.Event{{Type: "tab.closed"}}
			d.invoke.(fakePlugin)["demo.null"] = func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				return resp, nil
			}
			r.set([]source{d})
			if got := serve(t, r, nullLine); !strings.Contains(got, `"ok":false`) {
				t.Fatalf("got %s", got)
			}
			if diff := cmp.Diff([]string{"tab.closed"}, ringTypes(opt.Events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
