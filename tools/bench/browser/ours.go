package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// maxReply is the host's limit of a reply.
const maxReply = 16 << 20

// ours is a host with the plugin.
type ours struct {
	*measure.Host
	vant string
	buf  []byte
}

func (b *bench) startOurs() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	plugins, err := b.build()
	if err != nil {
		return err
	}
	dir := filepath.Join(b.work, "ours")
	host, err := measure.Launch(filepath.Join(root, "bin/vantd"), dir, plugins)
	if err != nil {
		return err
	}
	b.ours = &ours{Host: host, vant: filepath.Join(root, "bin/vant"), buf: make([]byte, maxReply)}
	b.later(func() error {
		host.Stop()
		return cleared(dir)
	})
	if err := measure.WaitFor(patience, func() bool { n, _ := host.Ready(); return n == 2 }); err != nil {
		return fmt.Errorf("two plugins are not ready: %w", err)
	}
	_, err = b.ours.ask("browser.tabs", `{}`)
	return err
}

var okReply = []byte(`"ok":true`)

// call sends a line and checks that the answer is a success.
func (o *ours) call(line []byte) ([]byte, error) { return exchange(o.Socket, line, o.buf) }

func exchange(socket string, line, buf []byte) ([]byte, error) {
	reply, err := measure.Exchange(socket, line, buf)
	if err == nil && !bytes.Contains(reply[:min(len(reply), 64)], okReply) {
		err = fmt.Errorf("a call failed: %.400s", reply)
	}
	return reply, err
}

func (o *ours) ask(method, params string) (json.RawMessage, error) {
	result, err := measure.Ask(o.Socket, method, params)
	if err != nil {
		err = fmt.Errorf("%s: %w", method, err)
	}
	return result, err
}

// open loads a page in the current tab.
func (o *ours) open(url string) error {
	_, err := o.ask("browser.navigate", fmt.Sprintf(`{"uri":%q}`, url))
	return err
}

// tab opens a page in a new tab.
func (o *ours) tab(url string) (id int, err error) {
	raw, err := o.ask("browser.tab.new", fmt.Sprintf(`{"uri":%q}`, url))
	if err != nil {
		return 0, err
	}
	var made struct{ ID int }
	if err := json.Unmarshal(raw, &made); err != nil {
		return 0, err
	}
	_, err = o.ask("page.wait", fmt.Sprintf(`{"tab_id":%d,"load":true}`, made.ID))
	return made.ID, err
}

// window opens a page in a new window and gives its tab.
func (o *ours) window(url string) (tab int, err error) {
	raw, err := o.ask("browser.window.new", fmt.Sprintf(`{"uri":%q}`, url))
	if err != nil {
		return 0, err
	}
	var made struct {
		Tab int `json:"tab_id"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		return 0, err
	}
	_, err = o.ask("page.wait", fmt.Sprintf(`{"tab_id":%d,"load":true}`, made.Tab))
	return made.Tab, err
}

func (o *ours) closeTab(id int) error {
	_, err := o.ask("browser.tab.close", fmt.Sprintf(`{"tab_id":%d}`, id))
	return err
}

// clicks asks a tab, 0: the current one, for its page's count.
func (o *ours) clicks(tab int) (int, error) {
	raw, err := o.ask("page.javascript", fmt.Sprintf(`{"script":"clicks","tab_id":%d}`, tab))
	if err != nil {
		return 0, err
	}
	var n int
	return n, json.Unmarshal(raw, &n)
}

// browser finds the plugin's Chromium.
func (o *ours) browser() (proc.Identity, []string, error) {
	p, err := o.Plugin("browser")
	if err != nil {
		return proc.Identity{}, nil, err
	}
	below, err := proc.Descendants(p.Pid)
	if err != nil {
		return proc.Identity{}, nil, err
	}
	for _, id := range below {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.Pid))
		if err != nil {
			continue // it has just ended
		}
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		line := strings.Join(args, " ")
		if strings.Contains(line, "--remote-debugging-pipe") && !strings.Contains(line, "--type=") && !strings.HasSuffix(args[0], "sh") {
			return id, args, nil
		}
	}
	return proc.Identity{}, nil, errors.New("the plugin has no Chromium")
}

// chromium is the command that the plugin's Chromium was started with.
func (o *ours) chromium() ([]string, error) {
	_, args, err := o.browser()
	return args, err
}

// renew replaces the plugin by one that has no browser yet.
func (o *ours) renew() error {
	id, _, err := o.browser()
	if err != nil {
		return err
	}
	if _, err := o.ask("plugins.restart", `{"name":"browser"}`); err != nil {
		return err
	}
	return measure.WaitFor(patience, func() bool {
		p, err := o.Plugin("browser")
		return err == nil && p.State == "ready" && !proc.Alive(id)
	})
}

// hop is the echo of a plugin: what a call costs that does nothing.
func (o *ours) hop() *measure.Side {
	line := measure.Request("echo1.text", fmt.Sprintf(`{"data":%q}`, strings.Repeat("a", 64)))
	return &measure.Side{Name: "hop", Run: func() (int, error) {
		reply, err := o.call(line)
		return len(line) + len(reply), err
	}}
}

// side is a call whose answers are checked.
func (o *ours) side(method, params string, check func(reply []byte) error) *measure.Side {
	line := measure.Request(method, params)
	return &measure.Side{Name: "ours", Run: func() (int, error) {
		reply, err := o.call(line)
		if err == nil {
			err = check(reply)
		}
		return len(reply), err
	}}
}

// timed adds the time of one run to a side.
func timed(s *measure.Side, run func() error) error {
	begun := time.Now()
	err := run()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	s.Took = append(s.Took, time.Since(begun))
	return nil
}
