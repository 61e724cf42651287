package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// agentBrowser is that program, its daemon and its Chromium, in a folder of
// their own.
type agentBrowser struct {
	dir, program string
	env          []string
	conns        []net.Conn
	daemon       int // its pid
}

// install finds what make bench-peers has installed.
func install(dir string) (*agentBrowser, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	program, err := filepath.Abs(".tools/agent-browser/node_modules/agent-browser/bin/agent-browser-" + runtime.GOOS + "-" + arch)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("run make bench-peers: %w", err)
	}
	chromium, err := exec.LookPath("chromium") // as the plugin finds it
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"", "s", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	a := &agentBrowser{dir: dir, program: program}
	a.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "s"),
		"AGENT_BROWSER_SOCKET_DIR=" + filepath.Join(dir, "s"), "AGENT_BROWSER_EXECUTABLE_PATH=" + chromium,
	}
	if os.Geteuid() == 0 {
		a.env = append(a.env, "AGENT_BROWSER_ARGS=--no-sandbox")
	}
	return a, nil
}

// cli runs the program; its own answer is the output.
func (a *agentBrowser) cli(args ...string) ([]byte, error) {
	cmd := exec.Command(a.program, args...)
	cmd.Env = a.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("agent-browser %s: %w\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return out, err
}

// start opens a page, which starts the daemon and the browser.
func (a *agentBrowser) start(url string) error {
	if _, err := a.cli("open", url); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(a.dir, "s", "default.pid"))
	if err != nil {
		return err
	}
	_, err = fmt.Sscan(string(text), &a.daemon)
	return err
}

// stop ends browser and daemon.
func (a *agentBrowser) stop() error {
	for _, c := range a.conns {
		c.Close()
	}
	a.conns = nil
	if a.daemon == 0 {
		return cleared(a.dir) // what a failed start has left
	}
	_, err := a.cli("close")
	if measure.WaitFor(5*time.Second, func() bool { return syscall.Kill(a.daemon, 0) != nil || zombie(a.daemon) }) != nil {
		err = errors.Join(err, errors.New("the daemon of agent-browser does not end"))
	}
	a.daemon = 0
	return errors.Join(err, cleared(a.dir))
}

// zombie says whether a process has ended and waits for its parent, which the
// daemon's may never ask.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(text, []byte(") Z "))
}

// client is a connection to the daemon that stays.
func (a *agentBrowser) client() (*peer, error) {
	c, err := net.Dial("unix", filepath.Join(a.dir, "s", "default.sock"))
	if err != nil {
		return nil, err
	}
	a.conns = append(a.conns, c)
	return &peer{c, bufio.NewReaderSize(c, maxReply)}, nil
}

// peer is one client of the daemon.
type peer struct {
	conn net.Conn
	in   *bufio.Reader
}

var success = []byte(`"success":true}`)

// call sends a request and checks that the answer is a success. The answer is
// valid until the next call.
func (p *peer) call(line []byte) ([]byte, error) {
	if _, err := p.conn.Write(line); err != nil {
		return nil, err
	}
	reply, err := p.in.ReadSlice('\n')
	if err == nil && !bytes.HasSuffix(bytes.TrimSpace(reply), success) {
		err = fmt.Errorf("agent-browser: %.400s", reply)
	}
	return reply, err
}

func request(action, rest string) []byte {
	return fmt.Appendf(nil, `{"id":"1","action":%q%s}`+"\n", action, rest)
}

// side is a request whose answers are checked.
func (p *peer) side(action, rest string, check func([]byte) error) *measure.Side {
	line := request(action, rest)
	return &measure.Side{Name: "agent-browser", Run: func() (int, error) {
		reply, err := p.call(line)
		if err == nil {
			err = check(reply)
		}
		return len(reply), err
	}}
}

// ref finds the ref of an element by its role and name in a snapshot.
func (p *peer) ref(role, name string) (string, error) {
	reply, err := p.call(request("snapshot", `,"interactive":true`))
	if err != nil {
		return "", err
	}
	head, _, found := bytes.Cut(reply, fmt.Appendf(nil, `":{"name":%q,"role":%q}`, name, role))
	if !found {
		return "", fmt.Errorf("agent-browser: no %s %s in %.1000s", role, name, reply)
	}
	return "@" + string(head[bytes.LastIndexByte(head, '"')+1:]), nil
}
