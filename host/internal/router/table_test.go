package router

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/hosttest"
	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

// resultOf makes a call and decodes its result.
func resultOf[T any](t *testing.T, r *Router, name, params string) T {
	t.Helper()
	reply, failed := r.Call(t.Context(), Call{Method: name, Params: []byte(params)})
	if failed != nil {
		t.Fatalf("%s: %v", name, failed)
	}
	var out T
	if err := json.Unmarshal(reply.Result, &out); err != nil {
		t.Fatalf("%s: %v: %s", name, err, reply.Result)
	}
	return out
}

func TestDescribeHasEveryMethodSorted(t *testing.T) {
	r := newDemo(t, options())
	reply, failed := r.Call(t.Context(), Call{Method: "describe"})
	if failed != nil {
		t.Fatal(failed)
	}
	if err := wire.Check(reply.Result); err != nil {
		t.Fatalf("describe is not strict JSON: %v", err)
	}
	var order []string
	if err := wire.ScanObject(reply.Result, nil, func(m wire.Member) error {
		order = append(order, string(m.Name))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(order) {
		t.Errorf("not sorted: %v", order)
	}
	want := []string{
		"status", "version", "capabilities", "describe", "events.since", "events.clear", "host.reload", "host.stop",
		"plugins.list", "plugins.info", "plugins.restart", "plugins.reset", "plugins.logs",
		"plugins.rescan", "plugins.verify", "plugins.install", "plugins.remove", "plugins.lock", "gone.ask",
	}
	for _, m := range demo(t).set.Methods {
		want = append(want, m.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	whole := resultOf[map[string]json.RawMessage](t, r, "describe", `{"name":""}`)
	one := resultOf[map[string]json.RawMessage](t, r, "describe", `{"name":"demo.echo"}`)
	if diff := cmp.Diff(map[string]json.RawMessage{"demo.echo": whole["demo.echo"]}, one); diff != "" {
		t.Errorf("one method (-as in all +alone):\n%s", diff)
	}
}

func TestMethodsWithoutABackingDoNotExist(t *testing.T) {
	opt := options()
	opt.Logs, opt.Catalog, opt.Host = nil, nil, HostControl{}
	r := New(opt)
	all := resultOf[map[string]json.RawMessage](t, r, "describe", "")
	for _, name := range []string{
		"plugins.logs", "plugins.rescan", "plugins.verify", "plugins.install", "plugins.remove", "plugins.lock",
		"host.stop", "host.reload",
	} {
		_, failed := r.Call(t.Context(), Call{Method: name})
		if failed == nil || failed.Code != envelope.MethodNotFound || all[name] != nil {
			t.Errorf("%s: %v, described as %s", name, failed, all[name])
		}
	}
}

func TestTableOfUnusualPlugins(t *testing.T) {
	var log hosttest.Log
	opt := options()
	opt.Log = log.Logger()
	r := New(opt)
	clash := func(plugin string) source {
		return source{
			set: &method.Set{Name: plugin, Version: "1", Methods: []*method.Method{
				newMethod(t, "status", "true", time.Second), newMethod(t, "both.have", "true", time.Second),
			}},
			invoke: fakePlugin{"status": result(`"hijacked"`), "both.have": result(`"` + plugin + `"`)},
			state:  supervise.Ready,
		}
	}
	r.set([]source{clash("zeta"), {state: supervise.Starting}, clash("alpha")})
	if got := serve(t, r, `{"version":1,"id":1,"method":"status"}`); strings.Contains(got, "hijacked") {
		t.Errorf("a plugin took a built-in: %s", got)
	}
	if got := serve(t, r, `{"version":1,"id":1,"method":"both.have"}`); !strings.Contains(got, "alpha") {
		t.Errorf("the claim depends on the order: %s", got)
	}
	if n := strings.Count(log.String(), "two plugins claim one method"); n != 3 {
		t.Errorf("%d claims logged, want 3: %s", n, log.String())
	}
}

func TestStatusCountsPluginsWithoutMethods(t *testing.T) {
	type status struct{ Plugins struct{ Ready, Total int } }
	opt := options()
	sup := newFakeSupervisor()
	opt.Plugins = sup
	r := New(opt)
	want := func(ready, total int) {
		t.Helper()
		var s status
		s.Plugins.Ready, s.Plugins.Total = ready, total
		if diff := cmp.Diff(s, resultOf[status](t, r, "status", "")); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	}
	want(0, 2) // both start and have not described themselves
	sup.rows = append(sup.rows, supervise.Status{Name: "late", State: supervise.Starting})
	want(0, 3)
	r.set([]source{demo(t), gone(t)})
	want(1, 3)
	sup.rows = sup.rows[:2]
	want(1, 2)
	sup.rows = nil // a table that is a moment older than the list
	want(1, 1)
}

// What describe says of the built-ins must be true of them.
func TestBuiltinsAreWhatDescribeSays(t *testing.T) {
	type described struct {
		Params       map[string]string
		ParamsSchema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		} `json:"params_schema"`
		ResultSchema json.RawMessage `json:"result_schema"`
		Summary      string
		TimeoutMS    int64 `json:"timeout_ms"`
	}
	params := map[string]string{
		"plugins.info": `{"name":"demo"}`, "plugins.restart": `{"name":"demo"}`, "plugins.reset": `{"name":"demo"}`,
		"plugins.logs": `{"name":"demo"}`, "plugins.remove": `{"name":"demo"}`,
		"plugins.verify": `{"path":"/f"}`, "plugins.install": `{"path":"/f"}`, "plugins.list": `{"all":true}`,
	}
	r := newDemo(t, options())
	serve(t, r, `{"version":1,"id":1,"method":"demo.events"}`)
	for name, d := range resultOf[map[string]described](t, r, "describe", "") {
		if strings.HasPrefix(name, "demo.") || strings.HasPrefix(name, "gone.") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			short := map[string]string{}
			for p, s := range d.ParamsSchema.Properties {
				typ := strings.Replace(s.Type, "array", "string[]", 1)
				if !slices.Contains(d.ParamsSchema.Required, p) {
					typ += "?"
				}
				short[p] = typ
			}
			if diff := cmp.Diff(short, d.Params); diff != "" {
				t.Errorf("short form (-schema +params):\n%s", diff)
			}
			if d.Summary == "" || d.TimeoutMS < 1 || d.TimeoutMS > envelope.MaxTimeout.Milliseconds() {
				t.Errorf("summary %q, timeout %d ms", d.Summary, d.TimeoutMS)
			}
			schema, err := wire.Compile(d.ResultSchema, nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, failed := r.Call(t.Context(), Call{Method: name, Params: []byte(params[name])})
			if failed != nil {
				t.Fatal(failed)
			}
			report, err := schema.Check(reply.Result)
			if err != nil || report.Violation != nil || report.Warnings != nil && name != "plugins.info" {
				t.Errorf("result against its schema: %+v, %v: %s", report, err, reply.Result)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"browser.navigate", "browser.tabs", "browser.tab.new", "describe", "net.fetch", "page.snapshot", "page.text", "status"}
	slices.Sort(names)
	for name, want := range map[string][]string{
		"page.snapshto":          {"page.snapshot"},
		"Browser.Tabs":           {"browser.tabs"},
		"browser.tabss":          {"browser.tabs"},
		"browser":                {"browser.navigate", "browser.tab.new", "browser.tabs"},
		"browser.":               {"browser.navigate", "browser.tab.new", "browser.tabs"},
		"http.fetch":             {"net.fetch"},
		"statu":                  {"status"},
		"zzzz":                   nil,
		"":                       nil,
		"x":                      nil,
		strings.Repeat("a", 128): nil,
		strings.Repeat("a", 999): nil,
	} {
		if diff := cmp.Diff(want, nearest(name, names)); diff != "" {
			t.Errorf("nearest(%.40q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestMissingMethodNamesItsPluginThatDoesNotServe(t *testing.T) {
	opt := options()
	plugins := newFakeSupervisor()
	plugins.rows = append(plugins.rows,
		supervise.Status{Name: "bad-config", State: supervise.Failed},
		supervise.Status{Name: "loop", State: supervise.Backoff},
		supervise.Status{Name: "off", State: supervise.Stopped},
		supervise.Status{Name: "twice", State: supervise.Ready},
		supervise.Status{Name: "twice", State: supervise.Refused},
		supervise.Status{Name: "swap", State: supervise.Draining},
		supervise.Status{Name: "swap", State: supervise.Refused},
		supervise.Status{Name: "late", State: supervise.Ready, Leaving: true},
		supervise.Status{Name: "late", State: supervise.Refused},
		supervise.Status{Name: "left", State: supervise.Draining, Leaving: true},
		supervise.Status{Name: "demoted", State: supervise.Refused, Described: []string{"demoted.forecast"}},
	)
	opt.Plugins = plugins
	r := New(opt)
	r.set([]source{demo(t), gone(t)})
	for name, want := range map[string]string{
		"mean.trick":       `; plugin mean is refused: see "vant plugin list --all"`,
		"bad_config.a":     `; plugin bad-config is failed: see "vant plugin list --all"`,
		"loop.a.b":         `; plugin loop is in backoff: see "vant plugin list --all"`,
		"off.a":            `; plugin off is stopped: see "vant plugin list --all"`,
		"gone.aks":         `; near: gone.ask; plugin gone is quarantined: see "vant plugin list --all"`,
		"twice.a":          "",
		"swap.a":           "",
		"late.a":           `; plugin late is refused: see "vant plugin list --all"`,
		"left.a":           "",
		"demoted.forcast":  `; near: demoted.forecast; plugin demoted is refused: see "vant plugin list --all"`,
		"demoted.forecast": `; plugin demoted is refused: see "vant plugin list --all"`,
		"demo.zzzzzz":      "",
		"other.a":          "",
		"mean":             "",
		".a":               "",
	} {
		_, failed := r.Call(t.Context(), Call{Method: name})
		if failed == nil || failed.Code != envelope.MethodNotFound || failed.Message != "no method "+wire.Quote(name)+want {
			t.Errorf("%s: %v", name, failed)
		}
		params, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		_, failed = r.Call(t.Context(), Call{Method: "describe", Params: params})
		if failed == nil || failed.Code != envelope.NotFound || !strings.HasSuffix(failed.Message, want) {
			t.Errorf("describe %s: %v", name, failed)
		}
	}
}

func TestNumbersOfParameters(t *testing.T) {
	for raw, want := range map[string]uint64{
		"0": 0, "-0": 0, "7": 7, "7.0": 7, "7e0": 7, "70e-1": 7, "-5": 0, "-1e999": 0,
		"9007199254740993": 9007199254740993, "18446744073709551615": 1<<64 - 1,
		"18446744073709551616": 1<<64 - 1, "1e30": 1<<64 - 1, "1e999": 1<<64 - 1, "1e-999": 0,
	} {
		if got := (arg{raw: []byte(raw)}).number(); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
	}
}

func TestTextsOfParameters(t *testing.T) {
	for raw, want := range map[string][]string{
		`[]`:                        nil,
		`["a"]`:                     {"a"},
		"[ \"a\" ,\n\"b.c\" ]":      {"a", "b.c"},
		`["\"","\\","a\\\"b","é"]`:  {`"`, `\`, `a\"b`, "é"},
		`["","\u0061\u005d", "[,"]`: {"", "a]", "[,"},
	} {
		if diff := cmp.Diff(want, arg{raw: []byte(raw)}.texts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}
