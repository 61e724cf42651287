package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/plugintest"
)

// As systemd does it: a socket that is passed, and words on another one.
func TestHostUnderAServiceManager(t *testing.T) {
	dir, err := os.MkdirTemp("", "vs") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	plugins := filepath.Join(dir, "plugins")
	program, err := os.ReadFile(built.faulty)
	if err := errors.Join(err, os.Mkdir(plugins, 0o700), os.WriteFile(filepath.Join(plugins, "vant-plugin-faulty"), program, 0o700)); err != nil {
		t.Fatal(err)
	}
	path, notify := filepath.Join(dir, "s"), filepath.Join(dir, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	passed, err := listener.File()
	if err := errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	defer passed.Close()

	words := map[string]string{
		"LISTEN_FDS": "1", "LISTEN_FDNAMES": "vant", "NOTIFY_SOCKET": notify, "WATCHDOG_USEC": "400000",
	}
	var log bytes.Buffer
	// The pid is known only to the process that becomes the host.
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0"`, built.vantd)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "VANT_PLUGIN_PATH=" + plugins}
	for name, value := range words {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.ExtraFiles = []*os.File{passed}
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()

	reply, err := reference(path, `{"version":1,"id":1,"method":"faulty.env"}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"} {
		if slices.Contains(variables(t, reply), name) {
			t.Errorf("the plugin sees %s", name)
		}
	}
	pid := func() int {
		t.Helper()
		reply, err := reference(path, `{"version":1,"id":1,"method":"plugins.info","params":{"name":"faulty"}}`+"\n")
		var info struct{ Result struct{ Pid int } }
		if err := errors.Join(err, json.Unmarshal([]byte(reply), &info)); err != nil || info.Result.Pid == 0 {
			t.Fatalf("plugins.info gives %s, %v", reply, err)
		}
		return info.Result.Pid
	}
	before := pid()
	// A host of the same user at the usual path shares nothing with this one.
	second := exec.Command(built.vantd)
	second.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "VANT_PLUGIN_PATH=" + plugins}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "a second host serving", func() bool {
		reply, err := reference(filepath.Join(dir, fmt.Sprintf("vantage-agent-%d.sock", os.Getuid())), `{"version":1,"id":1,"method":"faulty.echo"}`+"\n")
		return err == nil && strings.Contains(reply, `"ok":true`)
	})
	if err := errors.Join(second.Process.Signal(syscall.SIGTERM), second.Wait()); err != nil {
		t.Errorf("the second host: %v", err)
	}
	if after := pid(); after != before || !alive(after) {
		t.Errorf("the second host cost the first its plugin: pid %d, then %d", before, after)
	}
	if err := manager.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 512)
	for _, want := range []string{"READY=1", "WATCHDOG=1"} { // or the host had not seen the variables itself
		for said := ""; said != want; {
			n, err := manager.Read(buf)
			if err != nil {
				t.Fatalf("the manager did not hear %s: %v", want, err)
			}
			said = string(buf[:n])
		}
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	ended = true
	if err != nil || strings.Contains(log.String(), "[ERROR]") || strings.Contains(log.String(), "[WARN]") {
		t.Errorf("%v; the host's log:\n%s", err, log.String())
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the manager's socket: %v", err)
	}
}

func TestStopDoesNotWaitForLongPolls(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, h *plugintest.RunningHost){
		"host.stop": func(t *testing.T, h *plugintest.RunningHost) {
			if err := h.Call(within(t, 10*time.Second), "host.stop", nil, nil); err != nil {
				t.Error(err)
			}
		},
		"SIGTERM": func(t *testing.T, h *plugintest.RunningHost) { signal(t, h.Pid(), syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			h := faults(t)
			var logs struct{ Lines []struct{ Seq uint64 } }
			for len(logs.Lines) == 0 {
				if err := h.Call(within(t, 10*time.Second), "faulty.log", nil, nil); err != nil {
					t.Fatal(err)
				}
				if err := h.Call(within(t, 10*time.Second), "plugins.logs", raw(`{"name":"faulty","wait_ms":1000}`), &logs); err != nil {
					t.Fatal(err)
				}
			}
			type ending struct {
				reply string
				err   error
				at    time.Time
			}
			poll := func(line string) <-chan ending {
				ended := make(chan ending, 1)
				go func() {
					reply, err := reference(h.Socket(), line+"\n")
					ended <- ending{reply, err, time.Now()}
				}()
				return ended
			}
			polls := map[string]<-chan ending{
				`"events":[]`: poll(`{"version":1,"id":1,"method":"events.since","params":{"types":["tab"],"wait_ms":20000}}`),
				`"lines":[]`: poll(fmt.Sprintf(`{"version":1,"id":1,"method":"plugins.logs","params":{"name":"faulty","after":%d,"wait_ms":20000}}`,
					logs.Lines[len(logs.Lines)-1].Seq)),
			}
			eventually(t, 10*time.Second, "polling", func() bool {
				var st struct{ Connections int }
				return h.Call(within(t, 5*time.Second), "status", nil, &st) == nil && st.Connections == 3
			})
			begun := time.Now()
			stop(t, h)
			for empty, p := range polls {
				got := <-p
				if got.err != nil || !strings.Contains(got.reply, `"ok":true`) || !strings.Contains(got.reply, empty) {
					t.Errorf("the poll ended with %q, %v; want %s", got.reply, got.err, empty)
				}
				if took := got.at.Sub(begun); took > time.Second {
					t.Errorf("a poll ended %v after the stop", took)
				}
			}
			h.Stop()
			if strings.Contains(h.Log(), "[ERROR]") {
				t.Errorf("the host's log:\n%s", h.Log())
			}
		})
	}
}

// A second signal, or one that comes when all is done, must not end the process
// instead of the stop.
func TestSignalsDoNotCutAStopShort(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			ready, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer ready.Close()
			var log bytes.Buffer
			cmd := exec.Command(built.vantd, "--ready-fd", "3")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "VANT_PLUGIN_PATH=" + dir}
			cmd.ExtraFiles = []*os.File{w}
			cmd.Stdout, cmd.Stderr = &log, &log
			err = cmd.Start()
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(ready); string(said) != "ready\n" {
				t.Errorf("it said %q, %v", said, err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for {
				select {
				case err := <-ended:
					if err != nil {
						t.Errorf("it ended with %v; its log:\n%s", err, log.String())
					}
					return
				default:
					_ = cmd.Process.Signal(sig) // it may have ended this moment
				}
			}
		})
	}
}
