package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// tally is the summary of a run.
type tally struct {
	kinds                 map[string]*kind
	faults                map[string]int
	swaps                 int
	lost, refused, absent int
}

func newTally() *tally { return &tally{kinds: map[string]*kind{}, faults: map[string]int{}} }

// merge adds what one client counted.
func (t *tally) merge(name string, k *kind) {
	sum := t.kinds[name]
	if sum == nil {
		sum = &kind{codes: map[string]int{}}
		t.kinds[name] = sum
	}
	sum.calls += k.calls
	sum.worst = max(sum.worst, k.worst)
	for code, n := range k.codes {
		sum.codes[code] += n
	}
}

// add adds what one host has gone through.
func (t *tally) add(c *chaos, v *verdict) {
	for name, n := range c.done {
		t.faults[name] += n
	}
	t.swaps += c.swaps
	t.lost, t.refused, t.absent = t.lost+v.lost, t.refused+v.refused, t.absent+v.absent
}

func (t *tally) print() {
	fmt.Printf("\n%-14s %9s %9s  %s\n", "calls", "", "worst", "failed")
	total := 0
	for _, name := range slices.Sorted(maps.Keys(t.kinds)) {
		k := t.kinds[name]
		total += k.calls
		fmt.Printf("%-14s %9d %9v  %s\n", name, k.calls, k.worst.Round(time.Millisecond), counts(k.codes))
	}
	fmt.Printf("%-14s %9d\n", "together", total)
	fmt.Printf("faults: %s\nswaps: %d\n", counts(t.faults), t.swaps)
	fmt.Printf("failed as allowed: %d in flight on a process that was ended, %d refused while a plugin was down, %d while it was removed\n", t.lost, t.refused, t.absent)
}

func counts(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], name))
	}
	return strings.Join(parts, ", ")
}
