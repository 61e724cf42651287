package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hashicorp/go-hclog"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
	"github.com/vant-run/vant/sdk"
	"github.com/vant-run/vant/sdk/internal/inprocess"
	"github.com/vant-run/vant/sdk/plugintest"
)

type nothing struct{}

func echo(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

// one declares a plugin with one method, t.it.
func one[P, R any](fn func(context.Context, P) (R, error), options ...sdk.MethodOption) *sdk.Plugin {
	p := sdk.New("t", "1", "Test.", sdk.ErrorCodes("t_own"))
	sdk.Handle(p, "t.it", "It.", fn, options...)
	return p
}

func sdkError(t *testing.T, err error) *sdk.Error {
	t.Helper()
	var e *sdk.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *sdk.Error", err)
	}
	return e
}

func TestErrorsReachTheClientTyped(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want sdk.Error
		log  string
	}{
		"protocol code":    {sdk.Errorf("not_found", "tab %d is closed", 7), sdk.Error{Code: "not_found", Message: "tab 7 is closed"}, ""},
		"own code":         {sdk.Errorf("t_own", "no"), sdk.Error{Code: "t_own", Message: "no"}, ""},
		"data and source":  {sdk.Errorf("t_own", "no").With([]int{1}).From(sdk.Downstream), sdk.Error{Code: "t_own", Message: "no", Data: json.RawMessage(`[1]`), Source: sdk.Downstream}, ""},
		"wrapped":          {fmt.Errorf("outer: %w", sdk.Errorf("t_own", "no")), sdk.Error{Code: "t_own", Message: "no"}, ""},
		"undeclared code":  {sdk.Errorf("t_other", "no"), sdk.Error{Code: "internal_error", Message: "t_other: no", Source: sdk.Fault}, "t_other is not the plugin's to give"},
		"host's code":      {sdk.Errorf("plugin_busy", "no"), sdk.Error{Code: "internal_error", Message: "plugin_busy: no", Source: sdk.Fault}, "plugin_busy is not the plugin's to give"},
		"any other error":  {errors.New("disk is full"), sdk.Error{Code: "internal_error", Message: "disk is full", Source: sdk.Fault}, "disk is full"},
		"bad UTF-8":        {errors.New("a\xffb"), sdk.Error{Code: "internal_error", Message: "a\uFFFDb", Source: sdk.Fault}, "method failed"},
		"nil typed":        {(*sdk.Error)(nil), sdk.Error{Code: "internal_error", Message: "the method returned a nil *sdk.Error", Source: sdk.Fault}, "nil *sdk.Error"},
		"data without end": {sdk.Errorf("t_own", "no").With(make(chan int)), sdk.Error{Code: "t_own", Message: "no"}, "has no JSON form"},
		"invalid params":   {sdk.Errorf("invalid_params", "/a: wrong"), sdk.Error{Code: "invalid_params", Message: "/a: wrong", Source: sdk.Caller}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.New(t, one(func(context.Context, nothing) (any, error) { return nil, tc.err }))
			got := sdkError(t, s.Call(t.Context(), "t.it", nil, nil))
			if diff := cmp.Diff(tc.want, *got, cmp.Comparer(func(a, b sdk.Error) bool {
				return a.Code == b.Code && a.Message == b.Message && a.Source == b.Source && cmp.Equal(a.Data, b.Data)
			})); diff != "" {
				t.Errorf("wrong error (-want +got):\n%s", diff)
			}
			if !strings.Contains(s.Log(), tc.log) || tc.log == "" && s.Log() != "" {
				t.Errorf("log is %q, want %q", s.Log(), tc.log)
			}
		})
	}
}

func TestALongErrorMessageIsCut(t *testing.T) {
	s := plugintest.New(t, one(func(context.Context, nothing) (any, error) { return nil, errors.New(strings.Repeat("é", 1<<20)) }))
	if e := sdkError(t, s.Call(t.Context(), "t.it", nil, nil)); len(e.Message) > 5000 || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("message has %d bytes", len(e.Message))
	}
}

