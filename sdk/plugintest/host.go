package plugintest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/client"
)

const (
	// hostStart bounds how long a host may take until it answers.
	hostStart = 15 * time.Second
	// firstStarts bounds how long its plugins may take to serve, or not to: there
	// can be many, on a machine that has other work.
	firstStarts = time.Minute
	// hostStop bounds how long it may take to end whatever its plugins do.
	hostStop = 12 * time.Second
	// answerBound is how long a host may take to say that it is there.
	answerBound = 5 * time.Second
	// residueBound is how long processes of an ended host may be dying.
	residueBound = 3 * time.Second
	// maxHostLog bounds what is kept of the host's log, in bytes.
	maxHostLog = 4 << 20
)

// HostOptions say how a host of a test is run.
type HostOptions struct {
	// Binaries are files named vant-plugin-<name>; see [Build].
	Binaries []string
	// Config is the host's configuration as YAML; "" is none.
	Config string
	// Env is added to the host's environment, as NAME=value.
	Env []string
	// Program is the host; "" stands for $VANT_HOST, else vantd of $PATH.
	Program string
}

// RunningHost is a host process of a test.
type RunningHost struct {
	// Client calls the host.
	*client.Client
	// Dir is the folder below which all the host's folders are.
	Dir string
	// Plugins is the folder where it looks for plugins.
	Plugins string

	t      testing.TB
	cmd    *exec.Cmd
	log    *hostLog
	exited chan struct{} // closed when cmd was waited for
	killed bool          // by Kill: nobody removed the sockets
	err    error         // of Wait
	once   sync.Once
}

// Host runs plugin binaries under a real host with private folders until the
// test ends; then nothing of it may be left: no process, no socket.
func Host(t testing.TB, binaries ...string) *RunningHost {
	t.Helper()
	return HostWith(t, HostOptions{Binaries: binaries})
}

// HostWith is Host with options.
func HostWith(t testing.TB, o HostOptions) *RunningHost {
	t.Helper()
	h, err := startHost(t, o)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return h
}

func startHost(t testing.TB, o HostOptions) (*RunningHost, error) {
	program, err := hostProgram(o.Program)
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: sockets need a short path.
	dir, err := os.MkdirTemp("", "vt")
	if err != nil {
		return nil, err
	}
	h := &RunningHost{
		Dir: dir, Plugins: filepath.Join(dir, "plugins"),
		t: t, log: &hostLog{}, exited: make(chan struct{}),
	}
	t.Cleanup(h.Stop)
	env, err := h.prepare(o)
	if err != nil {
		return nil, err
	}
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	h.cmd = exec.Command(program, "--socket", h.socket(), "--ready-fd", "3")
	h.cmd.ExtraFiles = []*os.File{told}
	h.cmd.Env, h.cmd.Dir = env, dir
	h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = h.cmd.Start()
	told.Close() // the pipe ends with the host
	if err != nil {
		h.cmd = nil
		return nil, err
	}
	go func() {
		defer close(h.exited)
		h.err = h.cmd.Wait()
	}()
	if h.Client, err = client.Dial(client.Options{Socket: h.socket(), WaitForHost: hostStart}); err != nil {
		return nil, err
	}
	if err := ready.SetReadDeadline(time.Now().Add(firstStarts)); err != nil {
		return nil, err
	}
	said, err := bufio.NewReader(ready).ReadString('\n')
	if err == nil && said != "ready\n" {
		err = errors.New("it said something else than ready")
	}
	if err != nil {
		return nil, fmt.Errorf("the host does not serve: %w; its log:\n%s", err, h.log.text())
	}
	return h, nil
}

func hostProgram(given string) (string, error) {
	if given == "" {
		given = os.Getenv("VANT_HOST")
	}
	if given == "" {
		path, err := exec.LookPath("vantd")
		if err != nil {
			return "", errors.New("no host found: set VANT_HOST to the vantd binary or put vantd into PATH")
		}
		given = path
	}
	return filepath.Abs(given)
}

func (h *RunningHost) socket() string { return filepath.Join(h.Dir, "run", "vant.sock") }

