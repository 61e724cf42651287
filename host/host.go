// Package host is a running host: it reads the configuration, takes the
// socket, looks for plugins, and wires server, router, supervisor, launcher,
// events and logs together. cmd/vantd is its main; nothing else imports more of
// the host than this package.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/events"
	"github.com/vant-run/vant/host/internal/launch"
	"github.com/vant-run/vant/host/internal/observe"
	"github.com/vant-run/vant/host/internal/router"
	"github.com/vant-run/vant/host/internal/server"
	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/release"
)

// Options configure a Host. Getenv and LogOutput are required.
type Options struct {
	// Socket is the path of the socket; "": $VANT_SOCKET, else the usual place.
	Socket string
	// Config is the path of the configuration; "": $VANT_CONFIG, else the usual
	// place.
	Config string
	// LogLevel wins over the configuration's log.level; "": it does not.
	LogLevel string
	// LogOutput takes the host's own log.
	LogOutput io.Writer
	// Getenv and Environ give the environment.
	Getenv  func(string) string
	Environ []string
	// Executable is the path of the running vantd: plugins lie beside it.
	Executable string
	// Ready is called once, when the first starts of plugins have settled; nil:
	// nobody is told.
	Ready func()
}

const (
	// eventRing is how many events are kept.
	eventRing = 2048
	// requestDrain is how long requests that run may take to end at a stop.
	requestDrain = 2 * time.Second
	// answerTime is the least that a request has to end and be answered.
	answerTime = 200 * time.Millisecond
	// stopBound is when, counted from a stop, plugins that still run are killed;
	// that takes three seconds at most. closeBound bounds the end of logs.
	stopBound  = 6 * time.Second
	closeBound = time.Second
)

// Host is one host. Make it with New, then call Run once.
type Host struct {
	opts    Options
	log     hclog.Logger
	started time.Time
	paths   paths
	config  atomic.Pointer[config.Config]
	// attached are the addresses of plugins that run already, by name.
	attached map[string]string

	events     *events.Ring
	logs       *observe.Logs
	calls      atomic.Pointer[observe.CallLog]
	router     *router.Router
	server     *server.Server
	supervisor *supervise.Supervisor
	launcher   *launch.Launcher
	store      *catalog.Store

	discovery  discovery
	reconciler *reconciler
	files      chan struct{} // holds a token while plugin files are worked on
	stop       chan time.Duration
	ending     chan struct{} // closed when the host begins to stop
}

// New reads the configuration and makes a host that has not touched anything
// yet. Its error is for the operator.
func New(o Options) (*Host, error) {
	cfg, err := config.Load(o.Config, o.Getenv)
	if err != nil {
		return nil, err
	}
	level, err := observe.ParseLevel(cmp.Or(o.LogLevel, cfg.Log.Level))
	if err != nil {
		return nil, err
	}
	h := &Host{
		opts: o, started: time.Now(), log: observe.NewLogger(level, o.LogOutput),
		events: events.New(eventRing), stop: make(chan time.Duration, 1), files: make(chan struct{}, 1),
		ending: make(chan struct{}),
	}
	h.discovery = discovery{watcher: catalog.NewWatcher()}
	h.reconciler = newReconciler(h.look, h.discovery.watcher.C())
	h.config.Store(cfg)
	if h.attached, err = parseAttached(o.Getenv(attachVar)); err != nil {
		return nil, err
	}
	if h.paths, err = findPaths(o, cfg); err != nil {
		return nil, err
	}
	return h, nil
}

// Socket is the path at which the host serves, or will.
func (h *Host) Socket() string { return h.paths.socket }