func TestErrorfKeepsCauses(t *testing.T) {
	for _, err := range []error{
		sdk.Errorf("t_own", "open: %w", os.ErrNotExist),
		sdk.Errorf("t_own", "%w and %w", os.ErrClosed, os.ErrNotExist),
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v has lost its cause", err)
		}
	}
}

func TestAPanicFailsItsCallOnly(t *testing.T) {
	p := one(func(_ context.Context, in struct {
		Panic bool `json:"panic,omitempty"`
	}) (string, error) {
		if in.Panic {
			panic("s3cret")
		}
		return "fine", nil
	})
	s := plugintest.New(t, p)
	e := sdkError(t, s.Call(t.Context(), "t.it", map[string]bool{"panic": true}, nil))
	if e.Code != "internal_error" || strings.Contains(e.Message, "s3cret") {
		t.Errorf("error is %v", e)
	}
	if !strings.Contains(s.Log(), "s3cret") || !strings.Contains(s.Log(), "plugin_test.go") {
		t.Errorf("the log has no panic with its stack: %s", s.Log())
	}
	var out string
	if err := s.Call(t.Context(), "t.it", nil, &out); err != nil || out != "fine" {
		t.Errorf("the next call got %q, %v", out, err)
	}
}

func TestCallsRunConcurrently(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		all.Done()
		all.Wait() // passes only when all run at once
		return true, nil
	}))
	errs := make(chan error, n)
	for range n {
		go func() { errs <- s.Call(t.Context(), "t.it", nil, nil) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestCancellationReachesTheMethod(t *testing.T) {
	running := make(chan struct{})
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		close(running)
		<-ctx.Done()
		return false, ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	if e := sdkError(t, s.Call(ctx, "t.it", nil, nil)); e.Code != "internal_error" {
		t.Errorf("error is %v", e)
	}
	if s.Log() != "" {
		t.Errorf("a cancelled call is logged: %s", s.Log())
	}
}

func TestTheMethodsBoundEndsIt(t *testing.T) {
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		<-ctx.Done()
		return false, ctx.Err()
	}, sdk.Timeout(20*time.Millisecond)))
	if e := sdkError(t, s.Call(t.Context(), "t.it", nil, nil)); e.Code != "timeout" {
		t.Errorf("error is %v", e)
	}
}

func TestEventsTravelInOrderWithTheAnswer(t *testing.T) {
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		for i := range 3 {
			sdk.Emit(ctx, "t.step", map[string]int{"n": i})
		}
		sdk.Emit(ctx, "t.done", nil)
		return true, nil
	}))
	if err := s.Call(t.Context(), "t.it", nil, nil); err != nil {
		t.Fatal(err)
	}
	want := []plugintest.Event{
		{Type: "t.step", Data: json.RawMessage(`{"n":0}`)}, {Type: "t.step", Data: json.RawMessage(`{"n":1}`)},
		{Type: "t.step", Data: json.RawMessage(`{"n":2}`)}, {Type: "t.done", Data: json.RawMessage(`{}`)},
	}
	if diff := cmp.Diff(want, s.Events()); diff != "" {
		t.Errorf("wrong events (-want +got):\n%s", diff)
	}
}

