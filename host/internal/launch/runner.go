package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/proc"
)

// The steps of a start that happen here.
const (
	stepLaunch    = "launch"
	stepHandshake = "handshake"
)

// drainWait is how long the output of a process that has ended is still read:
// what it wrote last is in the pipes, but who holds them open may go on.
const drainWait = 100 * time.Millisecond

// procRunner is go-plugin's runner over package proc. It reads the process's
// output itself and gives go-plugin the one line that it needs.
type procRunner struct {
	noTranslation
	name string
	spec supervise.Spec
	host *Launcher
	// instance names this start among all starts of all hosts; the process and
	// what it starts carry it in their environment.
	instance string
	sink     *sink
	// Set by go-plugin before Start.
	env       []string
	socketDir string

	mu      sync.Mutex
	aborted error           // guarded by mu: do not start any more
	child   *proc.Process   // guarded by mu
	bounds  bounds          // guarded by mu
	known   []proc.Identity // guarded by mu: descendants, as they were seen
	excess  string          // guarded by mu: why the host killed it; "": it did not
	unwatch func()          // guarded by mu: ends the sampling; nil: there is none

	sweeping sync.Once
	swept    chan struct{} // closed when nothing is left of what it started

	settled  sync.Once
	ready    chan struct{} // closed when hs or failure is set
	hs       handshake
	failure  *supervise.StartError
	outputs  [2]*os.File
	reading  sync.WaitGroup
	finished chan struct{} // closed when go-plugin may learn of the end
	once     sync.Once
}

var _ runner.Runner = (*procRunner)(nil)

func newRunner(l *Launcher, spec supervise.Spec, s *sink) *procRunner {
	return &procRunner{
		name: spec.Name, spec: spec, host: l, sink: s,
		instance: fmt.Sprintf("%s.%s.%d", l.id, spec.Name, l.starts.Add(1)),
		ready:    make(chan struct{}), finished: make(chan struct{}), swept: make(chan struct{}),
	}
}

// environment is go-plugin's part, the markers and spec.Env. What go-plugin
// decides cannot be set by the spec, least of all what switches TLS on.
func (r *procRunner) environment() []string {
	env := append([]string(nil), r.env...)
	taken := map[string]bool{}
	if m := r.host.opts.Marker; m != "" {
		env = append(env, m)
	}
	env = append(env, r.marker())
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		taken[name] = true
	}
	for _, e := range r.spec.Env {
		name, _, _ := strings.Cut(e, "=")
		if taken[name] || strings.HasPrefix(name, "PLUGIN_") {
			continue
		}
		taken[name] = true
		env = append(env, e)
	}
	if limit := memoryGoal(r.spec.MemoryMax); limit != "" && !taken[goMemory] {
		env = append(env, goMemory+"="+limit)
	}
	return env
}

// Start starts the process and the reading of its output.
func (r *procRunner) Start(context.Context) error {
	err := r.startProcess()
	if err != nil {
		var se *supervise.StartError
		if !errors.As(err, &se) {
			se = &supervise.StartError{Step: stepLaunch, Err: err}
		}
		r.settle(handshake{}, se)
	}
	return err
}

func (r *procRunner) startProcess() error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer discard(outW)
	errR, errW, err := os.Pipe()
	if err != nil {
		discard(outR)
		return err
	}
	defer discard(errW)

	r.mu.Lock()
	aborted := r.aborted
	r.mu.Unlock()
	if aborted != nil {
		discard(outR)
		discard(errR)
		return aborted
	}
	dir := r.spec.StateDir
	if dir == "" {
		dir = "/"
	}
	child, bounds, err := r.host.startBounded(r.spec, r.instance, proc.Command{
		Path: r.spec.Exec, Env: r.environment(), Dir: dir, Stdout: outW, Stderr: errW,
	})
	if err != nil {
		discard(outR)
		discard(errR)
		return explainExec(r.spec.Exec, dir, err)
	}
	r.mu.Lock()
	r.child, r.bounds = child, bounds
	aborted = r.aborted
	r.mu.Unlock()
	r.watchMemory(child)

	r.outputs = [2]*os.File{outR, errR}
	r.reading.Add(2)
	go r.readStdout(outR)
	go r.readStderr(errR)
	go r.watchStart(child)
	if aborted != nil {
		child.Kill()
	}
	return nil
}

// readStdout takes the handshake from the first line; everything after it is
// output like any other.
func (r *procRunner) readStdout(f *os.File) {
	defer r.reading.Done()
	log := r.sink.writer()
	defer log.Flush()
	var first []byte
	waiting := true
	copyOutput(f, func(p []byte) {
		if !waiting {
			_, _ = log.Write(p)
			return
		}
		line, rest, complete := strings.Cut(string(p), "\n")
		first = append(first, line[:min(len(line), maxHandshake-len(first))]...)
		if !complete && len(first) < maxHandshake {
			return
		}
		waiting = false
		r.greet(string(first))
		first = nil
		_, _ = log.Write([]byte(rest))
	})
	if waiting && len(first) > 0 {
		r.greet(string(first))
	}
}

