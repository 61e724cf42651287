package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is how a fake process behaves; what is nil is done well.
type script struct {
	launch    func(ctx context.Context) error
	health    func(ctx context.Context) error
	describe  func(ctx context.Context, d *pluginv1.DescribeResponse) error
	configure func(ctx context.Context, req *pluginv1.ConfigureRequest) error
	invoke    func(ctx context.Context, p *fakeProcess, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error)
	link      func(ctx context.Context, h LinkHandler) error
	drain     func(ctx context.Context) error
	// deaf processes need SIGKILL.
	deaf bool
	// What Describe says; methods default to "<name>.do".
	name      string
	methods   []string
	timeout   time.Duration
	exclusive bool
}

// fakeLauncher runs fake processes. plan gives the script of the n-th start,
// from 1, of a name.
type fakeLauncher struct {
	plan func(spec Spec, n int) script

	mu     sync.Mutex
	starts map[string]int
	procs  []*fakeProcess
}

func (l *fakeLauncher) Launch(ctx context.Context, spec Spec) (Process, error) {
	l.mu.Lock()
	l.starts[spec.Name]++
	n := l.starts[spec.Name]
	l.mu.Unlock()
	s := l.plan(spec, n)
	if s.launch != nil {
		if err := s.launch(ctx); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &fakeProcess{pid: len(l.procs) + 1, spec: spec, script: s, exited: make(chan struct{})}
	p.alive, p.die = context.WithCancel(context.Background())
	l.procs = append(l.procs, p)
	return p, nil
}

// of gives the processes of a name in the order of their starts.
func (l *fakeLauncher) of(name string) []*fakeProcess {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*fakeProcess
	for _, p := range l.procs {
		if p.spec.Name == name {
			list = append(list, p)
		}
	}
	return list
}

func (l *fakeLauncher) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts[name]
}

type fakeProcess struct {
	pid    int
	spec   Spec
	script script
	alive  context.Context
	die    context.CancelFunc
	exited chan struct{}

	calls, running, drains, stops atomic.Int64
	configured                    atomic.Int64 // calls of Configure that ended well
	touched                       atomic.Bool  // by Configure

	mu   sync.Mutex
	exit Exit
	dead bool
}

// end ends the process.
func (p *fakeProcess) end(e Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	e.Time = time.Now()
	p.exit, p.dead = e, true
	close(p.exited)
	p.die()
}

func (p *fakeProcess) crash() { p.end(Exit{Code: 3}) }