func TestEventsOfACallAreInItsAnswerUpToTheBounds(t *testing.T) {
	for name, tt := range map[string]struct{ n, size, kept int }{
		"few":                {3, 10, 3},
		"some hundreds":      {300, 10, 300},
		"as many as may be":  {2048, 10, 2048},
		"too many":           {2050, 10, 2048},
		"as large as may be": {64, 64<<10 - len("t.step"), 64},
		"too large":          {70, 64<<10 - len("t.step"), 64},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p := one(func(ctx context.Context, _ nothing) (bool, error) {
				for i := range tt.n {
					data := fmt.Sprintf(`{"n":%d,"x":""}`, i)
					data = strings.Replace(data, `""`, `"`+strings.Repeat("x", max(0, tt.size-len(data)))+`"`, 1)
					sdk.Emit(ctx, "t.step", json.RawMessage(data))
				}
				return true, nil
			})
			service, end := p.InProcess(inprocess.Open(), hclog.New(&hclog.LoggerOptions{Output: &log}))
			defer end()
			// Nobody reads Link: what went there is not in the answer.
			out, err := service.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "t.it", Params: []byte("{}")})
			if err != nil {
				t.Fatal(err)
			}
			if len(out.GetEvents()) != tt.kept {
				t.Fatalf("%d events, want %d", len(out.GetEvents()), tt.kept)
			}
			for i, e := range out.GetEvents() {
				if !strings.HasPrefix(string(e.GetData()), fmt.Sprintf(`{"n":%d,`, i)) {
					t.Fatalf("event %d is %.20s", i, e.GetData())
				}
			}
			var want int
			if tt.kept < tt.n {
				want = 1
			}
			if got := strings.Count(log.String(), "events dropped"); got != want || want == 1 && !strings.Contains(log.String(), fmt.Sprintf("dropped=%d", tt.n-tt.kept)) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

func TestBadEventsAreDroppedAndLogged(t *testing.T) {
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		sdk.Emit(ctx, "no dots", nil)
		sdk.Emit(ctx, "t.list", []int{1})
		sdk.Emit(ctx, "t.chan", make(chan int))
		sdk.Emit(ctx, "t.large", map[string]string{"x": strings.Repeat("x", 65<<10)})
		return true, nil
	}))
	if err := s.Call(t.Context(), "t.it", nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(s.Events()) != 0 || strings.Count(s.Log(), "event dropped") != 4 {
		t.Errorf("events %v, log %s", s.Events(), s.Log())
	}
}

// background declares a plugin whose one method has work beside the calls
// publish n events, and returns when that is done.
func background(n int) *sdk.Plugin {
	work := make(chan chan struct{})
	p := one(func(context.Context, nothing) (bool, error) {
		done := make(chan struct{})
		work <- done
		<-done
		return true, nil
	})
	p.OnStart(func(ctx context.Context) error {
		go func() {
			for {
				select {
				case done := <-work:
					for range n {
						sdk.Emit(ctx, "t.step", nil)
					}
					close(done)
				case <-ctx.Done():
					return
				}
			}
		}()
		return nil
	})
	return p
}

func TestEventsOfBackgroundWorkAreThereWithTheReply(t *testing.T) {
	s := plugintest.New(t, background(3))
	for round := range 200 {
		if err := s.Call(t.Context(), "t.it", nil, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Events()); n != 3*(round+1) {
			t.Fatalf("%d events after %d rounds", n, round+1)
		}
	}
}

func TestAnswersNameTheEventsThatAreQueuedForLink(t *testing.T) {
	for name, tt := range map[string]struct {
		n    int
		want uint64
	}{
		"none": {0, 0}, "some": {3, 3}, "more than the queue takes": {3000, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			service, end := background(tt.n).InProcess(inprocess.Open(), hclog.NewNullLogger())
			defer end()
			if _, err := service.Configure(t.Context(), &pluginv1.ConfigureRequest{}); err != nil {
				t.Fatal(err)
			}
			out, err := service.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "t.it", Params: []byte("{}")})
			if err != nil || out.GetLinkEvents() != tt.want || len(out.GetEvents()) != 0 {
				t.Errorf("the answer is %v, %v", out, err)
			}
		})
	}
}

func TestWorkThatOutlivesACallPublishesOnLink(t *testing.T) {
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		go func() {
			<-ctx.Done()
			sdk.Emit(context.WithoutCancel(ctx), "t.later", nil)
		}()
		return true, nil
	}))
	if err := s.Call(t.Context(), "t.it", nil, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.WaitEvent(ctx, "t.later"); err != nil {
		t.Error(err)
	}
}

