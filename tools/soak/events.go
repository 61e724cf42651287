package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// follower keeps all events of a host that tell of plugins.
type follower struct {
	socket string
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex // guards what follows
	seen []event
	news chan struct{} // closed when there is more
	err  error
}

func follow(ctx context.Context, socket string) *follower {
	f := &follower{socket: socket, done: make(chan struct{}), news: make(chan struct{})}
	ctx, f.cancel = context.WithCancel(ctx)
	go f.run(ctx)
	return f
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	for after := uint64(0); ctx.Err() == nil; {
		var page struct {
			Latest, Dropped uint64
			Events          []struct {
				Sequence uint64
				Type     string
				Time     time.Time
				Data     json.RawMessage
			}
		}
		err := call(f.socket, "events.since", fmt.Sprintf(`{"after":%d,"wait_ms":1000,"limit":1024,"types":["plugin."]}`, after), &page)
		if ctx.Err() != nil {
			return
		}
		var fresh []event
		for _, e := range page.Events {
			var data struct {
				Plugin, Reason string
				Generation     uint64
			}
			if err == nil {
				err = json.Unmarshal(e.Data, &data)
			}
			fresh = append(fresh, event{sequence: e.Sequence, time: e.Time, typ: e.Type, plugin: data.Plugin, generation: data.Generation, reason: data.Reason})
			after = max(after, e.Sequence)
		}
		if err == nil && page.Dropped > 0 {
			err = fmt.Errorf("%d events fell out of the ring", page.Dropped)
		}
		f.add(fresh, err)
		if err != nil && pause(ctx, 20*time.Millisecond) != nil {
			return
		}
	}
}

// add keeps events. An error before the first page only means that the host is
// not there yet.
func (f *follower) add(fresh []event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if len(f.seen) > 0 && f.err == nil {
			f.err = err
		}
		return
	}
	if len(fresh) > 0 {
		f.seen = append(f.seen, fresh...)
		close(f.news)
		f.news = make(chan struct{})
	}
}

func (f *follower) all() []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// broken says why events were missed.
func (f *follower) broken() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return fmt.Errorf("following the events: %w", f.err)
	}
	return nil
}

func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// wait gives the first event of a plugin from a time on that is wanted.
func (f *follower) wait(ctx context.Context, from time.Time, plugin string, want func(event) bool) (event, error) {
	bound := time.NewTimer(faultBound)
	defer bound.Stop()
	for {
		f.mu.Lock()
		i := slices.IndexFunc(f.seen, func(e event) bool {
			return e.plugin == plugin && !e.time.Before(from.Add(-clock)) && want(e)
		})
		var found event
		if i >= 0 {
			found = f.seen[i]
		}
		news := f.news
		f.mu.Unlock()
		if i >= 0 {
			return found, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return event{}, ctx.Err()
		case <-bound.C:
			return event{}, fmt.Errorf("plugin %s: the event that must follow has not come within %v", plugin, faultBound)
		}
	}
}

// serves says of an event that a process of the plugin serves from now on.
func serves(e event) bool { return e.typ == "plugin.ready" || e.typ == "plugin.restarted" }
