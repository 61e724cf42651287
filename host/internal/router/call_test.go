package router

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestCall(t *testing.T) {
	for _, tt := range []struct {
		name string
		call Call
		want Reply
		code envelope.Code
	}{
		{name: "no params", call: Call{Method: "demo.null"}, want: Reply{Result: []byte("null")}},
		{name: "null params", call: Call{Method: "demo.null", Params: []byte(" null ")}, want: Reply{Result: []byte("null")}},
		{name: "params as they came", call: Call{Method: "demo.echo", Params: []byte(` {"text":"a"} `)},
			want: Reply{Result: []byte(`{"text":"a"}`)}},
		{name: "warnings", call: Call{Method: "demo.echo", Params: []byte(`{"text":"a","timeout":1}`)},
			want: Reply{Result: []byte(`{"text":"a","timeout":1}`),
				Warnings: []string{`unknown parameter "timeout" ignored; nearest: "timeout_ms"`}}},
		{name: "warnings of a failure", call: Call{Method: "demo.echo", Params: []byte(`{"text":1,"timeout":1}`)},
			want: Reply{Warnings: []string{`unknown parameter "timeout" ignored; nearest: "timeout_ms"`}},
			code: envelope.InvalidParamType},
		{name: "compacted", call: Call{Method: "demo.wide"}, want: Reply{Result: []byte(`{"a":[1,2]}`)}},
		{name: "built-in", call: Call{Method: "events.clear"}, want: Reply{Result: []byte("true")}},
		{name: "without a method", call: Call{}, code: envelope.InvalidRequest},
		{name: "unknown method", call: Call{Method: "demo.nul"}, code: envelope.MethodNotFound},
		{name: "array params", call: Call{Method: "demo.null", Params: []byte("[]")}, code: envelope.InvalidRequest},
		{name: "torn params", call: Call{Method: "demo.null", Params: []byte(`{"a":`)}, code: envelope.InvalidRequest},
		{name: "duplicate params", call: Call{Method: "demo.null", Params: []byte(`{"a":1,"a":1}`)}, code: envelope.InvalidRequest},
		{name: "torn params of an unknown method", call: Call{Method: "no.such", Params: []byte(`{"a":`)}, code: envelope.InvalidRequest},
		{name: "missing parameter", call: Call{Method: "demo.echo"}, code: envelope.InvalidParams},
		{name: "large params", call: Call{Method: "demo.null", Params: []byte(`{"a":"` + strings.Repeat("x", envelope.MaxRequestBytes) + `"}`)},
			code: envelope.RequestTooLarge},
		{name: "deepest", call: Call{Method: "demo.null", Depth: MaxCallDepth}, want: Reply{Result: []byte("null")}},
		{name: "too deep", call: Call{Method: "demo.null", Depth: MaxCallDepth + 1}, code: envelope.PermissionDenied},
		{name: "context", call: Call{Method: "demo.context", Caller: "plugin:net", ID: []byte("7"), TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
			want: Reply{Result: []byte(`"7 plugin:net 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`)}},
		{name: "malformed trace", call: Call{Method: "demo.context", Caller: "plugin:net", ID: []byte("7"), TraceParent: "00-a-b-01"},
			want: Reply{Result: []byte(`"7 plugin:net "`)}},
		{name: "boolean id", call: Call{Method: "demo.null", ID: []byte("true")}, code: envelope.InvalidRequest},
		{name: "torn id", call: Call{Method: "demo.null", ID: []byte(`"a`)}, code: envelope.InvalidRequest},
		{name: "long id", call: Call{Method: "demo.null", ID: []byte(`"` + strings.Repeat("i", envelope.MaxIDBytes+1) + `"`)},
			code: envelope.InvalidRequest},
		{name: "longest id in escapes", call: Call{Method: "demo.null", ID: []byte(`"` + strings.Repeat(`\u0061`, envelope.MaxIDBytes) + `"`)},
			want: Reply{Result: []byte("null")}},
		{name: "no id", call: Call{Method: "demo.context", Caller: "plugin:net"}, want: Reply{Result: []byte(`"\"\" plugin:net "`)}},
		{name: "plugin's error", call: Call{Method: "demo.own"}, code: "demo_broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newDemo(t, options())
			got, failed := r.Call(t.Context(), tt.call)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			var code envelope.Code
			if failed != nil {
				code = failed.Code
			}
			if code != tt.code {
				t.Errorf("failed with %v, want %q", failed, tt.code)
			}
		})
	}
}

func TestCallRefusesLargeResults(t *testing.T) {
	opt := options()
	opt.Limits.ResultBytes = 10
	r := newDemo(t, opt)
	d := demo(t)
	d.invoke.(fakePlugin)["demo.null"], d.invoke.(fakePlugin)["demo.none"] = result(`"12345678"`), result(`"123456789"`)
	r.set([]source{d})
	if _, failed := r.Call(t.Context(), Call{Method: "demo.null"}); failed != nil {
		t.Error(failed)
	}
	if _, failed := r.Call(t.Context(), Call{Method: "demo.none"}); failed == nil || failed.Code != envelope.ResultTooLarge {
		t.Errorf("got %v, want result_too_large", failed)
	}
}

