package launch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"syscall"

	"github.com/vant-run/vant/host/internal/cgroup"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
)

// By which means a limit is in force.
const (
	byCgroup   = "cgroup"
	bySampling = "sampling"
	byNice     = "nice"
)

// bounds are the limits of one process.
type bounds struct {
	group              *cgroup.Group // nil: it has none
	memoryBy, weightBy string
	noFile             uint64
}

// startBounded starts c within the limits of spec, as far as the system lets
// them be set: a limit that is not in force does not keep a plugin from
// running, but is shown not to be.
func (l *Launcher) startBounded(spec supervise.Spec, instance string, c proc.Command) (*proc.Process, bounds, error) {
	var b bounds
	if tree := l.opts.Cgroups; tree != nil {
		g, err := tree.New(instance, cgroup.Limits{MemoryMax: spec.MemoryMax, CPUWeight: spec.CPUWeight})
		if err != nil {
			l.opts.Log.Warn("a plugin starts without a control group", "plugin", spec.Name, "error", err)
		} else {
			b.group, c.Cgroup = g, g.Folder()
		}
	}
	c.Limits = proc.Limits{NoFile: uint64(max(spec.NoFile, 0))}
	if b.group == nil || !b.group.CPU {
		c.Limits.Nice = niceFor(spec.CPUWeight)
	}
	child, err := proc.Start(c)
	if b.group != nil && errors.Is(err, syscall.ENOSYS) {
		// A sandbox that knows only the old way to make a process.
		l.dropGroup(&b)
		c.Cgroup, c.Limits.Nice = nil, niceFor(spec.CPUWeight)
		child, err = proc.Start(c)
	}
	if err != nil {
		l.dropGroup(&b)
		return nil, bounds{}, err
	}
	b.noFile = child.Limits().NoFile
	switch {
	case spec.CPUWeight == 0:
	case b.group != nil && b.group.CPU:
		b.weightBy = byCgroup
	case child.Limits().Nice == c.Limits.Nice:
		b.weightBy = byNice
	}
	switch {
	case spec.MemoryMax == 0:
	case b.group != nil && b.group.Memory:
		b.memoryBy = byCgroup
	case runtime.GOOS == "linux":
		b.memoryBy = bySampling
	}
	return child, b, nil
}

// dropGroup removes a group that nobody was born into.
func (l *Launcher) dropGroup(b *bounds) {
	if b.group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepWait)
	defer cancel()
	if err := b.group.End(ctx); err != nil {
		l.opts.Log.Warn("an empty control group cannot be removed", "error", err)
	}
	b.group = nil
}

// niceFor gives the nice value that comes nearest to a weight: each step is a
// quarter of processor time, and 100 is the usual share.
func niceFor(weight int) int {
	if weight <= 0 {
		return 0
	}
	n := math.Round(-math.Log(float64(weight)/100) / math.Log(1.25))
	return max(-20, min(int(n), 19))
}

// goMemory tells Go programs to collect garbage harder before they meet the
// limit.
const goMemory = "GOMEMLIMIT"

// memoryGoal is nine tenths of a limit, "" without one.
func memoryGoal(limit int64) string {
	if limit <= 0 {
		return ""
	}
	return strconv.FormatInt(limit/10*9, 10)
}

// watchMemory has the process's memory sampled if nothing else bounds it.
func (r *procRunner) watchMemory(child *proc.Process) {
	r.mu.Lock()
	sampled := r.bounds.memoryBy == bySampling
	r.mu.Unlock()
	if !sampled {
		return
	}
	unwatch := r.host.sampler.watch(&watched{
		leader: child.Identity(), instance: r.instance,
		took: func(rss int64, family []proc.Identity) {
			if rss > r.spec.MemoryMax {
				r.note(family)
				r.exceed(fmt.Sprintf("its memory of %s exceeded memory_max %s", size(rss), size(r.spec.MemoryMax)), child)
			}
		},
	})
	r.mu.Lock()
	r.unwatch = unwatch
	r.mu.Unlock()
}

// exceed kills the process; what else it has started follows.
func (r *procRunner) exceed(why string, child *proc.Process) {
	r.mu.Lock()
	first := r.excess == ""
	if first {
		r.excess = why
	}
	r.mu.Unlock()
	if first {
		_ = child.SignalGroup(syscall.SIGKILL) // it may have ended this moment
	}
}

func (r *procRunner) reason() string {
	r.mu.Lock()
	group, why := r.bounds.group, r.excess
	r.mu.Unlock()
	if why == "" && group != nil && group.Memory && group.OutOfMemory() {
		why = "its memory exceeded memory_max " + size(r.spec.MemoryMax)
	}
	return why
}

func (r *procRunner) resources() supervise.Resources {
	r.mu.Lock()
	child, b := r.child, r.bounds
	r.mu.Unlock()
	res := supervise.Resources{
		MemoryMax: r.spec.MemoryMax, MemoryBy: b.memoryBy,
		CPUWeight: r.spec.CPUWeight, CPUBy: b.weightBy,
		NoFile: int(b.noFile),
	}
	if child != nil {
		res.RSS = residentNow(child.Identity(), r.marker())
	}
	return res
}

// size writes a limit as the configuration does.
func size(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
