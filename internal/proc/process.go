package proc

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Exit says how a process ended.
type Exit struct {
	Code   int    // exit status, -1 when ended by a signal or not known
	Signal string // name of the signal, "" when it exited
	Time   time.Time
}

// String gives "exit status 3" or "signal: killed".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Process is a child that Start made. All methods may be called concurrently
// and are safe after the process has ended.
type Process struct {
	id     Identity
	limits Limits
	done   chan struct{}
	exit   Exit // written before done is closed

	mu     sync.Mutex
	reaped bool // guarded by mu: the pid may belong to somebody else now
}

func newProcess(h handle, l Limits) *Process {
	p := &Process{limits: l, done: make(chan struct{})}
	id, err := Identify(h.pid)
	if err != nil {
		id = Identity{Pid: h.pid}
	}
	p.id = id
	go p.reap(h)
	return p
}

// Pid is the process's id and its group's.
func (p *Process) Pid() int { return p.id.Pid }

// Identity names the process beyond its pid, for records that outlive it.
func (p *Process) Identity() Identity { return p.id }

// Limits are those that are in force; one that could not be set is 0.
func (p *Process) Limits() Limits { return p.limits }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended; valid once Done is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{}
	}
}

// Wait returns when the process has ended.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the process alone. After its end it is ErrGone.
func (p *Process) Signal(sig syscall.Signal) error { return p.kill(p.id.Pid, sig) }

// SignalGroup sends sig to every process of the group. After the leader's end
// it is ErrGone: whoever was left was killed then.
func (p *Process) SignalGroup(sig syscall.Signal) error { return p.kill(-p.id.Pid, sig) }

func (p *Process) kill(target int, sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return ErrGone
	}
	if err := syscall.Kill(target, sig); err != nil {
		if err == syscall.ESRCH {
			return ErrGone
		}
		return fmt.Errorf("signal process %d: %w", p.id.Pid, err)
	}
	return nil
}

// killWait is how long a killed process may take to vanish. Only one that
// hangs in the kernel takes longer, and nothing can be done about that one.
const killWait = 1500 * time.Millisecond

// Stop ends the group: SIGTERM, and after grace SIGKILL. It returns when the
// leader has ended, at most grace and two seconds later, and says whether it
// has. A stopped process is continued, so that it can answer the SIGTERM.
func (p *Process) Stop(grace time.Duration) bool {
	if grace > 0 && p.SignalGroup(syscall.SIGTERM) == nil {
		_ = p.SignalGroup(syscall.SIGCONT)
		if p.waitFor(grace) {
			return true
		}
	}
	return p.Kill()
}

// Kill ends the group with SIGKILL at once. It returns within two seconds and
// says whether the leader has ended.
func (p *Process) Kill() bool {
	_ = p.SignalGroup(syscall.SIGKILL)
	return p.waitFor(killWait)
}

func (p *Process) waitFor(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	}
	// On a busy machine both may have come.
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// reap waits for the leader's end without taking its status, kills what is
// left of the group, and only then frees the number.
func (p *Process) reap(h handle) {
	awaitExit(h)
	status, err := p.collect()
	for delay := time.Millisecond; errors.Is(err, syscall.EAGAIN); delay = min(2*delay, 50*time.Millisecond) {
		// It was waitable a moment ago; a debugger can take that back.
		time.Sleep(delay)
		awaitExit(bare(p.id.Pid))
		status, err = p.collect()
	}
	p.exit = Exit{Code: -1, Time: time.Now()}
	switch {
	case err != nil:
		// Somebody else took the status.
	case status.Signaled():
		p.exit.Signal = status.Signal().String()
	default:
		p.exit.Code = status.ExitStatus()
	}
	close(p.done)
}

// collect does not wait: it is EAGAIN if the leader cannot be reaped yet.
func (p *Process) collect() (syscall.WaitStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.id.Pid, syscall.SIGKILL)
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(p.id.Pid, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == nil && pid == 0:
			return status, syscall.EAGAIN
		}
		p.reaped = true
		return status, err
	}
}

// keepAlive keeps the finalizers of c's files from closing them while the
// child still needs their numbers.
func keepAlive(c Command) {
	runtime.KeepAlive(c.Stdin)
	runtime.KeepAlive(c.Stdout)
	runtime.KeepAlive(c.Stderr)
	runtime.KeepAlive(c.ExtraFiles)
	runtime.KeepAlive(c.Cgroup)
}
