package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// display starts a screen that nobody sees, for this test.
func display(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{w}
	err = x.Start()
	w.Close()
	if err != nil {
		t.Fatalf("%v; tools/test-deps.sh installs it", err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := x.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = x.Wait() // it was killed
	})
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return ":" + strings.TrimSpace(number)
}

func TestTabsAreInTheWindowsThatPeopleSee(t *testing.T) {
	t.Setenv("DISPLAY", display(t))
	t.Setenv("WAYLAND_DISPLAY", "")
	c := alone(t, `{"headless":"false","args":["--disable-gpu"]}`)
	c.call("browser.navigate", map[string]any{"uri": site + "/pages/buttons"}, nil)
	first := c.tabs()[0]
	var beside tabInfo
	c.call("browser.tab.new", map[string]any{}, &beside)
	if beside.WindowID != first.WindowID {
		t.Errorf("a new tab is in window %d, not %d", beside.WindowID, first.WindowID)
	}
	c.call("page.javascript", map[string]any{"tab_id": first.ID, "script": `void open('/pages/tall', '_blank', 'popup,width=400,height=300')`}, nil)
	list := c.listed(func(list []shownTab) bool {
		popup := find(list, "tall")
		return popup != nil && popup.WindowID != first.WindowID
	})
	popup := find(list, "tall")
	if popup.OpenerID != first.ID || len(list) != 3 || len(c.windows()) != 2 {
		t.Errorf("the tabs are %+v", list)
	}
	var private struct {
		WindowID int `json:"window_id"`
		TabID    int `json:"tab_id"`
	}
	c.call("browser.window.new", map[string]any{"private": true}, &private)
	var more tabInfo
	c.call("browser.tab.new", map[string]any{"window_id": first.WindowID}, &more)
	c.call("browser.tab.new", map[string]any{"window_id": private.WindowID}, &beside)
	list = c.listed(nil)
	for _, tab := range list {
		if tab.ID == more.ID && (tab.WindowID != first.WindowID || tab.Private) ||
			tab.ID == beside.ID && (tab.WindowID != private.WindowID || !tab.Private) {
			t.Errorf("the tabs are %+v", list)
		}
	}
	c.call("browser.window.close", map[string]any{"window_id": popup.WindowID}, nil)
	c.call("browser.window.close", map[string]any{"window_id": private.WindowID}, nil)
	if list := c.tabs(); len(list) != 3 {
		t.Errorf("after closing the windows the tabs are %+v", list)
	}
}
