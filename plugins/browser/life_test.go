package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/internal/proc"
	"github.com/vant-run/vant/sdk"
	"github.com/vant-run/vant/sdk/plugintest"
)

// tabInfo and windowInfo are what is shown of a tab and a window.
type tabInfo struct {
	ID                        int
	WindowID                  int `json:"window_id"`
	URI, Title                string
	Loading, Private, Current bool
	OpenerID                  int `json:"opener_id"`
	Crashed                   bool
	Status                    int
	Download                  bool
	Moved                     *bool
}

type windowInfo struct {
	ID      int
	Private bool
	Tabs    []int
	Current bool
}

func (c *client) tabs() []tabInfo {
	c.t.Helper()
	var list []tabInfo
	c.call("browser.tabs", nil, &list)
	if list == nil {
		c.t.Error("browser.tabs gave null")
	}
	return list
}

func (c *client) windows() []windowInfo {
	c.t.Helper()
	var list []windowInfo
	c.call("browser.windows", nil, &list)
	if list == nil {
		c.t.Error("browser.windows gave null")
	}
	return list
}

// published lists the events of some types about a tab or window, in order, each
// as its type and the wanted parts of its data.
func (c *client) published(about string, id int, types ...string) []plugintest.Event {
	var list []plugintest.Event
	for _, e := range c.Events() {
		var data map[string]any
		if slices.Contains(types, e.Type) && json.Unmarshal(e.Data, &data) == nil && data[about] == float64(id) {
			list = append(list, e)
		}
	}
	return list
}

// await waits until ok holds, and asks again and again: for what no event tells.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// profiled gives the configuration of a profile of the test's own, and its folder.
func profiled(t *testing.T, more string) (config, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "profile")
	return fmt.Sprintf(`{"profile":%q%s}`, dir, more), dir
}

// processes are those of the browser on a profile.
func processes(t testing.TB, profile string) []proc.Identity {
	t.Helper()
	found, err := proc.FindMarked("VANT_BROWSER_PROFILE=" + profile)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mainProcess is the browser's own one: that which no other of them has started.
func mainProcess(t testing.TB, profile string) proc.Identity {
	t.Helper()
	for _, id := range processes(t, profile) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.Pid))
		if err == nil && !strings.Contains(string(line), "--type=") && strings.Contains(string(line), "--remote-debugging-pipe") {
			return id
		}
	}
	t.Fatal("the browser's main process is not found")
	return proc.Identity{}
}

func TestNothingStartsUntilItIsNeeded(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	c.refused("navigation_rejected", "browser.navigate", map[string]any{"uri": "file:///etc/passwd"})
	c.refused("navigation_external", "browser.tab.new", map[string]any{"uri": "mailto:ann@example.com"})
	c.refused("invalid_params", "page.interact", map[string]any{"action": "no such"})
	if found := processes(t, profile); len(found) > 0 {
		t.Errorf("%v run already", found)
	}
	if _, err := os.Stat(profile); !os.IsNotExist(err) {
		t.Errorf("the profile is there already: %v", err)
	}
	c.Stop()
	if found := processes(t, profile); len(found) > 0 {
		t.Errorf("%v run after the end", found)
	}
}

