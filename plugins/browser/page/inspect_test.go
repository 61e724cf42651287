package page

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsOfFramesAreBlocksInTheirPlace(t *testing.T) {
	plain := func(text string) *inspected {
		raw, _ := json.Marshal(text)
		return &inspected{Value: raw}
	}
	in := func(frames ...string) func(pieces ...string) *inspected {
		return func(pieces ...string) *inspected { return &inspected{Pieces: pieces, Frames: frames} }
	}
	for name, tt := range map[string]struct {
		page   *inspected
		frames map[string]*inspected
		want   string
	}{
		"one":           {in("A")("before\n", "\nafter"), map[string]*inspected{"A": plain("in")}, "before\nin\nafter"},
		"one empty":     {in("A")("before\n", "\nafter"), map[string]*inspected{"A": plain("")}, "before\nafter"},
		"one not there": {in("A")("before\n", "\nafter"), nil, "before\nafter"},
		"nested":        {in("A")("a\n", "\nz"), map[string]*inspected{"A": in("B")("b\n", "\ny"), "B": plain("c")}, "a\nb\nc\ny\nz"},
		"two":           {in("A", "B")("", "\n", ""), map[string]*inspected{"A": plain("a"), "B": plain("b")}, "a\nb"},
		"in itself":     {in("A")("a\n", ""), map[string]*inspected{"A": in("A")("b\n", "")}, "a\nb\n"},
	} {
		var b strings.Builder
		tt.page.write(&b, tt.frames)
		if b.String() != tt.want {
			t.Errorf("%s: %q; want %q", name, b.String(), tt.want)
		}
	}
}

func FuzzACutIsAtTheEndOfAWord(f *testing.F) {
	f.Add("some words\nand 👩‍👩‍👧 more", 14)
	f.Add(strings.Repeat("x", 600), 500)
	f.Add("é", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n >= len(s) || !utf8.ValidString(s) {
			return
		}
		cut := cutAtWord(s, n)
		if len(cut) > n || !strings.HasPrefix(s, cut) || !utf8.ValidString(cut) || len(cut) < n-wordReach-utf8.UTFMax {
			t.Errorf("%q cut at %d is %q", s, n, cut)
		}
	})
}
