package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vant-run/vant/host/internal/supervise"
)

const (
	// A change is looked at when nothing more has changed for quiet, and at
	// the latest after ceiling.
	quiet   = 75 * time.Millisecond
	ceiling = 400 * time.Millisecond
	// Files that are still being written are looked at again after pendingMin,
	// then ever later up to pendingMax.
	pendingMin = 200 * time.Millisecond
	pendingMax = 600 * time.Millisecond
	// idleEvery stands between looks that nothing asks for: they find what no
	// event told of. blindEvery takes its place when there are no events.
	idleEvery  = 30 * time.Second
	blindEvery = 2 * time.Second
)

// errEnding is what those get who ask a host that is stopping.
var errEnding = errors.New("the host is stopping")

// reconciler brings what runs to what the plugin directories hold. Its one
// goroutine is the only one that looks at the directories, applies what it saw
// and changes what it sees by; everybody else asks it, and waits as long as
// suits them: a file system that hangs keeps that goroutine and nobody else.
type reconciler struct {
	// look reads the directories and applies what it found.
	look func(context.Context) sight
	// hints says that a look may be worth while.
	hints <-chan struct{}

	asks chan *ask
	done chan struct{} // closed when run has returned
}

// sight is what came of a look, or of several.
type sight struct {
	changes supervise.Changes
	refused []supervise.Refusal
	pending bool // files that are still being written
	blind   bool // there will be no hints
}

// ask is somebody who waits for a look.
type ask struct {
	ctx    context.Context
	before func() error // runs first, on the reconciler's goroutine
	until  time.Time    // how long files that are still being written are waited for
	seen   sight
	answer chan error // capacity 1
}

func newReconciler(look func(context.Context) sight, hints <-chan struct{}) *reconciler {
	return &reconciler{look: look, hints: hints, asks: make(chan *ask), done: make(chan struct{})}
}

// ask runs before, which may be nil, and looks. When files are still being
// written it looks again until they are complete or patience has passed. The
// result is what all these looks came to. An error is before's, ctx's, or that
// the host is stopping; then nothing was looked at, or the result is lost.
func (r *reconciler) ask(ctx context.Context, patience time.Duration, before func() error) (sight, error) {
	a := &ask{ctx: ctx, before: before, until: time.Now().Add(patience), answer: make(chan error, 1)}
	select {
	case r.asks <- a:
	case <-ctx.Done():
		return sight{}, ctx.Err()
	case <-r.done:
		return sight{}, errEnding
	}
	select {
	case err := <-a.answer:
		return a.seen, err
	case <-ctx.Done():
		return sight{}, ctx.Err()
	case <-r.done:
		return sight{}, errEnding
	}
}

// run looks at once, then whenever there is a reason, until ctx ends.
func (r *reconciler) run(ctx context.Context) {
	defer close(r.done)
	var (
		waiting []*ask
		first   time.Time // of the hints that no look has followed
		delay   = pendingMin
	)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hints:
			now := time.Now()
			if first.IsZero() {
				first, delay = now, pendingMin
			}
			timer.Reset(min(quiet, first.Add(ceiling).Sub(now)))
			continue
		case a := <-r.asks:
			if err := a.begin(); err != nil {
				a.answer <- err
				continue
			}
			waiting = append(waiting, a)
		case <-timer.C:
		}
		seen := r.look(ctx)
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		waiting = slices.DeleteFunc(waiting, func(a *ask) bool { return a.take(seen, now) })
		first = time.Time{}
		switch {
		case seen.pending:
			timer.Reset(delay)
			delay = min(delay*3/2, pendingMax)
			continue
		case seen.blind:
			timer.Reset(blindEvery)
		default:
			timer.Reset(idleEvery)
		}
		delay = pendingMin
	}
}

// begin does what must come before the look, unless nobody waits any more.
func (a *ask) begin() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if a.before == nil {
		return nil
	}
	return a.before()
}

// take adds what was seen and says whether that is the end of it.
func (a *ask) take(seen sight, now time.Time) bool {
	a.seen.changes = merged(a.seen.changes, seen.changes)
	a.seen.refused, a.seen.pending, a.seen.blind = seen.refused, seen.pending, seen.blind
	if seen.pending && now.Before(a.until) && a.ctx.Err() == nil {
		return false
	}
	a.answer <- nil
	return true
}

// merged is what two changes, one after the other, come to.
func merged(a, b supervise.Changes) supervise.Changes {
	join := func(x, y []string) []string {
		z := slices.Concat(x, y)
		slices.Sort(z)
		return slices.Compact(z)
	}
	return supervise.Changes{
		Started: join(a.Started, b.Started), Replaced: join(a.Replaced, b.Replaced), Removed: join(a.Removed, b.Removed),
	}
}
