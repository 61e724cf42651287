package chromium

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/internal/proc"
)

// Options say what to start. Start does not keep or change them.
type Options struct {
	// Path is the browser, as Find gives it.
	Path     string
	Headless bool
	// Profile is the folder of everything that persists (absolute). It is
	// made, with mode 0700.
	Profile string
	// Env is where the browser's environment is taken from; nil: this process's
	// own. It gets no more of it than it needs.
	Env []string
	// Args are flags besides the package's own, which they win over.
	Args []string
	Log  hclog.Logger // nil: none
}

// Bounds of an end. Each step takes less when the context of Close says so.
const (
	exitWait  = 3 * time.Second // for the browser to write its data and exit
	termWait  = 2 * time.Second // after SIGTERM
	sweepWait = 2 * time.Second // to kill what is left
	wordsWait = 200 * time.Millisecond
)

// Process is a running browser. Its methods may be called concurrently.
type Process struct {
	proc    *proc.Process
	profile *profile
	log     hclog.Logger
	out     *output
	r, w    *os.File
	done    chan struct{}
	exit    string // written before done is closed
	left    error  // the same

	mu    sync.Mutex
	known []proc.Identity // guarded by mu: descendants that were seen
}

// Start starts a browser and returns as soon as its process runs; that it
// cannot go on shows at Done and in Exit. ctx bounds the start alone. The error
// is an *InUseError when the profile is somebody else's.
func Start(ctx context.Context, o Options) (_ *Process, err error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prof, err := openProfile(ctx, o.Profile)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			err = errors.Join(err, prof.release(true))
		}
	}()
	o.Profile = prof.dir
	root := os.Geteuid() == 0
	args, err := commandLine(o, root)
	if err != nil {
		return nil, err
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("pipe to the browser: %w", err)
		}
		files = append(files, r, w)
	}
	commands, answers, words := files[0:2], files[2:4], files[4:6]
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	child, err := proc.Start(proc.Command{
		Path: o.Path, Args: args, Env: append(prof.inTemporary(environ(env)), prof.marker()), Dir: prof.dir,
		Stdout: words[1], Stderr: words[1],
		ExtraFiles: []*os.File{commands[0], answers[1]},
	})
	if err != nil {
		return nil, err
	}
	for _, f := range []*os.File{commands[0], answers[1], words[1]} {
		f.Close()
	}
	if root && o.Headless {
		o.Log.Warn("the browser runs without its sandbox, because this process is root's; run vantd as another user")
	} else if root {
		o.Log.Warn("the browser runs without its sandbox, because this process is root's, and shows a bar that says so; run vantd as another user")
	}
	o.Log.Debug("browser started", "path", o.Path, "pid", child.Pid(), "headless", o.Headless, "profile", prof.dir)
	p := &Process{
		proc: child, profile: prof, log: o.Log, out: newOutput(words[0], o.Log),
		r: answers[0], w: commands[1], done: make(chan struct{}),
	}
	go p.out.read()
	go p.watch()
	return p, nil
}

// Pid is that of the browser's main process.
func (p *Process) Pid() int { return p.proc.Pid() }

// Pipe gives our ends of the debugging pipe: what the browser says and what it
// is told, each message ended by a zero byte. The caller may close them; the
// browser ends when w is closed.
func (p *Process) Pipe() (r io.ReadCloser, w io.WriteCloser) { return p.r, p.w }

// Done is closed when the browser has ended, with everything that it started,
// and its profile is free.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says in one line how the browser ended and what it said of the reason;
// "" while it runs.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return ""
	}
}

// Close ends the browser: it is given a while to exit by itself, as after
// Browser.close or at the end of its pipe, then SIGTERM, then SIGKILL with all
// that it started. It returns when that is gone; the error says what is not.
// The end of ctx shortens all waits, and never leaves a process.
func (p *Process) Close(ctx context.Context) error {
	p.note()
	// A reader that is there gets the answer to Browser.close still.
	_ = p.w.Close() // closed already: then it is told
	defer p.r.Close()
	if !p.ends(ctx, share(ctx, exitWait, 2)) {
		p.note()
		if !p.proc.Stop(share(ctx, termWait, 2)) {
			return fmt.Errorf("browser process %d does not end", p.Pid())
		}
		t := time.NewTimer(sweepWait + wordsWait + time.Second)
		defer t.Stop()
		select {
		case <-p.done:
		case <-t.C:
			return fmt.Errorf("what browser process %d started does not end", p.Pid())
		}
	}
	return p.left
}

// ends waits for the browser's end.
func (p *Process) ends(ctx context.Context, bound time.Duration) bool {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	return false
}

// share is bound, or that part of the time that ctx leaves.
func share(ctx context.Context, bound time.Duration, part time.Duration) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	if deadline, ok := ctx.Deadline(); ok {
		return min(bound, max(0, time.Until(deadline)/part))
	}
	return bound
}

// note remembers the descendants: those that leave the group and drop their
// environment can be found only while their parents live.
func (p *Process) note() {
	found, err := proc.Descendants(p.Pid())
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range found {
		if !slices.Contains(p.known, id) {
			p.known = append(p.known, id)
		}
	}
}

// watch waits for the main process's end and clears up after it.
func (p *Process) watch() {
	end := p.proc.Wait()
	p.left = p.sweep()
	// Nobody is left who could hold its output, or it is not waited for.
	p.out.finish(wordsWait)
	p.exit = end.String()
	if words := p.out.words(end.Code == 0); words != "" {
		p.exit += ": " + words
	}
	if err := p.profile.release(p.left == nil); err != nil {
		p.log.Warn("the browser's profile folder was not left as it should be", "error", err)
	}
	p.log.Debug("browser ended", "pid", p.Pid(), "exit", p.exit)
	close(p.done)
}

// sweepRounds bounds how often what is left is looked for; one that is being
// killed may just have started another.
const sweepRounds = 3

func (p *Process) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepWait)
	defer cancel()
	p.mu.Lock()
	known := slices.Clone(p.known)
	p.mu.Unlock()
	for range sweepRounds {
		users, err := usersOf(p.profile.dir)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, u := range users {
			// A browser that a person has just started here is not ours.
			if u.child {
				known = append(known, u.id)
			}
		}
		killed, err := proc.KillLeft(ctx, p.proc.Identity(), p.profile.marker(), known)
		if err != nil {
			return fmt.Errorf("end what the browser started: %w", err)
		}
		if len(killed) == 0 {
			return nil
		}
		p.log.Debug("ended what the browser left", "processes", len(killed))
	}
	return nil
}
