package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// peerBench measures ours beside agent-browser: its daemon over connections that
// stay, which is its fastest way, and ours with one connection a call, which is
// the protocol's only one.
type peerBench struct {
	*bench
	alone bool
	ab    *agentBrowser
	peer  *peer
}

func (b *peerBench) rows() []row {
	return []row{
		{"evaluate", b.evaluate}, {"tabs", b.tabList}, {"snapshot", b.snapshots}, {"click", b.click}, {"pause", b.pause},
		{"fill", b.fill}, {"open", b.open}, {"cli", b.cli}, {"parallel", b.parallel}, {"cold", b.cold},
	}
}

func (b *peerBench) setUp() error {
	if !b.alone {
		if err := b.startOurs(); err != nil {
			return err
		}
	}
	var err error
	if b.ab, err = install(filepath.Join(b.work, "peer")); err != nil {
		return err
	}
	b.later(b.ab.stop)
	if err := b.ab.start(b.site.url("form")); err != nil {
		return err
	}
	b.peer, err = b.ab.client()
	return err
}

// show loads a page on both sides.
func (b *peerBench) show(page string) error {
	url := b.site.url(page)
	if _, err := b.peer.call(request("navigate", fmt.Sprintf(`,"url":%q`, url))); err != nil || b.alone {
		return err
	}
	return b.ours.open(url)
}

// goal of a row: ours must be this many times as fast.
func (b *peerBench) compare(what string, goal float64, theirs *measure.Side, ours func() *measure.Side) error {
	sides := []*measure.Side{theirs}
	if !b.alone {
		sides = append(sides, ours())
	}
	if err := measure.Interleave(b.rounds, sides...); err != nil {
		return err
	}
	b.print(what, goal, sides)
	return nil
}

func (b *peerBench) print(what string, goal float64, sides []*measure.Side) {
	fmt.Println(what)
	for _, s := range sides {
		fmt.Printf("  %v\n", s)
	}
	if len(sides) == 2 {
		measure.Verdict("agent-browser ÷ ours", float64(sides[0].Median())/float64(sides[1].Median()), goal, true)
	}
}

func (b *peerBench) evaluate() error {
	if err := b.show("form"); err != nil {
		return err
	}
	return b.compare("evaluate 1+1", 1, b.peer.side("evaluate", `,"script":"1+1"`, holds(`"result":2}`)), func() *measure.Side {
		return b.ours.side("page.javascript", `{"script":"1+1"}`, holds(`"result":2`))
	})
}

func (b *peerBench) tabList() error {
	return b.compare("tab list (within twice)", 0.5, b.peer.side("tab_list", "", holds(`"tabId":"t1"`)), func() *measure.Side {
		return b.ours.side("browser.tabs", `{}`, counts(`"window_id":`, 1))
	})
}

func (b *peerBench) snapshots() error {
	for i, p := range pages {
		if err := b.show(p.name); err != nil {
			return err
		}
		rounds := b.rounds
		if p.elements == 5000 {
			b.rounds = max(rounds/10, 20) // a second each
		}
		err := b.compare(fmt.Sprintf("snapshot of %d elements, %d rounds", p.elements, b.rounds), []float64{4, 12, 12}[i],
			b.peer.side("snapshot", `,"interactive":true,"plugins":[]`, counts(`"role":`, p.elements)), func() *measure.Side {
				return b.ours.side("page.snapshot", "{"+snapshotParams+"}", counts(`"ref":`, p.elements))
			})
		b.rounds = rounds
		if err != nil {
			return err
		}
	}
	return nil
}

// button gives both sides' clicks on the same button by its ref.
func (b *peerBench) button() (theirs *measure.Side, ours func() *measure.Side, err error) {
	if err := b.show("form"); err != nil {
		return nil, nil, err
	}
	ref, err := b.peer.ref("button", "Save")
	if err != nil {
		return nil, nil, err
	}
	mine := ""
	if !b.alone {
		if mine, err = b.ours.ref("button", "Save"); err != nil {
			return nil, nil, err
		}
	}
	return b.peer.side("click", fmt.Sprintf(`,"selector":%q`, ref), holds(`"clicked":`)), func() *measure.Side {
		return b.ours.side("page.interact", fmt.Sprintf(`{"ref":%q,"action":"click"}`, mine), holds(`"result":{"ok":true`))
	}, nil
}

