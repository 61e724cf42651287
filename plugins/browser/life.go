package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/plugins/browser/chromium"
	"github.com/vant-run/vant/plugins/browser/devtools"
	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/sdk"
)

const (
	// firstTab bounds how long a browser that was started may take to show a tab. A
	// busy machine needs longer than a call waits.
	firstTab = 40 * time.Second
	// closing is how long a browser may take to write its profile and end.
	closing = 3 * time.Second
	// goodbye is how much of it the browser may take to hear that it ends.
	goodbye = time.Second
)

// life starts the browser when a method needs one, and again when it was lost.
type life struct {
	c       config
	policy  *urlpolicy.Navigation
	browser devtools.Address // the running browser to drive, when one is configured
	dirs    sdk.Dirs
	log     hclog.Logger
	ids     *target.IDs
	events  context.Context // of background work

	ctx    context.Context // of starts
	cancel context.CancelFunc

	mu   sync.Mutex // guards the fields that follow
	last *start     // nil: no browser runs
	lost *loss      // with the browser before
}

// running is a browser with its process, or with the connection to one that was
// not started here.
type running struct {
	*target.Browser
	process  *chromium.Process
	link     *link
	restored time.Time     // when tabs were opened again
	ended    chan struct{} // closed when it has gone and was cleaned up
}

func (l *life) configure(ctx context.Context, c config) error {
	if err := c.check(); err != nil {
		return err
	}
	hosts, err := c.hosts()
	if err != nil {
		return err
	}
	l.policy, err = urlpolicy.NewNavigation(hosts, c.AllowFile)
	if err != nil {
		return err
	}
	if c.Attach != "" {
		if l.browser, err = devtools.Parse(c.Attach); err != nil {
			return err
		}
	}
	l.c, l.dirs, l.log = c, sdk.DirsOf(ctx), sdk.Logger(ctx)
	return nil
}

func (l *life) start(ctx context.Context) error {
	l.events = ctx
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ids, err := target.OpenIDs(filepath.Join(l.dirs.State, "ids.json"), l.log)
	l.ids = ids
	return err
}

func (l *life) stop(ctx context.Context) error {
	if l.ids == nil {
		return nil // it never started
	}
	l.mu.Lock()
	l.cancel()
	s := l.last
	l.mu.Unlock()
	var err error
	if s != nil {
		if <-s.done; s.err == nil {
			err = s.now.close(ctx)
		}
	}
	return errors.Join(err, l.ids.Close())
}

// close ends the browser in order: it writes its profile. One that was not started
// here runs on.
func (r *running) close(ctx context.Context) error {
	if r.link != nil {
		return r.detach(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	heard, done := context.WithTimeout(ctx, goodbye)
	// The end of the pipe would do the same, and not let it write what it must.
	_, _ = r.Root().Start("Browser.close", nil).Wait(heard) // whatever it says, it is ended now
	done()
	err := r.process.Close(ctx)
	r.Close()
	return err
}

// start is a browser that is being started. It goes on when the call that has
// asked for it is given up: the next one finds it.
type start struct {
	done chan struct{} // closed when now or err is set
	now  *running
	err  error
}

// stopping is the failure of calls when no browser is started any more.
func stopping() error {
	return sdk.Errorf("tab_crashed", "the plugin is stopping, and the browser with it: call again when it has started").
		With(map[string]any{"browser": "lost"}).From(sdk.Downstream)
}

// alive says whether the browser can be used. A link is made again.
func (r *running) alive() bool {
	select {
	case <-r.Done():
		return false
	default:
		return r.link != nil || r.Connected()
	}
}

// need gives the running browser, and starts one when there is none. One that has
// gone is waited for: its profile is free after that.
func (l *life) need(ctx context.Context) (*running, error) {
	for {
		l.mu.Lock()
		s := l.last
		if s == nil {
			if l.ctx.Err() != nil {
				l.mu.Unlock()
				return nil, stopping()
			}
			s = &start{done: make(chan struct{})}
			l.last = s
			go l.begin(s)
		}
		l.mu.Unlock()
		select {
		case <-s.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if s.err != nil {
			return nil, s.err
		}
		if s.now.alive() {
			if ok, err := s.now.online(ctx); ok || err != nil {
				return s.now, err
			}
		}
		select {
		case <-s.now.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin starts a browser and watches it.
func (l *life) begin(s *start) {
	begin, watch := l.launch, l.watch
	if l.c.Attach != "" {
		begin, watch = l.attach, l.keep
	}
	if s.now, s.err = begin(l.ctx); s.err == nil {
		l.restart(s.now)
	} else {
		l.forget(s)
	}
	close(s.done)
	if s.err == nil {
		watch(s.now)
		l.noteLoss(s.now)
		l.forget(s)
		close(s.now.ended)
	}
}

func (l *life) forget(s *start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == s {
		l.last = nil
	}
}

// options are those of every browser.
func (l *life) options(headed bool) target.Options {
	return target.Options{
		IDs: l.ids, HoldDialogs: l.c.Dialogs == "hold", Headed: headed, Log: l.log,
		Files: l.files(),
		Event: func(typ string, data any) { sdk.Emit(l.events, typ, data) },
	}
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
	p, err := chromium.Start(ctx, chromium.Options{
		Path: path, Headless: headless, Profile: profile, Args: slices.Concat(l.c.Args, rules), Log: l.log,
	})
	if err != nil {
		return nil, sdk.Errorf("internal_error", "%s", err.Error()).From(sdk.Downstream)
	}
	r, w := p.Pipe()
	b := &running{
		Browser: target.New(r, w, l.options(!headless)),
		process: p, ended: make(chan struct{}),
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

// watch waits for a browser's end and clears up after it.
func (l *life) watch(r *running) {
	<-r.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.events), 2*closing)
	defer cancel()
	if err := r.process.Close(ctx); err != nil {
		l.log.Warn("the browser was not ended cleanly", "error", err.Error())
	}
	l.log.Info("the browser has ended", "how", r.process.Exit())
}

// tab finds a tab whose page is looked at, and starts the browser when none runs.
func (l *life) tab(ctx context.Context, id *int) (*target.Tab, error) {
	return l.attached(ctx, id, false)
}

// act finds a tab for something that is done in it: one that sleeps is woken.
func (l *life) act(ctx context.Context, id *int) (*target.Tab, error) {
	return l.attached(ctx, id, true)
}

// first makes a tab where none is open.
func (l *life) first(ctx context.Context) (*target.Tab, error) {
	r, err := l.need(ctx)
	if err != nil {
		return nil, err
	}
	t, err := r.NewTab(ctx, 0)
	if err != nil {
		return nil, err
	}
	return t, t.Attach(ctx, true)
}

func (l *life) attached(ctx context.Context, id *int, wake bool) (*target.Tab, error) {
	t, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return t, t.Attach(ctx, wake)
}

// find finds a tab that is dealt with as a whole.
func (l *life) find(ctx context.Context, id *int) (*target.Tab, error) {
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
