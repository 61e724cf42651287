package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/vant-run/vant/proto/envelope"
)

const (
	// RestartWait is how long Events waits for a host that has gone away.
	RestartWait = 5 * time.Second

	pollWait    = 25 * time.Second // the longest poll that the host grants
	pollMargin  = 10 * time.Second // for its answer to come
	pollLimit   = 1024
	firstPause  = 5 * time.Millisecond
	maxPause    = time.Second
	quietEnough = time.Second // a poll of this length needs no pause after it
	// longGap is how long a consumer may take between two pages without doubt
	// about the host: a restart takes longer.
	longGap = 50 * time.Millisecond
)

// Event is one thing that happened at the host.
type Event struct {
	Sequence uint64
	Type     string
	Time     time.Time
	Data     json.RawMessage
	// Raw is the whole event as it came.
	Raw json.RawMessage
}

// UnmarshalJSON reads an event and keeps its bytes.
func (e *Event) UnmarshalJSON(raw []byte) error {
	var v struct {
		Sequence uint64          `json:"sequence"`
		Type     string          `json:"type"`
		Time     json.RawMessage `json:"time"`
		Data     json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	*e = Event{Sequence: v.Sequence, Type: v.Type, Data: v.Data, Raw: append(json.RawMessage(nil), raw...)}
	if len(v.Time) > 0 && v.Time[0] == '"' {
		return e.Time.UnmarshalJSON(v.Time)
	}
	return nil
}

// Events follows the host's events after the sequence number after, for ever:
// it yields what is kept already and then each event as it happens. When the
// host restarts, sequence numbers begin again, and the events of the new host
// follow from its first one.
//
// A host that goes away is awaited for RestartWait (or WaitForHost, if that is
// longer). The sequence ends with one error: the context's, an *Error,
// ErrHostGone, or ErrNoHost when there was none to begin with: for the first
// connection WaitForHost alone counts.
func (c *Client) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{client: c, after: after}
		for {
			events, err := f.next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// follower is the state of one Events.
type follower struct {
	client *Client
	after  uint64
	epoch  string // "" before the first answer
	// unsure is set when the host may be another one than before, and at the
	// start: its answer is then asked for at once, because a poll with a
	// cursor of the old host's would wait in vain.
	unsure   bool
	answered time.Time // when the last page came
	pause    time.Duration
}

type page struct {
	Latest uint64  `json:"latest"`
	Epoch  string  `json:"epoch"`
	Events []Event `json:"events"`
}

// next gives the next events, at least one.
func (f *follower) next(ctx context.Context) ([]Event, error) {
	if time.Since(f.answered) > longGap {
		f.unsure = true
	}
	for {
		wait := pollWait
		if f.unsure {
			wait = 0
		}
		began := time.Now()
		p, err := f.poll(ctx, wait)
		if err != nil {
			return nil, err
		}
		f.answered = time.Now()
		switch {
		case f.epoch != "" && p.Epoch != f.epoch:
			// Another host: its numbers begin again, and this page was cut by
			// a cursor that means nothing to it.
			stale := f.after > 0
			f.epoch, f.after, f.unsure = p.Epoch, 0, false
			if stale {
				continue
			}
		default:
			f.epoch = p.Epoch
		}
		if n := len(p.Events); n > 0 {
			if last := p.Events[n-1].Sequence; last > f.after {
				f.after, f.unsure, f.pause = last, false, 0
				return p.Events, nil
			}
			return nil, fmt.Errorf("events.since: %w: events after %d were asked for, %d came", ErrBadReply, f.after, p.Events[n-1].Sequence)
		}
		f.after = max(f.after, p.Latest)
		spent := f.answered.Sub(began)
		// A poll that ends early with nothing may be the farewell of a host
		// that stops.
		f.unsure = wait > 0 && spent < wait
		if spent >= quietEnough || (wait == 0 && f.pause == 0) {
			f.pause = 0
			continue
		}
		// One early answer is normal; a series of them must not become a loop
		// that burns.
		f.pause = min(max(2*f.pause, firstPause), maxPause)
		if err := sleep(ctx, f.pause); err != nil {
			return nil, err
		}
	}
}

// poll makes one poll, and while the host is away tries again for as long as
// is granted. Polling has no effect at the host, so it may be repeated.
func (f *follower) poll(ctx context.Context, wait time.Duration) (page, error) {
	c := f.client
	grace := c.opt.WaitForHost
	if f.epoch != "" {
		grace = max(grace, RestartWait)
	}
	began := time.Now()
	for pause := firstRetry; ; pause = min(2*pause, maxRetry) {
		// The waiting for a host is done here and not in the connect, which
		// would hide that the host is another one.
		p, err := f.ask(ctx, wait)
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil {
			return page{}, ctx.Err()
		}
		if !away(err) {
			return page{}, err
		}
		// The time that a poll stood open is not time without a host.
		if errors.Is(err, ErrNoReply) && wait > 0 {
			began = time.Now()
		}
		wait, f.unsure = 0, true
		if time.Since(began) >= grace {
			if f.epoch != "" {
				err = fmt.Errorf("%w within %v: %w", ErrHostGone, grace, err)
			}
			return page{}, err
		}
		if err := sleep(ctx, pause); err != nil {
			return page{}, err
		}
	}
}

func (f *follower) ask(ctx context.Context, wait time.Duration) (page, error) {
	params := fmt.Appendf(nil, `{"after":%d,"limit":%d,"wait_ms":%d}`, f.after, pollLimit, wait.Milliseconds())
	reply, err := f.client.exchange(ctx, "events.since", params, 0, wait+pollMargin)
	if err != nil {
		return page{}, err
	}
	if err := reply.Err(); err != nil {
		return page{}, err
	}
	var p page
	if err := json.Unmarshal(reply.Result, &p); err != nil {
		return page{}, fmt.Errorf("events.since: %w: %w", ErrBadReply, err)
	}
	return p, nil
}

// away says whether an error means that the host is gone or has no room, which
// may pass.
func away(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Code == envelope.Busy
	}
	return errors.Is(err, ErrNoHost) || errors.Is(err, ErrNoReply)
}
