package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/plugins/browser/devtools"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// Person is a browser as a person has it: it was started by itself and listens for
// debuggers on loopback. Root is a debugger of the person's own.
type Person struct {
	Address string
	Root    *transport.Session

	conn    *transport.Conn
	process *proc.Process
}

// StartPerson starts one for a test, with url in its tab. It ends with the test.
func StartPerson(t testing.TB, url string, flags ...string) *Person {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "vant-browsertest-")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		path, "--remote-debugging-port=0", "--user-data-dir=" + dir,
		"--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-breakpad", "--disable-dev-shm-usage", "--no-default-browser-check",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	marker := "VANT_BROWSERTEST=" + dir
	p := &Person{}
	p.process, err = proc.Start(proc.Command{
		Path: path, Args: append(append(args, flags...), url), Env: append(os.Environ(), marker),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.process.Stop(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if left, err := proc.KillMarked(ctx, marker); err != nil {
			t.Errorf("ending the person's browser: %v, left %v", err, left)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p.Address = "http://127.0.0.1:" + port(t, filepath.Join(dir, "DevToolsActivePort"), p.process)
	a, err := devtools.Parse(p.Address)
	if err != nil {
		t.Fatal(err)
	}
	r, w, _, err := a.Dial(Within(t), "")
	if err != nil {
		t.Fatal(err)
	}
	p.conn = transport.New(r, w, nil)
	t.Cleanup(p.conn.Close)
	p.Root = p.conn.Root()
	return p
}

// port waits for the file in which the browser says where it listens.
func port(t testing.TB, file string, p *proc.Process) string {
	t.Helper()
	ctx := Within(t)
	for {
		text, err := os.ReadFile(file)
		if number, _, ok := strings.Cut(string(text), "\n"); err == nil && ok {
			return number
		}
		select {
		case <-time.After(20 * time.Millisecond): // it tells nobody
		case <-p.Done():
			t.Fatal("the person's browser has ended")
		case <-ctx.Done():
			t.Fatal("the person's browser does not listen")
		}
	}
}

// Targets are the addresses of the person's tabs.
func (p *Person) Targets(t testing.TB) []string {
	t.Helper()
	var list struct {
		Infos []struct {
			URL string `json:"url"`
		} `json:"targetInfos"`
	}
	err := p.Root.Call(Within(t), "Target.getTargets", map[string]any{"filter": []any{map[string]string{"type": "page"}}}, &list)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, i := range list.Infos {
		urls = append(urls, i.URL)
	}
	return urls
}

// Open opens a tab as a person does.
func (p *Person) Open(t testing.TB, url string, newWindow bool) {
	t.Helper()
	if err := p.Root.Call(Within(t), "Target.createTarget", map[string]any{"url": url, "newWindow": newWindow}, nil); err != nil {
		t.Fatal(err)
	}
}

// End ends the browser at once.
func (p *Person) End() { p.process.Stop(0) }

// target finds the person's tab whose address has part in it.
func (p *Person) target(t testing.TB, part string) string {
	t.Helper()
	var list struct {
		Infos []struct {
			ID  string `json:"targetId"`
			URL string `json:"url"`
		} `json:"targetInfos"`
	}
	if err := p.Root.Call(Within(t), "Target.getTargets", nil, &list); err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Infos {
		if strings.Contains(i.URL, part) {
			return i.ID
		}
	}
	t.Fatalf("the person has no tab %s", part)
	return ""
}

// Close closes the tab whose address has part in it.
func (p *Person) Close(t testing.TB, part string) {
	t.Helper()
	if err := p.Root.Call(Within(t), "Target.closeTarget", map[string]string{"targetId": p.target(t, part)}, nil); err != nil {
		t.Fatal(err)
	}
}

// Eval gives the string that an expression in a tab gives.
func (p *Person) Eval(t testing.TB, part, expression string) string {
	t.Helper()
	ctx := Within(t)
	var made struct {
		ID string `json:"sessionId"`
	}
	if err := p.Root.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": p.target(t, part), "flatten": true}, &made); err != nil {
		t.Fatal(err)
	}
	s := p.conn.Attach(made.ID, nil)
	defer p.Root.Start("Target.detachFromTarget", map[string]string{"sessionId": made.ID})
	var out struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	err := s.Call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Result.Value
}

// Wait waits until an expression is true in a tab.
func (p *Person) Wait(t testing.TB, part, expression string) {
	t.Helper()
	p.Eval(t, part, "new Promise(done => { const look = () => ("+expression+") ? done('') : setTimeout(look, 10); look() })")
}
