package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vant-run/vant/tools/internal/procfs"
)

const (
	startBound = 30 * time.Second
	stopBound  = 10 * time.Second
	goneBound  = 3 * time.Second
	callBound  = 90 * time.Second
	// faultBound is how long anything may take that follows a fault.
	faultBound = 30 * time.Second

	// inFlight is the plugins' limit; fewer than there are clients.
	inFlight      = 24
	maxFailures   = 5
	failureWindow = time.Minute
	provenCalls   = 20
)

var (
	faultyPlugins = []string{"f1", "f2", "f3"}
	echoPlugins   = []string{"e1", "e2"}
)

// stage is the folder in which the hosts run, and what they run.
type stage struct {
	dir          string
	hosts        int
	faulty, echo []byte // programs
	version      uint64 // the last that was written: each has one of its own
}

func (s *stage) plugins() string           { return filepath.Join(s.dir, "plugins") }
func (s *stage) tmp() string               { return filepath.Join(s.dir, "tmp") }
func (s *stage) run() string               { return filepath.Join(s.dir, "run") }
func (s *stage) path() string              { return filepath.Join(s.run(), "s") }
func (s *stage) file(plugin string) string { return filepath.Join(s.plugins(), "vant-plugin-"+plugin) }

// prepare builds the programs and puts the plugins in place.
func (s *stage) prepare(ctx context.Context) error {
	for _, name := range []string{"run", "tmp", "plugins", "build"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := build(ctx, s.vantd(), "./cmd/vantd"); err != nil {
		return err
	}
	for _, p := range []struct {
		to  *[]byte
		pkg string
	}{{&s.faulty, "./plugins/internal/faulty"}, {&s.echo, "./tools/bench/host/echoplugin"}} {
		file := filepath.Join(s.dir, "build", "plugin")
		err := build(ctx, file, p.pkg)
		if err == nil {
			*p.to, err = os.ReadFile(file)
		}
		if err != nil {
			return err
		}
	}
	config := fmt.Sprintf("supervise:\n  health_every: 700ms\n  health_timeout: 700ms\n  health_misses: 3\n"+
		"  backoff_min: 100ms\n  backoff_max: 400ms\n  max_failures: %d\n  failure_window: %v\nplugins:\n"+
		"  defaults: {max_in_flight: %d, queue: 64}\n", maxFailures, failureWindow, inFlight)
	for _, name := range append([]string{"extra"}, faultyPlugins...) {
		config += fmt.Sprintf("  %s: {host: {env: {VANT_FAULTY_NAME: %s}}}\n", name, name)
	}
	if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
		return err
	}
	for _, name := range everyPlugin {
		if err := s.put(name, s.next()); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) vantd() string  { return filepath.Join(s.dir, "build", "vantd") }
func (s *stage) config() string { return filepath.Join(s.dir, "build", "vant.yaml") }

// program gives a version of a plugin's program: what stands behind the end of
// an executable changes its checksum and nothing else.
func (s *stage) program(plugin string, version uint64) []byte {
	program := s.faulty
	if strings.HasPrefix(plugin, "e") && plugin != "extra" {
		program = s.echo
	}
	return fmt.Appendf(bytes.Clone(program), "\nversion %d\n", version)
}

// next is a version that no file had before, in no host's time: private copies of
// the same content would be one, and a file with the same content is no new one.
func (s *stage) next() uint64 {
	s.version++
	return s.version
}

// put installs a version of a plugin, whole or not at all.
func (s *stage) put(plugin string, version uint64) error {
	part := filepath.Join(s.plugins(), ".part")
	if err := os.WriteFile(part, s.program(plugin, version), 0o700); err != nil {
		return err
	}
	return os.Rename(part, s.file(plugin))
}

// copyOver writes a version over the file that is there, in pieces, as cp does.
func (s *stage) copyOver(ctx context.Context, plugin string, version uint64) error {
	f, err := os.OpenFile(s.file(plugin), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	program := s.program(plugin, version)
	for _, piece := range [][]byte{program[:len(program)/3], program[len(program)/3 : len(program)/2], program[len(program)/2:]} {
		if _, err := f.Write(piece); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

func (s *stage) take(plugin string) error { return os.Remove(s.file(plugin)) }

// host is a running vantd.
type host struct {
	*stage
	cmd     *exec.Cmd
	socket  string
	logFile string
	events  *follower
	exited  chan struct{}
	err     error // of Wait
	once    sync.Once
}

// start starts a host and waits until its plugins serve.
func (s *stage) start(ctx context.Context) (*host, error) {
	s.hosts++
	h := &host{stage: s, socket: s.path(), logFile: filepath.Join(s.dir, fmt.Sprintf("host%d.log", s.hosts)), exited: make(chan struct{})}
	log, err := os.Create(h.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	h.cmd = exec.Command(s.vantd(), "--socket", h.socket, "--config", s.config(), "--ready-fd", "3")
	h.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.tmp(), "VANT_PLUGIN_PATH=" + s.plugins(), "XDG_RUNTIME_DIR=" + s.run(),
	}
	h.cmd.Stdout, h.cmd.Stderr, h.cmd.ExtraFiles = log, log, []*os.File{told}
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for us, and we tell the host
	err = h.cmd.Start()
	told.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(h.exited)
		h.err = h.cmd.Wait()
	}()
	h.events = follow(ctx, h.socket)
	err = ready.SetReadDeadline(time.Now().Add(startBound))
	var said string
	if err == nil {
		said, err = bufio.NewReader(ready).ReadString('\n')
	}
	if err == nil && said != "ready\n" {
		err = fmt.Errorf("it said %q", said)
	}
	var rows map[string]row
	if err == nil {
		rows, err = h.list()
	}
	for _, name := range everyPlugin {
		if err == nil && rows[name].State != "ready" {
			err = fmt.Errorf("plugin %s is %s: %s", name, rows[name].State, rows[name].Reason)
		}
	}
	if err != nil {
		h.kill()
		log, _ := os.ReadFile(h.logFile) // none says nothing
		return nil, fmt.Errorf("the host did not start: %w; its log ends with %s", err, log[max(0, len(log)-500):])
	}
	return h, nil
}

// row is a plugin as plugins.list has it.
type row struct {
	Name, State, Reason, SHA256 string
	Pid                         int
	Generation                  uint64
	InFlight                    int `json:"in_flight"`
}

func (h *host) list() (map[string]row, error) {
	var list []row
	if err := h.call("plugins.list", "{}", &list); err != nil {
		return nil, err
	}
	rows := map[string]row{}
	for _, r := range list {
		rows[r.Name] = r
	}
	return rows, nil
}

// call makes a call that must succeed.
func (h *host) call(method, params string, result any) error {
	return call(h.socket, method, params, result)
}

func call(socket, method, params string, result any) error {
	reply, err := exchange(socket, request(method, params))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var r answer
	if err := json.Unmarshal(reply, &r); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if !r.OK {
		return fmt.Errorf("%s: %s: %s", method, r.Error.Code, r.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(r.Result, result)
}

func request(method, params string) []byte {
	return fmt.Appendf(nil, `{"version":1,"id":"1","method":%q,"params":%s}`+"\n", method, params)
}

// exchange sends bytes on a connection of its own and reads to its end.
func exchange(socket string, line []byte) ([]byte, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(callBound)); err != nil {
		return nil, err
	}
	if _, err := c.Write(line); err != nil {
		return nil, err
	}
	return io.ReadAll(c)
}

// warmUp has every plugin write a log line and be replaced once, so that what
// the host opens once for good is open.
func (h *host) warmUp(ctx context.Context) error {
	for _, name := range everyPlugin {
		if err := h.call("plugins.restart", fmt.Sprintf(`{"name":%q}`, name), nil); err != nil {
			return err
		}
	}
	for _, name := range faultyPlugins {
		if err := h.call(name+".log", `{"lines":2000}`, nil); err != nil {
			return err
		}
		// A plugin that has called another one has a goroutine for its answers.
		if err := h.call(name+".call", fmt.Sprintf(`{"method":"%s.echo","params":{}}`, faultyPlugins[0]), nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// holdCalls starts calls that run until ctx ends, and waits until they do.
func (h *host) holdCalls(ctx context.Context, n int) error {
	for range n {
		go func() {
			c, err := net.Dial("unix", h.socket)
			if err != nil {
				return // it is missed below
			}
			defer c.Close()
			if _, err := c.Write(request(faultyPlugins[0]+".sleep", `{"ms":50000}`)); err == nil {
				<-ctx.Done()
			}
		}()
	}
	for begun := time.Now(); ; {
		rows, err := h.list()
		if err != nil {
			return err
		}
		if rows[faultyPlugins[0]].InFlight == n {
			return nil
		}
		if time.Since(begun) > faultBound {
			return fmt.Errorf("%d calls run, want %d", rows[faultyPlugins[0]].InFlight, n)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// fatten makes large calls and gives the largest memory seen meanwhile, in MiB.
func (h *host) fatten(ctx context.Context) (peak float64, err error) {
	done := make(chan error, 4)
	for range cap(done) {
		go func() { done <- h.call("f2.big", `{"bytes":8388608}`, nil) }()
	}
	for left := cap(done); left > 0; {
		select {
		case e := <-done:
			left, err = left-1, errors.Join(err, e)
		case <-time.After(time.Millisecond):
		}
		now, e := procfs.RSS(h.cmd.Process.Pid)
		if e != nil {
			return 0, e
		}
		peak = max(peak, now)
	}
	return peak, errors.Join(err, ctx.Err())
}

// await waits until an event of a plugin comes, also when it has come already.
func (h *host) await(ctx context.Context, plugin string, want func(event) bool) error {
	_, err := h.events.wait(ctx, time.Time{}, plugin, want)
	return err
}

// stop asks the host to end, which must succeed within its bound.
func (h *host) stop() error {
	h.events.stop()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-h.exited:
		return h.err
	case <-time.After(stopBound):
		return fmt.Errorf("%v after SIGTERM the host still runs", stopBound)
	}
}

// quit ends the host by SIGQUIT and gives the goroutines that it printed. None of
// its processes may outlive it.
func (h *host) quit() (goroutines, error) {
	h.events.stop()
	if err := h.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return nil, err
	}
	select {
	case <-h.exited:
	case <-time.After(stopBound):
		return nil, fmt.Errorf("%v after SIGQUIT the host still runs", stopBound)
	}
	if left := waitGone(h.dir, goneBound); len(left) > 0 {
		return nil, fmt.Errorf("%v after the host's crash these processes are left: %s", goneBound, strings.Join(left, ", "))
	}
	log, err := os.ReadFile(h.logFile)
	if err != nil {
		return nil, err
	}
	_, dump, ok := bytes.Cut(log, []byte("SIGQUIT: quit"))
	if !ok {
		return nil, errors.New("the host printed no goroutines")
	}
	return readGoroutines(dump), nil
}

// kill ends what is left of a host.
func (h *host) kill() {
	h.once.Do(func() {
		h.events.stop()
		_ = h.cmd.Process.Kill() // it has ended, mostly
		<-h.exited
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
