package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func (l *Launcher) samples() bool {
	l.sampler.mu.Lock()
	defer l.sampler.mu.Unlock()
	return l.sampler.stop != nil
}

// limited is a spec of a plugin that may have 200 MiB.
func limited(role string, env ...string) supervise.Spec {
	s := spec(role, env...)
	s.MemoryMax = 200 << 20
	return s
}

// exceed has a plugin take 300 MiB. The answer may come before its end.
func exceed(p supervise.Process, method string) *pluginv1.InvokeResponse {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, _ := p.Invoke(ctx, &pluginv1.InvokeRequest{Method: method, Params: []byte("300")})
	return res
}

func TestAPluginBeyondItsMemoryIsEndedWithTheReason(t *testing.T) {
	for _, tc := range []struct{ name, method string }{
		{"by itself", "eat"}, {"by a process that left its group", "apart"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			p := b.startedAs(limited("good"))
			if r := p.Resources(); r.MemoryBy != "sampling" || r.MemoryMax != 200<<20 || r.RSS < 1<<20 || r.RSS > r.MemoryMax {
				t.Errorf("resources %+v", r)
			}
			res := exceed(p, tc.method)
			e := exits(t, p, time.Minute)
			if want := regexp.MustCompile(`^its memory of [234]\d\d MiB exceeded memory_max 200 MiB$`); !want.MatchString(e.Reason) || e.Signal != "killed" {
				t.Errorf("exit %+v", e)
			}
			p.Stop(0)
			if tc.method == "apart" {
				settles(t, fmt.Sprintf("one is left after %v", res), func() bool {
					left, err := proc.FindMarked("LAUNCH_TEST_EAT=300")
					return err == nil && len(left) == 0
				})
			}
			if b.samples() {
				t.Error("it is sampled though it has ended")
			}
		})
	}
}

func TestAStartThatTakesTooMuchMemorySaysSo(t *testing.T) {
	b := newBench(t)
	se := b.failed(limited("eat", "LAUNCH_TEST_EAT=300"))
	if se.Permanent || !strings.Contains(se.Error(), "exceeded memory_max 200 MiB") {
		t.Errorf("%v", se)
	}
}

func TestWhatForgotItsEnvironmentEndsWithAPluginThatExceeds(t *testing.T) {
	b := newBench(t)
	p := b.startedAs(limited("good"))
	left := descendant(t, p, "hold", "")
	exceed(p, "eat")
	if e := exits(t, p, time.Minute); e.Reason == "" {
		t.Errorf("exit %+v", e)
	}
	p.Stop(0)
	settles(t, "it lives", func() bool { return !proc.Alive(left) })
}

func TestAPluginWithinItsMemoryLives(t *testing.T) {
	b := newBench(t)
	s := spec("good")
	s.MemoryMax = 1 << 30
	p := b.startedAs(s)
	call(t, p, "eat", "100")
	select {
	case <-p.Exited():
		t.Errorf("it was ended: %+v", p.Exit())
	case <-time.After(3 * sampleEvery):
	}
	if r := p.Resources(); r.RSS < 100<<20 {
		t.Errorf("resources %+v", r)
	}
}

func TestNothingIsSampledWithoutALimit(t *testing.T) {
	b := newBench(t)
	p := b.started("good")
	if b.samples() {
		t.Error("it is sampled")
	}
	if r := p.Resources(); r.MemoryMax != 0 || r.MemoryBy != "" || r.CPUBy != "" || r.NoFile != 0 || r.RSS == 0 {
		t.Errorf("resources %+v", r)
	}
}

func TestFilesAndNiceAreLimited(t *testing.T) {
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	s := spec("good")
	s.NoFile, s.CPUWeight = 128, 50
	p := b.startedAs(s)
	var got []int
	if err := json.Unmarshal(call(t, p, "limits", "").Result, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{128, 128, min(20-own+3, 19)}, got); d != "" {
		t.Error(d)
	}
	want := supervise.Resources{CPUWeight: 50, CPUBy: "nice", NoFile: 128}
	have := p.Resources()
	have.RSS = 0
	if d := cmp.Diff(want, have); d != "" {
		t.Error(d)
	}
}

func TestWeightsBecomeTheNearestNiceValue(t *testing.T) {
	for weight, want := range map[int]int{0: 0, 100: 0, 80: 1, 50: 3, 10: 10, 1: 19, 125: -1, 200: -3, 1000: -10, 10000: -20} {
		if got := niceFor(weight); got != want {
			t.Errorf("weight %d: nice %d, want %d", weight, got, want)
		}
	}
}

func TestGoProgramsLearnTheirMemoryLimit(t *testing.T) {
	b := newBench(t)
	for _, tc := range []struct {
		limit int64
		env   []string
		want  string
	}{
		{0, nil, ""},
		{1000 << 20, nil, "GOMEMLIMIT=943718400"},
		{1000 << 20, []string{"GOMEMLIMIT=off"}, "GOMEMLIMIT=off"},
	} {
		s := spec("good", tc.env...)
		s.MemoryMax = tc.limit
		p, err := b.launch(s)
		if err != nil {
			t.Fatal(err)
		}
		var env []string
		if err := json.Unmarshal(call(t, p, "env", "").Result, &env); err != nil {
			t.Fatal(err)
		}
		p.Stop(time.Second)
		got := ""
		if i := slices.IndexFunc(env, func(e string) bool { return len(e) > 10 && e[:11] == "GOMEMLIMIT=" }); i >= 0 {
			got = env[i]
		}
		if got != tc.want {
			t.Errorf("limit %d, %v: %q, want %q", tc.limit, tc.env, got, tc.want)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	o := origins{}
	for b.Loop() {
		t, err := proc.ReadTable()
		if err != nil {
			b.Fatal(err)
		}
		o.look(t)
	}
}
