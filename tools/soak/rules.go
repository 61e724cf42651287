package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// clock is the precision of the times of events.
	clock = 5 * time.Millisecond
	// lostBound is how long after the news of its end the last lost call of a
	// process may come.
	lostBound = 2 * time.Second
	// told is how many violations of one kind are printed.
	told = 5
)

// fault is a process that was ended from outside.
type fault struct {
	kind, plugin string
	generation   uint64
	inject       time.Time // before it was done
	crash        time.Time // of plugin.crashed
	up           time.Time // of the event that the plugin serves again
}

// absence is the time of a plugin without a file.
type absence struct {
	plugin   string
	from, to time.Time
}

// failure is a call that failed.
type failure struct {
	kind       string
	needs      []string // the plugins that it had to do with
	begin, end time.Time
	code       string
	message    string // of what none of the fields that follow tell
	plugin     string // that is unavailable
	state      string
	lost       bool // it was in flight
	retry      bool // it was told when to come back
}

func (f *failure) String() string {
	return fmt.Sprintf("%s on %s from %s for %v: %s %s %s %s", f.kind, strings.Join(f.needs, ","),
		f.begin.Format("15:04:05.000"), f.end.Sub(f.begin).Round(time.Millisecond), f.code, f.plugin, f.state, f.message)
}

// event is one of the host's that tells of a plugin.
type event struct {
	sequence   uint64
	time       time.Time
	typ        string
	plugin     string
	generation uint64
	reason     string
}

// observations are all that the rules look at.
type observations struct {
	faults      []fault
	absences    []absence
	failures    []failure
	events      []event
	limit       int // calls in flight of a plugin
	maxFailures int // until quarantine
	window      time.Duration
}

// verdict counts what is allowed and names what is not.
type verdict struct {
	lost, refused, absent int
	violations            map[string][]string
}

func (v *verdict) violated(rule, format string, args ...any) {
	if v.violations == nil {
		v.violations = map[string][]string{}
	}
	v.violations[rule] = append(v.violations[rule], fmt.Sprintf(format, args...))
}

func (v *verdict) err() error {
	var all []error
	for rule, list := range v.violations {
		text := fmt.Sprintf("%s, %d times:", rule, len(list))
		for _, s := range list[:min(len(list), told)] {
			text += "\n    " + s
		}
		all = append(all, errors.New(text))
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// judge applies the rules that stand in the program's documentation.
func judge(o observations) *verdict {
	v := &verdict{}
	lost := make([]int, len(o.faults))
	for i := range o.failures {
		v.judge(&o, &o.failures[i], lost)
	}
	for i, n := range lost {
		if f := o.faults[i]; n > o.limit {
			v.violated("more calls lost than were in flight", "%s of %s: %d, the limit is %d", f.kind, f.plugin, n, o.limit)
		}
	}
	v.judgeEvents(&o)
	return v
}

func (v *verdict) judge(o *observations, f *failure, lost []int) {
	switch f.code {
	case "plugin_unavailable":
		v.judgeUnavailable(o, f, lost)
	case "method_not_found":
		for _, a := range o.absences {
			if slices.Contains(f.needs, a.plugin) && f.during(a.from, a.to) {
				v.absent++
				return
			}
		}
		v.violated("method_not_found though the plugin was there", "%v", f)
	default:
		v.violated("calls that failed", "%v", f)
	}
}

func (v *verdict) judgeUnavailable(o *observations, f *failure, lost []int) {
	if !slices.Contains(f.needs, f.plugin) {
		v.violated("plugin_unavailable for another plugin", "%v", f)
		return
	}
	if f.lost {
		for i, x := range o.faults {
			if x.plugin == f.plugin && f.during(x.inject, x.crash) && !f.end.After(x.crash.Add(lostBound)) {
				lost[i]++
				v.lost++
				return
			}
		}
		v.violated("calls lost without a fault", "%v", f)
		return
	}
	switch f.state {
	case "backoff", "starting", "quarantined":
		if f.state == "backoff" && !f.retry {
			v.violated("backoff without a time to come back", "%v", f)
			return
		}
		for _, x := range o.faults {
			if x.plugin == f.plugin && f.during(x.inject, x.up) {
				v.refused++
				return
			}
		}
	case "draining", "stopped":
		for _, a := range o.absences {
			if a.plugin == f.plugin && f.during(a.from, a.to) {
				v.absent++
				return
			}
		}
	}
	v.violated("calls refused though the plugin was up", "%v", f)
}

// during says whether the call ran at some moment of a time.
func (f *failure) during(from, to time.Time) bool {
	return !f.end.Before(from) && !f.begin.After(to.Add(clock))
}

func (v *verdict) judgeEvents(o *observations) {
	crashes := map[string][]time.Time{}
	explained := make([]bool, len(o.faults))
	for _, e := range o.events {
		switch e.typ {
		case "plugin.crashed":
			crashes[e.plugin] = append(crashes[e.plugin], e.time)
			i := slices.IndexFunc(o.faults, func(f fault) bool {
				return f.plugin == e.plugin && f.generation == e.generation && !e.time.Add(clock).Before(f.inject)
			})
			if i < 0 || explained[i] {
				v.violated("plugins that crashed by themselves", "%s generation %d at %s: %s", e.plugin, e.generation, e.time.Format("15:04:05.000"), e.reason)
				continue
			}
			explained[i] = true
		case "plugin.failed":
			v.violated("plugins that did not start", "%s generation %d: %s", e.plugin, e.generation, e.reason)
		case "plugin.quarantined":
			n := 0
			for _, t := range crashes[e.plugin] {
				if e.time.Sub(t) <= o.window {
					n++
				}
			}
			if n < o.maxFailures {
				v.violated("quarantine too early", "%s after %d failures, not %d", e.plugin, n, o.maxFailures)
			}
		}
	}
	for i, f := range o.faults {
		if !explained[i] {
			v.violated("faults that the host did not see", "%s of %s generation %d", f.kind, f.plugin, f.generation)
		}
	}
}
