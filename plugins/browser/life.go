package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/plugins/browser/chromium"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/sdk"
)

const (
	// firstTab bounds how long a browser that was started may take to show a tab.
	firstTab = 15 * time.Second
	// closing is how long a browser may take to write its profile and end.
	closing = 3 * time.Second
)

// life starts the browser when a method needs one, and again when it was lost.
type life struct {
	c      config
	policy *urlpolicy.Navigation
	dirs   sdk.Dirs
	log    hclog.Logger
	ids    *target.IDs
	events context.Context // of background work

	starting chan struct{} // a place for the one that starts a browser

	mu  sync.Mutex // guards now
	now *running
}

// running is a browser with its process.
type running struct {
	*target.Browser
	process  *chromium.Process
	headless bool
	ended    chan struct{} // closed when the process has ended and was cleaned up
}

func (l *life) configure(ctx context.Context, c config) error {
	if err := c.check(); err != nil {
		return err
	}
	hosts, err := urlpolicy.New(urlpolicy.Config{AllowHosts: c.AllowHosts, DenyHosts: c.DenyHosts})
	if err != nil {
		return err
	}
	l.policy, err = urlpolicy.NewNavigation(hosts, c.AllowFile)
	if err != nil {
		return err
	}
	l.c, l.dirs, l.log = c, sdk.DirsOf(ctx), sdk.Logger(ctx)
	l.starting = make(chan struct{}, 1)
	return nil
}

func (l *life) start(ctx context.Context) error {
	l.events = ctx
	ids, err := target.OpenIDs(filepath.Join(l.dirs.State, "ids.json"), l.log)
	l.ids = ids
	return err
}

func (l *life) stop(ctx context.Context) error {
	if l.ids == nil {
		return nil // it never started
	}
	l.starting <- struct{}{} // kept: nothing starts any more
	l.mu.Lock()
	r := l.now
	l.mu.Unlock()
	var err error
	if r != nil {
		err = r.close(ctx)
	}
	return errors.Join(err, l.ids.Close())
}

// close ends the browser in order: it writes its profile.
func (r *running) close(ctx context.Context) error {
	r.Root().Start("Browser.close", nil)
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	err := r.process.Close(ctx)
	r.Browser.Close()
	return err
}

// get gives the running browser, nil when none runs. One that has gone is waited
// for: its profile is free after that.
func (l *life) get(ctx context.Context) (*running, error) {
	l.mu.Lock()
	r := l.now
	l.mu.Unlock()
	if r == nil {
		return nil, nil
	}
	select {
	case <-r.Done():
	default:
		return r, nil
	}
	select {
	case <-r.ended:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// need gives the running browser, and starts one when there is none.
func (l *life) need(ctx context.Context) (*running, error) {
	if r, err := l.get(ctx); r != nil || err != nil {
		return r, err
	}
	select {
	case l.starting <- struct{}{}:
		defer func() { <-l.starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r, err := l.get(ctx); r != nil || err != nil {
		return r, err
	}
	r, err := l.launch(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.now = r
	l.mu.Unlock()
	go l.watch(r)
	return r, nil
}

// launch starts a browser and waits for its first tab.
func (l *life) launch(ctx context.Context) (*running, error) {
	path, err := chromium.Find(l.c.Path, os.Getenv)
	if err != nil {
		return nil, sdk.Errorf("internal_error", "%s", err.Error()).From(sdk.Fault)
	}
	profile := l.c.Profile
	if profile == "" {
		profile = filepath.Join(l.dirs.Data, "profile")
	}
	mode := l.c.Headless
	if mode == "" {
		mode = "auto"
	}
	headless := chromium.HeadlessFor(mode, os.Getenv)
	rules, err := hostRules(l.c)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--window-size=1280,800"}, l.c.Args...)
	p, err := chromium.Start(ctx, chromium.Options{
		Path: path, Headless: headless, Profile: profile, Env: os.Environ(), Args: append(args, rules...), Log: l.log,
	})
	if err != nil {
		return nil, sdk.Errorf("internal_error", "%s", err.Error()).From(sdk.Downstream)
	}
	r, w := p.Pipe()
	b := &running{
		Browser: target.New(r, w, target.Options{
			IDs: l.ids, HoldDialogs: l.c.Dialogs == "hold", Headed: !headless, Log: l.log,
			Files: l.files(),
			Event: func(typ string, data any) { sdk.Emit(l.events, typ, data) },
		}),
		process: p, headless: headless, ended: make(chan struct{}),
	}
	ctx, cancel := context.WithTimeout(ctx, firstTab)
	defer cancel()
	version, err := cdp.Call(ctx, b.Root(), browser.GetVersion, cdp.Empty{})
	if err == nil {
		err = chromium.CheckVersion(version.Product)
	}
	if err == nil {
		err = b.WaitTab(ctx)
	}
	if err == nil {
		return b, nil
	}
	closed := b.close(context.WithoutCancel(ctx))
	if words := p.Exit(); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	if closed != nil {
		err = errors.Join(err, closed)
	}
	return nil, sdk.Errorf("internal_error", "the browser did not start: %s", err.Error()).From(sdk.Downstream)
}

// files says which file: addresses a page may go to; nil when none can be opened.
func (l *life) files() func(url string) bool {
	if len(l.c.AllowFile) == 0 {
		return nil
	}
	return func(url string) bool {
		_, err := l.policy.Check(url, urlpolicy.Page)
		return err == nil
	}
}

// watch clears up after a browser that has gone, so that the next call starts
// another one.
func (l *life) watch(r *running) {
	<-r.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.events), 2*closing)
	defer cancel()
	if err := r.process.Close(ctx); err != nil {
		l.log.Warn("the browser was not ended cleanly", "error", err.Error())
	}
	l.log.Info("the browser has ended", "how", r.process.Exit())
	l.mu.Lock()
	if l.now == r {
		l.now = nil
	}
	l.mu.Unlock()
	close(r.ended)
}

// tab finds a tab and starts the browser when none runs.
func (l *life) tab(ctx context.Context, id *int) (*target.Tab, error) {
	r, err := l.need(ctx)
	if err != nil {
		return nil, err
	}
	n := 0
	if id != nil {
		n = *id
	}
	return r.Tab(n)
}
