package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/plugins/browser/chromium"
	"github.com/vant-run/vant/plugins/browser/devtools"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/sdk"
)

const (
	// joinBound is how long a browser may take to tell of its tabs.
	joinBound = 10 * time.Second
	// A lost connection is made again for so long, with pauses that double.
	rejoinFor      = 30 * time.Second
	rejoinPause    = 100 * time.Millisecond
	rejoinMaxPause = 3 * time.Second
	// linkBound is how long a call waits for that.
	linkBound = 5 * time.Second
)

// link is the connection to a browser that was not started here.
type link struct {
	run string // of the browser that is driven

	mu   sync.Mutex    // guards the fields that follow
	up   chan struct{} // closed while there is a connection
	lost chan struct{} // closed when that one is known to be lost
	why  error         // why there is none
}

func newLink(run string) *link {
	return &link{run: run, up: make(chan struct{}), lost: make(chan struct{}), why: target.ErrDisconnected}
}

// attach connects to the browser that the configuration names.
func (l *life) attach(ctx context.Context) (*running, error) {
	failed := func(err error) (*running, error) {
		return nil, sdk.Errorf("internal_error", "%s", err.Error()).From(sdk.Downstream)
	}
	r, w, run, err := l.browser.Dial(ctx, "")
	if err != nil {
		return failed(err)
	}
	o := l.options(true)
	o.Lazy = true
	b := &running{Browser: target.New(r, w, o), ended: make(chan struct{}), link: newLink(run)}
	ctx, cancel := context.WithTimeout(ctx, joinBound)
	defer cancel()
	version, err := cdp.Call(ctx, b.Root(), browser.GetVersion, cdp.Empty{})
	if err == nil {
		err = chromium.CheckVersion(version.Product)
	}
	if err == nil {
		err = b.Join(ctx)
	}
	if err != nil {
		b.Close()
		return failed(errors.Join(errors.New("the browser that was found cannot be driven"), err))
	}
	b.link.back()
	return b, nil
}

// keep makes the connection again when it was lost, as long as the same browser
// is there. It returns when the browser has gone, or is let go of.
func (l *life) keep(r *running) {
	for {
		r.Dropped()
		err := l.ctx.Err()
		if err == nil {
			r.link.down()
			l.log.Warn("the connection to the browser was lost")
			err = l.rejoin(r)
		}
		if err == nil {
			r.link.back()
			l.log.Info("connected to the browser again")
			continue
		}
		r.Close()
		r.Abandon()
		if l.ctx.Err() == nil {
			l.log.Warn("the browser is lost", "reason", err.Error())
		}
		return
	}
}

// rejoin fails when the plugin stops, also when it has just connected: who lets go
// of the browser may have seen the old connection alone.
func (l *life) rejoin(r *running) error {
	ctx, cancel := context.WithTimeout(l.ctx, rejoinFor)
	defer cancel()
	for pause := rejoinPause; ; pause = min(2*pause, rejoinMaxPause) {
		err := l.connect(ctx, r)
		switch {
		case l.ctx.Err() != nil:
			return l.ctx.Err()
		case err == nil:
			return nil
		case devtools.Gone(err) || ctx.Err() != nil:
			return err
		}
		r.link.failed(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// connect tries once. When it fails, the browser is as after Dropped.
func (l *life) connect(ctx context.Context, r *running) error {
	ctx, cancel := context.WithTimeout(ctx, joinBound)
	defer cancel()
	in, out, _, err := l.browser.Dial(ctx, r.link.run)
	if err != nil {
		return err
	}
	r.Reconnect(in, out)
	if err := r.Join(ctx); err != nil {
		r.Close()
		r.Dropped()
		return err
	}
	return nil
}

func (k *link) down() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.up, k.why = make(chan struct{}), target.ErrDisconnected
	close(k.lost)
}

func (k *link) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.why = err
}

func (k *link) back() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = make(chan struct{})
	close(k.up)
}

// online waits until the browser can be spoken to; false: it has gone.
func (r *running) online(ctx context.Context) (bool, error) {
	if r.link == nil {
		return true, nil
	}
	t := time.NewTimer(linkBound)
	defer t.Stop()
	for {
		r.link.mu.Lock()
		up, lost := r.link.up, r.link.lost
		r.link.mu.Unlock()
		wait := up
		select {
		case <-up:
			if r.Connected() {
				return true, nil
			}
			wait = lost // in a moment
		default:
		}
		select {
		case <-wait:
		case <-r.ended:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-t.C:
			r.link.mu.Lock()
			defer r.link.mu.Unlock()
			return false, disconnected("the connection to the browser was lost and is being made again: %s", r.link.why)
		}
	}
}

// detach lets go of the browser. keep must have been told to end.
func (r *running) detach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	r.Leave(ctx)
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
