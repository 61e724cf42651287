package diagnostics

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func line(n int) []byte {
	return fmt.Appendf(nil, `{"type":"log","args":[{"type":"string","value":"%d"}],"timestamp":%d}`, n, n)
}

func TestTheRingKeepsTheLastAndCountsTheOthers(t *testing.T) {
	r := New()
	if got := r.Read(Query{}); len(got.Events) != 0 || got.Events == nil || got.Dropped != 0 {
		t.Errorf("an empty ring gives %+v", got)
	}
	for n := range 3*Size + 7 {
		r.Add("Runtime.consoleAPICalled", line(n))
	}
	got := r.Read(Query{Since: -1})
	if len(got.Events) != Size || got.Dropped != 2*Size+7 {
		t.Fatalf("%d events, %d dropped", len(got.Events), got.Dropped)
	}
	for i, e := range got.Events {
		if want := fmt.Sprint(2*Size + 7 + i); e.Args[0] != want {
			t.Fatalf("event %d is %s; want %s", i, e.Args[0], want)
		}
	}
}

func TestAClearedRingForgetsWhatItDropped(t *testing.T) {
	r := New()
	for n := range Size + 10 {
		r.Add("Runtime.consoleAPICalled", line(n))
	}
	r.Clear()
	if got := r.Read(Query{}); len(got.Events) != 0 || got.Dropped != 0 {
		t.Errorf("cleared: %+v", got)
	}
	r.Add("Runtime.consoleAPICalled", line(7))
	if got := r.Read(Query{}); len(got.Events) != 1 || got.Dropped != 0 || got.Events[0].Args[0] != "7" {
		t.Errorf("after it: %+v", got)
	}
	for n := range Size + 1 {
		r.Add("Runtime.consoleAPICalled", line(n+100))
	}
	if got := r.Read(Query{}); len(got.Events) != Size || got.Dropped != 2 {
		t.Errorf("%d events, %d dropped", len(got.Events), got.Dropped)
	}
}

func TestEventsAreChosenByTimeAndLevel(t *testing.T) {
	r := New()
	for i, level := range []string{"debug", "log", "info", "warning", "error", "assert", "table"} {
		r.Add("Runtime.consoleAPICalled", fmt.Appendf(nil, `{"type":%q,"args":[],"timestamp":%d}`, level, i+1))
	}
	for want, q := range map[string]Query{
		"debug log info warn error error log": {},
		"info warn error error":               {Level: "info"},
		"error error":                         {Level: "error"},
		"error error log":                     {Since: 4},
		"error":                               {Since: 5, Level: "warn"},
	} {
		var got []string
		for _, e := range r.Read(q).Events {
			got = append(got, e.Level)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %v", q, got)
		}
	}
	if r.Errors() != 2 {
		t.Errorf("%d errors", r.Errors())
	}
}

func TestWhatAWorkerSaysIsKeptOnce(t *testing.T) {
	r := New()
	r.Add("Log.entryAdded", []byte(`{"entry":{"source":"worker","level":"error","text":"Uncaught Error","timestamp":1,"workerId":"W"}}`))
	r.Add("Log.entryAdded", []byte(`{"entry":{"source":"worker","level":"info","text":"hello","timestamp":2,"workerId":"W"}}`))
	r.Add("Log.entryAdded", []byte(`{"entry":{"source":"other","level":"info","text":"\"source\":\"worker\"","timestamp":3}}`))
	if got := r.Read(Query{}); len(got.Events) != 1 || got.Events[0].Time != 3 {
		t.Errorf("%+v", got)
	}
}

func TestALargeEventIsKeptAsItIsShown(t *testing.T) {
	r := New()
	r.Add("Runtime.consoleAPICalled", fmt.Appendf(nil, `{"type":"error","args":[{"type":"string","value":%q}],"timestamp":1}`, strings.Repeat("é", maxRaw)))
	got := r.Read(Query{}).Events
	if len(got) != 1 || len(got[0].Args[0]) > maxText+4 || !strings.HasSuffix(got[0].Args[0], "é…") {
		t.Errorf("%.100v", got)
	}
}

func TestAddingAndReadingAtOnce(t *testing.T) {
	r := New()
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for n := range 2 * Size {
				r.Add("Runtime.consoleAPICalled", line(n))
				if n%100 == 0 {
					r.Read(Query{})
				}
			}
		})
	}
	work.Wait()
	if got := r.Read(Query{Since: -1}); len(got.Events) != Size || got.Dropped != 7*Size {
		t.Errorf("%d events, %d dropped", len(got.Events), got.Dropped)
	}
}