func TestTheFirstCallGivesWindowOneWithTabOne(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	want := []tabInfo{{ID: 1, WindowID: 1, URI: "about:blank", Current: true}}
	got := c.tabs()
	for i := range got {
		got[i].Title, got[i].Loading = "", false // come a moment later
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]windowInfo{{ID: 1, Tabs: []int{1}, Current: true}}, c.windows()); diff != "" {
		t.Error(diff)
	}
	if n := len(c.published("window_id", 1, "window.created")); n != 1 {
		t.Errorf("%d events tell of the window", n)
	}
	if n := len(c.published("tab_id", 1, "tab.created")); n != 1 {
		t.Errorf("%d events tell of the tab", n)
	}
	lock := filepath.Join(profile, "vant.lock")
	if text, err := os.ReadFile(lock); err != nil || len(text) == 0 {
		t.Errorf("the check of the lock sees nothing while it is held: %q, %v", text, err)
	}
	if len(processes(t, profile)) < 3 {
		t.Errorf("the check of processes sees %v", processes(t, profile))
	}
	c.Stop()
	if found := processes(t, profile); len(found) > 0 {
		t.Errorf("%v are left", found)
	}
	if text, err := os.ReadFile(lock); err != nil || len(text) > 0 {
		t.Errorf("the lock says %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(profile, "Singleton*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestManyFirstCallsStartOneBrowser(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	methods := []string{"browser.tabs", "browser.windows", "page.snapshot", "page.inspect", "browser.stop"}
	var all sync.WaitGroup
	for i := range 20 {
		method := methods[i%len(methods)]
		params := map[string]any{}
		if method == "page.inspect" {
			params["kind"] = "text"
		}
		all.Go(func() {
			if err := c.try(method, params, nil); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		})
	}
	all.Wait()
	if list := c.tabs(); len(list) != 1 || list[0].ID != 1 {
		t.Errorf("the tabs are %+v", list)
	}
	mains := 0
	for _, id := range processes(t, profile) {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.Pid)); err == nil && strings.Contains(string(line), "--remote-debugging-pipe") &&
			!strings.Contains(string(line), "--type=") {
			mains++
		}
	}
	if mains != 1 {
		t.Errorf("%d browsers run", mains)
	}
}

func TestTheLastTabMayClose(t *testing.T) {
	t.Parallel()
	c := alone(t, "")
	if len(c.tabs()) != 1 {
		t.Fatal("it does not begin with one tab")
	}
	c.call("browser.tab.close", nil, nil)
	for range 3 {
		if list := c.tabs(); len(list) != 0 {
			t.Errorf("the tabs are %+v", list)
		}
		if list := c.windows(); len(list) != 0 {
			t.Errorf("the windows are %+v", list)
		}
	}
	for method, params := range map[string]map[string]any{
		"browser.tab.close": {}, "browser.tab.select": {}, "browser.window.close": {}, "page.snapshot": {}, "browser.reload": {},
		"page.javascript": {"script": "1"}, "browser.stop": {}, "page.frames": {},
	} {
		c.refused("not_found", method, params)
	}
	var made tabInfo
	c.call("browser.tab.new", map[string]any{"uri": site + "/pages/buttons"}, &made)
	if made.ID != 2 || made.WindowID != 2 || !made.Current || made.Title != "Buttons" {
		t.Errorf("the next tab is %+v", made)
	}
	c.call("browser.window.close", nil, nil)
	if list := c.tabs(); len(list) != 0 {
		t.Errorf("the tabs are %+v", list)
	}
	var window struct {
		WindowID int `json:"window_id"`
		TabID    int `json:"tab_id"`
	}
	c.call("browser.window.new", nil, &window)
	if window.WindowID != 3 || window.TabID != 3 {
		t.Errorf("the next window is %+v", window)
	}
	for id := 1; id <= 2; id++ {
		if n := len(c.published("tab_id", id, "tab.closed")); n != 1 {
			t.Errorf("%d events tell of the end of tab %d", n, id)
		}
		if n := len(c.published("window_id", id, "window.closed")); n != 1 {
			t.Errorf("%d events tell of the end of window %d", n, id)
		}
	}
	if strings.Contains(c.Log(), "browser has ended") {
		t.Errorf("the browser has ended meanwhile:\n%s", c.Log())
	}
}

