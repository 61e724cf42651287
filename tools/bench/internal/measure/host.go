package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// StatusLine is the request that asks for a host's status.
var StatusLine = []byte(`{"version":1,"id":"1","method":"status","params":{}}` + "\n")

// Host is a vantd of the bench's own, with all its folders in one.
type Host struct {
	Socket string
	Env    []string // what it and its clients run with
	Begun  time.Time

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Launch starts a host with the plugins of one folder and does not wait.
func Launch(vantd, dir, plugins string, env ...string) (*Host, error) {
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o700); err != nil {
		return nil, err
	}
	h := &Host{Socket: filepath.Join(dir, "run", "s.sock")}
	h.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "VANT_SOCKET=" + h.Socket, "VANT_PLUGIN_PATH=" + plugins,
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
	}, env...)
	h.cmd = exec.Command(vantd, "--socket", h.Socket)
	h.cmd.Env = h.Env
	log, err := os.Create(filepath.Join(dir, "vantd.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h.cmd.Stderr = log
	h.Begun = time.Now()
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		_ = h.cmd.Wait() // a host that fails shows in the rows
	}()
	return h, nil
}

// Pid is that of the host's process.
func (h *Host) Pid() int { return h.cmd.Process.Pid }

// Ready counts the plugins that serve.
func (h *Host) Ready() (int, error) {
	reply, err := Exchange(h.Socket, StatusLine, make([]byte, 64<<10))
	if err != nil {
		return 0, err
	}
	var r struct {
		Result struct{ Plugins struct{ Ready int } }
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return 0, err
	}
	return r.Result.Plugins.Ready, nil
}

// Plugin is a plugin as plugins.list has it.
type Plugin struct {
	Name     string
	State    string
	Pid      int
	InFlight int `json:"in_flight"`
}

// Plugin asks the host for a plugin.
func (h *Host) Plugin(name string) (Plugin, error) {
	raw, err := Ask(h.Socket, "plugins.list", "{}")
	if err != nil {
		return Plugin{}, err
	}
	var rows []Plugin
	if err := json.Unmarshal(raw, &rows); err != nil {
		return Plugin{}, err
	}
	i := slices.IndexFunc(rows, func(r Plugin) bool { return r.Name == name })
	if i < 0 {
		return Plugin{}, fmt.Errorf("there is no plugin %s", name)
	}
	return rows[i], nil
}

// Stop ends the host.
func (h *Host) Stop() {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return
	}
	select {
	case <-h.done:
	case <-time.After(15 * time.Second):
		if err := h.cmd.Process.Kill(); err == nil {
			<-h.done
		}
	}
}

// Exchange sends one line on a connection of its own and reads to EOF.
func Exchange(socket string, line, buf []byte) ([]byte, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Write(line); err != nil {
		return nil, err
	}
	n := 0
	for {
		m, err := c.Read(buf[n:])
		n += m
		if errors.Is(err, io.EOF) {
			return buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
		if n == len(buf) {
			return nil, errors.New("the reply is larger than expected")
		}
	}
}

// Request is the line of a call.
func Request(method, params string) []byte {
	return fmt.Appendf(nil, `{"version":1,"id":"1","method":%q,"params":%s}`+"\n", method, params)
}

// Ask makes a call and gives its result.
func Ask(socket, method, params string) (json.RawMessage, error) {
	reply, err := Exchange(socket, Request(method, params), make([]byte, 256<<10))
	if err != nil {
		return nil, err
	}
	var r struct {
		OK     bool
		Result json.RawMessage
		Error  struct{ Code, Message string }
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return nil, err
	}
	if !r.OK {
		return nil, &failure{r.Error.Code, r.Error.Message}
	}
	return r.Result, nil
}

type failure struct{ code, message string }

func (f *failure) Error() string { return f.code + ": " + f.message }

// Failed says whether err is the host's answer with this code.
func Failed(err error, code string) bool {
	var f *failure
	return errors.As(err, &f) && f.code == code
}