func TestEventsAsTheyAreShown(t *testing.T) {
	const console, exception, log = "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"
	for _, tt := range []struct {
		method, params string
		want           Event
	}{
		{console, `{"type":"log","timestamp":1.5,"args":[{"type":"string","value":"a"},{"type":"number","value":2,"description":"2"},
			{"type":"number","unserializableValue":"-0","description":"-0"},{"type":"undefined"},{"type":"object","subtype":"null","value":null},
			{"type":"boolean","value":true},{"type":"bigint","unserializableValue":"3n","description":"3n"},{"type":"symbol","description":"Symbol(s)"},
			{"type":"function","description":"() => 1"}],"stackTrace":{"callFrames":[{"url":"u","lineNumber":0,"columnNumber":4}]}}`,
			Event{Time: 1.5, Type: "console", Level: "log", Source: "u", Line: 1, Column: 5,
				Args: []string{"a", "2", "-0", "undefined", "null", "true", "3n", "Symbol(s)", "() => 1"}}},
		{console, `{"type":"warning","args":[{"type":"object","description":"Object","preview":{"overflow":true,"properties":[{"name":"a","type":"string","value":"x"},{"name":"b","type":"number","value":"1"}]}},
			{"type":"object","subtype":"array","preview":{"subtype":"array","properties":[{"name":"0","type":"number","value":"2"}]}},
			{"type":"object","subtype":"error","description":"Error: e\n    at x","preview":{"properties":[]}}]}`,
			Event{Type: "console", Level: "warn", Args: []string{`{a: "x", b: 1, …}`, "[2]", "Error: e\n    at x"}}},
		{exception, `{"timestamp":2,"exceptionDetails":{"text":"Uncaught","lineNumber":3,"columnNumber":4,"url":"s.js","exception":{"type":"object","subtype":"error","description":"TypeError: t"}}}`,
			Event{Time: 2, Type: "error", Level: "error", Message: "TypeError: t", Source: "s.js", Line: 4, Column: 5}},
		{exception, `{"exceptionDetails":{"text":"Uncaught (in promise)","exception":{"type":"string","value":"why"}}}`,
			Event{Type: "unhandledrejection", Level: "error", Message: "why", Line: 1, Column: 1}},
		{exception, `{"exceptionDetails":{"text":"Uncaught SyntaxError: bad"}}`, Event{Type: "error", Level: "error", Message: "SyntaxError: bad", Line: 1, Column: 1}},
		{exception, `{"exceptionDetails":{"text":"Uncaught","exception":{"type":"undefined"}}}`, Event{Type: "error", Level: "error", Message: "undefined", Line: 1, Column: 1}},
		{log, `{"entry":{"source":"network","level":"error","text":"Failed","timestamp":3,"url":"x"}}`,
			Event{Time: 3, Type: "network", Level: "error", Message: "Failed", Source: "x"}},
		{log, `{"entry":{"source":"security","level":"error","text":"Refused: Content Security Policy directive"}}`,
			Event{Type: "csp", Level: "error", Message: "Refused: Content Security Policy directive"}},
		{log, `{"entry":{"source":"other","level":"verbose","text":"v","lineNumber":2}}`, Event{Type: "console", Level: "debug", Message: "v", Line: 3}},
	} {
		if diff := cmp.Diff(tt.want, *read(tt.method, []byte(tt.params))); diff != "" {
			t.Errorf("%s %.60s: %s", tt.method, tt.params, diff)
		}
	}
}

func FuzzEventsCanAlwaysBeRead(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"type":1}`, `{"type":"log","args":[{"type":"string","value":5}]}`, `{"type":"log","args":[{"type":"string"}]}`,
		`{"type":"log","args":[null,{}],"timestamp":"x"}`, `{"exceptionDetails":null}`, `{"exceptionDetails":{"exception":{"type":"object","preview":null}}}`,
		`{"entry":{"level":"nothing","text":"\ud83d","lineNumber":-5}}`, `{"type":"log","args":[{"preview":{"properties":[{}]}}]}`, "\xff", "",
	} {
		for i := range 3 {
			f.Add(i, []byte(seed))
		}
	}
	methods := []string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
	f.Fuzz(func(t *testing.T, method int, params []byte) {
		r := New()
		r.Add(methods[uint(method)%3], params)
		got := r.Read(Query{Since: -1e18})
		if len(got.Events) != 1 {
			t.Fatalf("%d events", len(got.Events))
		}
		e := got.Events[0]
		if len(e.Message) > 2*maxText || len(e.Args) > maxArgs+1 || e.Type == "" {
			t.Errorf("%+v", e)
		}
		for _, arg := range e.Args {
			if len(arg) > maxText+len("…") {
				t.Errorf("an argument of %d bytes", len(arg))
			}
		}
	})
}