func TestABrowserThatIsKilledIsSaidAndReplaced(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	p := c.open("/pages/buttons")
	scripted := func(q *tab) bool { return q.js("window.begun === true") == true }
	waits := map[string]struct {
		params map[string]any
		begun  func(q *tab) bool
	}{
		"page.javascript":  {map[string]any{"script": "window.begun = true; new Promise(() => {})"}, scripted},
		"page.wait":        {map[string]any{"function": "(window.begun = true, false)", "timeout_ms": 30000}, scripted},
		"browser.navigate": {map[string]any{"uri": site + "/hang", "timeout_ms": 30000}, func(q *tab) bool { return q.info().Loading }},
	}
	var all sync.WaitGroup
	for method, wait := range waits {
		q := c.open("/pages/buttons")
		all.Go(func() {
			err := c.try(method, q.with(wait.params), nil)
			var e *sdk.Error
			// One that had waited for its time would have another code.
			if !errors.As(err, &e) || e.Code != "tab_crashed" || !strings.Contains(e.Message, "browser has ended") {
				t.Errorf("%s: %v", method, err)
			}
		})
		await(t, method+" has begun", func() bool { return wait.begun(q) })
	}
	if err := proc.Signal(mainProcess(t, profile), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	list := c.tabs()
	if len(list) != 1 || list[0].ID <= p.id+3 || list[0].WindowID < 2 {
		t.Errorf("after the end the tabs are %+v", list)
	}
	for id := 1; id <= p.id+3; id++ {
		c.refused("not_found", "browser.tab.select", map[string]any{"tab_id": id})
		if n := len(c.published("tab_id", id, "tab.closed")); n != 1 {
			t.Errorf("%d events tell of the end of tab %d", n, id)
		}
	}
	if q := c.open("/pages/buttons"); q.js("document.title") != "Buttons" {
		t.Error("the new browser opens no page")
	}
}

func TestCallsAfterTheBrowsersEndFindANewOne(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	last := 0
	for range 3 {
		list := c.tabs()
		if len(list) != 1 || list[0].ID <= last {
			t.Fatalf("the tabs are %+v after tab %d", list, last)
		}
		last = list[0].ID
		if err := proc.Signal(mainProcess(t, profile), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, "the end is seen", func() bool { return len(c.published("tab_id", last, "tab.closed")) > 0 })
		// From here on every call gets the new browser.
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := c.try("browser.tabs", nil, nil); err != nil {
					t.Errorf("browser.tabs: %v", err)
				}
			})
		}
		all.Wait()
	}
}

func TestAProfileOfAnotherHostIsNamed(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	first, second := alone(t, config), alone(t, config)
	first.tabs()
	for range 2 {
		e := second.refused("internal_error", "browser.tabs", nil)
		if !strings.Contains(e.Message, profile) || !strings.Contains(e.Message, "in use") || !strings.Contains(e.Message, fmt.Sprint(os.Getpid())) {
			t.Errorf("it says %v", e)
		}
	}
	if list := first.tabs(); len(list) != 1 {
		t.Errorf("the first one has %+v", list)
	}
	first.Stop()
	if list := second.tabs(); len(list) != 1 {
		t.Errorf("after the first one's end the tabs are %+v", list)
	}
}

func TestABrowserThatCannotStartIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct{ path, want string }{
		"missing":                  {filepath.Join(dir, "none"), "none"},
		"a folder":                 {dir, dir},
		"a text file":              {file("text", "hello\n", 0o755), "text"},
		"no program":               {file("plain", "#!/bin/sh\n", 0o644), "plain"},
		"ends at once":             {file("ends", "#!/bin/sh\necho 'no fonts found' >&2\nexit 3\n", 0o755), "no fonts found"},
		"ends well at once":        {file("well", "#!/bin/sh\nexit 0\n", 0o755), "exit"},
		"says nothing sensible":    {file("babble", "#!/bin/sh\necho babble >&4\necho 'cannot open display' >&2\nexit 1\n", 0o755), "cannot open display"},
		"is killed while starting": {file("killed", "#!/bin/sh\nkill -9 $$\n", 0o755), "kill"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, profile := profiled(t, fmt.Sprintf(`,"path":%q`, test.path))
			c := alone(t, config)
			for range 2 {
				e := c.refused("internal_error", "browser.tabs", nil)
				if !strings.Contains(e.Message, test.want) {
					t.Errorf("it says %v", e)
				}
			}
			c.Stop()
			if found := processes(t, profile); len(found) > 0 {
				t.Errorf("%v are left", found)
			}
		})
	}
}

func TestACallThatIsGivenUpDoesNotSpoilTheStart(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	for _, bound := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		err := c.Call(ctx, "browser.tabs", nil, nil)
		cancel()
		if err == nil {
			continue // it was quick enough
		}
	}
	if list := c.tabs(); len(list) != 1 {
		t.Errorf("the tabs are %+v", list)
	}
	c.Stop()
	if found := processes(t, profile); len(found) > 0 {
		t.Errorf("%v are left", found)
	}
}
