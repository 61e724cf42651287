package target

import (
	"context"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"
)

// titlesBound is how long the browser may take to tell all titles.
const titlesBound = 500 * time.Millisecond

// Titles learns the tabs' titles: a page that gives itself another one is no
// event. No page is asked, so none can hold it up.
func (b *Browser) Titles(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, titlesBound)
	defer cancel()
	var all struct {
		Infos []targetInfo `json:"targetInfos"`
	}
	err := b.Root().Call(ctx, "Target.getTargets", jsonv2.Value(`{"filter":[{"type":"page"}]}`), &all)
	if err != nil {
		return // what is known is shown
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, info := range all.Infos {
		if t := b.byTarget[cdptarget.ID(info.TargetID)]; t != nil {
			t.title = info.Title
		}
	}
}
