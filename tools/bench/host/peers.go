package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// bareEcho serves one line a connection. The line begins with the size of the
// reply that the client wants, so that both sides of a row move the same bytes.
func bareEcho(socket string) {
	ln, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	filler := bytes.Repeat([]byte("x"), 1<<20)
	for {
		c, err := ln.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer c.Close()
			line, err := bufio.NewReaderSize(c, 4096).ReadBytes('\n')
			if err != nil {
				return
			}
			n, err := strconv.Atoi(string(line[:8]))
			if err != nil || n < 1 || n > len(filler) {
				return
			}
			reply := make([]byte, n)
			copy(reply, filler)
			reply[n-1] = '\n'
			if _, err := c.Write(reply); err != nil {
				log.Print(err)
			}
		}()
	}
}

// bareLine is a request of n bytes for a reply of m.
func bareLine(n, m int) []byte {
	line := append([]byte(fmt.Sprintf("%08d", m)), bytes.Repeat([]byte("x"), max(n-9, 0))...)
	return append(line, '\n')
}

// exchange sends one line on a connection of its own and reads to EOF.
func exchange(socket string, line, buf []byte) ([]byte, error) {
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

// host is a vantd of the bench's own.
type host struct {
	cmd    *exec.Cmd
	socket string
	env    []string
	begun  time.Time
	done   chan struct{} // closed when it has ended
}

// launch starts a host with the four echo plugins and does not wait.
func (b *bench) launch(name string) (*host, error) {
	dir := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o700); err != nil {
		return nil, err
	}
	h := &host{socket: filepath.Join(dir, "run", "s.sock")}
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "VANT_SOCKET=" + h.socket, "VANT_PLUGIN_PATH=" + filepath.Join(b.work, "plugins"),
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
	}
	h.cmd = exec.Command(b.vantd, "--socket", h.socket)
	h.cmd.Env = h.env
	h.cmd.Stderr, _ = os.Create(filepath.Join(dir, "vantd.log"))
	h.begun = time.Now()
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

func (b *bench) startHost(name string) (*host, error) {
	h, err := b.launch(name)
	if err != nil {
		return nil, err
	}
	if err := waitFor(15*time.Second, func() bool { n, _ := h.ready(); return n == 4 }); err != nil {
		h.stop()
		return nil, fmt.Errorf("four plugins are not ready: %w", err)
	}
	return h, nil
}

// ready counts the plugins that serve.
func (h *host) ready() (int, error) {
	reply, err := exchange(h.socket, statusLine, make([]byte, 64<<10))
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

func (h *host) stop() {
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

var statusLine = []byte(`{"version":1,"id":"1","method":"status","params":{}}` + "\n")

// payload is one kind of echo.
type payload struct {
	name   string
	method string
	params []byte
}

func payloads() []payload {
	text := func(n int) []byte { return fmt.Appendf(nil, `{"data":%q}`, bytes.Repeat([]byte("a"), n)) }
	items := []byte(`{"data":[`)
	count := 0
	for ; len(items) < 64<<10; count++ {
		if count > 0 {
			items = append(items, ',')
		}
		items = fmt.Appendf(items, `{"id":%d,"name":"item number %d","ok":true,"tags":["a","b"],"v":%d.5}`, count, count, count)
	}
	items = append(items, "]}"...)
	return []payload{
		{"64 B", "echo1.text", text(64)},
		{"64 KiB string", "echo1.text", text(64 << 10)},
		{fmt.Sprintf("64 KiB of %d objects", count), "echo1.items", items},
	}
}

func (p payload) line() []byte {
	return fmt.Appendf(nil, `{"version":1,"id":"1","method":%q,"params":%s}`+"\n", p.method, p.params)
}