// Run serves until ctx ends or a client calls host.stop. Calls that run get a
// short while to end; then everything the host started is gone when it returns,
// at most ten seconds later.
func (h *Host) Run(ctx context.Context) error {
	listener, err := socket.Listen(ctx, socket.Options{Path: h.paths.socket, Log: h.log.Named("socket")})
	if err != nil {
		return err
	}
	if err := h.settle(listener.Path()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := h.open(); err != nil {
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(listener) }()
	h.events.Append("host.started", jsonObject("version", release.Version()))
	h.log.Info("serving", "socket", h.paths.socket, "pid", os.Getpid(), "version", release.Version())

	background, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	go h.discover(background)
	work.Go(func() { h.awaitFirstStarts(background) })
	work.Go(func() { h.tellManager(background) })

	drain := time.Duration(-1)
	select {
	case <-ctx.Done():
	case drain = <-h.stop:
	case err = <-served:
		served <- nil
		err = fmt.Errorf("the socket failed: %w", err)
	}
	cancel()
	err = errors.Join(err, h.shutdown(drain, listener))
	work.Wait()
	h.awaitFileWork()
	return errors.Join(err, <-served)
}

// settle gives the host the places that go with its socket, which may be
// another one than was asked for: a service manager may have passed it.
func (h *Host) settle(socket string) (err error) {
	o := h.opts
	o.Socket = socket
	h.paths, err = findPaths(o, h.config.Load())
	return err
}

// open makes the parts. The lock is held: no other host uses these folders.
func (h *Host) open() error {
	cfg := h.config.Load()
	if err := h.paths.make(); err != nil {
		return err
	}
	var err error
	if h.store, err = catalog.OpenStore(h.paths.store); err != nil {
		return err
	}
	level, err := observe.ParseLevel(cfg.Log.Level)
	if err != nil {
		return err
	}
	rotation := observe.Rotation{MaxSizeMB: cfg.Log.MaxSizeMB, MaxFiles: cfg.Log.MaxFiles}
	h.logs = observe.NewLogs(observe.Options{Dir: h.paths.logs, Rotation: rotation, Level: level})
	if h.launcher, err = launch.New(launch.Options{
		RuntimeDir: h.paths.runtime, Marker: marker + "=" + h.paths.id, HostVersion: release.Version(), Log: h.log.Named("launch"),
		Cgroups: h.cgroups(),
		Output:  func(plugin string, l launch.LogLine) { h.logs.Append(plugin, l.Time, l.Level, l.Text) },
		Dropped: h.logs.Drop,
	}); err != nil {
		return err
	}
	h.setCallLog(cfg)
	h.supervisor = supervise.New(supervise.Options{
		Launcher: h.launcher, Log: h.log.Named("plugins"), Policy: policy(cfg.Supervise),
		HostVersion: release.Version(), Order: cfg.Plugins.Order,
		Emit:        h.events.Append,
		Call:        h.callFrom,
		Publish:     func(list []supervise.Registered) { h.router.SetPlugins(list) },
		CheckConfig: h.checkSection,
		LogDrops:    h.logDrops,
		Gone:        h.logs.Forget,
	})
	h.router = router.New(router.Options{
		Log:     h.log.Named("router"),
		Version: router.Version{Vant: release.Version(), Go: runtime.Version(), Commit: release.Commit()},
		Socket:  h.paths.socket, Started: h.started,
		Connections: func() int { return h.server.Connections() },
		Events:      h.events, Plugins: h.supervisor, Logs: h.logs, Catalog: operator{h},
		Host: router.HostControl{Stop: h.requestStop, Reload: h.Reload},
		Done: h.record,
	})
	h.server = server.New(server.Options{Handler: h.router, Log: h.log.Named("server")})
	return nil
}

// discover clears what a dead host left, then keeps what runs at what the
// plugin directories hold.
func (h *Host) discover(ctx context.Context) {
	if killed, err := h.launcher.Clear(ctx); err != nil {
		h.log.Warn("clearing what an earlier host left", "error", err)
	} else if killed > 0 {
		h.log.Warn("ended processes that an earlier host left", "count", killed)
	}
	if err := h.paths.clearSandboxes(); err != nil {
		h.log.Warn("clearing what an earlier host left", "error", err)
	}
	h.reconciler.run(ctx)
}

// awaitFirstStarts tells who waits that the first starts have settled.
func (h *Host) awaitFirstStarts(ctx context.Context) {
	select {
	case <-h.supervisor.Settled():
	case <-ctx.Done():
		return
	}
	if h.opts.Ready != nil {
		h.opts.Ready()
	}
}

// awaitFileWork gives work on plugin files a moment to end. What hangs in a
// file system is left behind: it starts nothing any more.
func (h *Host) awaitFileWork() {
	bound := time.NewTimer(closeBound)
	defer bound.Stop()
	select {
	case <-h.reconciler.done:
	case <-bound.C:
		h.log.Warn("a file system hangs: the plugin directories are still being looked at")
		return
	}
	if err := h.discovery.watcher.Close(); err != nil {
		h.log.Warn("ending the watch of the plugin directories", "error", err)
	}
	select {
	case h.files <- struct{}{}: // and nobody gets it back
	case <-bound.C:
		h.log.Warn("a file system hangs: plugin files are still being worked on")
	}
}

// requestStop is host.stop.
func (h *Host) requestStop(drain time.Duration) {
	select {
	case h.stop <- drain:
	default: // it stops already
	}
}

// isEnding says that the host stops, so that what fails now tells nothing of a
// plugin.
func (h *Host) isEnding() bool {
	select {
	case <-h.ending:
		return true
	default:
		return false
	}
}

// shutdown ends clients and plugins side by side: each has its own bound. A
// drain that a client asked for comes before the plugins are told to stop.
func (h *Host) shutdown(drain time.Duration, listener *socket.Listener) error {
	close(h.ending)
	h.log.Info("stopping")
	h.notify(socket.Stopping)
	h.events.Append("host.stopping", nil)
	h.router.EndPolls()

	kill := time.Now().Add(stopBound)
	bound := requestDrain
	if drain >= 0 {
		// The one who asked must still get its answer.
		bound = max(drain, answerTime)
	}
	var requests error
	var wg sync.WaitGroup
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		requests = h.server.Shutdown(ctx)
	})
	if drain > 0 {
		wg.Wait()
	}
	wg.Go(func() {
		ctx, cancel := context.WithDeadline(context.Background(), kill)
		defer cancel()
		h.supervisor.Stop(ctx)
	})
	wg.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	return errors.Join(requests, h.logs.Close(ctx), h.calls.Load().Close(ctx), h.paths.remove(), listener.Close())
}
