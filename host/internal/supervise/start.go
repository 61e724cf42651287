package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vant-run/vant/host/internal/method"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// errNotStarted is what a start that was given up says.
var errNotStarted = errors.New("the start was given up")

// attempt is one try to bring up a generation. It runs on a goroutine of its
// own, so that the machine can give it up at any moment.
type attempt struct {
	p       *Plugin
	by      Launcher
	version uint64 // of the wish it serves
	number  uint64 // the generation that it would be
	spec    Spec
	ctx     context.Context
	cancel  context.CancelFunc

	// exclusive: no other process of the plugin may live at launch. Else ask is
	// closed when Describe says that none may live at Configure.
	exclusive bool
	ask       chan struct{}
	// alone is closed by the machine when no other process is left.
	alone  chan struct{}
	result chan outcome // gets exactly one
}

// outcome is a generation that is ready to serve, or why there is none.
type outcome struct {
	gen  *generation
	set  *method.Set // when it got as far as that
	exit *ExitRecord // of the process, when there was one
	err  *StartError
}

// run goes through the steps of a start. When it fails nothing is left of it.
func (a *attempt) run() outcome {
	if a.exclusive && !a.await(a.alone) {
		return outcome{err: a.fault("launch", errNotStarted)}
	}
	select {
	case a.p.s.starts <- struct{}{}:
		defer func() { <-a.p.s.starts }()
	case <-a.ctx.Done():
		return outcome{err: a.fault("launch", errNotStarted)}
	}
	proc, err := a.launch()
	if err != nil {
		return outcome{err: err}
	}
	set, err := a.probe(proc)
	if err == nil {
		err = a.configure(proc, set)
	}
	if err != nil {
		proc.Stop(a.p.s.policy.StopGrace)
		return outcome{set: set, err: err, exit: record(proc, a.number, time.Time{}, err.Error())}
	}
	g := a.p.newGeneration(a.number, a.spec, set, proc)
	a.p.s.wg.Go(g.link)
	return outcome{gen: g, set: set}
}

func (a *attempt) await(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-a.ctx.Done():
		return false
	}
}

func (a *attempt) launch() (Process, *StartError) {
	bound := a.p.s.policy.LaunchTimeout
	ctx, cancel := context.WithTimeout(a.ctx, bound)
	defer cancel()
	proc, err := a.by.Launch(ctx, a.spec)
	if err == nil {
		if a.ctx.Err() != nil {
			proc.Stop(a.p.s.policy.StopGrace)
			return nil, a.fault("launch", errNotStarted)
		}
		return proc, nil
	}
	var start *StartError
	if errors.As(err, &start) {
		return nil, start
	}
	if ctx.Err() != nil && a.ctx.Err() == nil {
		err = fmt.Errorf("no handshake within %v: %w", bound, err)
	}
	return nil, a.fault("launch", err)
}

// probe asks the process who it is and whether it may have what it wants.
func (a *attempt) probe(proc Process) (*method.Set, *StartError) {
	policy := &a.p.s.policy
	if err := a.step(proc, "health", policy.StartHealthTimeout, proc.Health); err != nil {
		return nil, err
	}
	var d *pluginv1.DescribeResponse
	err := a.step(proc, "describe", policy.DescribeTimeout, func(ctx context.Context) (err error) {
		d, err = proc.Describe(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	set, perr := method.Parse(d)
	if perr != nil {
		return nil, &StartError{Step: "describe", Permanent: true, Err: perr}
	}
	if set.Name != a.spec.Name {
		return nil, &StartError{Step: "describe", Permanent: true, Err: fmt.Errorf(
			"the plugin calls itself %q but its file is vant-plugin-%s; rename one of them", set.Name, a.spec.Name)}
	}
	// Configure may have effects, so a plugin that cannot win is spared it.
	if blocked := a.p.s.blocked(a.p.name, set); blocked != nil {
		return set, &StartError{Step: "claim", Permanent: true, Err: blocked}
	}
	return set, nil
}

// config is the plugin's section, checked against the schema of set.
func (a *attempt) config(set *method.Set) ([]byte, *StartError) {
	config := a.spec.Config
	if len(config) == 0 {
		config = []byte("{}")
	}
	if check := a.p.s.opts.CheckConfig; check != nil && len(set.ConfigSchema) > 0 {
		if err := check(a.p.name, set.ConfigSchema, config); err != nil {
			return nil, &StartError{Step: "configure", Permanent: true, Err: err}
		}
	}
	return config, nil
}

func (a *attempt) configure(proc Process, set *method.Set) *StartError {
	config, err := a.config(set)
	if err != nil {
		return err
	}
	if set.Exclusive && !a.exclusive {
		close(a.ask)
		if !a.await(a.alone) {
			return a.fault("configure", errNotStarted)
		}
	}
	return a.step(proc, "configure", a.p.s.policy.ConfigureTimeout, func(ctx context.Context) error {
		return proc.Configure(ctx, &pluginv1.ConfigureRequest{
			Config:     config,
			StateDir:   a.spec.StateDir,
			CacheDir:   a.spec.CacheDir,
			DataDir:    a.spec.DataDir,
			LogLevel:   a.spec.LogLevel,
			Generation: a.number,
		})
	})
}

// step runs one question to the process within its bound. Its error is nil or
// says what happened in words for the operator.
func (a *attempt) step(proc Process, name string, bound time.Duration, ask func(context.Context) error) *StartError {
	ctx, cancel := context.WithTimeout(a.ctx, bound)
	defer cancel()
	err := ask(ctx)
	if err == nil {
		return nil
	}
	select {
	case <-proc.Exited():
		return a.fault(name, errors.New(proc.Exit().why()))
	default:
	}
	switch {
	case a.ctx.Err() != nil:
		return a.fault(name, errNotStarted)
	case ctx.Err() != nil:
		return a.fault(name, fmt.Errorf("no answer within %v", bound))
	}
	st, _ := status.FromError(err)
	e := a.fault(name, errors.New(clip(st.Message(), reasonBytes)))
	switch st.Code() {
	case codes.Unimplemented, codes.InvalidArgument, codes.FailedPrecondition:
		// The same file with the same config will say the same again.
		e.Permanent = true
	}
	return e
}

func (a *attempt) fault(step string, err error) *StartError {
	return &StartError{Step: step, Err: err}
}

// record notes how a process ended that has been stopped.
func record(proc Process, number uint64, ready time.Time, reason string) *ExitRecord {
	r := &ExitRecord{Generation: number, Pid: proc.Pid(), Time: time.Now(), Exit: "still there after SIGKILL", Reason: clip(reason, reasonBytes)}
	select {
	case <-proc.Exited():
		e := proc.Exit()
		r.Exit = e.String()
		if !e.Time.IsZero() {
			r.Time = e.Time
		}
	default:
	}
	if !ready.IsZero() {
		r.UptimeMS = max(r.Time.Sub(ready).Milliseconds(), 0)
	}
	return r
}
