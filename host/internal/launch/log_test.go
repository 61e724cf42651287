package launch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

func TestLinesAreParsedDefensively(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	plain := func(text string) LogLine { return LogLine{Time: now, Level: hclog.Info, Text: text} }
	for _, tc := range []struct {
		line string
		want LogLine
	}{
		{"hello", plain("hello")},
		{"", plain("")},
		{"tab\there\r", plain("tab\there")},
		{`{"@level":"warn","@message":"low disk","@module":"store","@timestamp":"2026-01-02T03:04:04Z","free":12,"path":"/a b","who":"me"}`,
			LogLine{Time: now.Add(-time.Second), Level: hclog.Warn, Text: `store: low disk free=12 path="/a b" who=me`}},
		{`{"@message":"old","@timestamp":"2020-01-01T00:00:00Z"}`, plain("old")},
		{`{"@message":"odd level","@level":"loud"}`, plain("odd level")},
		{`{"@message":"nested","a":{"b":[1,null]}}`, plain(`nested a={"b":[1,null]}`)},
		{`{"@message":"two\nlines\u001b[0m"}`, plain(`two\nlines\x1b[0m`)},
		// Shapes that a careless reader dies of.
		{`{"@message":1}`, plain(`{"@message":1}`)},
		{`{"@level":[]}`, plain(`{"@level":[]}`)},
		{`{"@message":"x","@level":[]}`, plain(`{"@message":"x","@level":[]}`)},
		{`{"@message":"x","@timestamp":0}`, plain("x")},
		{`{"@message":"x","@module":{}}`, plain("x")},
		{`{"@message":null}`, plain(`{"@message":null}`)},
		{`{"@timestamp":0}`, plain(`{"@timestamp":0}`)},
		{"null", plain("null")},
		{"[]", plain("[]")},
		{"{", plain("{")},
		{`{"a":1}{"b":2}`, plain(`{"a":1}{"b":2}`)},
		{"\x00\x00", plain(`\x00\x00`)},
		{"\xff ok \xc3\x28", plain(`\xff ok \xc3(`)},
		{"\x1b[2Jgone", plain(`\x1b[2Jgone`)},
		{"abc\u202edef", plain(`abc\u202edef`)},
		{"grüße 日本 👩\u200d🚀", plain("grüße 日本 👩\u200d🚀")},
		{"[ERROR] it broke", LogLine{Time: now, Level: hclog.Error, Text: "[ERROR] it broke"}},
	} {
		var p lineParser
		if d := cmp.Diff(tc.want, p.parse([]byte(tc.line), now)); d != "" {
			t.Errorf("%q: %s", tc.line, d)
		}
	}
}

func TestPanicsAreErrorsUntilTheLoggerSpeaksAgain(t *testing.T) {
	var p lineParser
	for _, l := range []struct {
		text  string
		level hclog.Level
	}{
		{"fine", hclog.Info},
		{"panic: oh", hclog.Error},
		{"", hclog.Error},
		{"goroutine 1 [running]:", hclog.Error},
		{"main.main()", hclog.Error},
		{`{"@level":"info","@message":"recovered"}`, hclog.Info},
		{"fine again", hclog.Info},
		{"Traceback (most recent call last):", hclog.Error},
		{`  File "x.py", line 1`, hclog.Error},
		{"ValueError: no", hclog.Error},
		{"fine at last", hclog.Info},
	} {
		if got := p.parse([]byte(l.text), time.Now()).Level; got != l.level {
			t.Errorf("%q is %v, want %v", l.text, got, l.level)
		}
	}
}

// collector is a sink's two ends.
type collector struct {
	mu      sync.Mutex
	lines   []LogLine
	dropped uint64
	reports int
}

func (c *collector) sink() *sink {
	return newSink("p", func(_ string, l LogLine) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, l)
	}, func(_ string, n uint64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dropped += n
		c.reports++
	})
}

func (c *collector) texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var t []string
	for _, l := range c.lines {
		t = append(t, l.Text)
	}
	return t
}