func TestCallsTimeoutOnlyShortens(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 0: 2 * time.Second, time.Hour: 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newDemo(t, options())
			begun := time.Now()
			_, failed := r.Call(t.Context(), Call{Method: "demo.slow", Timeout: timeout})
			if took := time.Since(begun); took != want || failed == nil || failed.Code != envelope.Timeout {
				t.Errorf("timeout %v: %v after %v, want one after %v", timeout, failed, took, want)
			}
		})
	}
}

// A caller whose own bound passed is not told of the method's.
func TestDeadlineOfTheCallerIsNotTheMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDemo(t, options())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, failed := r.Call(ctx, Call{Method: "demo.slow"})
		if failed == nil || failed.Code != envelope.Timeout || strings.Contains(failed.Message, "2000 ms") {
			t.Errorf("got %v, want a timeout that does not name the method's bound", failed)
		}
	})
}

func TestPollThatIsCutIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDemo(t, options())
		for method, params := range map[string]string{
			"events.since": `{"wait_ms":20000}`, "plugins.logs": `{"name":"demo","after":3,"wait_ms":20000}`,
		} {
			begun := time.Now()
			_, failed := r.Call(t.Context(), Call{Method: method, Params: []byte(params), Timeout: time.Second})
			if took := time.Since(begun); failed == nil || failed.Code != envelope.Timeout || took != time.Second {
				t.Errorf("%s: %v after %v, want a timeout after 1s", method, failed, took)
			}
		}
	})
}

func TestThemeHintsTravelWithTheReply(t *testing.T) {
	for _, tt := range []struct{ name, theme, want string }{
		{"none", "", ""},
		{"object", `{"status":"success"}`, `{"status":"success"}`},
		{"with whitespace", `{ "status" : "success" }`, `{"status":"success"}`},
		{"not an object", `"success"`, ""},
		{"torn", `{"status"`, ""},
		{"too large", `{"a":"` + strings.Repeat("x", maxThemeHints) + `"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(options())
			d := demo(t)
			d.invoke.(fakePlugin)["demo.null"] = func(context.Context, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
				return &pluginv1.InvokeResponse{Result: []byte("1"), Theme: []byte(tt.theme)}, nil
			}
			r.set([]source{d})
			got, failed := r.Call(t.Context(), Call{Method: "demo.null"})
			if failed != nil || string(got.Theme) != tt.want || string(got.Result) != "1" {
				t.Errorf("got %q with theme %q, %v; want theme %q", got.Result, got.Theme, failed, tt.want)
			}
		})
	}
}

func TestCallFromAPlugin(t *testing.T) {
	r := newDemo(t, options())
	for _, tt := range []struct {
		name string
		from supervise.Origin
		call *pluginv1.Call
		want *pluginv1.CallResult
	}{
		{"result", supervise.Origin{Plugin: "skill", Depth: 1},
			&pluginv1.Call{Id: 7, Method: "demo.context", Params: []byte(`{}`)},
			&pluginv1.CallResult{Id: 7, Result: []byte(`"\"\" plugin:skill "`)}},
		{"error with data", supervise.Origin{Plugin: "skill", Depth: 1}, &pluginv1.Call{Id: 8, Method: "demo.own"},
			&pluginv1.CallResult{Id: 8, Error: &pluginv1.Error{
				Code: "demo_broken", Message: "the demo is broken", Data: []byte(`{"part":7}`)}}},
		{"too deep", supervise.Origin{Plugin: "skill", Depth: MaxCallDepth + 1}, &pluginv1.Call{Id: 9, Method: "demo.null"},
			&pluginv1.CallResult{Id: 9, Error: &pluginv1.Error{
				Code: "permission_denied", Message: "calls may stand 8 deep; plugins call one another in a circle"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.CallFrom(t.Context(), tt.from, tt.call)
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The reply of a call is the caller's: the next call must not write over it.
func TestReplyOfCallIsKept(t *testing.T) {
	r := newDemo(t, options())
	first, _ := r.Call(t.Context(), Call{Method: "demo.wide"})
	kept := string(first.Result)
	for range 8 {
		if _, failed := r.Call(t.Context(), Call{Method: "status"}); failed != nil {
			t.Fatal(failed)
		}
		serve(t, r, `{"version":1,"id":1,"method":"version"}`)
	}
	if string(first.Result) != kept {
		t.Errorf("the result became %s", first.Result)
	}
}

func TestTraceParent(t *testing.T) {
	const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for s, want := range map[string]bool{
		"":                            true,
		valid:                         true,
		"cc" + valid[2:]:              true, // a later version
		"cc" + valid[2:] + "-more":    true,
		valid + "-more":               false,
		"ff" + valid[2:]:              false,
		valid[:54]:                    false,
		strings.ToUpper(valid):        false,
		valid[:35] + "x" + valid[36:]: false,
		"cc" + valid[2:] + "-a\nb":    false,
	} {
		if got := traceParent(s); got != want {
			t.Errorf("traceParent(%q) = %v, want %v", s, got, want)
		}
	}
}
