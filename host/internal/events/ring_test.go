package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sequences(p Page) []uint64 {
	var out []uint64
	for _, e := range p.Events {
		out = append(out, e.Sequence)
	}
	return out
}

func fill(r *Ring, n int) {
	for range n {
		r.Append("tab.created", nil)
	}
}

func TestSinceGivesTheOldestAfterTheCursor(t *testing.T) {
	for _, c := range []struct {
		name           string
		size, appended int
		after          uint64
		limit          int
		want           []uint64
		dropped        uint64
	}{
		{"nothing yet", 4, 0, 0, 10, nil, 0},
		{"all", 4, 3, 0, 10, []uint64{1, 2, 3}, 0},
		{"after one", 4, 3, 1, 10, []uint64{2, 3}, 0},
		{"limited", 4, 3, 0, 2, []uint64{1, 2}, 0},
		{"limit of zero", 4, 3, 0, 0, nil, 0},
		{"full to the brim", 4, 4, 0, 10, []uint64{1, 2, 3, 4}, 0},
		{"old ones fell out", 4, 10, 0, 10, []uint64{7, 8, 9, 10}, 6},
		{"cursor among those that fell out", 4, 10, 3, 1, []uint64{7}, 6},
		{"cursor at latest", 4, 10, 10, 10, nil, 6},
		{"cursor ahead of latest", 4, 10, 99, 10, nil, 6},
		{"largest cursor", 4, 10, 1<<64 - 1, 10, nil, 6},
		{"ring of one", 1, 3, 0, 10, []uint64{3}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(c.size)
			fill(r, c.appended)
			p := r.Since(c.after, c.limit, nil)
			if diff := cmp.Diff(c.want, sequences(p)); diff != "" {
				t.Errorf("sequences (-want +got):\n%s", diff)
			}
			if p.Latest != uint64(c.appended) || p.Dropped != c.dropped {
				t.Errorf("latest %d dropped %d, want %d and %d", p.Latest, p.Dropped, c.appended, c.dropped)
			}
		})
	}
}

