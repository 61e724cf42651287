package launch

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
)

// Reattach connects to a plugin that runs already, under a debugger for
// example, at a unix socket of this user's. Stopping the process only
// disconnects. Its failure is a *StartError.
func (l *Launcher) Reattach(ctx context.Context, name, addr string) (supervise.Process, error) {
	r, err := attach(ctx, name, addr)
	if err != nil {
		return nil, &supervise.StartError{Step: stepLaunch, Err: err}
	}
	p, err := l.begin(ctx, newSession(l, name, r, newSink(name, l.opts.Output, l.opts.Dropped)))
	if err != nil {
		r.finish()
	}
	return p, err
}

// attach asks the socket who serves it.
func attach(ctx context.Context, name, addr string) (*attachedRunner, error) {
	if !filepath.IsAbs(addr) {
		return nil, fmt.Errorf("address %s: must be the absolute path of the plugin's unix socket", quote(addr))
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", addr)
	if err != nil {
		return nil, fmt.Errorf("no plugin can be reached: %w", err)
	}
	defer discard(c)
	if err := checkUser(c.(*net.UnixConn)); err != nil {
		return nil, err
	}
	_, pid, err := peerOf(c.(*net.UnixConn))
	if err != nil {
		return nil, err
	}
	id, err := proc.Identify(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d, which serves %s, cannot be identified: %w", pid, addr, err)
	}
	r := &attachedRunner{name: name, path: addr, target: newAttached(id), finished: make(chan struct{})}
	return r, nil
}

// attachedRunner is go-plugin's runner for a process that is not ours.
type attachedRunner struct {
	noTranslation
	name, path string
	target     *attached
	once       sync.Once
	finished   chan struct{}
}

var _ runner.AttachedRunner = (*attachedRunner)(nil)

func (r *attachedRunner) config() *plugin.ReattachConfig {
	return &plugin.ReattachConfig{
		Protocol: plugin.ProtocolGRPC,
		Addr:     &net.UnixAddr{Net: "unix", Name: r.path},
		Pid:      r.target.Pid(),
		ReattachFunc: func() (runner.AttachedRunner, error) {
			return r, nil
		},
	}
}

func (r *attachedRunner) Wait(context.Context) error {
	<-r.finished
	return nil
}

func (r *attachedRunner) Kill(context.Context) error { return nil }

func (r *attachedRunner) ID() string { return strconv.Itoa(r.target.Pid()) }

func (r *attachedRunner) abort(cause error, after time.Duration) error {
	return explainWait(cause, after, "the plugin at "+r.path+" did not answer", "")
}

func (r *attachedRunner) startFailure(err error) error {
	return &supervise.StartError{Step: stepHandshake, Err: err}
}

// What somebody else started is not bounded, and what it started is not ended.
func (r *attachedRunner) foresee() {}

func (r *attachedRunner) sweep() <-chan struct{} {
	none := make(chan struct{})
	close(none)
	return none
}

func (r *attachedRunner) reason() string {
	if r.target.Exit().Code == 0 {
		return ""
	}
	return "the process that was attached to has ended"
}

func (r *attachedRunner) resources() supervise.Resources {
	return supervise.Resources{RSS: residentNow(r.target.id, "")}
}

func (r *attachedRunner) running() child { return r.target }
func (r *attachedRunner) addr() string   { return r.path }
func (r *attachedRunner) dir() string    { return "" }

func (r *attachedRunner) finish() {
	r.once.Do(func() {
		r.target.Kill()
		close(r.finished)
	})
}

// attached is somebody else's process. For the host it ends when it does or
// when the host lets go of it.
type attached struct {
	id     proc.Identity
	cancel context.CancelFunc
	done   chan struct{}
	exit   proc.Exit
}

func newAttached(id proc.Identity) *attached {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attached{id: id, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		code := 0 // let go
		if proc.Await(ctx, id) == nil {
			code = -1 // ended; only its parent knows how
		}
		a.exit = proc.Exit{Code: code, Time: time.Now()}
		close(a.done)
	}()
	return a
}

func (a *attached) Pid() int              { return a.id.Pid }
func (a *attached) Done() <-chan struct{} { return a.done }
func (a *attached) Exit() proc.Exit       { return a.exit }

// Stop lets go; the process goes on.
func (a *attached) Stop(time.Duration) bool { return a.Kill() }

func (a *attached) Kill() bool {
	a.cancel()
	<-a.done
	return true
}
