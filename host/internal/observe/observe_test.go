package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

func TestLinesReachTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	l := NewLogs(Options{Dir: dir})
	l.Append("p", noon, hclog.Info, "one")
	l.Append("p", noon, hclog.Error, "two")
	closeLogs(t, l)
	got, err := os.ReadFile(filepath.Join(dir, "p.log"))
	if err != nil {
		t.Fatal(err)
	}
	want := "2001-02-03T12:00:00.004Z info  one\n2001-02-03T12:00:00.004Z error two\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	checkMode(t, dir, fs.ModeDir|0o700)
	checkMode(t, filepath.Join(dir, "p.log"), 0o600)
	l.Append("p", noon, hclog.Info, "after close")
	if lines, _, _ := l.Read(t.Context(), "p", 2, 0, 0); len(lines) != 1 {
		t.Error("a late line is not in memory")
	}
	closeLogs(t, l) // twice is harmless
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
}

func TestFilesRotate(t *testing.T) {
	dir := t.TempDir()
	f := newLogFile(newRotating(filepath.Join(dir, "p.log"), Rotation{MaxSizeMB: 1, MaxFiles: 2}))
	batch := []byte(strings.Repeat("x", 99) + "\n")
	batch = bytes.Repeat(batch, 2000)
	for range 20 { // 4 MB
		if _, err := f.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// Old files are removed behind the writer's back.
	deadline := time.Now().Add(10 * time.Second)
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 2 {
			for _, e := range entries {
				checkMode(t, filepath.Join(dir, e.Name()), 0o600)
				if info, err := e.Info(); err != nil || info.Size() > 1<<20 {
					t.Errorf("%s: %v, %v", e.Name(), info, err)
				}
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files are left", len(entries))
		}
	}
}

func TestLogFileTightensAndRefuses(t *testing.T) {
	dir := t.TempDir()
	loose := filepath.Join(dir, "loose.log")
	if err := os.WriteFile(loose, []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := newLogFile(newRotating(loose, Rotation{}))
	if _, err := f.Write([]byte("new\n")); err != nil {
		t.Fatal(err)
	}
	checkMode(t, loose, 0o600)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(loose); err != nil || string(got) != "old\nnew\n" {
		t.Errorf("got %q, %v", got, err)
	}

	link := filepath.Join(dir, "link.log")
	if err := os.Symlink(loose, link); err != nil {
		t.Fatal(err)
	}
	if _, err := newLogFile(newRotating(link, Rotation{})).Write([]byte("x")); err == nil {
		t.Error("followed a link")
	}
}

func TestLogFileComesBackAfterRemoval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "p.log")
	f := newLogFile(newRotating(path, Rotation{}))
	for range 2 {
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "line\n" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// slowDisk blocks every write until it is let go.
type slowDisk struct {
	free    chan struct{}
	fail    error
	written bytes.Buffer
	closed  bool
}

func (d *slowDisk) Write(p []byte) (int, error) {
	<-d.free
	if d.fail != nil {
		return 0, d.fail
	}
	return d.written.Write(p)
}

func (d *slowDisk) Close() error { d.closed = true; return nil }

func TestSlowDiskBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{free: make(chan struct{})}
		s := newSpool(d)
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for range 1000 { // far more than the queue holds
			s.add(line)
		}
		synctest.Wait()
		// At most one batch is with the disk and one queue waits behind it.
		if dropped, _ := s.state(); dropped < 1000-2*maxQueued/1024 || dropped > 1000-maxQueued/1024 {
			t.Errorf("dropped %d", dropped)
		}

		s.beginClose()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close with a dead disk: %v", err)
		}

		close(d.free)
		if err := s.wait(t.Context()); err != nil || !d.closed {
			t.Errorf("close: %v, closed %v", err, d.closed)
		}
		dropped, _ := s.state()
		if written := uint64(d.written.Len() / 1024); written+dropped != 1000 {
			t.Errorf("%d written, %d dropped of 1000", written, dropped)
		}
	})
}

func TestFullDiskIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{free: make(chan struct{}), fail: errors.New("no space left")}
		close(d.free)
		s := newSpool(d)
		s.add([]byte("a\n"))
		synctest.Wait()
		dropped, err := s.state()
		if dropped != 1 || !errors.Is(err, d.fail) {
			t.Errorf("dropped %d, %v", dropped, err)
		}
		d.fail = nil
		s.add([]byte("b\n"))
		synctest.Wait()
		if dropped, err = s.state(); dropped != 1 || err != nil || d.written.String() != "b\n" {
			t.Errorf("after it has room again: dropped %d, %v, wrote %q", dropped, err, d.written.String())
		}
		s.beginClose()
		synctest.Wait()
		s.add([]byte("c\n"))
		if dropped, _ = s.state(); dropped != 2 {
			t.Errorf("a line after the end was not counted: %d", dropped)
		}
	})
}

func TestCallLogLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "calls.log")
	l := NewCallLog(file, Rotation{})
	l.Record(Call{Time: noon, Method: "net.fetch", Pid: 42, Program: "/usr/bin/vant", Duration: 1500 * time.Microsecond})
	l.Record(Call{Time: noon, Method: strings.Repeat("é", 100) + "\n\"", Program: "a\\\x1b\xff\"", Code: "method_not_found"})
	l.Record(Call{Time: noon, Method: "a" + strings.Repeat("é", 100)})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkMode(t, file, 0o600)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if want := `{"time":"2001-02-03T12:00:00.004Z","method":"net.fetch","pid":42,"program":"/usr/bin/vant","duration_us":1500,"code":"ok"}`; lines[0] != want {
		t.Errorf("got %s", lines[0])
	}
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range []struct{ method, program, code string }{
		1: {strings.Repeat("é", 64) + "…", "a\\\x1b\uFFFD\"", "method_not_found"},
		2: {"a" + strings.Repeat("é", 63) + "…", "", "ok"},
	} {
		if i == 0 {
			continue
		}
		var got struct{ Method, Program, Code string }
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if got.Method != want.method || got.Program != want.program || got.Code != want.code {
			t.Errorf("got %q", got)
		}
	}
}

func TestCallLogSwitchedOff(t *testing.T) {
	var l *CallLog
	l.Record(Call{Method: "x"})
	if n, err := l.Dropped(); n != 0 || err != nil {
		t.Error(n, err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestParseLevel(t *testing.T) {
	for name, want := range map[string]hclog.Level{
		"trace": hclog.Trace, "debug": hclog.Debug, "info": hclog.Info, "warn": hclog.Warn, "error": hclog.Error, "off": hclog.Off,
	} {
		if got, err := ParseLevel(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "Info", "loud", " info", "none"} {
		if _, err := ParseLevel(name); err == nil || !strings.Contains(err.Error(), "trace, debug, info, warn, error or off") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLoggerSpellsControlCharactersOut(t *testing.T) {
	var b bytes.Buffer
	log := NewLogger(hclog.Info, &b)
	log.Debug("hidden")
	log.Info("grüße \x1b[31m \u009b \xff", "quoted", "a\x07b")
	got := b.String()
	if strings.Contains(got, "hidden") || strings.ContainsAny(got, "\x1b\x07\u009b") || !strings.Contains(got, `grüße \x1b[31m \x9b \xff`) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(got, "[INFO]  vantd: ") {
		t.Errorf("got %q", got)
	}
}

func TestLoggerReportsAWriteError(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"plain", "\x1b"} {
		if _, err := (safeWriter{w}).Write([]byte(text)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", text, err)
		}
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

func BenchmarkRecord(b *testing.B) {
	l := NewCallLog(filepath.Join(b.TempDir(), "calls.log"), Rotation{})
	b.ReportAllocs()
	for b.Loop() {
		l.Record(Call{Time: noon, Method: "net.fetch", Pid: 42, Program: "/usr/bin/vant", Duration: time.Millisecond})
	}
	if err := l.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
