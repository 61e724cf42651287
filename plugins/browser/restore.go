package main

import (
	"context"
	"time"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/sdk"
)

const (
	// maxRestored bounds the tabs that come back.
	maxRestored = 64
	// reopenBound is how long they may take to begin loading, and restoreBound one
	// of them.
	reopenBound  = 15 * time.Second
	restoreBound = 5 * time.Second
	// tooSoon: a browser that is lost so soon after its tabs came back may have
	// been ended by one of them.
	tooSoon = 30 * time.Second
)

// loss is what went with a browser.
type loss struct {
	tabs   []target.TabInfo
	reopen bool
}

// restored is a tab that came back under another id.
type restored struct {
	Was   int `json:"was"`
	TabID int `json:"tab_id"`
}

// restart tells those who wait for the start what was lost before, and opens the
// tabs again when the configuration says so.
func (l *life) restart(r *running) {
	l.mu.Lock()
	lost := l.lost
	l.lost = nil
	l.mu.Unlock()
	if lost == nil {
		return
	}
	ids, back := make([]int, 0, len(lost.tabs)), []restored{}
	for _, t := range lost.tabs {
		ids = append(ids, t.ID)
	}
	if lost.reopen {
		r.restored = time.Now()
		ctx, cancel := context.WithTimeout(l.ctx, reopenBound)
		defer cancel()
		back = l.reopen(ctx, r, lost.tabs)
	}
	sdk.Emit(l.events, "browser.restarted", map[string]any{"lost_tabs": ids, "restored": back})
}

// reopen opens the addresses of lost tabs again, in windows like theirs. What is
// private, empty or not allowed stays lost.
func (l *life) reopen(ctx context.Context, r *running, tabs []target.TabInfo) []restored {
	back := []restored{}
	windows := make(map[int]int) // by what they were
	empty, err := r.Tab(0)       // the one that every browser starts with
	if err != nil {
		empty = nil
	}
	var current *target.Tab
	for _, was := range tabs {
		url, err := l.policy.Check(was.URI, urlpolicy.Typed)
		if err != nil || was.Private || url == "about:blank" || len(back) == maxRestored {
			continue
		}
		t := empty
		empty = nil
		switch {
		case t != nil:
		case windows[was.WindowID] != 0:
			t, err = r.NewTab(ctx, windows[was.WindowID])
		default:
			t, err = r.NewWindow(ctx, false)
		}
		if err == nil {
			windows[was.WindowID] = t.Info().WindowID
			_, err = t.Navigate(ctx, url, "", target.None, restoreBound)
		}
		if err != nil {
			l.log.Warn("a tab did not come back", "tab", was.ID, "error", err.Error())
			continue
		}
		back = append(back, restored{was.ID, t.ID})
		if was.Current {
			current = t
		}
	}
	if current != nil {
		if err := r.SelectTab(ctx, current); err != nil {
			l.log.Warn("the tab that was current is not", "error", err.Error())
		}
	}
	return back
}

// noteLoss keeps what the next start tells.
func (l *life) noteLoss(r *running) {
	tabs := r.Left()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = &loss{tabs, l.c.Restore && (r.restored.IsZero() || time.Since(r.restored) > tooSoon)}
}
