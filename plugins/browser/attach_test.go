package main

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/sdk/plugintest"
)

type shownTab struct {
	ID       int
	WindowID int `json:"window_id"`
	URI      string
	Title    string
	Private  bool
	OpenerID int `json:"opener_id"`
}

// listed gives the tabs, once they are as a test needs them.
func (c *client) listed(until func([]shownTab) bool) []shownTab {
	c.t.Helper()
	end := time.Now().Add(patience)
	for {
		var list []shownTab
		c.call("browser.tabs", nil, &list)
		if until == nil || until(list) {
			return list
		}
		if time.Now().After(end) {
			c.t.Fatalf("the tabs are %+v", list)
		}
		time.Sleep(20 * time.Millisecond) // what a person does in the browser has no event here
	}
}

func find(list []shownTab, part string) *shownTab {
	for i := range list {
		if strings.Contains(list[i].URI, part) {
			return &list[i]
		}
	}
	return nil
}

func attachTo(t *testing.T, address string) *client {
	t.Helper()
	return alone(t, `{"attach":"`+address+`"}`)
}

func TestARunningBrowserIsDrivenAndLeftRunning(t *testing.T) {
	t.Parallel()
	person := browsertest.StartPerson(t, site+"/pages/buttons", "--headless")
	person.Open(t, site+"/pages/frames-cross", false)
	c := attachTo(t, person.Address)
	list := c.listed(func(list []shownTab) bool {
		return len(list) == 2 && find(list, "buttons") != nil && find(list, "frames-cross") != nil
	})
	buttons := &tab{c, find(list, "buttons").ID}
	buttons.call("page.wait", buttons.with(map[string]any{"selector": "button", "timeout_ms": 30000}), nil)
	if out := buttons.do("click", map[string]any{"ref": buttons.ref("button", "Clicked 0")}); out["ok"] != true {
		t.Errorf("the click gave %v", out)
	}
	if buttons.ref("button", "Clicked 1") == "" {
		t.Error("the button was not clicked")
	}
	frames := &tab{c, find(list, "frames-cross").ID}
	inside := 0
	for _, e := range frames.snapshot(nil) {
		if e.Frame != "" {
			inside++
		}
	}
	if inside == 0 {
		t.Error("what is in frames that were there before is not seen")
	}
	if frames.js(`document.hasFocus()`) != true || buttons.js(`document.hasFocus()`) != true {
		t.Error("pages behind others do not behave as if they had the focus")
	}
	var made struct {
		WindowID int `json:"window_id"`
		TabID    int `json:"tab_id"`
	}
	c.call("browser.window.new", map[string]any{"private": true, "uri": site + "/pages/storage"}, &made)
	var opened shownTab
	c.call("browser.tab.new", map[string]any{"window_id": list[0].WindowID, "uri": site + "/pages/form"}, &opened)
	if opened.Private {
		t.Errorf("the tab is %+v", opened)
	}
	c.Stop()
	left := person.Targets(t)
	slices.Sort(left)
	want := []string{site + "/pages/buttons", site + "/pages/form", site + "/pages/frames-cross"}
	if !slices.Equal(left, want) {
		t.Errorf("the person is left with %v, want %v", left, want)
	}
	// What was in front for the person alone has the focus alone again.
	person.Wait(t, "frames-cross", "document.visibilityState === 'hidden' && !document.hasFocus()")
}

