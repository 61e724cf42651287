package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/diagnostics"
)

// told waits until the diagnostics of a tab satisfy a condition.
func (t *tab) told(params m, enough func(diagnostics.Report) bool) diagnostics.Report {
	t.t.Helper()
	var out diagnostics.Report
	for end := time.Now().Add(patience); time.Now().Before(end); {
		out = diagnostics.Report{}
		t.call("page.diagnostics", t.with(params), &out)
		if enough(out) {
			return out
		}
		_ = t.try("page.wait", t.with(m{"selector": "#not-there", "timeout_ms": 50}), nil)
	}
	t.t.Errorf("only this came: %+v", out)
	return out
}

// with finds an event by its type, level and a part of its text.
func with(r diagnostics.Report, typ, level, part string) *diagnostics.Event {
	for _, e := range r.Events {
		if e.Type == typ && e.Level == level && strings.Contains(e.Message+strings.Join(e.Args, " "), part) {
			return &e
		}
	}
	return nil
}

func TestDiagnostics(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"what a page writes and throws is kept from its first script on": func(c *client) {
			p := c.open("/pages/diagnostics-start")
			want := [][3]string{
				{"console", "debug", "debug"}, {"console", "log", "log {a: 1} [2] null undefined 3n"}, {"console", "info", "info"}, {"console", "warn", "warn"},
				{"console", "error", "error"}, {"console", "error", "assertion"}, {"console", "log", "trace"}, {"console", "log", "from a frame"},
				{"unhandledrejection", "error", "Error: rejected at the start"}, {"unhandledrejection", "error", "rejected with a text"},
				{"error", "error", "TypeError: thrown later"}, {"error", "error", "thrown at the start"}, {"error", "error", "SyntaxError"},
				{"network", "error", "404"}, {"network", "error", "500"},
			}
			out := p.told(nil, func(r diagnostics.Report) bool {
				for _, w := range want {
					if with(r, w[0], w[1], w[2]) == nil {
						return false
					}
				}
				return true
			})
			if e := with(out, "error", "error", "thrown at the start"); e != nil && (e.Source != site+"/pages/diagnostics-start" || e.Line == 0 || e.Column == 0 || e.Time < 1.6e12) {
				c.t.Errorf("it is %+v", e)
			}
			if out.Dropped != 0 {
				c.t.Errorf("%d were dropped", out.Dropped)
			}
			for i := 1; i < len(out.Events); i++ {
				if out.Events[i].Time < out.Events[i-1].Time-1000 {
					c.t.Errorf("%+v comes after %+v", out.Events[i], out.Events[i-1])
				}
			}
			at := out.Events[2].Time
			if since := p.told(m{"since": at}, func(diagnostics.Report) bool { return true }); len(since.Events) >= len(out.Events) || since.Events[0].Time <= at {
				c.t.Errorf("since %v: %+v", at, since)
			}
			for _, e := range p.told(m{"level": "warn"}, func(diagnostics.Report) bool { return true }).Events {
				if e.Level != "warn" && e.Level != "error" {
					c.t.Errorf("%+v is no warning", e)
				}
			}
			c.refused("invalid_params", "page.diagnostics", p.with(m{"level": "loud"}))
			var v any
			c.call("page.diagnostics.clear", p.with(nil), &v)
			if left := p.told(nil, func(diagnostics.Report) bool { return true }); len(left.Events) != 0 || left.Events == nil {
				c.t.Errorf("left: %+v", left)
			}
			p.js("console.log('after')")
			p.told(nil, func(r diagnostics.Report) bool {
				return with(r, "console", "log", "after") != nil && len(r.Events) == 1
			})
			c.call("browser.navigate", p.with(m{"uri": site + "/pages/blank"}), &v)
			p.told(nil, func(r diagnostics.Report) bool { return with(r, "console", "log", "after") != nil }) // it is kept outside the page
		},
		"policies, workers and frames of other sites are heard too": func(c *client) {
			p := c.open("/csp")
			p.told(nil, func(r diagnostics.Report) bool { return with(r, "csp", "error", "Content Security Policy") != nil })
			p = c.open("/pages/worker")
			p.told(nil, func(r diagnostics.Report) bool {
				return with(r, "console", "log", "from a worker") != nil && with(r, "error", "error", "thrown in a worker") != nil &&
					with(r, "unhandledrejection", "error", "rejected in a worker") != nil
			})
			p.js("console.log('the last')")
			all := p.told(nil, func(r diagnostics.Report) bool { return with(r, "console", "log", "the last") != nil })
			for _, said := range []string{"from a worker", "thrown in a worker", "rejected in a worker"} {
				n := 0
				for _, e := range all.Events {
					if strings.Contains(e.Message+strings.Join(e.Args, " "), said) {
						n++
					}
				}
				if n != 1 {
					c.t.Errorf("%q is there %d times: %+v", said, n, all.Events)
				}
			}
			p = c.open("/pages/frames-cross")
			p.find("button", "Other site")
			var frames []struct{ ID string }
			c.call("page.frames", p.with(nil), &frames)
			var v any
			c.call("page.javascript", p.with(m{"script": "console.warn('from another site')", "frame": frames[1].ID}), &v)
			p.told(nil, func(r diagnostics.Report) bool { return with(r, "console", "warn", "from another site") != nil })
		},
		"workers in workers are heard, wherever they are": func(c *client) {
			// worker is a script that starts workers in one another and says so in the last.
			worker := func(depth int, says string) string {
				script := fmt.Sprintf("console.log(%q); setTimeout(() => { throw new Error(%q) })", says, says)
				for range depth {
					script = fmt.Sprintf("new Worker(URL.createObjectURL(new Blob([%q])))", script)
				}
				return "void " + script
			}
			p := c.open("/pages/frames-cross")
			p.find("button", "Other site")
			var frames []struct{ ID string }
			c.call("page.frames", p.with(nil), &frames)
			for i, where := range []string{"the page", "a frame of another site"} {
				for depth := 1; depth <= 3; depth++ {
					says := fmt.Sprintf("%d deep in %s", depth, where)
					var v any
					c.call("page.javascript", p.with(m{"script": worker(depth, says), "frame": frames[i].ID}), &v)
					p.told(nil, func(r diagnostics.Report) bool {
						return with(r, "console", "log", says) != nil && with(r, "error", "error", says) != nil
					})
				}
			}
		},
		"a flood is counted, and other tabs answer meanwhile": func(c *client) {
			p := c.open("/pages/diagnostics-flood?n=2000")
			out := p.told(nil, func(r diagnostics.Report) bool { return len(r.Events) == diagnostics.Size && r.Dropped >= 1500 })
			if last := out.Events[len(out.Events)-1]; fmt.Sprint(last.Args) != "[message 1999]" || out.Dropped != 1500 {
				c.t.Errorf("the last is %+v, %d were dropped", last, out.Dropped)
			}
			c.open("/pages/diagnostics-flood?n=1#ever")
			other := c.open("/pages/buttons")
			for range 5 {
				other.is("1", 1)
				other.does("click", sel("#plain"))
			}
		},
		"what cannot be shown whole is shown in part": func(c *client) {
			p := c.open("/pages/blank")
			p.js(`console.log('x'.repeat(1e6)); console.log(...Array(100).fill(1)); console.log(document.body, new Map([[1, 2]]), class A {}, Symbol('s'), new Error('shown'), new Date(0), /x/g, new Proxy({}, {}));
				console.log('\ud83d lone'); const o = {}; o.o = o; console.log(o); console.log({get x() { throw 1 }}); console.log('done')`)
			out := p.told(nil, func(r diagnostics.Report) bool { return with(r, "console", "log", "done") != nil })
			out.Events = slices.DeleteFunc(out.Events, func(e diagnostics.Event) bool { return e.Type != "console" })
			if len(out.Events) != 7 || len(out.Events[0].Args[0]) > 2100 || len(out.Events[1].Args) != 21 {
				c.t.Errorf("%d events: %.3000v", len(out.Events), out.Events)
			}
		},
		"what a page does to its console changes its own messages alone": func(c *client) {
			p := c.open("/pages/blank")
			p.js("console.log = console.error = () => {}; window.onerror = () => true; addEventListener('error', e => e.stopImmediatePropagation(), true); setTimeout(() => { throw new Error('swallowed by none') })")
			p.js("console.warn('still')")
			out := p.told(nil, func(r diagnostics.Report) bool { return with(r, "console", "warn", "still") != nil })
			if with(out, "console", "error", "") != nil {
				c.t.Errorf("what was replaced was heard: %+v", out)
			}
		},
	})
}