func TestCallsOfOtherMethods(t *testing.T) {
	type in struct {
		Method string `json:"method"`
	}
	p := one(func(ctx context.Context, in in) (json.RawMessage, error) {
		var out struct {
			N   int64 `json:"n"`
			Any any   `json:"any"`
		}
		if err := sdk.Call(ctx, in.Method, map[string]int{"a": 1}, &out); err != nil {
			return nil, err
		}
		return json.RawMessage(fmt.Sprintf(`{"n":%d,"any":%v}`, out.N, out.Any)), nil
	})
	s := plugintest.New(t, p, plugintest.Options{Answers: map[string]func(context.Context, json.RawMessage) (any, error){
		"o.good": func(_ context.Context, params json.RawMessage) (any, error) {
			if string(params) != `{"a":1}` {
				return nil, fmt.Errorf("params are %s", params)
			}
			return json.RawMessage(`{"n":9007199254740993,"any":9007199254740993}`), nil
		},
		"o.bad":   func(context.Context, json.RawMessage) (any, error) { return nil, sdk.Errorf("not_found", "no tab") },
		"o.wrong": func(context.Context, json.RawMessage) (any, error) { return "text", nil },
	}})
	var out json.RawMessage
	if err := s.Call(t.Context(), "t.it", in{"o.good"}, &out); err != nil || string(out) != `{"n":9007199254740993,"any":9007199254740993}` {
		t.Errorf("good: %s, %v", out, err)
	}
	for method, want := range map[string]string{"o.bad": "not_found", "o.wrong": "internal_error", "o.none": "internal_error"} {
		if e := sdkError(t, s.Call(t.Context(), "t.it", in{method}, nil)); e.Code != want {
			t.Errorf("%s: %v", method, e)
		}
	}
}

func TestACallThatIsGivenUpIsCancelledAtTheHost(t *testing.T) {
	cancelled := make(chan struct{})
	running := make(chan struct{})
	p := one(func(ctx context.Context, _ nothing) (bool, error) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-running
			cancel()
		}()
		err := sdk.Call(ctx, "o.slow", nil, nil)
		return errors.Is(err, context.Canceled), nil
	})
	s := plugintest.New(t, p, plugintest.Options{Answers: map[string]func(context.Context, json.RawMessage) (any, error){
		"o.slow": func(ctx context.Context, _ json.RawMessage) (any, error) {
			close(running)
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		},
	}})
	var is bool
	if err := s.Call(t.Context(), "t.it", nil, &is); err != nil || !is {
		t.Errorf("the error is not context.Canceled: %v, %v", is, err)
	}
	select {
	case <-cancelled:
	case <-time.After(patience):
		t.Error("the host was not told")
	}
}

