package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
	"github.com/vant-run/vant/tools/internal/procfs"
)

const (
	segments   = 5
	parallelTo = 8
)

// mixed is a client of one tab: a snapshot, a click and a script in turn.
type mixed struct {
	tab, clicks int
	run         func() (int, error)
}

func (o *ours) mixed(tab int) *mixed {
	m := &mixed{tab: tab}
	params := func(rest string) string { return fmt.Sprintf(`{"tab_id":%d%s}`, tab, rest) }
	lines := [][]byte{
		measure.Request("page.snapshot", params("")),
		measure.Request("page.interact", params(`,"selector":"#press","action":"click"`)),
		measure.Request("page.javascript", params(`,"script":"1+1"`)),
	}
	checks := []func([]byte) error{counts(`"ref":`, pages[0].elements), holds(`"result":{"ok":true`), holds(`"result":2`)}
	buf := make([]byte, 256<<10)
	turn := 0
	m.run = func() (int, error) {
		i := turn % len(lines)
		turn++
		reply, err := exchange(o.Socket, lines[i], buf)
		if err == nil {
			err = checks[i](reply)
		}
		if i == 1 {
			m.clicks++
		}
		return len(reply), err
	}
	return m
}

// tabsOf opens tabs with the form, each with its client.
func (o *ours) tabsOf(n int, url string) (clients []*mixed, runs []func() (int, error), err error) {
	for range n {
		tab, err := o.tab(url)
		if err != nil {
			return nil, nil, err
		}
		m := o.mixed(tab)
		clients, runs = append(clients, m), append(runs, m.run)
	}
	return clients, runs, nil
}

// arrived says whether all clicks did, and closes the tabs.
func (o *ours) arrived(clients []*mixed) error {
	for _, m := range clients {
		if n, err := o.clicks(m.tab); err != nil || n != m.clicks {
			return fmt.Errorf("tab %d has seen %d clicks of %d: %w", m.tab, n, m.clicks, err)
		}
		if err := o.closeTab(m.tab); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) parallel() error {
	clients, runs, err := b.ours.tabsOf(parallelTo, b.site.url("form"))
	if err != nil {
		return err
	}
	var one, all []float64
	for range segments {
		x, err := measure.Together(b.segment, runs[0])
		if err != nil {
			return err
		}
		y, err := measure.Together(b.segment, runs...)
		if err != nil {
			return err
		}
		one, all = append(one, x), append(all, y)
	}
	slices.Sort(one)
	slices.Sort(all)
	fmt.Printf("snapshots, clicks and scripts in turn, %d segments of %v\n  1 tab %.0f/s, %d tabs at once %.0f/s (medians)\n", segments, b.segment, one[segments/2], parallelTo, all[segments/2])
	measure.Verdict("8 tabs ÷ 1 tab", all[segments/2]/one[segments/2], 1.5, true)
	return b.ours.arrived(clients)
}

// load loads a page again, in a new window for each round: as it is, and after a
// snapshot and a click. Chromium loads more slowly in the last of several windows,
// whatever is done in them, so the one that is measured is always that.
func (b *bench) load() error {
	url := b.site.url("big5000")
	before, after := &measure.Side{Name: "before any"}, &measure.Side{Name: "after snapshots"}
	round := func(s *measure.Side, looks bool) error {
		tab, err := b.ours.window(url)
		if err != nil {
			return err
		}
		var calls [][]byte
		if looks {
			calls = append(calls,
				measure.Request("page.snapshot", fmt.Sprintf(`{"tab_id":%d}`, tab)),
				measure.Request("page.interact", fmt.Sprintf(`{"tab_id":%d,"selector":"#press","action":"click"}`, tab)))
		}
		// What a click draws is over before a load begins: measured is what is left.
		const rest = `await new Promise(done => requestIdleCallback(done, {timeout: 500})); 1`
		calls = append(calls, measure.Request("page.javascript", fmt.Sprintf(`{"tab_id":%d,"script":%q}`, tab, rest)))
		for _, call := range calls {
			if _, err := b.ours.call(call); err != nil {
				return err
			}
		}
		line := measure.Request("browser.navigate", fmt.Sprintf(`{"tab_id":%d,"uri":%q}`, tab, url))
		if err := timed(s, func() error {
			reply, err := b.ours.call(line)
			if err == nil {
				err = holds(`"loading":false`)(reply)
			}
			return err
		}); err != nil {
			return err
		}
		return b.ours.closeTab(tab)
	}
	for i := range b.rounds + b.rounds/10 {
		for j := range 2 {
			looks := (i+j)%2 == 1
			s := before
			if looks {
				s = after
			}
			if err := round(s, looks); err != nil {
				return err
			}
		}
		if i < b.rounds/10 {
			before.Took, after.Took = nil, nil
		}
	}
	slices.Sort(before.Took)
	slices.Sort(after.Took)
	fmt.Printf("second load of a page with 5,000 elements, each in a new window\n  %v\n  %v\n", before, after)
	measure.Verdict("after ÷ before", float64(after.Median())/float64(before.Median()), 1.05, false)
	return nil
}

// memory looks at the plugin's process after a tenth of the snapshots and after
// all of them.
func (b *bench) memory(snapshots int) error {
	if err := b.ours.open(b.site.url("big500")); err != nil {
		return err
	}
	line := measure.Request("page.snapshot", `{}`)
	return b.flat("snapshots of 500 elements", snapshots, func() error {
		_, err := b.ours.call(line)
		return err
	})
}

func (b *bench) tabs(tabs int) error {
	url := b.site.url("form")
	return b.flat("tabs opened, read and closed", tabs, func() error {
		tab, err := b.ours.tab(url)
		if err != nil {
			return err
		}
		if _, err := b.ours.call(measure.Request("page.snapshot", fmt.Sprintf(`{"tab_id":%d}`, tab))); err != nil {
			return err
		}
		return b.ours.closeTab(tab)
	})
}

// flat does something times times and compares the plugin's memory after a tenth
// of them and at the end.
func (b *bench) flat(what string, times int, do func() error) error {
	p, err := b.ours.Plugin("browser")
	if err != nil {
		return err
	}
	fmt.Printf("memory of the plugin over %d %s\n", times, what)
	var early float64
	begun := time.Now()
	for i := range times {
		if err := do(); err != nil {
			return err
		}
		if i+1 != times/10 && i+1 != times {
			continue
		}
		now, err := procfs.RSS(p.Pid)
		if err != nil {
			return err
		}
		fmt.Printf("  after %d: %.1f MiB, %v\n", i+1, now, time.Since(begun).Round(time.Second))
		if i+1 == times/10 {
			early = now
			continue
		}
		measure.Verdict("growth between the two", now/early, 1.1, false)
	}
	return nil
}
