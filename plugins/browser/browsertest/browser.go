// Package browsertest gives the tests below plugins/browser a real Chromium: one
// a test binary, a tab with a browser context of its own for each test, and
// pages from a server on loopback. Main ends it and looks for what is left.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// Patience bounds everything that a test waits for.
const Patience = 30 * time.Second

// shared is the test binary's browser, started when the first test asks.
var shared struct {
	once sync.Once
	err  error
	b    *chromium
}

// chromium is a browser process.
type chromium struct {
	dir     string
	process *proc.Process
	conn    *transport.Conn
}

// Main runs the tests, ends the browser and fails when a process or folder of it
// is left. Call it in TestMain: os.Exit(browsertest.Main(m)).
func Main(m *testing.M) int {
	status := m.Run()
	if shared.b == nil {
		return status
	}
	if err := shared.b.end(); err != nil {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
		return 1
	}
	return status
}

func start() (*chromium, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vant-browsertest-")
	if err != nil {
		return nil, err
	}
	commands, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	args := []string{
		path, "--headless", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-breakpad", "--disable-dev-shm-usage", "--disable-renderer-backgrounding",
		"--disable-backgrounding-occluded-windows", "--no-startup-window",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	p, err := proc.Start(proc.Command{
		Path: path, Args: args, Env: append(os.Environ(), "VANT_BROWSERTEST="+dir), Stderr: stderr,
		ExtraFiles: []*os.File{commands, theirs},
	})
	for _, f := range []*os.File{commands, theirs, stderr} {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	c := &chromium{dir: dir, process: p, conn: transport.New(answers, ours, nil)}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if _, err := cdp.Call(ctx, c.conn.Root(), browser.GetVersion, cdp.Empty{}); err != nil {
		words, _ := os.ReadFile(filepath.Join(dir, "stderr"))
		return nil, fmt.Errorf("chromium did not answer: %w\n%s", err, words)
	}
	return c, nil
}

// end closes the browser, and says what it left.
func (c *chromium) end() error {
	marker := "VANT_BROWSERTEST=" + c.dir
	seen, err := proc.FindMarked(marker)
	if err == nil && len(seen) == 0 {
		return fmt.Errorf("the residue check does not see the browser while it lives")
	}
	c.conn.Root().Start("Browser.close", nil)
	select {
	case <-c.process.Done():
	case <-time.After(5 * time.Second):
		c.process.Stop(time.Second)
	}
	c.conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil { // the last ones end a moment after the first
		left, e := proc.FindMarked(marker)
		if err = e; len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if ctx.Err() != nil {
		left, e := proc.KillMarked(context.WithoutCancel(ctx), marker)
		err = errors.Join(e, fmt.Errorf("processes were left: %v", left))
	}
	if e := os.RemoveAll(c.dir); err == nil {
		err = e
	}
	return err
}

// Page is a tab of its own, in a browser context of its own.
type Page struct {
	Session *transport.Session
	Target  target.ID
	Context cdp.BrowserContextID

	t testing.TB
	c *chromium
}

// Root is the browser's own session.
func Root(t testing.TB) *transport.Session {
	t.Helper()
	return running(t).conn.Root()
}

func running(t testing.TB) *chromium {
	t.Helper()
	shared.once.Do(func() { shared.b, shared.err = start() })
	if shared.err != nil {
		t.Fatalf("no browser: %v", shared.err)
	}
	return shared.b
}

// Open gives a new tab that shows html, served from its own path on loopback.
func Open(t testing.TB, html string) *Page {
	t.Helper()
	return OpenURL(t, Serve(t, html))
}

// OpenURL gives a new tab that has loaded url.
func OpenURL(t testing.TB, url string) *Page {
	t.Helper()
	c := running(t)
	ctx := Within(t)
	made, err := cdp.Call(ctx, c.conn.Root(), target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, c: c, Context: made.BrowserContextID}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_, err := cdp.Call(ctx, c.conn.Root(), target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: p.Context})
		if err != nil {
			t.Errorf("closing the page: %v", err)
		}
		if p.Session != nil {
			c.conn.Detach(p.Session.ID(), transport.ErrDetached)
		}
	})
	tab, err := cdp.Call(ctx, c.conn.Root(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: p.Context})
	if err != nil {
		t.Fatal(err)
	}
	p.Target = tab.TargetID
	flatten := true
	attached, err := cdp.Call(ctx, c.conn.Root(), target.AttachToTarget, target.AttachToTargetParams{TargetID: p.Target, Flatten: &flatten})
	if err != nil {
		t.Fatal(err)
	}
	p.Session = c.conn.Attach(string(attached.SessionID), nil)
	p.Call("Emulation.setFocusEmulationEnabled", `{"enabled":true}`)
	p.Call("Page.enable", `{}`)
	p.Go(url)
	return p
}

// Within is a context that ends with the test's patience.
func Within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}
