package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/vant-run/vant/host/internal/hosttest"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// answering is a router whose demo.null does what is given.
func answering(t *testing.T, opt Options, do answer) *Router {
	t.Helper()
	r := New(opt)
	d := demo(t)
	d.invoke.(fakePlugin)["demo.null"] = do
	r.set([]source{d})
	return r
}

func TestCodesThatAPluginMayUse(t *testing.T) {
	want := map[string]envelope.Code{
		"demo_broken": "demo_broken", // its own
		"gone_broken": envelope.InternalError, "": envelope.InternalError, "Not_Found": envelope.InternalError,
	}
	for _, c := range envelope.Codes() {
		want[string(c)] = c
	}
	for _, c := range []envelope.Code{
		envelope.MethodNotFound, envelope.InvalidRequest, envelope.RequestTooLarge, envelope.Busy,
		envelope.PluginUnavailable, envelope.PluginBusy, envelope.ResultTooLarge,
	} {
		want[string(c)] = envelope.InternalError
	}
	for code, want := range want {
		r := answering(t, options(), pluginFails(code, "kept message", `{"a":1}`))
		_, got := r.Call(t.Context(), Call{Method: "demo.null"})
		if diff := cmp.Diff(&envelope.Error{Code: want, Message: "kept message", Data: json.RawMessage(`{"a":1}`)}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", code, diff)
		}
	}
}

// However a failure is wrapped on its way, it keeps its meaning.
func TestWrappedFailuresKeepTheirCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want envelope.Code
	}{
		{&supervise.UnavailableError{Plugin: "demo", State: supervise.Starting}, envelope.PluginUnavailable},
		{&supervise.BusyError{Plugin: "demo", Limit: 1}, envelope.PluginBusy},
		{supervise.ErrResultTooLarge, envelope.ResultTooLarge},
		{&supervise.NotFoundError{Name: "x"}, envelope.NotFound},
		{&supervise.PluginFault{Plugin: "demo", Message: "m"}, envelope.InternalError},
		{context.DeadlineExceeded, envelope.Timeout},
		{context.Canceled, envelope.PluginUnavailable},
		{&envelope.Error{Code: envelope.PermissionDenied, Message: "m"}, envelope.PermissionDenied},
		{errors.New("m"), envelope.InternalError},
	} {
		r := answering(t, options(), hostFails(fmt.Errorf("wrapped: %w", tt.err)))
		if _, got := r.Call(t.Context(), Call{Method: "demo.null"}); got == nil || got.Code != tt.want {
			t.Errorf("%v: got %v, want %s", tt.err, got, tt.want)
		}
	}
}

// A caller that comes back when it was told to must not come too early.
func TestRetryAfterIsRoundedUp(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0: "0", -time.Second: "0", 1: "1", time.Millisecond: "1", time.Millisecond + 1: "2", 30 * time.Second: "30000",
	} {
		got := unavailableData(&supervise.UnavailableError{Plugin: "demo", State: supervise.Backoff, RetryAfter: wait})
		if want := `{"plugin":"demo","state":"backoff","retry_after_ms":` + want + `}`; string(got) != want {
			t.Errorf("%v: %s, want %s", wait, got, want)
		}
	}
}

// Protobuf refuses text that is not UTF-8, and the answer to a plugin's call
// would be lost with it.
func TestLongMessagesStayTextForPlugins(t *testing.T) {
	message := strings.Repeat("é", maxErrorMessage) // an odd cut would fall between its two bytes
	for _, tt := range []struct{ name, message string }{
		{"even", message}, {"odd", "x" + message}, {"not UTF-8", "a\xffb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, do := range []answer{
				pluginFails("not_found", tt.message, ""),
				hostFails(errors.New(tt.message)),
				hostFails(&supervise.PluginFault{Plugin: "demo", Message: tt.message}),
			} {
				r := answering(t, options(), do)
				out := r.CallFrom(t.Context(), supervise.Origin{Plugin: "skill"}, &pluginv1.Call{Id: 1, Method: "demo.null"})
				if m := out.GetError().GetMessage(); !utf8.ValidString(m) || len(m) > maxErrorMessage+64 {
					t.Errorf("%d bytes, valid %v", len(m), utf8.ValidString(m))
				}
				if _, err := proto.Marshal(out); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What an operator's file or configuration is at fault for is not the host's
// failure; what took too long is.
func TestFailuresOfOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails error
		opt := options()
		opt.Host.Reload = func(ctx context.Context) (Reloaded, error) {
			if fails == nil {
				<-ctx.Done()
				return Reloaded{}, fmt.Errorf("read: %w", ctx.Err())
			}
			return Reloaded{}, fails
		}
		r := New(opt)
		for _, tt := range []struct {
			err  error
			want string
		}{
			{errors.New("vant.yaml:3: unknown key \"logs\""), failed("1", "invalid_params") + `vant.yaml:3: unknown key \"logs\""}}`},
			{&envelope.Error{Code: envelope.PermissionDenied, Message: "m"}, failed("1", "permission_denied") + `m"}}`},
			{nil, failed("1", "timeout") + `host.reload took longer than its bound of 60000 ms; whether it had an effect is unknown"}}`},
		} {
			fails = tt.err
			if got := serve(t, r, `{"version":1,"id":1,"method":"host.reload"}`); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		}
	})
}

