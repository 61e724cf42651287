package observe

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