func (p *fakeProcess) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ask runs a question like gRPC does: it ends with ctx, and with the process.
func (p *fakeProcess) ask(ctx context.Context, f func(context.Context) error) error {
	if p.gone() {
		return status.Error(codes.Unavailable, "connection refused")
	}
	if f == nil {
		return nil
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.alive, cancel)()
	err := f(both)
	switch {
	case p.gone():
		return status.Error(codes.Unavailable, "connection closed")
	case err != nil && ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

func (p *fakeProcess) Pid() int { return p.pid }

func (p *fakeProcess) Health(ctx context.Context) error { return p.ask(ctx, p.script.health) }

func (p *fakeProcess) Describe(ctx context.Context) (*pluginv1.DescribeResponse, error) {
	s := p.script
	d := &pluginv1.DescribeResponse{Name: p.spec.Name, Version: "1." + p.spec.SHA256, Exclusive: s.exclusive}
	if s.name != "" {
		d.Name = s.name
	}
	methods := s.methods
	if methods == nil {
		methods = []string{strings.ReplaceAll(p.spec.Name, "-", "_") + ".do"}
	}
	for _, m := range methods {
		d.Methods = append(d.Methods, &pluginv1.Method{Name: m, Summary: "does it", TimeoutMs: uint32(s.timeout.Milliseconds())})
	}
	err := p.ask(ctx, func(ctx context.Context) error {
		if s.describe != nil {
			return s.describe(ctx, d)
		}
		return nil
	})
	return d, err
}

func (p *fakeProcess) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) error {
	return p.ask(ctx, func(ctx context.Context) error {
		p.touched.Store(true)
		if p.script.configure != nil {
			if err := p.script.configure(ctx, req); err != nil {
				return err
			}
		}
		p.configured.Add(1)
		return nil
	})
}

func (p *fakeProcess) Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (res *pluginv1.InvokeResponse, err error) {
	p.running.Add(1)
	defer p.running.Add(-1)
	err = p.ask(ctx, func(ctx context.Context) (err error) {
		p.calls.Add(1)
		res = &pluginv1.InvokeResponse{Result: []byte(`{}`)}
		if p.script.invoke != nil {
			res, err = p.script.invoke(ctx, p, req)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (p *fakeProcess) Link(ctx context.Context, h LinkHandler) error {
	if p.script.link == nil {
		return nil
	}
	return p.ask(ctx, func(ctx context.Context) error { return p.script.link(ctx, h) })
}

func (p *fakeProcess) Drain(ctx context.Context, _ time.Duration) error {
	p.drains.Add(1)
	return p.ask(ctx, p.script.drain)
}

func (p *fakeProcess) Stop(grace time.Duration) {
	p.stops.Add(1)
	if p.gone() {
		return
	}
	if !p.script.deaf {
		p.end(Exit{})
		return
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.end(Exit{Code: -1, Signal: "killed"})
	}
}

func (p *fakeProcess) Resources() Resources {
	return Resources{MemoryMax: p.spec.MemoryMax, MemoryBy: "sampling", NoFile: p.spec.NoFile, RSS: 4096}
}

func (p *fakeProcess) Exited() <-chan struct{} { return p.exited }

func (p *fakeProcess) Exit() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// hang waits for the end of its context.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// event is an event as a test looks at it.
type event struct {
	Type       string
	Plugin     string
	Version    string
	Generation uint64
	Reason     string
	Exit       string
	Added      []string
	Removed    []string
}

func (e event) String() string {
	if e.Plugin == "" {
		return fmt.Sprintf("%s +%v -%v", e.Type, e.Added, e.Removed)
	}
	return fmt.Sprintf("%s %s#%d", e.Type, e.Plugin, e.Generation)
}

// world is a Supervisor with fake processes, and what it says to others.
type world struct {
	*Supervisor
	t        *testing.T
	launcher *fakeLauncher

	seen struct {
		sync.Mutex
		events     []event
		table      []Registered
		publishing bool
		overlaps   int
	}
}

// newWorld makes one in a synctest bubble. When the test ends it is stopped
// and must leave nothing.
func newWorld(t *testing.T, plan func(spec Spec, n int) script, edit ...func(*Options)) *world {
	t.Helper()
	if plan == nil {
		plan = func(Spec, int) script { return script{} }
	}
	w := &world{t: t, launcher: &fakeLauncher{plan: plan, starts: map[string]int{}}}
	opts := Options{
		Launcher: w.launcher,
		Rand:     func() float64 { return 0.5 }, // no jitter
		Emit:     w.emitted,
		Publish:  w.publish,
	}
	for _, f := range edit {
		f(&opts)
	}
	w.Supervisor = New(opts)
	t.Cleanup(w.end)
	return w
}

func (w *world) emitted(typ string, data []byte) {
	e := event{Type: typ}
	if err := json.Unmarshal(data, &e); err != nil {
		w.t.Errorf("event %s: %v", typ, err)
	}
	w.seen.Lock()
	defer w.seen.Unlock()
	w.seen.events = append(w.seen.events, e)
}

func (w *world) publish(list []Registered) {
	w.seen.Lock()
	if w.seen.publishing {
		w.seen.overlaps++
	}
	w.seen.publishing = true
	w.seen.Unlock()
	if !slices.IsSortedFunc(list, func(a, b Registered) int { return strings.Compare(a.Plugin.Name(), b.Plugin.Name()) }) {
		w.t.Error("published list is not sorted")
	}
	w.seen.Lock()
	w.seen.publishing = false
	w.seen.table = list
	w.seen.Unlock()
}

// end stops the world and looks for what is left.
func (w *world) end() {
	w.Stop(context.Background())
	w.launcher.mu.Lock()
	defer w.launcher.mu.Unlock()
	for _, p := range w.launcher.procs {
		if p.stops.Load() == 0 || !p.gone() {
			w.t.Errorf("process %d of %s was never stopped", p.pid, p.spec.Name)
		}
		for i := 0; p.running.Load() != 0 && i < 1000; i++ {
			time.Sleep(time.Millisecond) // callers come back in their own time
		}
		if n := p.running.Load(); n != 0 {
			w.t.Errorf("process %d of %s has %d calls after Stop", p.pid, p.spec.Name, n)
		}
	}
	w.seen.Lock()
	defer w.seen.Unlock()
	if w.seen.overlaps > 0 {
		w.t.Errorf("%d calls of Publish overlapped", w.seen.overlaps)
	}
	for _, st := range w.List(true) {
		if st.InFlight != 0 {
			w.t.Errorf("%s has %d calls in flight after Stop", st.Name, st.InFlight)
		}
	}
}

// bubble runs a test on fake time.
func bubble(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}

// spec is a plugin's first file; version gives others.
func spec(name string) Spec { return version(name, "1") }

func version(name, sha string) Spec {
	return Spec{Name: name, File: "/plugins/vant-plugin-" + name, Exec: "/store/" + sha + "/vant-plugin-" + name, SHA256: sha}
}

func specs(names ...string) []Spec {
	list := make([]Spec, len(names))
	for i, n := range names {
		list[i] = spec(n)
	}
	return list
}

// apply waits until nothing more happens without time passing.
func (w *world) apply(list ...Spec) Changes {
	c := w.Apply(list, nil)
	synctest.Wait()
	return c
}

func (w *world) status(name string) Status {
	w.t.Helper()
	for _, st := range w.List(true) {
		if st.Name == name {
			return st
		}
	}
	return Status{}
}

func (w *world) wantState(name string, want State) Status {
	w.t.Helper()
	st := w.status(name)
	if st.State != want {
		w.t.Fatalf("%s is %q (%s), want %q", name, st.State, st.Reason, want)
	}
	return st
}

// registered is a row of the method table.
func (w *world) registered(name string) (Registered, bool) {
	w.seen.Lock()
	defer w.seen.Unlock()
	for _, r := range w.seen.table {
		if r.Plugin.Name() == name {
			return r, true
		}
	}
	return Registered{}, false
}

// plugin is what the method table has under a name.
func (w *world) plugin(name string) *Plugin {
	w.t.Helper()
	r, ok := w.registered(name)
	if !ok {
		w.t.Fatalf("%s is not in the method table", name)
	}
	return r.Plugin
}

// known is a plugin, in the table or not.
func (w *world) known(name string) *Plugin {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.plugins[name]
}

// takeEvents gives the events since the last look.
func (w *world) takeEvents() []event {
	w.seen.Lock()
	defer w.seen.Unlock()
	e := w.seen.events
	w.seen.events = nil
	return e
}

func names(events []event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.String()
	}
	return list
}

func (w *world) tableMethods() []string {
	w.seen.Lock()
	defer w.seen.Unlock()
	return methodNames(w.seen.table)
}

func (w *world) proc(name string, n int) *fakeProcess {
	w.t.Helper()
	list := w.launcher.of(name)
	if len(list) < n {
		w.t.Fatalf("%s has had %d processes, want %d", name, len(list), n)
	}
	return list[n-1]
}

func request() *pluginv1.InvokeRequest {
	return &pluginv1.InvokeRequest{Method: "a.do", Params: []byte("{}"), Context: &pluginv1.CallContext{}}
}

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// call is an Invoke under way.
type call struct {
	res  *pluginv1.InvokeResponse
	err  error
	took time.Duration
	done chan struct{}
}

func invoke(p *Plugin, bound time.Duration) *call {
	c := &call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		ctx, cancel := within(bound)
		defer cancel()
		began := time.Now()
		c.res, c.err = p.Invoke(ctx, request())
		c.took = time.Since(began)
	}()
	return c
}

func (c *call) wait() error { <-c.done; return c.err }

func (c *call) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// busyFor is a script of calls that take d.
func busyFor(d time.Duration) func(context.Context, *fakeProcess, *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
	return func(ctx context.Context, p *fakeProcess, _ *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return &pluginv1.InvokeResponse{Result: []byte(fmt.Sprint(p.pid))}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