// Whatever a client writes for a method's name, replies and logs show little
// of it.
func TestNamesThatNobodyHasAreShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := strings.Repeat("n", 1<<16)
		sup := newFakeSupervisor()
		sup.settled = make(chan struct{})
		var log hosttest.Log
		var records []Record
		opt := options()
		opt.Plugins, opt.Log = sup, log.Logger()
		opt.Done = func(r Record) { records = append(records, r) }
		r := New(opt)
		for _, timeout := range []time.Duration{time.Second, time.Minute} { // cut while it waits; told afterwards
			_, failed := r.Call(t.Context(), Call{Method: name, Timeout: timeout})
			if failed == nil || len(failed.Message) > 256 {
				t.Errorf("timeout %v: %.300v", timeout, failed)
			}
		}
		for _, rec := range records {
			if len(rec.Method) > 128 || !strings.HasPrefix(rec.Method, "nnn") {
				t.Errorf("record of %.300q", rec.Method)
			}
		}
		if len(records) != 2 || len(log.String()) > 4096 {
			t.Errorf("%d records, %d bytes of log", len(records), len(log.String()))
		}
	})
}

// lateLogs know a plugin once it has logged.
type lateLogs struct{ from time.Time }

func (l lateLogs) Read(context.Context, string, uint64, int, time.Duration) ([]observe.Line, uint64, bool) {
	if time.Now().Before(l.from) {
		return nil, 0, false
	}
	return []observe.Line{{Seq: 1, Level: "info", Text: "hello"}}, 0, true
}

// A follower of a plugin that has logged nothing yet asks again and again: it
// must not do so without a pause, nor miss the first line.
func TestFollowerOfASilentPluginIsHeldBack(t *testing.T) {
	for _, tt := range []struct {
		wait  string
		first time.Duration // when the first line comes
		took  time.Duration
		lines int
	}{
		{"0", time.Hour, 0, 0},
		{"300", time.Hour, 300 * time.Millisecond, 0},
		{"25000", time.Hour, noLogPause, 0},
		{"25000", noLogPause, noLogPause, 1},
		{"25000", 0, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			opt := options()
			opt.Logs = lateLogs{time.Now().Add(tt.first)}
			r := New(opt)
			begun := time.Now()
			got := resultOf[struct{ Lines []observe.Line }](t, r, "plugins.logs", `{"name":"demo","wait_ms":`+tt.wait+`}`)
			if took := time.Since(begun); took != tt.took || len(got.Lines) != tt.lines {
				t.Errorf("%+v: %d lines after %v", tt, len(got.Lines), took)
			}
		})
	}
}

