package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at is a moment of the made-up runs, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }

// killed is a run with one kill of a from 1000, seen at 1010, repaired at 1500,
// and an absence of b from 2000 to 3000.
func killed(failures ...failure) observations {
	return observations{
		faults:   []fault{{kind: "kill", plugin: "a", generation: 1, inject: at(1000), crash: at(1010), up: at(1500)}},
		absences: []absence{{plugin: "b", from: at(2000), to: at(3000)}},
		events:   []event{{time: at(1010), typ: "plugin.crashed", plugin: "a", generation: 1}},
		failures: failures, limit: 2, maxFailures: 3, window: time.Second,
	}
}

func lostAt(begin, end int) failure {
	return failure{needs: []string{"a"}, begin: at(begin), end: at(end), code: "plugin_unavailable", plugin: "a", state: "backoff", lost: true, retry: true}
}

func refusedAt(begin, end int, state string) failure {
	f := lostAt(begin, end)
	f.lost, f.state = false, state
	return f
}

func with(f failure, change func(*failure)) failure {
	change(&f)
	return f
}

func missing(begin, end int) failure {
	return failure{needs: []string{"c", "b"}, begin: at(begin), end: at(end), code: "method_not_found"}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		failures              []failure
		lost, refused, absent int
		violated              string // the rule, "" for none
	}{
		{name: "no failures"},
		{name: "in flight on the plugin that was killed", failures: []failure{lostAt(900, 1012)}, lost: 1},
		{name: "in flight, sent between the kill and its discovery", failures: []failure{lostAt(1005, 1012)}, lost: 1},
		{name: "as many as may be in flight", failures: []failure{lostAt(900, 1012), lostAt(901, 1013)}, lost: 2},
		{name: "more than may be in flight", failures: []failure{lostAt(900, 1012), lostAt(901, 1012), lostAt(902, 1012)}, lost: 3, violated: "more calls lost than were in flight"},
		{name: "lost before the fault", failures: []failure{lostAt(900, 990)}, violated: "calls lost without a fault"},
		{name: "lost, but sent after the fault was seen", failures: []failure{lostAt(1100, 1110)}, violated: "calls lost without a fault"},
		{name: "lost, and told too late", failures: []failure{lostAt(900, 4000)}, violated: "calls lost without a fault"},
		{name: "lost on a plugin without a fault", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.plugin, f.needs = "b", []string{"b"} })}, violated: "calls lost without a fault"},
		{name: "lost by a plugin that the call does not need", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.needs = []string{"b"} })}, violated: "plugin_unavailable for another plugin"},
		{name: "in flight through another plugin", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.needs = []string{"b", "a"} })}, lost: 1},
		{name: "refused in backoff", failures: []failure{refusedAt(1100, 1101, "backoff")}, refused: 1},
		{name: "refused in quarantine", failures: []failure{with(refusedAt(1100, 1101, "quarantined"), func(f *failure) { f.retry = false })}, refused: 1},
		{name: "queued at the fault, so refused", failures: []failure{refusedAt(800, 1012, "backoff")}, refused: 1},
		{name: "backoff without a time", failures: []failure{with(refusedAt(1100, 1101, "backoff"), func(f *failure) { f.retry = false })}, violated: "backoff without a time to come back"},
		{name: "refused before the fault", failures: []failure{refusedAt(900, 901, "backoff")}, violated: "calls refused though the plugin was up"},
		{name: "refused when it serves again", failures: []failure{refusedAt(1600, 1601, "backoff")}, violated: "calls refused though the plugin was up"},
		{name: "refused while it drains without having been removed", failures: []failure{refusedAt(1100, 1101, "draining")}, violated: "calls refused though the plugin was up"},
		{name: "refused because of a state that nothing here makes", failures: []failure{refusedAt(1100, 1101, "failed")}, violated: "calls refused though the plugin was up"},
		{name: "no method while removed", failures: []failure{missing(2100, 2101)}, absent: 1},
		{name: "draining while removed", failures: []failure{with(refusedAt(2000, 2001, "draining"), func(f *failure) { f.plugin, f.needs = "b", []string{"b"} })}, absent: 1},
		{name: "no method before the removal", failures: []failure{missing(1900, 1901)}, violated: "method_not_found though the plugin was there"},
		{name: "no method after the plugin is back", failures: []failure{missing(3100, 3101)}, violated: "method_not_found though the plugin was there"},
		{name: "no method of a plugin that was killed", failures: []failure{with(missing(1100, 1101), func(f *failure) { f.needs = []string{"a"} })}, violated: "method_not_found though the plugin was there"},
		{name: "a timeout during a fault", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.code = "timeout" })}, violated: "calls that failed"},
		{name: "no reply", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.code = noReply })}, violated: "calls that failed"},
		{name: "another result", failures: []failure{with(lostAt(900, 1012), func(f *failure) { f.code = wrongResult })}, violated: "calls that failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(killed(tt.failures...))
			if diff := cmp.Diff([3]int{tt.lost, tt.refused, tt.absent}, [3]int{v.lost, v.refused, v.absent}); diff != "" {
				t.Error(diff)
			}
			rules(t, v, tt.violated)
		})
	}
}

// rules checks which one is violated.
func rules(t *testing.T, v *verdict, want string) {
	t.Helper()
	var got []string
	for rule := range v.violations {
		got = append(got, rule)
	}
	slices.Sort(got)
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("violated %q, want %q: %v", text, want, v.err())
	}
	if (v.err() == nil) != (want == "") {
		t.Errorf("error %v", v.err())
	}
}