// arrived says whether both sides' page has seen this many clicks.
func (b *peerBench) arrived(clicks int) error {
	reply, err := b.peer.call(request("evaluate", `,"script":"clicks"`))
	if err != nil {
		return err
	}
	theirs, err := strconv.Atoi(number(reply, `"result":`))
	if err != nil {
		return err
	}
	mine := clicks
	if !b.alone {
		if mine, err = b.ours.clicks(0); err != nil {
			return err
		}
	}
	if theirs != clicks || mine != clicks {
		return fmt.Errorf("of %d clicks agent-browser's page has seen %d, ours %d", clicks, theirs, mine)
	}
	return nil
}

func (b *peerBench) click() error {
	theirs, ours, err := b.button()
	if err != nil {
		return err
	}
	// One side after the other, for turns would be pauses.
	rounds := b.rounds + b.rounds/10
	sides := []*measure.Side{theirs}
	if !b.alone {
		sides = append(sides, ours())
	}
	for _, s := range sides {
		if err := measure.Interleave(b.rounds, s); err != nil {
			return err
		}
	}
	b.print("click in a loop", 3, sides)
	return b.arrived(rounds)
}

const pauses = 50

func (b *peerBench) pause() error {
	theirs, ours, err := b.button()
	if err != nil {
		return err
	}
	sides := []*measure.Side{theirs}
	if !b.alone {
		sides = append(sides, ours())
	}
	for range pauses {
		for _, s := range sides {
			time.Sleep(200 * time.Millisecond / time.Duration(len(sides)))
			if err := timed(s, func() error { _, err := s.Run(); return err }); err != nil {
				return err
			}
		}
	}
	for _, s := range sides {
		slices.Sort(s.Took)
	}
	b.print(fmt.Sprintf("click every 200 ms, %d rounds", pauses), 1, sides)
	return b.arrived(pauses)
}

func (b *peerBench) fill() error {
	if err := b.show("form"); err != nil {
		return err
	}
	ref, err := b.peer.ref("textbox", "Name")
	if err != nil {
		return err
	}
	n := 0
	text := func() string { n++; return fmt.Sprintf("a name %06d", n) }
	theirs := &measure.Side{Name: "agent-browser", Run: func() (int, error) {
		text := text()
		_, err := b.peer.call(request("fill", fmt.Sprintf(`,"selector":%q,"value":%q`, ref, text)))
		return len(text), err
	}}
	return b.compare("fill (ours reads back)", 1, theirs, func() *measure.Side {
		return &measure.Side{Name: "ours", Run: func() (int, error) {
			text := text()
			reply, err := b.ours.call(measure.Request("page.interact", fmt.Sprintf(`{"selector":"#name","action":"fill","value":%q}`, text)))
			if err == nil {
				err = holds(`"value":"` + text + `"`)(reply)
			}
			return len(text), err
		}}
	})
}

func (b *peerBench) open() error {
	url := b.site.url("form")
	return b.compare("open, with the page's load", 1, b.peer.side("navigate", fmt.Sprintf(`,"url":%q`, url), holds(url)), func() *measure.Side {
		return b.ours.side("browser.navigate", fmt.Sprintf(`{"uri":%q}`, url), holds(`"loading":false`))
	})
}

