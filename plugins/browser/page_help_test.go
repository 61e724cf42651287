package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type m = map[string]any

// does runs an action that must succeed.
func (t *tab) does(action string, params m) m {
	t.t.Helper()
	out := t.do(action, params)
	if out["ok"] != true {
		t.t.Fatalf("%s %v gave %v", action, params, out)
	}
	return out
}

// fails runs an action that must be answered with a failure; reason "" is any.
func (t *tab) fails(failure, reason, action string, params m) m {
	t.t.Helper()
	out := t.do(action, params)
	if out["ok"] != false || out["error"] != failure || reason != "" && out["reason"] != reason {
		t.t.Errorf("%s %v gave %v; want %s %s", action, params, out, failure, reason)
	}
	return out
}

// notes are what the page itself noted, in order.
func (t *tab) notes() string {
	t.t.Helper()
	return fmt.Sprint(t.js(`log.filter(e => e.isTrusted === undefined).map(e => e.type).join()`))
}

// noted checks what the page noted.
func (t *tab) noted(want string) {
	t.t.Helper()
	if got := t.notes(); got != want {
		t.t.Errorf("the page noted %q; want %q", got, want)
	}
}

// is checks the value of a script.
func (t *tab) is(script string, want any) {
	t.t.Helper()
	if got := t.js(script); fmt.Sprint(got) != fmt.Sprint(want) {
		t.t.Errorf("%s is %v; want %v", script, got, want)
	}
}

// only is the one tab that an action has opened.
func (c *client) only(opened any) *tab {
	c.t.Helper()
	list, _ := opened.([]any)
	if len(list) != 1 {
		c.t.Fatalf("opened are %v", opened)
	}
	return &tab{c, number(list[0])}
}

// until waits for a condition of page.wait.
func (t *tab) until(condition m) {
	t.t.Helper()
	all := m{"timeout_ms": 30000}
	for k, v := range condition {
		all[k] = v
	}
	var done bool
	t.call("page.wait", t.with(all), &done)
}

// sel names an element by selector.
func sel(selector string, more ...any) m {
	out := m{"selector": selector, "timeout_ms": 10000}
	for i := 0; i+1 < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// covered is the id of what an answer says lies over the element.
func covered(out m) string {
	by, _ := out["covered_by"].(m)
	return fmt.Sprint(by["id"])
}

// names lists what a snapshot shows, as role:name.
func names(list []element, visible bool) string {
	var all []string
	for _, e := range list {
		if e.Visible == visible {
			all = append(all, e.Role+":"+e.Name)
		}
	}
	return strings.Join(all, " ")
}

// named gives the elements of a name.
func named(list []element, name string) []element {
	return slices.DeleteFunc(slices.Clone(list), func(e element) bool { return e.Name != name })
}

// number reads a number of an answer; -1 when it is none.
func number(v any) int {
	n, ok := v.(json.Number)
	f, err := n.Float64()
	if !ok || err != nil {
		return -1
	}
	return int(f)
}

// answers answers a dialog that is open, or comes.
func (t *tab) answers(answer m) {
	t.t.Helper()
	for {
		err := t.try("page.dialog", t.with(answer), nil)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "not_found") || t.t.Context().Err() != nil {
			t.t.Fatal(err)
		}
	}
}