func TestWhatAPersonDoesIsListed(t *testing.T) {
	t.Parallel()
	person := browsertest.StartPerson(t, site+"/pages/buttons", "--headless")
	c := attachTo(t, person.Address)
	first := c.listed(func(list []shownTab) bool { return find(list, "buttons") != nil })
	person.Open(t, site+"/pages/form", false)
	list := c.listed(func(list []shownTab) bool { return find(list, "form") != nil })
	if f := find(list, "form"); f.WindowID != first[0].WindowID {
		t.Errorf("the new tab is in another window: %+v", list)
	}
	person.Open(t, site+"/pages/tall", true)
	list = c.listed(func(list []shownTab) bool { return find(list, "tall") != nil })
	c.listed(func(list []shownTab) bool {
		f := find(list, "tall")
		return f.WindowID != first[0].WindowID && !f.Private
	})
	driven := &tab{c, find(list, "form").ID}
	driven.js(`void window.open('/pages/blank')`)
	list = c.listed(func(list []shownTab) bool { return find(list, "blank") != nil })
	if f := find(list, "blank"); f.OpenerID != driven.id {
		t.Errorf("the pop-up is %+v", f)
	}
	person.Close(t, "tall")
	c.listed(func(list []shownTab) bool { return find(list, "tall") == nil })
	c.refused("not_found", "browser.tab.select", map[string]any{"tab_id": find(list, "tall").ID})
}

func TestATabThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	person := browsertest.StartPerson(t, site+"/pages/buttons", "--headless")
	person.Open(t, site+"/pages/spin", true)
	c := attachTo(t, person.Address)
	list := c.listed(func(list []shownTab) bool { return find(list, "buttons") != nil && find(list, "spin") != nil })
	busy, other := &tab{c, find(list, "spin").ID}, &tab{c, find(list, "buttons").ID}
	person.Eval(t, "spin", "setTimeout(() => { for (;;); }); ''")
	busyEnded := make(chan struct{})
	go func() {
		defer close(busyEnded)
		var out any
		if err := c.try("page.snapshot", busy.with(nil), &out); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("the busy tab gave %v, %v", out, err)
		}
	}()
	other.call("page.wait", other.with(map[string]any{"selector": "button", "timeout_ms": 30000}), nil)
	if other.ref("button", "Clicked 0") == "" {
		t.Error("the other tab has no button")
	}
	c.listed(nil)
	<-busyEnded
	var health struct{ Responsive bool }
	c.call("page.native_diagnostics", busy.with(nil), &health)
	if health.Responsive {
		t.Error("the busy tab is called responsive")
	}
	c.call("browser.tab.close", busy.with(nil), nil)
	c.listed(func(list []shownTab) bool { return find(list, "spin") == nil })
}

// cutter passes connections on, until they are cut.
type cutter struct {
	net.Listener
	to string

	mu   sync.Mutex
	open []net.Conn
	cut  int           // so many of the next connections are cut when they have begun
	seen chan struct{} // gets one for each of these
}

func startCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: strings.TrimPrefix(to, "http://"), seen: make(chan struct{}, 16)}
	t.Cleanup(func() { l.Close(); c.cutAll(0) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(in)
		}
	}()
	return c
}

// pass connects both sides. The browser's socket is known by what it asks for.
func (c *cutter) pass(in net.Conn) {
	defer in.Close()
	head := make([]byte, 4096)
	n, err := in.Read(head)
	if err != nil {
		return
	}
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer out.Close()
	c.mu.Lock()
	socket := strings.Contains(string(head[:n]), "/devtools/browser")
	ends := socket && c.cut > 0
	if ends {
		c.cut--
	}
	c.open = append(c.open, in, out)
	c.mu.Unlock()
	if _, err := out.Write(head[:n]); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(out, in); ended <- struct{}{} }()
	go func() {
		if ends { // after the handshake, while the browser tells of its tabs
			_, _ = io.CopyN(in, out, 200)
			c.seen <- struct{}{}
		} else {
			_, _ = io.Copy(in, out)
		}
		ended <- struct{}{}
	}()
	<-ended
}

// cutAll cuts what is open, and the next sockets.
func (c *cutter) cutAll(next int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = next
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}