func (b *peerBench) cli() error {
	if err := b.show("form"); err != nil {
		return err
	}
	for _, c := range []struct {
		what         string
		theirs, ours []string
	}{
		{"tab list", []string{"tab", "list"}, []string{"tabs"}},
		{"evaluate 1+1", []string{"eval", "1+1"}, []string{"js", "1+1"}},
		{"snapshot of 11 elements", []string{"snapshot", "-i"}, []string{"snapshot"}},
	} {
		err := b.compare("command line: "+c.what, 1, &measure.Side{Name: "agent-browser", Run: func() (int, error) {
			out, err := b.ab.cli(c.theirs...)
			return len(out), err
		}}, func() *measure.Side {
			return &measure.Side{Name: "vant", Run: func() (int, error) {
				cmd := exec.Command(b.ours.vant, append([]string{"agent"}, c.ours...)...)
				cmd.Env = b.ours.Env
				out, err := cmd.Output()
				return len(out), err
			}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parallel compares eight clients: ours on tabs of one browser, theirs on one
// session, which has one tab at a time.
func (b *peerBench) parallel() error {
	if err := b.show("form"); err != nil {
		return err
	}
	ref, err := b.peer.ref("button", "Save")
	if err != nil {
		return err
	}
	var theirs []func() (int, error)
	for range parallelTo {
		p, err := b.ab.client()
		if err != nil {
			return err
		}
		calls := []*measure.Side{
			p.side("snapshot", `,"interactive":true,"plugins":[]`, counts(`"role":`, pages[0].elements)),
			p.side("click", fmt.Sprintf(`,"selector":%q`, ref), holds(`"clicked":`)),
			p.side("evaluate", `,"script":"1+1"`, holds(`"result":2}`)),
		}
		turn := 0
		theirs = append(theirs, func() (int, error) {
			turn++
			return calls[turn%len(calls)].Run()
		})
	}
	var clients []*mixed
	var mine []func() (int, error)
	if !b.alone {
		if clients, mine, err = b.ours.tabsOf(parallelTo, b.site.url("form")); err != nil {
			return err
		}
	}
	var x, y []float64
	for range segments {
		rate, err := measure.Together(b.segment, theirs...)
		if err != nil {
			return err
		}
		x = append(x, rate)
		if b.alone {
			continue
		}
		if rate, err = measure.Together(b.segment, mine...); err != nil {
			return err
		}
		y = append(y, rate)
	}
	slices.Sort(x)
	fmt.Printf("%d clients, snapshots, clicks and scripts in turn, %d segments of %v\n  agent-browser, one session: %.0f/s\n", parallelTo, segments, b.segment, x[segments/2])
	if b.alone {
		return nil
	}
	slices.Sort(y)
	fmt.Printf("  ours, a tab each: %.0f/s\n", y[segments/2])
	measure.Verdict("ours ÷ agent-browser", y[segments/2]/x[segments/2], 4, true)
	return b.ours.arrived(clients)
}

// cold opens a first page where neither daemon nor browser runs; ours has its
// host, which starts with the session of the user.
func (b *peerBench) cold() error {
	url := b.site.url("form")
	theirs, ours := &measure.Side{Name: "agent-browser"}, &measure.Side{Name: "ours"}
	sides := []*measure.Side{theirs}
	if !b.alone {
		sides = append(sides, ours)
	}
	for i := range coldStarts + 1 {
		if err := b.ab.stop(); err != nil {
			return err
		}
		if err := timed(theirs, func() error { return b.ab.start(url) }); err != nil {
			return err
		}
		if !b.alone {
			if err := b.ours.renew(); err != nil {
				return err
			}
			if err := timed(ours, func() error { return b.ours.open(url) }); err != nil {
				return err
			}
		}
		if i == 0 { // its files were not in memory
			theirs.Took, ours.Took = nil, nil
		}
	}
	for _, s := range sides {
		slices.Sort(s.Took)
	}
	b.print(fmt.Sprintf("cold start to the first page, %d times", coldStarts), 1, sides)
	var err error
	b.peer, err = b.ab.client()
	return err
}

// ref finds the ref of an element of the current tab.
func (o *ours) ref(role, name string) (string, error) {
	raw, err := o.ask("page.snapshot", "{}")
	if err != nil {
		return "", err
	}
	var s struct {
		Elements []struct{ Ref, Role, Name string }
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	for _, e := range s.Elements {
		if e.Role == role && e.Name == name {
			return e.Ref, nil
		}
	}
	return "", errors.New("there is no " + role + " " + name)
}
