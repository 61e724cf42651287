package main_test

import (
	"bufio"
	"bytes"
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
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/client"
	"github.com/vant-run/vant/sdk/plugintest"
)

// reference is the published client: connect, one line, read to the end.
func reference(socket, line string) (string, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, line); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(c)
	return string(reply), err
}

func TestTranscripts(t *testing.T) {
	h := faults(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { plugintest.Transcript(t, h, f) })
	}
}

func TestClientsNeverSeeEachOthersReplies(t *testing.T) {
	h := faults(t)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 50 {
				id := fmt.Sprintf("c%d-%d", i, j)
				reply, err := reference(h.Socket(), fmt.Sprintf(`{"version":1,"id":%q,"method":"faulty.echo","params":{"v":%q}}`+"\n", id, id))
				if want := fmt.Sprintf(`{"version":1,"id":%q,"ok":true,"result":{"v":%q}}`+"\n", id, id); err != nil || reply != want {
					t.Errorf("got %q, %v; want %q", reply, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestFortyMegabytesOfJunkGetOneLineAndACleanEnd(t *testing.T) {
	h := faults(t)
	junk := strings.Repeat("x", 40<<20)
	reply, err := reference(h.Socket(), junk)
	if err != nil {
		t.Fatalf("reading the reply: %v", err)
	}
	if !strings.HasPrefix(reply, `{"version":1,"id":"","ok":false,"error":{"code":"request_too_large"`) || strings.Count(reply, "\n") != 1 {
		t.Errorf("got %.200q", reply)
	}
}

func TestLimitOfARequestIsExact(t *testing.T) {
	h := faults(t)
	line := func(n int) string {
		head, tail := `{"version":1,"id":"1","method":"faulty.echo","params":{"v":"`, `"}}`
		return head + strings.Repeat("a", n-len(head)-len(tail)) + tail + "\n"
	}
	if reply, err := reference(h.Socket(), line(1<<20)); err != nil || !strings.Contains(reply[:64], `"ok":true`) {
		t.Errorf("a request of exactly the limit: %.200q, %v", reply, err)
	}
	if reply, err := reference(h.Socket(), line(1<<20+1)); err != nil || !strings.Contains(reply, "request_too_large") {
		t.Errorf("one byte more: %.200q, %v", reply, err)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	h := faults(t)
	info, err := os.Stat(h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestSecondHostNamesTheFirst(t *testing.T) {
	h := faults(t)
	cmd := exec.Command(built.vantd, "--socket", h.Socket())
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, fmt.Append(nil, h.Pid())) {
		t.Errorf("got %v: %s", err, out)
	}
	var st struct{ Running bool }
	if err := h.Call(within(t, 5*time.Second), "status", nil, &st); err != nil || !st.Running {
		t.Errorf("the first host: %v", err)
	}
}

// As with `vantd 2>&1 | head -1`.
func TestAHostWhoseLogNobodyReadsGoesOn(t *testing.T) {
	dir, err := os.MkdirTemp("", "vt") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(built.vantd, "--socket", filepath.Join(dir, "s"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "VANT_PLUGIN_PATH="+dir)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(log).ReadString('\n'); err != nil {
		t.Errorf("its log: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	c, err := client.Dial(client.Options{Socket: filepath.Join(dir, "s"), WaitForHost: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // each is logged
		if err := c.Call(within(t, 10*time.Second), "host.reload", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if err := c.Call(within(t, 10*time.Second), "host.stop", nil, nil); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A plugin that does not come up must not have the host killed for it.
func TestTheWatchdogIsFedWhilePluginsStart(t *testing.T) {
	dir, err := os.MkdirTemp("", "vt")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "n")})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	heard := make(chan []string, 1)
	go func() {
		var states []string
		for b := make([]byte, 4096); ; {
			n, err := manager.Read(b)
			if err == nil {
				states = append(states, string(b[:n]))
			}
			if err != nil || bytes.HasPrefix(b[:n], []byte("STATUS=")) {
				heard <- states
				return
			}
		}
	}()
	start(t, plugintest.HostOptions{
		Binaries: []string{faulty(t, "mute")}, Config: "supervise:\n  settle_timeout: 3s\nplugins:\n" + section("mute", "hang-handshake"),
		Env: []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "n"), "WATCHDOG_USEC=1000000"},
	})
	if err := manager.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	states := <-heard
	fed := 0
	for _, s := range states {
		if s == "WATCHDOG=1" {
			fed++
		}
	}
	if fed < 2 || states[len(states)-1] != "STATUS=0 of 1 plugins run" {
		t.Errorf("the manager heard %q", states)
	}
}

func TestTooLongASocketPathIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("p", 120))
	cmd := exec.Command(built.vantd, "--socket", path)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(path)) || !bytes.Contains(out, []byte("104")) {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestPythonReferenceClient(t *testing.T) {
	h := faults(t)
	python := func(args ...string) (string, error) {
		cmd := exec.Command("/usr/bin/python3", append([]string{filepath.Join("..", "..", "tools", "vant_agent.py")}, args...)...)
		cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket())
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := python("faulty.echo", `{"a":1}`)
	var reply struct {
		OK     bool
		Result json.RawMessage
	}
	if err != nil || json.Unmarshal([]byte(out), &reply) != nil || !reply.OK {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := python("no.such_method"); err == nil || !strings.Contains(out, "method_not_found") {
		t.Errorf("got %q, %v", out, err)
	}
}