// A stop waits for the calls that run, and must not wait for those that wait.
func TestLongPollsEndAtAStop(t *testing.T) {
	const noEvent, noLine = `"events":[]`, `"lines":[]`
	for _, tt := range []struct{ name, method, params, empty string }{
		{"events", "events.since", `{"wait_ms":20000}`, noEvent},
		{"events of types", "events.since", `{"wait_ms":20000,"types":["tab"]}`, noEvent},
		{"log lines", "plugins.logs", `{"name":"demo","after":3,"wait_ms":20000}`, noLine},
		{"log lines of a silent plugin", "plugins.logs", `{"name":"gone","wait_ms":20000}`, noLine},
	} {
		for when, pause := range map[string]time.Duration{"before": time.Second, "after": 0} {
			t.Run(tt.name+", begun "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					opt := options()
					r := New(opt)
					begun := time.Now()
					time.AfterFunc(pause/2, r.EndPolls)
					if pause == 0 {
						synctest.Wait()
					}
					line := `{"version":1,"id":1,"method":"` + tt.method + `","params":` + tt.params + `}`
					var fromPlugin *pluginv1.CallResult
					var wg sync.WaitGroup
					wg.Go(func() {
						fromPlugin = r.CallFrom(t.Context(), supervise.Origin{Plugin: "demo"},
							&pluginv1.Call{Method: tt.method, Params: []byte(tt.params)})
					})
					reply := serve(t, r, line)
					wg.Wait()
					if took := time.Since(begun); took != pause/2 {
						t.Errorf("ended after %v, want %v", took, pause/2)
					}
					if !strings.Contains(reply, `"ok":true`) || !strings.Contains(reply, tt.empty) {
						t.Errorf("a client got %s", reply)
					}
					if fromPlugin.GetError() != nil || !strings.Contains(string(fromPlugin.GetResult()), tt.empty) {
						t.Errorf("a plugin got %v", fromPlugin)
					}
				})
			})
		}
	}
}

// A value that breaks a schema may be a secret: neither replies nor logs may
// have it.
func TestValuesAreNeverShown(t *testing.T) {
	schema := `{"type":"object","properties":{"t":{"type":"string","pattern":"^a$","maxLength":3},"e":{"enum":["a"]},"c":{"const":1},
		"n":{"type":"integer","maximum":5},"l":{"type":"array","maxItems":1,"items":{"type":"boolean"}},
		"o":{"type":"object","properties":{},"additionalProperties":false},"u":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`
	var log hosttest.Log
	opt := options()
	opt.Log = log.Logger()
	r := New(opt)
	d := demo(t)
	for i, m := range d.set.Methods {
		if m.Name == "demo.null" {
			d.set.Methods[i] = newMethod(t, m.Name, schema, time.Second)
		}
	}
	r.set([]source{d})
	for _, params := range []string{
		`{"t":"s3cret"}`, `{"t":["s3cret"]}`, `{"e":"s3cret"}`, `{"c":"s3cret"}`, `{"n":"s3cret"}`, `{"l":"s3cret"}`,
		`{"l":[true,"s3cret"]}`, `{"l":["s3cret"]}`, `{"o":"s3cret"}`, `{"o":{"x":"s3cret"}}`, `{"u":"s3cret"}`, `{"u":{"a":"s3cret"}}`,
	} {
		got := serve(t, r, `{"version":1,"id":1,"method":"demo.null","params":`+params+`}`)
		if !strings.Contains(got, `"code":"invalid_param`) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %s", params, got)
		}
	}
	for _, line := range []string{
		`{"version":1,"id":1,"method":"demo.null","params":{"t":"s3cret}}`,
		`{"version":1,"id":1,"method":"demo.null","params":"s3cret"}`,
		`{"version":"s3cret","id":1,"method":"demo.null"}`, `s3cret`,
	} {
		if got := serve(t, r, line); strings.Contains(got, "s3cret") {
			t.Errorf("%s: %s", line, got)
		}
	}
	if text := log.String(); strings.Contains(text, "s3cret") {
		t.Errorf("log: %s", text)
	}
}

// noting is a plugin that keeps the codes it is told.
type noting struct {
	fakePlugin
	codes *[]string
}

func (n noting) Failed(code string) { *n.codes = append(*n.codes, code) }

func TestPluginsAreToldTheCodesOfFailedCalls(t *testing.T) {
	var codes []string
	d := demo(t)
	d.invoke = noting{d.invoke.(fakePlugin), &codes}
	d.invoke.(noting).fakePlugin["demo.null"] = hostFails(&supervise.BusyError{Plugin: "demo"})
	r := New(options())
	r.set([]source{d})
	serve(t, r, `{"version":1,"id":1,"method":"demo.null"}`)
	serve(t, r, `{"version":1,"id":1,"method":"demo.null","params":[]}`) // never got there
	serve(t, r, `{"version":1,"id":1,"method":"status"}`)
	if diff := cmp.Diff([]string{"plugin_busy"}, codes); diff != "" {
		t.Error(diff)
	}
}