// prepare makes the folders and gives the host's environment.
func (h *RunningHost) prepare(o HostOptions) ([]string, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.Dir, "LANG=C.UTF-8", "VANT_PLUGIN_PATH=" + h.Plugins}
	for name, folder := range map[string]string{
		"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
		"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "TMPDIR": "tmp", "": "plugins",
	} {
		path := filepath.Join(h.Dir, folder)
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
		if name != "" {
			env = append(env, name+"="+path)
		}
	}
	for _, file := range o.Binaries {
		if err := h.Install(file); err != nil {
			return nil, err
		}
	}
	if o.Config != "" {
		path := filepath.Join(h.Dir, "config", "vant.yaml")
		if err := os.WriteFile(path, []byte(o.Config), 0o600); err != nil {
			return nil, err
		}
		env = append(env, "VANT_CONFIG="+path)
	}
	return append(env, o.Env...), nil
}

// Install copies a plugin, a binary or a folder, into the host's plugin folder, whole or not
// at all, as an operator's tools do.
func (h *RunningHost) Install(file string) error {
	name := filepath.Base(file)
	if !strings.HasPrefix(name, "vant-plugin-") {
		return fmt.Errorf("%s is not named vant-plugin-<name>", name)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		hidden := filepath.Join(h.Plugins, "."+name)
		if err := os.CopyFS(hidden, os.DirFS(file)); err != nil {
			return err
		}
		return os.Rename(hidden, filepath.Join(h.Plugins, name))
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(h.Plugins, ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), filepath.Join(h.Plugins, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// Log gives what the host has logged so far.
func (h *RunningHost) Log() string { return h.log.text() }

// Pid is the host's process id.
func (h *RunningHost) Pid() int { return h.cmd.Process.Pid }

// Kill ends the host without giving it a chance to clean up: its sockets stay,
// its processes must not.
func (h *RunningHost) Kill() {
	h.killed = true
	_ = h.cmd.Process.Kill() // it may have ended already
	<-h.exited
}

// Stop ends the host and fails the test for whatever is left of it. It runs at
// the test's end by itself.
func (h *RunningHost) Stop() {
	h.once.Do(func() {
		h.t.Helper()
		if h.cmd != nil {
			if h.t.Failed() {
				h.question()
			}
			h.end()
			h.residue()
		}
		if h.t.Failed() {
			h.t.Logf("the host's log:\n%s", h.log.text())
		}
		if err := os.RemoveAll(h.Dir); err != nil {
			h.t.Errorf("plugintest: %v", err)
		}
	})
}

// question has a host that does not answer print its goroutines, which ends it.
func (h *RunningHost) question() {
	h.t.Helper()
	if h.Client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerBound)
	defer cancel()
	if err := h.Call(ctx, "status", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	h.t.Errorf("plugintest: the host does not answer; its log ends with its goroutines")
	h.killed = true
	_ = h.cmd.Process.Signal(syscall.SIGQUIT) // it may end this moment
	select {
	case <-h.exited:
	case <-time.After(hostStop):
		h.Kill()
	}
}

func (h *RunningHost) end() {
	h.t.Helper()
	select {
	case <-h.exited:
		return // the test has ended it
	default:
	}
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended this moment
	timer := time.NewTimer(hostStop)
	defer timer.Stop()
	select {
	case <-h.exited:
		if h.err != nil {
			h.t.Errorf("plugintest: the host ended with %v", h.err)
		}
	case <-timer.C:
		h.t.Errorf("plugintest: %v after SIGTERM the host still runs", hostStop)
		h.Kill()
	}
}

// residue looks for what must not be there any more.
func (h *RunningHost) residue() {
	h.t.Helper()
	if left := waitGone(h.Dir, residueBound); len(left) > 0 {
		h.t.Errorf("plugintest: processes are left: %s", strings.Join(left, ", "))
		killMarked(h.Dir)
	}
	if h.killed {
		return
	}
	err := filepath.WalkDir(h.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeSocket != 0 {
			h.t.Errorf("plugintest: a socket is left: %s", strings.TrimPrefix(path, h.Dir))
		}
		return err
	})
	if err != nil {
		h.t.Errorf("plugintest: %v", err)
	}
}

// hostLog keeps the log's beginning.
type hostLog struct {
	mu   sync.Mutex // guards kept
	kept bytes.Buffer
}

// Write implements io.Writer.
func (l *hostLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := maxHostLog - l.kept.Len(); room > 0 {
		l.kept.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (l *hostLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.String()
}
