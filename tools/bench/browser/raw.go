package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vant-run/vant/plugins/browser/inject"
)

// raw is a bare client of the debugging pipe and its Chromium: parameters are
// written as they are, answers are read up to their end and not decoded.
type raw struct {
	dir    string
	cmd    *exec.Cmd
	ended  chan struct{}
	w      *os.File
	r      *bufio.Reader
	pipe   *os.File // what r reads
	out    []byte
	lastID int

	session string
	target  string
	world   string // its number, as text
}

// launchRaw starts a Chromium and does not wait.
func launchRaw(dir string, command []string) (*raw, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	args := slices.Clone(command)
	for i, a := range args {
		if strings.HasPrefix(a, "--user-data-dir=") {
			args[i] = "--user-data-dir=" + filepath.Join(dir, "profile")
		}
	}
	commands, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &raw{dir: dir, w: w, pipe: r, r: bufio.NewReaderSize(r, 16<<20), ended: make(chan struct{})}
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	c.cmd.ExtraFiles = []*os.File{commands, answers}
	err = c.cmd.Start()
	commands.Close()
	answers.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // killed or closed
	}()
	return c, nil
}

// startRaw starts a Chromium with a tab, as our one was started.
func (b *bench) startRaw(name string) (*raw, error) {
	command, err := b.ours.chromium()
	if err != nil {
		return nil, err
	}
	c, err := launchRaw(filepath.Join(b.work, name), command)
	if err != nil {
		return nil, err
	}
	if err := c.tab(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// tab makes the tab that all calls go to.
func (c *raw) tab() error {
	made, err := c.call("Target.createTarget", `{"url":"about:blank"}`)
	if err != nil {
		return err
	}
	c.target = between(made, `"targetId":"`, `"`)
	attached, err := c.call("Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, c.target))
	if err != nil {
		return err
	}
	c.session = between(attached, `"sessionId":"`, `"`)
	_, err = c.call("Emulation.setFocusEmulationEnabled", `{"enabled":true}`)
	return err
}

// open loads a page and evaluates the plugin's script in its isolated world.
func (c *raw) open(url string) error {
	if _, err := c.call("Page.navigate", fmt.Sprintf(`{"url":%q}`, url)); err != nil {
		return err
	}
	if _, err := c.call("Runtime.evaluate", evaluate("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))", "")); err != nil {
		return err
	}
	made, err := c.call("Page.createIsolatedWorld", fmt.Sprintf(`{"frameId":%q,"worldName":"vant"}`, c.target))
	if err != nil {
		return err
	}
	c.world = between(made, `"executionContextId":`, "}")
	_, err = c.call("Runtime.evaluate", evaluate(inject.Source(), c.world))
	return err
}

// evaluate encodes the parameters of Runtime.evaluate in a world, or in the
// page's own.
func evaluate(expression, world string) string {
	text, err := json.Marshal(expression)
	if err != nil {
		panic(err) // a string always can be
	}
	if world != "" {
		world = `,"contextId":` + world
	}
	return fmt.Sprintf(`{"expression":%s,"returnByValue":true,"awaitPromise":true%s}`, text, world)
}

// send puts a command into the next write.
func (c *raw) send(method, params string) {
	c.lastID++
	c.out = fmt.Appendf(c.out, `{"id":%d,"method":%q,"params":%s`, c.lastID, method, params)
	if c.session != "" {
		c.out = fmt.Appendf(c.out, `,"sessionId":%q`, c.session)
	}
	c.out = append(c.out, '}', 0)
}

// answers writes what was sent and reads n answers. The last one is valid until
// the next read.
func (c *raw) answers(n int) ([]byte, error) {
	if len(c.out) > 0 {
		if _, err := c.w.Write(c.out); err != nil {
			return nil, err
		}
		c.out = c.out[:0]
	}
	for {
		text, err := c.r.ReadSlice(0)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(text, []byte(`{"id":`)) {
			continue // an event
		}
		if head := text[:min(len(text), 64)]; bytes.Contains(head, []byte(`,"error":`)) {
			return nil, fmt.Errorf("the browser answers %s", text)
		}
		if n--; n == 0 {
			if bytes.Contains(text, []byte(`,"exceptionDetails":`)) {
				return nil, fmt.Errorf("the script threw: %.600s", text)
			}
			return text, nil
		}
	}
}

func (c *raw) call(method, params string) ([]byte, error) {
	c.send(method, params)
	return c.answers(1)
}

// invoke calls a function of the plugin's script.
func (c *raw) invoke(name string, arg any) ([]byte, error) {
	expression, err := inject.Call(name, arg)
	if err != nil {
		return nil, err
	}
	return c.call("Runtime.evaluate", evaluate(expression, c.world))
}

// behind invokes a function of the plugin's script in the same write as n commands
// that were sent, and gives its answer when all have come.
func (c *raw) behind(n int, name string, arg any) ([]byte, error) {
	expression, err := inject.Call(name, arg)
	if err != nil {
		return nil, err
	}
	c.send("Runtime.evaluate", evaluate(expression, c.world))
	var answer []byte
	for range n + 1 {
		text, err := c.answers(1)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(text, fmt.Appendf(nil, `{"id":%d,`, c.lastID)) {
			answer = bytes.Clone(text)
		}
	}
	return answer, nil
}

// barrier waits until the browser has dealt with what a page wanted of it until now.
func (c *raw) barrier() error {
	_, err := c.call("Browser.getVersion", "{}")
	return err
}

// close ends the browser.
func (c *raw) close() error {
	c.session = ""
	c.send("Browser.close", "{}")
	_, _ = c.answers(1) // it may be gone
	select {
	case <-c.ended:
	case <-time.After(5 * time.Second):
		if err := c.cmd.Process.Kill(); err == nil {
			<-c.ended
		}
	}
	c.w.Close()
	c.pipe.Close()
	return cleared(c.dir)
}

// between gives what stands between two texts, "" when there is none.
func between(text []byte, before, after string) string {
	_, rest, _ := bytes.Cut(text, []byte(before))
	found, _, _ := bytes.Cut(rest, []byte(after))
	return string(found)
}
