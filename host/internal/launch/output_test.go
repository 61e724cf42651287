package launch

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestOutputComesFromEveryStream(t *testing.T) {
	b := newBench(t)
	p := b.started("dirty-start")
	if l := b.untilText(t, "warming up"); l.Text != "warming up n=1" {
		t.Errorf("line %q", l.Text)
	}
	for _, stream := range []string{"stderr", "fd1", "os.Stdout"} {
		call(t, p, stream, "from "+stream+"\n")
		b.untilText(t, "from "+stream)
	}
}

func TestHostileLogLinesHarmNobody(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	bomb := strings.Join([]string{`{"@message":1}`, `{"@level":[]}`, `{"@timestamp":0}`, "null", "\x00\x00\x00",
		"panic: not really", `{"@level":"error","@message":"the end"}`, ""}, "\n")
	call(t, p, "stderr", bomb)
	if l := b.untilText(t, "the end"); l.Level != hclog.Error {
		t.Errorf("level %v", l.Level)
	}
	b.untilText(t, `{"@message":1}`)
	if got := call(t, p, "echo", "1"); string(got.Result) != "1" {
		t.Errorf("echo = %s", got.Result)
	}
}

func TestALongLineOnDescriptor1DoesNotBlockThePlugin(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	for _, stream := range []string{"fd1", "stderr"} {
		call(t, p, stream, strings.Repeat("x", 1<<20-1)+"\n") // returns when written
		b.until(t, "long line", func(lines []LogLine, _ uint64) bool {
			n := 0
			for _, l := range lines {
				if strings.HasSuffix(l.Text, "bytes cut]") {
					n++
				}
			}
			return n >= 1
		})
	}
}

func TestAFloodBlocksNeitherPluginNorCalls(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	const size = 256 << 20
	done := make(chan error, 1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		_, err := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: "flood", Params: []byte(strconv.Itoa(size))})
		done <- err
	}()
	calls := 0
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
			call(t, p, "echo", "1")
			calls++
		}
	}
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grew := int64(after.HeapAlloc) - int64(before.HeapAlloc); grew > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grew)
	}
	b.until(t, "count of drops", func(lines []LogLine, dropped uint64) bool { return dropped > 0 && len(lines) > 0 })
	p.Stop(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	if most := int(took.Seconds()+burstSeconds+2) * linesPerSecond; len(b.lines) > most {
		t.Errorf("%d lines came through in %v", len(b.lines), took)
	}
	if calls == 0 {
		t.Error("no call was answered meanwhile")
	}
	t.Logf("%d MiB in %v, %d calls meanwhile, %d lines kept, %d dropped", size>>20, took, calls, len(b.lines), b.dropped)
}