func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	person := browsertest.StartPerson(t, site+"/pages/buttons", "--headless")
	person.Open(t, site+"/pages/form", true)
	between := startCutter(t, person.Address)
	c := attachTo(t, "http://"+between.Addr().String())
	before := c.listed(func(list []shownTab) bool { return find(list, "buttons") != nil && find(list, "form") != nil })
	buttons := &tab{c, find(before, "buttons").ID}
	var private struct {
		TabID int `json:"tab_id"`
	}
	c.call("browser.window.new", map[string]any{"private": true, "uri": site + "/pages/storage"}, &private)
	buttons.js("window.kept = 1")
	before = c.listed(nil)

	calls := make(chan error, 2)
	go func() {
		calls <- c.try("page.javascript", buttons.with(map[string]any{"script": "window.begun = 1; new Promise(() => {})"}), nil)
	}()
	go func() {
		calls <- c.try("page.wait", buttons.with(map[string]any{"url": "*never*", "timeout_ms": 30000}), nil)
	}()
	person.Wait(t, "buttons", "window.begun === 1")
	between.cutAll(2) // and twice while it is made again
	for range 2 {
		if err := <-calls; err == nil || !strings.Contains(err.Error(), "browser_disconnected") {
			t.Errorf("the call that was cut gave %v", err)
		}
	}
	for range 2 {
		select {
		case <-between.seen:
		case <-time.After(patience):
			t.Fatal("nobody connects again")
		}
	}
	after := c.listed(nil)
	for _, list := range [][]shownTab{before, after} {
		for i := range list {
			list[i].Title = "" // may have come late
		}
	}
	if !slices.Equal(before, after) {
		t.Errorf("the tabs were %+v and are %+v", before, after)
	}
	if got := buttons.js("String(window.kept)"); got != "1" {
		t.Errorf("the page has %v", got)
	}
	if buttons.ref("button", "Clicked 0") == "" {
		t.Error("the page is not seen")
	}
	if got := (&tab{c, private.TabID}).js("location.pathname"); got != "/pages/storage" {
		t.Errorf("the private tab shows %v", got)
	}
	for _, e := range c.Events() {
		if e.Type == "tab.closed" || e.Type == "browser.restarted" {
			t.Errorf("%s %s", e.Type, e.Data)
		}
	}
}

func TestABrowserThatHasGoneIsLookedForAgain(t *testing.T) {
	t.Parallel()
	person := browsertest.StartPerson(t, site+"/pages/buttons", "--headless")
	c := attachTo(t, person.Address)
	c.listed(func(list []shownTab) bool { return find(list, "buttons") != nil })
	person.End()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := c.WaitEvent(ctx, "tab.closed"); err != nil {
		t.Fatal(err)
	}
	err := c.try("browser.tabs", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "--remote-debugging-port=") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("it says %v", err)
	}
}

func TestOnlyBrowsersOfThisMachineAreAttachedTo(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"attach":"http://192.168.1.2:9222"}`:                                    "not this machine",
		`{"attach":"http://example.com:9222"}`:                                    "not this machine",
		`{"attach":"ws://127.0.0.1:9222/devtools/page/X"}`:                        "not the browser's own socket",
		`{"attach":"https://127.0.0.1:9222"}`:                                     "neither like",
		`{"attach":"http://127.0.0.1"}`:                                           "no host and port",
		`{"attach":"http://a:b@127.0.0.1:9222"}`:                                  "only scheme",
		`{"attach":"http://127.0.0.1:9222","profile":"/tmp/x"}`:                   "leave them out",
		`{"attach":"http://127.0.0.1:9222","deny_hosts":["ads.example"]}`:         "cannot be kept",
		`{"attach":"ws://[::1]:9222/devtools/browser/0-0","headless":"true"}`:     "leave them out",
		`{"attach":"http://127.0.0.1:9222/json/version","dialogs":"hold"}`:        "neither like",
		`{"attach":"http://localhost:9222","restore":true,"allow_file":["/tmp"]}`: "leave them out",
	} {
		if _, err := plugintest.Start(t, plugin(), plugintest.Options{Config: config}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}
