package main

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/internal/proc"
)

// restarted is what the event of a new browser says.
type restarted struct {
	LostTabs []int `json:"lost_tabs"`
	Restored []restored
}

// restartedAfterKillOf kills the browser that has a tab, and gives what the next
// call is told.
func (c *client) restartedAfterKillOf(profile string, tab int) restarted {
	c.t.Helper()
	seen := len(c.Events())
	if err := proc.Signal(mainProcess(c.t, profile), syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	await(c.t, "the browser is lost", func() bool { return len(c.published("tab_id", tab, "tab.closed")) > 0 })
	c.tabs()
	for _, e := range c.Events()[seen:] {
		if e.Type == "browser.restarted" {
			var said restarted
			if err := json.Unmarshal(e.Data, &said); err != nil {
				c.t.Fatal(err)
			}
			return said
		}
	}
	c.t.Fatal("the call that started the browser is not told")
	return restarted{}
}

func TestLostTabsComeBackWhenTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, `,"restore":true`)
	c := alone(t, config)
	var form, other, private struct {
		ID       int
		TabID    int `json:"tab_id"`
		WindowID int `json:"window_id"`
	}
	c.call("browser.navigate", map[string]any{"uri": site + "/pages/buttons"}, nil)
	c.call("browser.window.new", map[string]any{"uri": site + "/pages/tall"}, &other)
	c.call("browser.tab.new", map[string]any{"uri": site + "/pages/form", "window_id": other.WindowID}, &form)
	c.call("browser.window.new", map[string]any{"private": true, "uri": site + "/pages/storage"}, &private)
	c.call("browser.tab.new", map[string]any{"window_id": other.WindowID}, nil) // empty
	c.call("browser.tab.select", map[string]any{"tab_id": form.ID}, nil)
	before := c.tabs()

	said := c.restartedAfterKillOf(profile, form.ID)
	after := c.tabs()
	shown := func(list []tabInfo, id int) tabInfo {
		i := slices.IndexFunc(list, func(i tabInfo) bool { return i.ID == id })
		if i < 0 {
			t.Fatalf("tab %d is not in %+v", id, list)
		}
		return list[i]
	}
	if len(said.LostTabs) != len(before) || len(said.Restored) != 3 || len(after) != 3 {
		t.Fatalf("of %+v came back %+v: %+v", before, said, after)
	}
	windows := make(map[int]int)
	for _, r := range said.Restored {
		was, is := shown(before, r.Was), shown(after, r.TabID)
		if is.ID <= before[len(before)-1].ID || is.Private || is.Current != was.Current || is.URI != was.URI {
			t.Errorf("%+v came back as %+v", was, is)
		}
		if w, known := windows[was.WindowID]; known && w != is.WindowID {
			t.Errorf("tabs of window %d are apart: %+v", was.WindowID, after)
		}
		windows[was.WindowID] = is.WindowID
		c.call("page.wait", map[string]any{"tab_id": is.ID, "url": strings.TrimPrefix(was.URI, site), "timeout_ms": 30000}, nil)
	}
	if len(windows) != 2 || windows[before[0].WindowID] == windows[other.WindowID] {
		t.Errorf("the windows are %v", windows)
	}

	// One that is lost again at once may have been ended by what came back.
	if said := c.restartedAfterKillOf(profile, after[0].ID); len(said.Restored) != 0 || len(said.LostTabs) != 3 {
		t.Errorf("the second time it says %+v", said)
	}
}

func TestLostTabsStayLostOtherwise(t *testing.T) {
	t.Parallel()
	config, profile := profiled(t, "")
	c := alone(t, config)
	c.call("browser.navigate", map[string]any{"uri": site + "/pages/buttons"}, nil)
	lost := c.tabs()
	want := restarted{LostTabs: []int{lost[0].ID}, Restored: []restored{}}
	if diff := cmp.Diff(want, c.restartedAfterKillOf(profile, lost[0].ID)); diff != "" {
		t.Errorf("the event (-want +got):\n%s", diff)
	}
	if list := c.tabs(); len(list) != 1 || list[0].URI != "about:blank" {
		t.Errorf("the tabs are %+v", list)
	}
}
