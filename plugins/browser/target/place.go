package target

import (
	"context"
	"time"

	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/vant-run/vant/plugins/browser/transport"
)

// locateBound is how long the browser may take to say where its tabs are.
const locateBound = 500 * time.Millisecond

// Locate asks where the tabs are, since people move them between windows. No page
// is asked. A tab that the browser says nothing of is where it was.
func (b *Browser) Locate(ctx context.Context) {
	b.mu.Lock()
	var tabs []*Tab
	for _, w := range b.windows {
		tabs = append(tabs, w.tabs...)
	}
	b.mu.Unlock()
	b.locate(ctx, tabs)
}

func (b *Browser) locate(ctx context.Context, tabs []*Tab) {
	if !b.o.Headed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, locateBound)
	defer cancel()
	root := b.Root()
	asked := make([]*transport.Pending, len(tabs))
	for i, t := range tabs {
		asked[i] = root.Start("Browser.getWindowForTarget", map[string]cdptarget.ID{"targetId": t.target})
	}
	for i, t := range tabs {
		raw, err := asked[i].Wait(ctx)
		if err != nil {
			continue
		}
		window := decode[struct {
			ID int64 `json:"windowId"`
		}](raw).ID
		if window == 0 {
			continue
		}
		b.mu.Lock()
		if b.tabs[t.ID] == t {
			b.place(t, window)
		}
		b.mu.Unlock()
	}
}

// place puts a tab into the window that the browser has it in; mu is held.
func (b *Browser) place(t *Tab, native int64) {
	from := t.window
	if from.native == native {
		return
	}
	var to *Window
	for _, w := range b.windows {
		if w.native == native {
			to = w
		}
	}
	switch {
	case to == nil && from.native == 0: // it is the one
		from.native = native
		return
	case to == nil:
		to = b.addWindow(from.context)
		to.native = native
	}
	chosen := b.current == from && from.current == t
	t.window = to
	to.tabs = append(to.tabs, t)
	if to.current == nil {
		to.current = t
	}
	b.unlink(t, from)
	if chosen {
		b.choose(t)
	}
	t.notify()
	b.notify()
}