func TestConfigIsCheckedDefaultedAndClosed(t *testing.T) {
	type config struct {
		Key   string `json:"key"`
		Limit int    `json:"limit" default:"5" max:"10"`
	}
	var got config
	declare := func() *sdk.Plugin {
		p := sdk.New("t", "1", "Test.")
		sdk.Config(p, func(_ context.Context, c config) error {
			if c.Key == "refuse" {
				return errors.New("key is not accepted")
			}
			got = c
			return nil
		})
		return p
	}
	plugintest.New(t, declare(), plugintest.Options{Config: `{"key":"k"}`})
	if want := (config{"k", 5}); got != want {
		t.Errorf("config is %+v, want %+v", got, want)
	}
	for text, want := range map[string]string{
		`{}`:                     "key",
		`{"key":"k","other":1}`:  "other",
		`{"key":"k","limit":11}`: "/limit",
		`{"key":1}`:              "/key",
		`{"key":"refuse"}`:       "key is not accepted",
	} {
		if _, err := plugintest.Start(t, declare(), plugintest.Options{Config: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestStartAndStopHooks(t *testing.T) {
	var order []string
	p := one(func(context.Context, nothing) (bool, error) { return true, nil })
	var life context.Context
	for _, n := range []string{"a", "b"} {
		p.OnStart(func(ctx context.Context) error {
			life = ctx
			order = append(order, "start "+n)
			if sdk.DirsOf(ctx).State == "" {
				return errors.New("no state folder")
			}
			return nil
		})
		p.OnStop(func(ctx context.Context) error {
			order = append(order, "stop "+n)
			sdk.Emit(ctx, "t.stopped", nil)
			return ctx.Err()
		})
	}
	s := plugintest.New(t, p)
	if life.Err() != nil {
		t.Error("the start hook's context ended at once")
	}
	s.Stop()
	if diff := cmp.Diff([]string{"start a", "start b", "stop b", "stop a"}, order); diff != "" {
		t.Errorf("wrong order (-want +got):\n%s", diff)
	}
}

func TestPanicsInHooksAreErrors(t *testing.T) {
	p := sdk.New("t", "1", "Test.")
	p.OnStart(func(context.Context) error { panic("oh") })
	if _, err := plugintest.Start(t, p, plugintest.Options{}); err == nil || !strings.Contains(err.Error(), "panic in the start hook") {
		t.Errorf("error is %v", err)
	}
}

// service gives a plugin's service without plugintest around it.
func service(p *sdk.Plugin) pluginv1.PluginServer {
	s, _ := p.InProcess(inprocess.Open(), hclog.NewNullLogger())
	return s
}

func invoke(ctx context.Context, s pluginv1.PluginServer, params string) (*pluginv1.InvokeResponse, error) {
	return s.Invoke(ctx, &pluginv1.InvokeRequest{Method: "t.it", Params: []byte(params)})
}

func TestDrainWaitsRefusesNewAndRunsHooksOnce(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	p := one(func(ctx context.Context, _ nothing) (bool, error) {
		close(running)
		<-release
		return true, nil
	})
	hooks := 0
	p.OnStop(func(context.Context) error { hooks++; return nil })
	s := service(p)
	answered := make(chan error, 1)
	go func() {
		_, err := invoke(context.Background(), s, "{}")
		answered <- err
	}()
	<-running
	drained := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.Drain(context.Background(), &pluginv1.DrainRequest{TimeoutMs: 60000})
			drained <- err
		}()
	}
	for deadline := time.Now().Add(patience); ; {
		_, err := invoke(t.Context(), s, `{"bad`)
		if status.Code(err) == codes.Unavailable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("calls are still taken: %v", err)
		}
	}
	select {
	case err := <-drained:
		t.Fatalf("drain did not wait for the call: %v", err)
	default:
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the running call got %v", err)
	}
	for range 2 {
		if err := <-drained; err != nil {
			t.Error(err)
		}
	}
	if hooks != 1 {
		t.Errorf("the stop hook ran %d times", hooks)
	}
}

func TestDrainCancelsWhatTakesTooLong(t *testing.T) {
	running := make(chan struct{})
	p := one(func(ctx context.Context, _ nothing) (bool, error) {
		close(running)
		<-ctx.Done()
		return false, ctx.Err()
	})
	stopped := false
	p.OnStop(func(ctx context.Context) error { stopped = ctx.Err() == nil; return nil })
	s := service(p)
	answered := make(chan error, 1)
	go func() {
		_, err := invoke(context.Background(), s, "{}")
		answered <- err
	}()
	<-running
	if _, err := s.Drain(t.Context(), &pluginv1.DrainRequest{TimeoutMs: 200}); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("the cancelled call got %v", err)
	}
	if !stopped {
		t.Error("the stop hook had no time")
	}
}

