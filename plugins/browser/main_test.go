package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/sdk"
	"github.com/vant-run/vant/sdk/plugintest"
)

// patience bounds what a test waits for.
const patience = 40 * time.Second

// site serves the pages of package browsertest on 127.0.0.1; localhost is another
// site for the browser.
var site string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	server := httptest.NewServer(browsertest.Handler())
	defer server.Close()
	defer server.CloseClientConnections()
	site = server.URL
	home, err := moved()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := m.Run()
	if err := errors.Join(shared.end(), os.RemoveAll(home)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// moved gives the tests a home of their own, where downloads go. What Go has built and
// fetched stays where it is.
func moved() (home string, err error) {
	if home, err = os.MkdirTemp("", "vant-home-"); err != nil {
		return "", err
	}
	names := []string{"GOCACHE", "GOMODCACHE"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return home, fmt.Errorf("go env: %w", err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if err := os.Setenv(names[i], value); err != nil {
			return home, err
		}
	}
	return home, os.Setenv("HOME", home)
}

// client calls a plugin for a test.
type client struct {
	t testing.TB
	*plugintest.Session
	home int // the window that tabs of the test open in, 0: the current one
}

// alone runs a plugin for this test alone, with a section of configuration.
func alone(t *testing.T, config string) *client {
	t.Helper()
	return &client{t: t, Session: plugintest.New(t, plugin(), plugintest.Options{Config: config})}
}

// inFolder is alone with a folder that an earlier run may have had.
func inFolder(t *testing.T, config, dir string) *client {
	t.Helper()
	return &client{t: t, Session: plugintest.New(t, plugin(), plugintest.Options{Config: config, Dir: dir})}
}

// startPlugin gives the error that an operator would see.
func startPlugin(t *testing.T, config string) (*plugintest.Session, error) {
	t.Helper()
	return plugintest.Start(t, plugin(), plugintest.Options{Config: config})
}

// call runs a method that must succeed.
func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.try(method, params, result); err != nil {
		c.t.Fatalf("%s %v: %v", method, params, err)
	}
}

func (c *client) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if text, ok := params.(string); ok {
		params = json.RawMessage(text)
	}
	return c.Call(ctx, method, params, result)
}

// refused runs a method that must fail with a code.
func (c *client) refused(code, method string, params any) *sdk.Error {
	c.t.Helper()
	var result any
	err := c.try(method, params, &result)
	var e *sdk.Error
	if !errors.As(err, &e) || e.Code != code {
		c.t.Fatalf("%s %v gave %v, error %v; want %s", method, params, result, err, code)
	}
	return e
}

// tab is a tab of a test.
type tab struct {
	*client
	id int
}

// open gives a new tab of c that has loaded url, a path of the test site or a
// whole address. It is closed when the test ends.
func (c *client) open(url string) *tab {
	c.t.Helper()
	if strings.HasPrefix(url, "/") {
		url = site + url
	}
	var made struct{ ID int }
	c.call("browser.tab.new", map[string]any{"uri": url, "window_id": c.home}, &made)
	t := &tab{c, made.ID}
	c.t.Cleanup(func() {
		c.ended(c.try("browser.tab.close", t.with(nil), nil))
	})
	return t
}

// ended takes the answer to closing what the test may have closed, or stopped.
func (c *client) ended(err error) {
	c.t.Helper()
	var e *sdk.Error
	if err != nil && (!errors.As(err, &e) || e.Code != "not_found" && e.Code != "plugin_unavailable") {
		c.t.Errorf("closing it: %v", err)
	}
}

// with adds the tab's id to parameters.
func (t *tab) with(params map[string]any) map[string]any {
	all := map[string]any{"tab_id": t.id}
	for name, value := range params {
		all[name] = value
	}
	return all
}

// do runs page.interact and gives its answer, which may be a failure.
func (t *tab) do(action string, params map[string]any) map[string]any {
	t.t.Helper()
	var out map[string]any
	all := t.with(params)
	all["action"] = action
	t.call("page.interact", all, &out)
	return out
}

// js gives the value of a script.
func (t *tab) js(script string) any {
	t.t.Helper()
	var value any
	t.call("page.javascript", t.with(map[string]any{"script": script}), &value)
	return value
}

// element is one of a snapshot.
type element struct {
	Ref, Role, Name, Value, Href, Frame string
	Visible, Disabled                   bool
	Checked                             any
}

// snapshot gives the elements of the tab.
func (t *tab) snapshot(params map[string]any) []element {
	t.t.Helper()
	var out struct{ Elements []element }
	t.call("page.snapshot", t.with(params), &out)
	return out.Elements
}

// ref finds the element of a role and name in a new snapshot.
func (t *tab) ref(role, name string) string {
	t.t.Helper()
	list := t.snapshot(nil)
	for _, e := range list {
		if e.Role == role && e.Name == name {
			return e.Ref
		}
	}
	t.t.Fatalf("there is no %s %q in %+v", role, name, list)
	return ""
}

// group runs tests of one browser side by side: it is that of all groups of the same
// configuration. Their tabs open in its first window, since the current one may be
// another test's, and closed with it.
func group(t *testing.T, config string, tests ...map[string]func(c *client)) {
	t.Helper()
	t.Parallel()
	b := shared.of(config)
	t.Run("group", func(t *testing.T) { // ends when all of them have
		for _, some := range tests {
			for name, test := range some {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s, home := b()
					test(&client{t, s, home})
				})
			}
		}
	})
}