func TestTypesArePrefixesOfWholeNames(t *testing.T) {
	r := New(16)
	for _, typ := range []string{"tab", "tab.created", "table.made", "page.load", "page.load_failed", "tab.a.b"} {
		r.Append(typ, nil)
	}
	for _, c := range []struct {
		types string
		want  []uint64
	}{
		{"tab", []uint64{1, 2, 6}},
		{"tab.", []uint64{1, 2, 6}},
		{"page.load", []uint64{4}},
		{"tab.a", []uint64{6}},
		{"page table", []uint64{3, 4, 5}},
		{"ta", nil},
		{"tab.created.more", nil},
		{".", []uint64{1, 2, 3, 4, 5, 6}},
		{"", []uint64{1, 2, 3, 4, 5, 6}},
	} {
		t.Run(c.types, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sequences(r.Since(0, 100, strings.Fields(c.types)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClearEmptiesTheRingAndSequencesGoOn(t *testing.T) {
	r := New(4)
	fill(r, 6)
	r.Clear()
	if p := r.Since(0, 10, nil); len(p.Events) != 0 || p.Latest != 6 || p.Dropped != 0 {
		t.Errorf("after clear: %+v", p)
	}
	fill(r, 5)
	p := r.Since(0, 10, nil)
	if diff := cmp.Diff([]uint64{8, 9, 10, 11}, sequences(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Dropped != 1 {
		t.Errorf("dropped %d, want 1", p.Dropped)
	}
}

func TestEpochsDiffer(t *testing.T) {
	a, b := New(1), New(1)
	if a.Epoch() == b.Epoch() || len(a.Epoch()) < 20 {
		t.Errorf("epochs %q and %q", a.Epoch(), b.Epoch())
	}
	if got := a.Since(0, 1, nil).Epoch; got != a.Epoch() {
		t.Errorf("page has epoch %q, ring %q", got, a.Epoch())
	}
}

func TestPageAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands at 2000-01-01T00:00:00Z
		r := New(4)
		if got, want := string(r.Since(0, 9, nil).AppendJSON([]byte("x"))),
			`x{"latest":0,"dropped":0,"epoch":"`+r.Epoch()+`","events":[]}`; got != want {
			t.Errorf("empty page\n got %s\nwant %s", got, want)
		}
		r.Append("tab.created", []byte(`{"tab_id":1.0}`))
		time.Sleep(1234 * time.Millisecond)
		r.Append("odd\"\n", nil)
		want := `{"latest":2,"dropped":0,"epoch":"` + r.Epoch() + `","events":[` +
			`{"sequence":1,"type":"tab.created","time":"2000-01-01T00:00:00.000Z","data":{"tab_id":1.0}},` +
			`{"sequence":2,"type":"odd\"\n","time":"2000-01-01T00:00:01.234Z","data":{}}]}`
		got := r.Since(0, 9, nil).AppendJSON(nil)
		if string(got) != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if !json.Valid(got) {
			t.Error("not JSON")
		}
	})
}

func TestDataIsNotCopied(t *testing.T) {
	r := New(4)
	data := []byte(`{"uri":"about:blank"}`)
	r.Append("tab.created", data)
	if got := r.Since(0, 1, nil).Events[0].Data; &got[0] != &data[0] {
		t.Error("the page holds a copy")
	}
}

func TestAPageIsBoundedInBytesAndAlwaysGetsOn(t *testing.T) {
	r := New(8)
	big := bytes.Repeat([]byte("x"), maxPageBytes*2/3)
	for range 3 {
		r.Append("a", big)
	}
	r.Append("a", bytes.Repeat([]byte("x"), maxPageBytes+1))
	var got [][]uint64
	for after := uint64(0); ; {
		p := r.Since(after, 100, nil)
		if len(p.Events) == 0 {
			break
		}
		got = append(got, sequences(p))
		after = p.Events[len(p.Events)-1].Sequence
	}
	if diff := cmp.Diff([][]uint64{{1}, {2}, {3}, {4}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheRingIsBoundedInBytes(t *testing.T) {
	r := New(DefaultSize)
	mib := bytes.Repeat([]byte("x"), 1<<20)
	for range 40 {
		r.Append("a", mib)
	}
	p := r.Since(0, 1, nil)
	if p.Dropped != 8 || p.Events[0].Sequence != 9 || r.bytes != maxRingBytes {
		t.Errorf("dropped %d, oldest %d, %d bytes kept", p.Dropped, p.Events[0].Sequence, r.bytes)
	}
	r.Append("a", bytes.Repeat([]byte("x"), maxRingBytes+1))
	if p = r.Since(0, 5, nil); len(p.Events) != 1 || p.Dropped != 40 {
		t.Errorf("one huge event: %d kept, dropped %d", len(p.Events), p.Dropped)
	}
	r.Clear()
	if r.bytes != 0 {
		t.Errorf("%d bytes counted after clear", r.bytes)
	}
}

func TestBatchesAreNotInterleaved(t *testing.T) {
	r := New(4096)
	const writers, rounds, batch = 8, 50, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range rounds {
				entries := make([]Entry, batch)
				for i := range entries {
					entries[i] = Entry{Type: "b", Data: fmt.Appendf(nil, `{"n":[%d,%d,%d]}`, w, n, i)}
				}
				r.AppendAll(entries)
			}
		})
	}
	wg.Wait()
	p := r.Since(0, writers*rounds*batch+1, nil)
	if len(p.Events) != writers*rounds*batch {
		t.Fatalf("%d events", len(p.Events))
	}
	for at := 0; at < len(p.Events); at += batch {
		var head, v struct{ N [3]int }
		for i := range batch {
			if err := json.Unmarshal(p.Events[at+i].Data, &v); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				head = v
			}
			if want := [3]int{head.N[0], head.N[1], i}; v.N != want {
				t.Fatalf("event %d is %v, want %v", at+i, v.N, want)
			}
		}
	}
	r.AppendAll(nil)
	if got := r.Since(0, 1, nil).Latest; got != uint64(len(p.Events)) {
		t.Errorf("an empty batch moved latest to %d", got)
	}
}
