package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// against interleaves raw, hop and ours, and prints the ratio.
func (b *bench) against(what string, raw, ours *measure.Side) error {
	hop := b.ours.hop()
	if err := measure.Interleave(b.rounds, raw, hop, ours); err != nil {
		return err
	}
	fmt.Printf("%s\n  %v\n  %v\n  %v\n", what, raw, hop, ours)
	measure.Verdict("ours ÷ (raw + hop)", float64(ours.Median())/float64(raw.Median()+hop.Median()), 1.3, false)
	return nil
}

// open loads a page on both sides.
func (b *bench) open(page string) error {
	return errors.Join(b.raw.open(b.site.url(page)), b.ours.open(b.site.url(page)))
}

// holds is a check that an answer has a text.
func holds(text string) func([]byte) error {
	return func(reply []byte) error {
		if !bytes.Contains(reply, []byte(text)) {
			return fmt.Errorf("the answer has no %s: %.400s", text, reply)
		}
		return nil
	}
}

// counts is a check that an answer has a text n times.
func counts(text string, n int) func([]byte) error {
	return func(reply []byte) error {
		if got := bytes.Count(reply, []byte(text)); got != n {
			return fmt.Errorf("the answer has %d elements, want %d: %.400s", got, n, reply)
		}
		return nil
	}
}

// evaluation is one Runtime.evaluate with a check of its answer.
func (c *raw) evaluation(params string, check func([]byte) error) *measure.Side {
	return &measure.Side{Name: "raw", Run: func() (int, error) {
		answer, err := c.call("Runtime.evaluate", params)
		if err == nil {
			err = check(answer)
		}
		return len(answer), err
	}}
}

func (b *bench) javascript() error {
	if err := b.open("form"); err != nil {
		return err
	}
	return b.against("page.javascript 1+1",
		b.raw.evaluation(evaluate(`JSON.stringify(eval("1+1"))`, ""), holds(`"value":"2"`)),
		b.ours.side("page.javascript", `{"script":"1+1"}`, holds(`"result":2`)))
}

// snapshotParams raise the limits above the largest page.
const snapshotParams = `"limit":6000,"max_bytes":8388608`

func (b *bench) snapshots() error {
	for _, p := range pages {
		if err := b.open(p.name); err != nil {
			return err
		}
		expression, err := inject.Call("snapshot", map[string]any{"gen": 1, "from": 1, "limit": 6000, "maxBytes": 8 << 20, "format": "list"})
		if err != nil {
			return err
		}
		err = b.against(fmt.Sprintf("page.snapshot of %d elements", p.elements),
			b.raw.evaluation(evaluate(expression, b.raw.world), counts(`\n`, p.elements+1)), // a line each, and the end of the visible ones
			b.ours.side("page.snapshot", "{"+snapshotParams+"}", counts(`"ref":`, p.elements)))
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) click() error {
	if err := b.open("form"); err != nil {
		return err
	}
	look := map[string]any{"target": map[string]any{"selector": "#press"}, "action": "click", "timeout": 1000}
	raw := &measure.Side{Name: "raw", Run: func() (int, error) {
		answer, err := b.raw.invoke("check", look)
		if err == nil {
			err = holds(`\"ok\":true`)(answer)
		}
		if err != nil {
			return 0, err
		}
		x, y := number(answer, `\"x\":`), number(answer, `\"y\":`)
		token := json.Number(number(answer, `\"token\":`))
		for _, e := range []string{`"mouseMoved","button":"none"`, `"mousePressed","button":"left","clickCount":1`, `"mouseReleased","button":"left","clickCount":1`} {
			b.raw.send("Input.dispatchMouseEvent", fmt.Sprintf(`{"x":%s,"y":%s,"type":%s}`, x, y, e))
		}
		answer, err = b.raw.behind(3, "outcome", map[string]any{"token": token, "inputs": 1})
		if err == nil {
			err = holds(`\"hit\":{`)(answer)
		}
		if err == nil {
			err = b.raw.barrier()
		}
		return 0, err
	}}
	ours := b.ours.side("page.interact", `{"selector":"#press","action":"click"}`, holds(`"result":{"ok":true`))
	if err := b.against("click on a static button", raw, ours); err != nil {
		return err
	}
	answer, err := b.raw.call("Runtime.evaluate", evaluate("clicks", ""))
	if err != nil {
		return err
	}
	theirs, err := strconv.Atoi(number(answer, `"value":`))
	if err != nil {
		return err
	}
	mine, err := b.ours.clicks(0)
	if err == nil && (mine != theirs || mine < b.rounds) {
		err = fmt.Errorf("%d and %d clicks arrived", theirs, mine)
	}
	return err
}

// number gives the digits that follow a text.
func number(text []byte, after string) string {
	_, rest, _ := bytes.Cut(text, []byte(after))
	end := bytes.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != 'e' })
	return string(rest[:max(end, 0)])
}