func TestRulesOfEvents(t *testing.T) {
	crash := func(ms int, plugin string, generation uint64) event {
		return event{time: at(ms), typ: "plugin.crashed", plugin: plugin, generation: generation}
	}
	kill := func(ms int, generation uint64) fault {
		return fault{kind: "kill", plugin: "a", generation: generation, inject: at(ms), crash: at(ms + 10), up: at(ms + 50)}
	}
	quarantine := func(ms int) event { return event{time: at(ms), typ: "plugin.quarantined", plugin: "a"} }
	for _, tt := range []struct {
		name     string
		faults   []fault
		events   []event
		violated string
	}{
		{name: "nothing"},
		{name: "a crash by a fault", faults: []fault{kill(100, 1)}, events: []event{crash(110, "a", 1)}},
		{name: "a crash by itself", events: []event{crash(110, "a", 1)}, violated: "plugins that crashed by themselves"},
		{name: "another plugin's fault", faults: []fault{kill(100, 1)}, events: []event{crash(110, "a", 1), crash(110, "b", 1)}, violated: "plugins that crashed by themselves"},
		{name: "another generation's fault", faults: []fault{kill(100, 1)}, events: []event{crash(110, "a", 1), crash(140, "a", 2)}, violated: "plugins that crashed by themselves"},
		{name: "a crash before its fault", faults: []fault{kill(100, 1)}, events: []event{crash(50, "a", 1), crash(110, "a", 1)}, violated: "plugins that crashed by themselves"},
		{name: "told twice", faults: []fault{kill(100, 1)}, events: []event{crash(110, "a", 1), crash(111, "a", 1)}, violated: "plugins that crashed by themselves"},
		{name: "a fault that nobody saw", faults: []fault{kill(100, 1)}, violated: "faults that the host did not see"},
		{name: "a start that failed", events: []event{{typ: "plugin.failed", plugin: "a"}}, violated: "plugins that did not start"},
		{
			name: "quarantine in time", faults: []fault{kill(100, 1), kill(200, 2), kill(300, 3)},
			events: []event{crash(110, "a", 1), crash(210, "a", 2), crash(310, "a", 3), quarantine(310)},
		},
		{
			name: "quarantine too early", faults: []fault{kill(100, 1), kill(200, 2)},
			events: []event{crash(110, "a", 1), crash(210, "a", 2), quarantine(210)}, violated: "quarantine too early",
		},
		{
			name: "quarantine for what is long ago", faults: []fault{kill(100, 1), kill(200, 2), kill(3000, 3)},
			events: []event{crash(110, "a", 1), crash(210, "a", 2), crash(3010, "a", 3), quarantine(3010)}, violated: "quarantine too early",
		},
		{name: "what else there is", events: []event{{typ: "plugin.ready", plugin: "a"}, {typ: "plugin.restarted", plugin: "a"}, {typ: "plugin.removed", plugin: "a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules(t, judge(observations{faults: tt.faults, events: tt.events, limit: 2, maxFailures: 3, window: time.Second}), tt.violated)
		})
	}
}

func TestRepliesAreRead(t *testing.T) {
	unavailable := `{"version":1,"id":"1","ok":false,"error":{"code":"plugin_unavailable","message":"plugin a is in backoff: its process ended (killed) while the call ran","data":{"plugin":"a","state":"backoff","retry_after_ms":200}}}`
	for _, tt := range []struct {
		name, reply, kind, want string
		fails                   failure
		ok                      bool
	}{
		{name: "the result", reply: `{"version":1,"id":"1","ok":true,"result":{"a":1}}`, want: `{"a":1}`, ok: true},
		{name: "any result", reply: `{"version":1,"id":"1","ok":true,"result":{"a":1}}`, ok: true},
		{name: "another result", reply: `{"version":1,"id":"1","ok":true,"result":{"a":2}}`, want: `{"a":1}`, fails: failure{code: wrongResult}},
		{name: "nothing", fails: failure{code: noReply}},
		{name: "half a reply", reply: `{"version":1,"id":"1","ok":tr`, fails: failure{code: noReply}},
		{name: "lost", reply: unavailable, fails: failure{code: "plugin_unavailable", plugin: "a", state: "backoff", lost: true, retry: true}},
		{name: "refused", reply: strings.Replace(unavailable, " while the call ran", "", 1), fails: failure{code: "plugin_unavailable", plugin: "a", state: "backoff", retry: true}},
		{name: "no time", reply: strings.Replace(unavailable, `200}`, `0}`, 1), fails: failure{code: "plugin_unavailable", plugin: "a", state: "backoff", lost: true}},
		{
			name: "through a plugin", kind: through,
			reply: `{"version":1,"id":"1","ok":false,"error":{"code":"internal_error","message":"plugin_unavailable: plugin a is quarantined: its process ended (killed) while the call ran"}}`,
			fails: failure{code: "plugin_unavailable", plugin: "a", state: "quarantined", lost: true, retry: true},
		},
		{
			name: "no method through a plugin", kind: through,
			reply: `{"version":1,"id":"1","ok":false,"error":{"code":"internal_error","message":"method_not_found: no method \"a.b\""}}`,
			fails: failure{code: "method_not_found", retry: true},
		},
		{
			name:  "an internal error is not taken for another one",
			reply: `{"version":1,"id":"1","ok":false,"error":{"code":"internal_error","message":"plugin_unavailable: plugin a is in backoff"}}`,
			fails: failure{code: "internal_error", message: "plugin_unavailable: plugin a is in backoff"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []byte
			if tt.want != "" {
				want = []byte(tt.want)
			}
			f, ok := readReply(tt.kind, []byte(tt.reply), want)
			if ok != tt.ok {
				t.Errorf("ok is %v", ok)
			}
			if tt.fails.code == noReply {
				f.message = "" // words of the decoder
			}
			if diff := cmp.Diff(tt.fails, f, cmp.AllowUnexported(failure{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