func (r *procRunner) greet(line string) {
	hs, err := parseHandshake(line, r.socketDir)
	if err == nil {
		err = checkSocket(hs.addr)
	}
	if err != nil {
		r.settle(handshake{}, &supervise.StartError{Step: stepHandshake, Permanent: true, Err: err})
		return
	}
	r.settle(hs, nil)
}

func (r *procRunner) readStderr(f *os.File) {
	defer r.reading.Done()
	log := r.sink.writer()
	defer log.Flush()
	copyOutput(f, func(p []byte) { _, _ = log.Write(p) })
}

// watchStart turns an end before the handshake into the start's failure.
func (r *procRunner) watchStart(child *proc.Process) {
	select {
	case <-r.ready:
		return
	case <-child.Done():
	}
	r.closeOutput()
	exit, how := child.Exit(), r.reason()
	if how == "" {
		how = exit.String()
	}
	err := fmt.Errorf("the process ended before the handshake (%s)%s", how, r.sink.lastWords())
	r.settle(handshake{}, &supervise.StartError{
		Step: stepHandshake,
		// A program that is content with itself will be so again.
		Permanent: exit.Signal == "" && exit.Code == 0,
		Err:       err,
	})
}

// closeOutput ends the reading of the output, soon even if somebody else
// holds the pipes, and closes our ends.
func (r *procRunner) closeOutput() {
	until := time.Now().Add(drainWait)
	for _, f := range r.outputs {
		if f != nil {
			_ = f.SetReadDeadline(until)
		}
	}
	r.reading.Wait()
	for _, f := range r.outputs {
		if f != nil {
			_ = f.Close()
		}
	}
}

// settle decides the start, once.
func (r *procRunner) settle(hs handshake, failure *supervise.StartError) {
	r.settled.Do(func() {
		r.hs, r.failure = hs, failure
		r.sink.forgetWords()
		close(r.ready)
	})
}

// startFailure is the failure that was found here, else err.
func (r *procRunner) startFailure(err error) error {
	select {
	case <-r.ready:
		if r.failure != nil {
			return r.failure
		}
	default:
	}
	return &supervise.StartError{Step: stepHandshake, Err: err}
}

// abort gives the start up: what runs is killed, what waits returns.
func (r *procRunner) abort(cause error, after time.Duration) error {
	what := "no handshake"
	select {
	case <-r.ready:
		if r.failure != nil {
			// It had failed already, and says more than that time is up.
			return r.failure
		}
		what = "the plugin's socket did not answer"
	default:
	}
	err := explainWait(cause, after, what, r.sink.lastWords())
	r.mu.Lock()
	r.aborted = err
	child := r.child
	r.mu.Unlock()
	if child != nil {
		r.foresee()
		child.Kill()
	}
	r.settle(handshake{}, err)
	return err
}

// running is the process, nil if it was never started.
func (r *procRunner) running() child {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil {
		return nil
	}
	return r.child
}

func (r *procRunner) addr() string { return r.hs.addr }

// finish releases the pipes and lets go-plugin's goroutines end. It is called
// when the process has ended, or is given up.
func (r *procRunner) finish() {
	r.once.Do(func() {
		r.settle(handshake{}, &supervise.StartError{Step: stepHandshake, Err: errors.New("start was given up")})
		r.closeOutput()
		r.sink.close()
		close(r.finished)
	})
}

func (r *procRunner) dir() string { return r.socketDir }

// Diagnose is not asked: failures are explained by startFailure.
func (r *procRunner) Diagnose(context.Context) string { return "" }

// Stdout gives go-plugin the handshake line once it was checked.
func (r *procRunner) Stdout() io.ReadCloser { return &lineReader{r: r} }

// Stderr gives go-plugin nothing: a log line of the wrong shape would bring
// the host down.
func (r *procRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the plugin's name.
func (r *procRunner) Name() string { return r.name }

// Wait returns when everything is released, later than the process's end:
// go-plugin cancels its calls then, and loses a connection that is being made.
func (r *procRunner) Wait(context.Context) error {
	<-r.finished
	return nil
}

// Kill ends the group, within two seconds.
func (r *procRunner) Kill(context.Context) error {
	if c := r.running(); c != nil && !c.Kill() {
		return fmt.Errorf("process %d does not end", c.Pid())
	}
	return nil
}

// ID is the pid, empty if there is none.
func (r *procRunner) ID() string {
	if c := r.running(); c != nil {
		return strconv.Itoa(c.Pid())
	}
	return ""
}

// noTranslation says that host and plugin see the same addresses.
type noTranslation struct{}

func (noTranslation) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (noTranslation) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// lineReader waits for the handshake and then holds its line alone.
type lineReader struct {
	r    *procRunner
	once bool
	rest string
}

func (l *lineReader) Read(p []byte) (int, error) {
	if !l.once {
		<-l.r.ready
		l.once = true
		if l.r.failure == nil {
			l.rest = l.r.hs.line()
		}
	}
	if l.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lineReader) Close() error { return nil }