func TestDrainReturnsInTimeWhateverTheMethodDoes(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	p := one(func(context.Context, nothing) (bool, error) {
		close(running)
		<-release // deaf to its context
		return true, nil
	})
	s := service(p)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = invoke(context.Background(), s, "{}")
	}()
	<-running
	start := time.Now()
	if _, err := s.Drain(t.Context(), &pluginv1.DrainRequest{TimeoutMs: 200}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	close(release)
	<-answered
}

func TestUnknownMethodAndSecondConfigureAreRefused(t *testing.T) {
	s := service(one(func(context.Context, nothing) (bool, error) { return true, nil }))
	if _, err := s.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "t.other"}); status.Code(err) != codes.Unimplemented {
		t.Errorf("unknown method: %v", err)
	}
	if _, err := s.Configure(t.Context(), &pluginv1.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Configure(t.Context(), &pluginv1.ConfigureRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("second configure: %v", err)
	}
}

func TestDescribeCarriesEveryOption(t *testing.T) {
	p := sdk.New("t", "1.2", "Test.", sdk.Exclusive(), sdk.MaxInFlight(3), sdk.Namespaces("t"), sdk.Features("f"), sdk.ErrorCodes("t_a"))
	sdk.HandleRaw(p, "t.it", "It.", echo, sdk.Timeout(2*time.Second), sdk.ReadOnly(), sdk.Idempotent(),
		sdk.Errors("not_found", "t_b", "plugin_busy"), sdk.Since("1.1"), sdk.Deprecated("t.that"), sdk.Example(`{"a":1}`),
		sdk.ParamsSchema(`{"type":"object"}`), sdk.ResultSchema(`true`))
	d, err := service(p).Describe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := d.GetMethods()[0]
	got := []any{
		d.GetName(), d.GetVersion(), d.GetSummary(), d.GetExclusive(), d.GetMaxInFlight(), d.GetNamespaces(), d.GetFeatures(), d.GetErrorCodes(),
		m.GetName(), m.GetSummary(), m.GetTimeoutMs(), m.GetReadOnly(), m.GetIdempotent(), m.GetErrors(), m.GetSince(), m.GetDeprecated(),
		string(m.GetExamples()[0]), string(m.GetParamsSchema()), string(m.GetResultSchema()),
	}
	want := []any{
		"t", "1.2", "Test.", true, uint32(3), []string{"t"}, []string{"f"}, []string{"t_a", "t_b"},
		"t.it", "It.", uint32(2000), true, true, []string{"not_found", "t_b", "plugin_busy"}, "1.1", "t.that",
		`{"a":1}`, `{"type":"object"}`, "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong description (-want +got):\n%s", diff)
	}
}

func TestBadDeclarationsPanic(t *testing.T) {
	fine := func(context.Context, nothing) (bool, error) { return true, nil }
	for name, declare := range map[string]func(){
		"plugin name":  func() { sdk.New("Bad", "1", "") },
		"method name":  func() { sdk.Handle(sdk.New("t", "1", ""), "it", "", fine) },
		"built-in":     func() { sdk.Handle(sdk.New("t", "1", ""), "plugins.mine", "", fine) },
		"twice":        func() { sdk.Handle(one(fine), "t.it", "", fine) },
		"timeout":      func() { one(fine, sdk.Timeout(time.Hour)) },
		"schema":       func() { one(fine, sdk.ParamsSchema("{")) },
		"example":      func() { one(fine, sdk.Example("[]")) },
		"error code":   func() { one(fine, sdk.Errors("Bad Code")) },
		"params":       func() { one(func(context.Context, string) (bool, error) { return true, nil }) },
		"result":       func() { one(func(context.Context, nothing) (chan int, error) { return nil, nil }) },
		"config twice": func() { p := one(fine); declareConfig(p); declareConfig(p) },
		"in flight":    func() { sdk.New("t", "1", "", sdk.MaxInFlight(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "sdk: ") {
					t.Errorf("panic is %v", r)
				}
			}()
			declare()
		})
	}
}