func write(t *testing.T, w *lineWriter, s string) {
	t.Helper()
	if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

func TestLinesAreTheSameHoweverTheyArrive(t *testing.T) {
	text := "one\n\ntwo three\n" + strings.Repeat("x", 9000) + "\nlast"
	want := []string{"one", "", "two three", strings.Repeat("x", 9000), "last"}
	for range 50 {
		var c collector
		w := c.sink().writer()
		for rest := text; rest != ""; {
			n := 1 + rand.IntN(min(len(rest), 6000))
			write(t, w, rest[:n])
			rest = rest[n:]
		}
		w.Flush()
		if d := cmp.Diff(want, c.texts()); d != "" {
			t.Fatal(d)
		}
	}
}

func TestLastWordsBeginWhereGoSaysWhyItEnds(t *testing.T) {
	lines := func(prefix string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(prefix, i))
		}
		return out
	}
	for name, tt := range map[string]struct{ said, want []string }{
		"few lines":             {lines("a", 3), lines("a", 3)},
		"many lines":            {lines("a", 100), lines("a", 100)[100-tailLines:]},
		"a panic":               {slices.Concat(lines("a", 20), []string{"panic: why"}, lines("f", 50)), append([]string{"panic: why"}, lines("f", tailLines-1)...)},
		"a fatal error":         {slices.Concat(lines("a", 20), []string{"fatal error: why"}, lines("f", 50)), append([]string{"fatal error: why"}, lines("f", tailLines-1)...)},
		"a short panic":         {slices.Concat(lines("a", 20), []string{"panic: why", "f"}), []string{"panic: why", "f"}},
		"the last of panics":    {slices.Concat([]string{"panic: one"}, lines("f", 20), []string{"panic: two", "g"}), []string{"panic: two", "g"}},
		"a panic that it tells": {slices.Concat([]string{"caught panic: x"}, lines("a", 20)), lines("a", 20)[20-tailLines:]},
	} {
		t.Run(name, func(t *testing.T) {
			var c collector
			s := c.sink()
			write(t, s.writer(), strings.Join(tt.said, "\n")+"\n")
			want := "; its last output:"
			for _, l := range tt.want {
				want += " " + strconv.Quote(l)
			}
			if d := cmp.Diff(want, s.lastWords()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestALongLineIsCutAndMarked(t *testing.T) {
	var c collector
	w := c.sink().writer()
	for range 1 << 10 {
		write(t, w, strings.Repeat("y", 1<<10))
		if cap(w.buf) > 2*MaxLine {
			t.Fatalf("the buffer grew to %d bytes", cap(w.buf))
		}
	}
	write(t, w, "\nshort\n")
	want := []string{strings.Repeat("y", MaxLine) + fmt.Sprintf("… [%d bytes cut]", 1<<20-MaxLine), "short"}
	got := c.texts()
	// printable leaves room for an escape.
	if len(got) != 2 || got[1] != "short" || !strings.HasPrefix(got[0], strings.Repeat("y", MaxLine-16)) || !strings.HasSuffix(got[0], want[0][MaxLine:]) {
		t.Errorf("%d lines, first ends %q", len(got), got[0][max(0, len(got[0])-40):])
	}
}

func TestALineOfZerosStaysBounded(t *testing.T) {
	var c collector
	w := c.sink().writer()
	write(t, w, strings.Repeat("\x00", MaxLine)+"\n")
	if got := c.texts(); len(got) != 1 || len(got[0]) > MaxLine+64 || !strings.Contains(got[0], "bytes cut") {
		t.Errorf("%d lines", len(got))
	}
}

func TestALineWithoutEndIsShownAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c collector
		w := c.sink().writer()
		write(t, w, "Password?")
		time.Sleep(idleFlush - time.Millisecond)
		synctest.Wait()
		if got := c.texts(); len(got) != 0 {
			t.Errorf("early: %q", got)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if d := cmp.Diff([]string{"Password?"}, c.texts()); d != "" {
			t.Error(d)
		}
	})
}

func TestAFloodIsLimitedAndCounted(t *testing.T) {
	for _, tc := range []struct {
		name, line string
	}{{"short lines", "x\n"}, {"long lines", strings.Repeat("z", 4095) + "\n"}, {"empty lines", "\n"}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c collector
				s := c.sink()
				w := s.writer()
				chunk := strings.Repeat(tc.line, 64<<10/len(tc.line))
				const seconds, chunks = 10, 50
				sent := uint64(0)
				for range seconds {
					for range chunks {
						write(t, w, chunk)
						sent += uint64(strings.Count(chunk, "\n"))
					}
					time.Sleep(time.Second)
				}
				s.close()
				synctest.Wait()
				lines, size := len(c.lines), 0
				for _, l := range c.lines {
					size += len(l.Text) + 1
				}
				if most := (seconds + burstSeconds) * linesPerSecond; lines > most {
					t.Errorf("%d lines came through, at most %d may", lines, most)
				}
				if most := (seconds + burstSeconds) * bytesPerSecond; size > most {
					t.Errorf("%d bytes came through, at most %d may", size, most)
				}
				if lines < linesPerSecond && size < bytesPerSecond {
					t.Errorf("only %d lines, %d bytes came through", lines, size)
				}
				if uint64(lines)+c.dropped != sent {
					t.Errorf("%d lines and %d drops of %d", lines, c.dropped, sent)
				}
				if c.reports > seconds+2 {
					t.Errorf("drops were told %d times in %d s", c.reports, seconds)
				}
			})
		})
	}
}

func FuzzLogLine(f *testing.F) {
	for _, s := range []string{"", "x", `{"@message":1}`, `{"@message":"m","k":{}}`, "\x00\xff\u202e", "panic: x", "{\"@message\":\"\\ud800\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var p lineParser
		l := p.parse(line, time.Now())
		if !utf8.ValidString(l.Text) || len(l.Text) > MaxLine+64 || strings.IndexFunc(l.Text, unsafeRune) >= 0 {
			t.Errorf("%q gives %q", line, l.Text)
		}
	})
}
