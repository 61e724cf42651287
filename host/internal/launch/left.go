package launch

import (
	"context"
	"errors"
	"time"

	"github.com/vant-run/vant/internal/proc"
)

// instanceVar is the variable that names a start.
const instanceVar = "VANT_INSTANCE"

// sweepWait is how long a stop waits for the end of what a process left;
// sweepMax bounds the sweep itself, which goes on in the background.
const (
	sweepWait = 400 * time.Millisecond
	sweepMax  = 5 * time.Second
)

// marker is the environment entry of this start alone.
func (r *procRunner) marker() string { return instanceVar + "=" + r.instance }

// foresee notes the descendants while the process still leads to them. Those
// that it would lose, by moving away and forgetting their environment, cannot
// be found later. A control group needs no notes.
func (r *procRunner) foresee() {
	r.mu.Lock()
	child, grouped := r.child, r.bounds.group != nil
	r.mu.Unlock()
	if child == nil || grouped {
		return
	}
	if ids, err := proc.Descendants(child.Pid()); err == nil {
		r.note(ids)
	}
}

// note remembers processes as this one's.
func (r *procRunner) note(ids []proc.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = append(r.known, ids...)
}

// sweep ends what the process started and left, whatever group or session it
// moved to. It is called when the process has ended, or does not end.
func (r *procRunner) sweep() <-chan struct{} {
	r.sweeping.Do(func() { go r.endLeft() })
	return r.swept
}

func (r *procRunner) endLeft() {
	defer close(r.swept)
	r.mu.Lock()
	child, group, known, unwatch := r.child, r.bounds.group, r.known, r.unwatch
	r.mu.Unlock()
	if child == nil {
		return
	}
	if unwatch != nil {
		unwatch()
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepMax)
	defer cancel()
	var left int
	var err error
	if group != nil {
		err = group.End(ctx)
	} else {
		var killed []proc.Identity
		killed, err = proc.KillLeft(ctx, child.Identity(), r.marker(), known)
		left = len(killed)
	}
	switch {
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		r.host.opts.Log.Error("processes that a plugin left cannot be ended", "plugin", r.name, "error", err)
	case left > 0:
		r.host.opts.Log.Info("ended processes that a plugin left", "plugin", r.name, "count", left)
	}
}