// fill has the calls that it must make: find and select; insert and read back; the
// barrier. A new text each round, so that nothing is filled that was there.
func (b *bench) fill() error {
	if err := b.open("form"); err != nil {
		return err
	}
	n := 0
	text := func() string { n++; return fmt.Sprintf("a name %06d", n) }
	target := map[string]any{"selector": "#name"}
	raw := &measure.Side{Name: "raw", Run: func() (int, error) {
		text := text()
		answer, err := b.raw.invoke("edit", map[string]any{"target": target, "action": "fill", "timeout": 1000, "value": text})
		if err == nil {
			err = holds(`\"how\":\"insert\"`)(answer)
		}
		if err != nil {
			return 0, err
		}
		token := json.Number(number(answer, `\"token\":`))
		b.raw.send("Input.insertText", fmt.Sprintf(`{"text":%q}`, text))
		if answer, err = b.raw.behind(1, "value", map[string]any{"target": target, "token": token, "expect": text, "inputs": 1}); err != nil {
			return 0, err
		}
		if err := holds(`\"value\":\"` + text + `\"`)(answer); err != nil {
			return 0, err
		}
		return len(text), b.raw.barrier()
	}}
	ours := &measure.Side{Name: "ours", Run: func() (int, error) {
		text := text()
		reply, err := b.ours.call(measure.Request("page.interact", fmt.Sprintf(`{"selector":"#name","action":"fill","value":%q}`, text)))
		if err != nil {
			return 0, err
		}
		return len(text), holds(`"value":"` + text + `"`)(reply)
	}}
	if err := b.against("fill of a text field, read back", raw, ours); err != nil {
		return err
	}
	if raw.Bytes != ours.Bytes {
		return fmt.Errorf("the sides filled in %d and %d bytes", raw.Bytes, ours.Bytes)
	}
	return nil
}

const coldStarts = 20

func (b *bench) cold() error {
	command, err := b.ours.chromium()
	if err != nil {
		return err
	}
	bare, ours := &measure.Side{Name: "raw"}, &measure.Side{Name: "ours"}
	for i := range coldStarts + 1 {
		if err := coldRaw(bare, filepath.Join(b.work, "cold"), command); err != nil {
			return err
		}
		if err := b.ours.renew(); err != nil {
			return err
		}
		if err := timed(ours, func() error {
			_, err := b.ours.ask("browser.tabs", "{}")
			return err
		}); err != nil {
			return err
		}
		if i == 0 { // their profiles were made
			bare.Took, ours.Took = nil, nil
		}
	}
	slices.Sort(bare.Took)
	slices.Sort(ours.Took)
	fmt.Printf("cold start, %d times: raw to Browser.getVersion, ours to the first browser.tabs\n  %v\n  %v\n", coldStarts, bare, ours)
	measure.Verdict("ours ÷ raw", float64(ours.Median())/float64(bare.Median()), 1.3, false)
	return nil
}

// coldRaw starts a Chromium up to its first answer, and ends it.
func coldRaw(s *measure.Side, dir string, command []string) error {
	var c *raw
	err := timed(s, func() (err error) {
		if c, err = launchRaw(dir, command); err == nil {
			_, err = c.call("Browser.getVersion", "{}")
		}
		return err
	})
	if c != nil {
		err = errors.Join(err, c.close())
	}
	return err
}
