package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

// chaos mistreats plugins, one at a time, and waits for each to be mended.
type chaos struct {
	h    *host
	rand *rand.Rand

	faults   []fault
	absences []absence
	done     map[string]int // by kind
	swaps    int
}

// run goes on for a time; what was begun is brought to its end.
func (c *chaos) run(ctx context.Context, d time.Duration) error {
	c.done = map[string]int{}
	kinds := []struct {
		name string
		do   func(context.Context, string) error
	}{
		{"kill", func(ctx context.Context, p string) error { return c.signal(ctx, "kill", p, syscall.SIGKILL) }},
		{"stop", func(ctx context.Context, p string) error { return c.signal(ctx, "stop", p, syscall.SIGSTOP) }},
		{"replace by rename", c.rename}, {"copy over", c.copyOver}, {"flood of logs", c.flood},
		{"remove and add", c.remove}, {"restart", c.restart}, {"crash loop and reset", c.crashLoop},
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		c.rand.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, k := range kinds {
			plugin := pick(c.rand, everyPlugin)
			if err := k.do(ctx, plugin); err != nil {
				return fmt.Errorf("%s of %s: %w", k.name, plugin, err)
			}
			c.done[k.name]++
			if err := pause(ctx, time.Duration(50+c.rand.IntN(200))*time.Millisecond); err != nil {
				return err
			}
			if time.Now().After(end) {
				break
			}
		}
	}
	return nil
}

func (c *chaos) row(plugin string) (row, error) {
	rows, err := c.h.list()
	if err != nil {
		return row{}, err
	}
	r := rows[plugin]
	if r.State != "ready" || r.Pid <= 1 {
		return r, fmt.Errorf("it is %q with pid %d, not ready: %s", r.State, r.Pid, r.Reason)
	}
	return r, nil
}

// end ends a plugin's process and gives what came of it: the plugin serves
// again, or is quarantined.
func (c *chaos) end(ctx context.Context, name, plugin string, sig syscall.Signal) (quarantined bool, err error) {
	r, err := c.row(plugin)
	if err != nil {
		return false, err
	}
	f := fault{kind: name, plugin: plugin, generation: r.Generation, inject: time.Now()}
	if err := syscall.Kill(r.Pid, sig); err != nil {
		return false, err
	}
	defer func() { c.faults = append(c.faults, f) }()
	e, err := c.h.events.wait(ctx, f.inject, plugin, func(e event) bool { return e.typ == "plugin.crashed" })
	if err != nil {
		return false, err
	}
	f.crash, f.up = e.time, e.time
	after, err := c.h.events.wait(ctx, f.crash, plugin, func(n event) bool {
		return n.sequence > e.sequence && (serves(n) || n.typ == "plugin.quarantined")
	})
	if err != nil {
		return false, err
	}
	if serves(after) {
		f.up = after.time
		return false, nil
	}
	if after, err = c.reset(ctx, plugin); err == nil {
		f.up = after.time
	}
	return true, err
}

func (c *chaos) signal(ctx context.Context, name, plugin string, sig syscall.Signal) error {
	_, err := c.end(ctx, name, plugin, sig)
	return err
}

// crashLoop kills each process of a plugin until it is quarantined.
func (c *chaos) crashLoop(ctx context.Context, plugin string) error {
	for range maxFailures {
		if quarantined, err := c.end(ctx, "crash loop and reset", plugin, syscall.SIGKILL); err != nil || quarantined {
			return err
		}
	}
	return fmt.Errorf("%d failures have not brought it into quarantine", maxFailures)
}

// reset takes a plugin out of quarantine, which must last until then.
func (c *chaos) reset(ctx context.Context, plugin string) (event, error) {
	if err := pause(ctx, 300*time.Millisecond); err != nil {
		return event{}, err
	}
	if f := c.probe(plugin); f.code != "plugin_unavailable" || f.state != "quarantined" {
		return event{}, fmt.Errorf("a call in quarantine got %q, state %q", f.code, f.state)
	}
	begun := time.Now()
	if err := c.h.call("plugins.reset", fmt.Sprintf(`{"name":%q}`, plugin), nil); err != nil {
		return event{}, err
	}
	return c.h.events.wait(ctx, begun, plugin, serves)
}

// probe makes a call and gives its failure.
func (c *chaos) probe(plugin string) failure {
	method := plugin + ".echo"
	if strings.HasPrefix(plugin, "e") {
		method = plugin + ".text"
	}
	reply, err := exchange(c.h.socket, request(method, `{"data":"probe"}`))
	if err != nil {
		return failure{code: noReply, message: err.Error()}
	}
	f, _ := readReply("probe", reply, nil)
	return f
}

func (c *chaos) rename(ctx context.Context, plugin string) error {
	return c.replace(ctx, plugin, func() error { return c.h.put(plugin, c.h.next()) })
}

func (c *chaos) copyOver(ctx context.Context, plugin string) error {
	return c.replace(ctx, plugin, func() error { return c.h.copyOver(ctx, plugin, c.h.next()) })
}

// replace changes a plugin's file; another process of it must then serve.
func (c *chaos) replace(ctx context.Context, plugin string, change func() error) error {
	before, err := c.row(plugin)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := change(); err != nil {
		return err
	}
	if _, err := c.h.events.wait(ctx, begun, plugin, serves); err != nil {
		return err
	}
	after, err := c.row(plugin)
	if err != nil {
		return err
	}
	c.swaps++
	if after.SHA256 == before.SHA256 || after.Generation <= before.Generation {
		return errors.New("what serves is not the new file")
	}
	return nil
}

func (c *chaos) restart(ctx context.Context, plugin string) error {
	before, err := c.row(plugin)
	if err != nil {
		return err
	}
	var r struct{ Generation uint64 }
	if err := c.h.call("plugins.restart", fmt.Sprintf(`{"name":%q}`, plugin), &r); err != nil {
		return err
	}
	c.swaps++
	if r.Generation <= before.Generation {
		return fmt.Errorf("generation %d after %d", r.Generation, before.Generation)
	}
	return ctx.Err()
}

// remove takes a plugin's file away and puts it back.
func (c *chaos) remove(ctx context.Context, plugin string) error {
	a := absence{plugin: plugin, from: time.Now()}
	if err := c.h.take(plugin); err != nil {
		return err
	}
	defer func() { c.absences = append(c.absences, a) }()
	if _, err := c.h.events.wait(ctx, a.from, plugin, func(e event) bool { return e.typ == "plugin.removed" }); err != nil {
		return err
	}
	if f := c.probe(plugin); f.code != "method_not_found" {
		return fmt.Errorf("a call of a removed plugin got %q", f.code)
	}
	back := time.Now()
	a.to = back
	if err := c.h.put(plugin, c.h.next()); err != nil {
		return err
	}
	e, err := c.h.events.wait(ctx, back, plugin, serves)
	if err == nil {
		a.to = e.time
	}
	return err
}

// flood has a plugin write what is hard to read, and much of it. Plugins that
// only echo are left alone, and one of the others takes their place.
func (c *chaos) flood(ctx context.Context, _ string) error {
	kind, lines := "long", 30
	if c.rand.IntN(5) > 0 {
		kind, lines = pick(c.rand, []string{"plain", "evil", "zero", "stdout", "hclog"}), 3000
	}
	if err := c.h.call(pick(c.rand, faultyPlugins)+".log", fmt.Sprintf(`{"kind":%q,"lines":%d}`, kind, lines), nil); err != nil {
		return err
	}
	return ctx.Err()
}
