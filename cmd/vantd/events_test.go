package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/plugintest"
)

func TestEventsOfACallAreThereBeforeItsReply(t *testing.T) {
	h := faults(t)
	for range 20 {
		if err := h.Call(within(t, 5*time.Second), "faulty.emit", map[string]any{"type": "test.happened", "count": 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var page struct{ Events []struct{ Type string } }
	if err := h.Call(within(t, 5*time.Second), "events.since", map[string]any{"types": []string{"test"}}, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Events) != 20 {
		t.Errorf("%d events, want 20", len(page.Events))
	}
}

func TestManyEventsOfACallAreThereInOrderBeforeItsReply(t *testing.T) {
	const n = 1500
	h := faults(t)
	var before struct{ Latest uint64 }
	must(t, h.Call(within(t, soon), "events.since", nil, &before))
	must(t, h.Call(within(t, soon), "faulty.emit", map[string]any{"type": "test.many", "count": n}, nil))
	var after struct{ Latest uint64 }
	must(t, h.Call(within(t, soon), "events.since", map[string]any{"after": before.Latest + n - 1}, &after))
	if after.Latest < before.Latest+n { // the host may have had events of its own
		t.Fatalf("%d events are there with the reply, want %d", after.Latest-before.Latest, n)
	}
	next := 0
	for cursor := before.Latest; cursor < after.Latest; {
		var page struct {
			Events []struct {
				Sequence uint64
				Data     struct{ N int }
			}
		}
		must(t, h.Call(within(t, soon), "events.since", map[string]any{"after": cursor, "limit": 1024, "types": []string{"test.many"}}, &page))
		if len(page.Events) == 0 {
			break
		}
		for _, e := range page.Events {
			if e.Data.N != next {
				t.Fatalf("event %d came as number %d", e.Data.N, next)
			}
			next, cursor = next+1, e.Sequence
		}
	}
	if next != n {
		t.Errorf("%d events, want %d", next, n)
	}
}

// latest is the number of the last event in the ring.
func latest(t *testing.T, h *plugintest.RunningHost) uint64 {
	t.Helper()
	var page struct{ Latest uint64 }
	must(t, h.Call(within(t, soon), "events.since", map[string]any{"limit": 1}, &page))
	return page.Latest
}

// emitted counts the events of a type after a number.
func emitted(t *testing.T, h *plugintest.RunningHost, after uint64, typ string) int {
	t.Helper()
	var page struct{ Events []struct{ Type string } }
	must(t, h.Call(within(t, soon), "events.since", map[string]any{"after": after, "limit": 1024, "types": []string{typ}}, &page))
	return len(page.Events)
}

func TestEventsOfBackgroundWorkAreThereBeforeTheReply(t *testing.T) {
	const rounds, each = 500, 3
	h := faults(t)
	missing := 0
	for range rounds {
		before := latest(t, h)
		must(t, h.Call(within(t, soon), "faulty.emit", map[string]any{"type": "test.link", "count": each, "link": true}, nil))
		if emitted(t, h, before, "test.link") != each {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("the reply came before its events in %d of %d rounds", missing, rounds)
	}
}

// timed makes a call and says how long it took.
func timed(t *testing.T, h *plugintest.RunningHost, method string) time.Duration {
	t.Helper()
	begun := time.Now()
	must(t, h.Call(within(t, soon), method, nil, nil))
	return time.Since(begun)
}

func TestAPluginThatNamesEventsWhichDoNotComeHoldsUpItselfAlone(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{built.faulty, faulty(t, "liar")},
		Config:   "plugins:\n" + section("liar", "liar-events"),
	})
	lied := make(chan time.Duration, 1)
	go func() {
		begun := time.Now()
		if err := h.Call(within(t, soon), "liar.echo", nil, nil); err != nil {
			t.Errorf("the liar's own call: %v", err)
		}
		lied <- time.Since(begun)
	}()
	others := 0
	for waiting := true; waiting; others++ {
		if d := timed(t, h, "faulty.echo"); d > 700*time.Millisecond {
			t.Errorf("a call of another plugin took %v", d)
		}
		select {
		case d := <-lied:
			if d < time.Second || d > 5*time.Second {
				t.Errorf("the liar's own call took %v", d)
			}
			waiting = false
		default:
		}
	}
	if others < 10 {
		t.Errorf("another plugin answered %d calls meanwhile", others)
	}
	if d := timed(t, h, "liar.echo"); d > 700*time.Millisecond {
		t.Errorf("the same lie cost %v once more", d)
	}
	if n := strings.Count(h.Log(), "names events that do not come"); n != 1 {
		t.Errorf("%d warnings: %s", n, h.Log())
	}
}

func TestAPluginWhoseLinkIsBrokenAnswersAtOnce(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{faulty(t, "mute")}, Config: "plugins:\n" + section("mute", "broken-link"),
	})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); { // over a new try to open it
		if d := timed(t, h, "mute.echo"); d > 700*time.Millisecond {
			t.Errorf("a call took %v", d)
		}
	}
	if log := h.Log(); strings.Contains(log, "names events that do not come") || !strings.Contains(log, "link to plugin broke") {
		t.Errorf("log: %s", log)
	}
}
