package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The rotating writer parks one goroutine a file for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}

var noon = time.Date(2001, 2, 3, 12, 0, 0, 4_000_000, time.UTC)

func texts(lines []Line) []string {
	out := []string{}
	for _, l := range lines {
		out = append(out, l.Text)
	}
	return out
}

func closeLogs(t *testing.T, l *Logs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestReadGivesLinesAfterANumber(t *testing.T) {
	l := NewLogs(Options{})
	for i := 1; i <= 5; i++ {
		l.Append("p", noon, hclog.Warn, fmt.Sprint("line ", i))
	}
	for _, tc := range []struct {
		name  string
		after uint64
		limit int
		want  []string
	}{
		{"all", 0, 0, []string{"line 1", "line 2", "line 3", "line 4", "line 5"}},
		{"limited", 0, 2, []string{"line 1", "line 2"}},
		{"after", 3, 10, []string{"line 4", "line 5"}},
		{"after the last", 5, 10, []string{}},
		{"a number of an earlier life", 99, 1, []string{"line 1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines, dropped, ok := l.Read(t.Context(), "p", tc.after, tc.limit, 0)
			if diff := cmp.Diff(tc.want, texts(lines)); diff != "" || dropped != 0 || !ok {
				t.Errorf("dropped %d, ok %v, %s", dropped, ok, diff)
			}
		})
	}
	lines, _, _ := l.Read(t.Context(), "p", 4, 0, 0)
	got, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"seq":5,"time":"2001-02-03T12:00:00.004Z","level":"warn","text":"line 5"}]`; string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestReadOfAnUnknownPlugin(t *testing.T) {
	l := NewLogs(Options{})
	if _, _, ok := l.Read(t.Context(), "p", 0, 0, time.Hour); ok {
		t.Error("known")
	}
	l.SetLevel("p", hclog.Info)
	if _, _, ok := l.Read(t.Context(), "p", 0, 0, 0); !ok {
		t.Error("unknown although it has a level")
	}
}

func TestRingKeepsTheLastThousandLines(t *testing.T) {
	l := NewLogs(Options{})
	for i := 1; i <= RingLines+250; i++ {
		l.Append("p", noon, hclog.Info, fmt.Sprint(i))
	}
	lines, dropped, _ := l.Read(t.Context(), "p", 0, 0, 0)
	if len(lines) != RingLines || lines[0].Text != "251" || lines[RingLines-1].Text != "1250" || dropped != 250 {
		t.Errorf("%d lines from %s, dropped %d", len(lines), lines[0].Text, dropped)
	}
	if _, dropped, _ = l.Read(t.Context(), "p", 200, 10, 0); dropped != 50 {
		t.Errorf("dropped %d after 200", dropped)
	}
	if _, dropped, _ = l.Read(t.Context(), "p", 600, 10, 0); dropped != 0 {
		t.Errorf("dropped %d after 600", dropped)
	}
}

func TestRingBoundsItsBytes(t *testing.T) {
	l := NewLogs(Options{})
	for range 200 {
		l.Append("p", noon, hclog.Info, strings.Repeat("x", maxText+100))
	}
	lines, _, _ := l.Read(t.Context(), "p", 0, 0, 0)
	total := 0
	for _, line := range lines {
		total += len(line.Text)
	}
	if total > ringBytes || total < ringBytes-2*maxText {
		t.Errorf("%d bytes in %d lines", total, len(lines))
	}
	if !strings.HasSuffix(lines[0].Text, "…") {
		t.Error("a cut line is not marked")
	}
}

func TestDropsAreGapsInTheNumbers(t *testing.T) {
	l := NewLogs(Options{})
	l.Append("p", noon, hclog.Info, "a")
	l.Drop("p", 7)
	l.Append("p", noon, hclog.Info, "b")
	lines, dropped, _ := l.Read(t.Context(), "p", 0, 0, 0)
	if len(lines) != 2 || lines[1].Seq != 9 || dropped != 7 {
		t.Errorf("got %+v, dropped %d", lines, dropped)
	}
	s, ok := l.Stats("p")
	if diff := cmp.Diff(Stats{Lines: 9, Dropped: 7}, s); diff != "" || !ok {
		t.Error(diff)
	}
}

func TestLevelIsPerPlugin(t *testing.T) {
	l := NewLogs(Options{Level: hclog.Warn})
	l.SetLevel("loud", hclog.Debug)
	for _, p := range []string{"loud", "quiet"} {
		l.Append(p, noon, hclog.Debug, "debug")
		l.Append(p, noon, hclog.Error, "error")
	}
	for p, want := range map[string][]string{"loud": {"debug", "error"}, "quiet": {"error"}} {
		lines, dropped, _ := l.Read(t.Context(), p, 0, 0, 0)
		if diff := cmp.Diff(want, texts(lines)); diff != "" || dropped != 0 {
			t.Errorf("%s: dropped %d, %s", p, dropped, diff)
		}
	}
}

func TestTextIsOneSafeLine(t *testing.T) {
	l := NewLogs(Options{})
	for _, text := range []string{"a\nb", "\x1b[31mred", "tab\there", "bad \xff end", "\u009b1m", "grüße"} {
		l.Append("p", noon, hclog.Info, text)
	}
	lines, _, _ := l.Read(t.Context(), "p", 0, 0, 0)
	if diff := cmp.Diff([]string{"a·b", "·[31mred", "tab here", "bad \uFFFD end", "·1m", "grüße"}, texts(lines)); diff != "" {
		t.Error(diff)
	}
}

func TestReadWaitsForALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLogs(Options{})
		l.SetLevel("p", hclog.Info)
		begin := time.Now()
		type answer struct {
			texts []string
			took  time.Duration
		}
		const readers = 3
		answers := make(chan answer, readers)
		for range readers {
			go func() {
				lines, _, _ := l.Read(t.Context(), "p", 0, 0, time.Minute)
				answers <- answer{texts(lines), time.Since(begin)}
			}()
		}
		synctest.Wait()
		time.Sleep(20 * time.Second)
		l.Append("other", time.Now(), hclog.Info, "not this")
		l.Append("p", time.Now(), hclog.Trace, "filtered")
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatalf("woke for %+v", <-answers)
		}
		l.Append("p", time.Now(), hclog.Info, "here")
		for range readers {
			if got := <-answers; len(got.texts) != 1 || got.texts[0] != "here" || got.took != 20*time.Second {
				t.Errorf("got %+v", got)
			}
		}
	})
}

func TestReadStopsWaiting(t *testing.T) {
	for name, stop := range map[string]func(l *Logs, cancel func()){
		"when its time is over": func(*Logs, func()) { time.Sleep(time.Minute) },
		"when its context ends": func(_ *Logs, cancel func()) { cancel() },
		"when the logs close":   func(l *Logs, _ func()) { _ = l.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewLogs(Options{})
				l.SetLevel("p", hclog.Info)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var done atomic.Bool
				go func() {
					lines, _, ok := l.Read(ctx, "p", 0, 0, time.Minute)
					done.Store(ok && len(lines) == 0)
				}()
				synctest.Wait()
				if done.Load() {
					t.Fatal("did not wait")
				}
				stop(l, cancel)
				synctest.Wait()
				if !done.Load() {
					t.Error("still waits")
				}
			})
		})
	}
}

func TestAForgottenPluginLeavesItsFileAlone(t *testing.T) {
	dir := t.TempDir()
	l := NewLogs(Options{Dir: dir})
	before := goleak.IgnoreCurrent()
	for i := range 50 {
		name := "p" + strconv.Itoa(i)
		l.Append(name, time.Now(), hclog.Info, "last words")
		l.Forget(name)
		if _, _, ok := l.Read(t.Context(), name, 0, 1, 0); ok {
			t.Errorf("%s is still known", name)
		}
	}
	// The library for rotation ends no goroutine of its own.
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "p49.log")); err != nil || !strings.Contains(string(b), "last words") {
		t.Errorf("the file has %q, %v", b, err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAPluginThatComesBackCostsNoMoreThanBefore(t *testing.T) {
	dir := t.TempDir()
	l := NewLogs(Options{Dir: dir})
	rotators := func() int {
		buf := make([]byte, 1<<20)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "created by gopkg.in/natefinch/lumberjack")
	}
	before := rotators()
	const times = 50
	for i := range times {
		l.Append("p", time.Now(), hclog.Info, "life "+strconv.Itoa(i))
		l.Forget("p")
	}
	l.Append("p", time.Now(), hclog.Info, "the last life")
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
	text := ""
	for end := time.Now().Add(10 * time.Second); strings.Count(text, "\n") <= times && time.Now().Before(end); { // what was queued before a Forget is still written
		b, err := os.ReadFile(filepath.Join(dir, "p.log"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		runtime.Gosched()
	}
	for i := range times {
		if n := strings.Count(text, "life "+strconv.Itoa(i)+"\n"); n != 1 {
			t.Errorf("life %d is %d times in the file", i, n)
		}
	}
	if n := rotators() - before; n > 1 {
		t.Errorf("%d goroutines rotate one file", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	l := NewLogs(Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	const each, plugins = 2000, 4
	var seen atomic.Uint64
	for p := range plugins {
		name := fmt.Sprint("p", p)
		l.SetLevel(name, hclog.Info)
		wg.Go(func() {
			for i := range each {
				l.Append(name, noon, hclog.Info, fmt.Sprint(i))
			}
		})
		wg.Go(func() {
			after := uint64(0)
			for after < each {
				lines, dropped, _ := l.Read(t.Context(), name, after, 100, 10*time.Second)
				if len(lines) == 0 {
					t.Error("no line in time")
					return
				}
				seen.Add(uint64(len(lines)) + dropped)
				after = lines[len(lines)-1].Seq
			}
		})
	}
	wg.Wait()
	closeLogs(t, l)
	if seen.Load() != each*plugins {
		t.Errorf("accounted for %d lines", seen.Load())
	}
}

func BenchmarkAppend(b *testing.B) {
	l := NewLogs(Options{Dir: b.TempDir()})
	b.ReportAllocs()
	for b.Loop() {
		l.Append("p", noon, hclog.Info, "a line of the usual length, as plugins print them")
	}
	if err := l.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