func declareConfig(p *sdk.Plugin) {
	sdk.Config(p, func(context.Context, nothing) error { return nil })
}

func TestThemeAndCallInfo(t *testing.T) {
	s := service(one(func(ctx context.Context, _ nothing) (sdk.CallInfo, error) {
		sdk.Theme(ctx, sdk.Hints{Status: "info"})
		sdk.Theme(ctx, sdk.Hints{Status: "warning", Icon: "!"})
		info, ok := sdk.Info(ctx)
		if !ok {
			return info, errors.New("no call")
		}
		return info, nil
	}))
	out, err := s.Invoke(t.Context(), &pluginv1.InvokeRequest{Method: "t.it", Context: &pluginv1.CallContext{
		CallId: 4, RequestId: `"r"`, Caller: "agent:1", Traceparent: "00-a-b-01", Depth: 2,
	}})
	if err != nil || out.GetError() != nil {
		t.Fatal(err, out.GetError())
	}
	if got, want := string(out.GetTheme()), `{"status":"warning","icon":"!"}`; got != want {
		t.Errorf("theme is %s, want %s", got, want)
	}
	if got, want := string(out.GetResult()), `{"Method":"t.it","RequestID":"\"r\"","Caller":"agent:1","Traceparent":"00-a-b-01","Depth":2}`; got != want {
		t.Errorf("info is %s, want %s", got, want)
	}
}

func TestForeignContextsAreHarmless(t *testing.T) {
	ctx := context.Background()
	sdk.Emit(ctx, "t.x", nil)
	sdk.Theme(ctx, sdk.Hints{})
	if _, ok := sdk.Info(ctx); ok {
		t.Error("a call was found")
	}
	if sdk.DirsOf(ctx) != (sdk.Dirs{}) || sdk.Logger(ctx) == nil {
		t.Error("folders or no logger")
	}
	if err := sdk.Call(ctx, "a.b", nil, nil); err == nil {
		t.Error("a call went out")
	}
}

func TestNilRawResultIsNull(t *testing.T) {
	p := sdk.New("t", "1", "")
	sdk.HandleRaw(p, "t.it", "", func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })
	out, err := invoke(t.Context(), service(p), "{}")
	if err != nil || string(out.GetResult()) != "null" {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestBackgroundWorkEndsWithThePlugin(t *testing.T) {
	p := sdk.New("t", "1", "Test.")
	ended := make(chan struct{})
	var early error
	p.OnStart(func(ctx context.Context) error {
		early = sdk.Call(ctx, "o.any", nil, nil)
		sdk.Emit(ctx, "t.started", nil)
		go func() {
			defer close(ended)
			<-ctx.Done()
		}()
		return nil
	})
	p.OnStop(func(ctx context.Context) error {
		sdk.Emit(ctx, "t.stopped", nil)
		return nil
	})
	s := plugintest.New(t, p)
	s.Stop()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("it still runs")
	}
	if early == nil {
		t.Error("a start hook's call was not refused")
	}
	want := []plugintest.Event{{Type: "t.started", Data: json.RawMessage(`{}`)}, {Type: "t.stopped", Data: json.RawMessage(`{}`)}}
	if diff := cmp.Diff(want, s.Events()); diff != "" {
		t.Errorf("wrong events (-want +got):\n%s", diff)
	}
}

func TestTheHostsEventTypesAreRefused(t *testing.T) {
	s := plugintest.New(t, one(func(ctx context.Context, _ nothing) (bool, error) {
		sdk.Emit(ctx, "plugin.ready", nil)
		return true, nil
	}))
	if err := s.Call(t.Context(), "t.it", nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(s.Events()) != 0 || !strings.Contains(s.Log(), "its type is the host's") {
		t.Errorf("events %v, log %s", s.Events(), s.Log())
	}
}
