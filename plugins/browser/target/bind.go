package target

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"

	"github.com/vant-run/vant/plugins/browser/inject"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// Bind makes the elements of frames below top known to our code in the frames around
// them, which shows what is in a frame at its place. It does nothing where that is
// done. then, unless nil, is called with top and each of the frames, side by side,
// as soon as those directly in it are known, or cannot be. The errors are in the
// order of the frames. What can be asked together is sent together, and no process
// waits for another.
func Bind(ctx context.Context, top *Frame, below []*Frame, then func(*Frame)) []error {
	at := make(map[*Frame]int, len(below))
	inside := make(map[*Frame][]*Frame)
	for i, child := range below {
		at[child] = i
		inside[child.parent] = append(inside[child.parent], child)
	}
	failed := make([]error, len(below))
	lack := top.tab.lacking(below)
	var work sync.WaitGroup
	for s, list := range top.tab.processes(append([]*Frame{top}, below...)) {
		work.Go(func() {
			if lack[s] > 1 {
				top.tab.install(ctx, s) // what fails here is done when the frame is asked
			}
			for _, f := range list {
				work.Go(func() {
					for child, err := range f.bind(ctx, inside[f]) {
						failed[at[child]] = err
					}
					if then != nil {
						then(f)
					}
				})
			}
		})
	}
	work.Wait()
	return failed
}

// Bind is Bind for one frame.
func (f *Frame) Bind(ctx context.Context) error {
	return Bind(ctx, f.parent, []*Frame{f}, nil)[0]
}

// Install puts our code into all documents of f's process at once, where several of
// f and the frames below it lack it.
func (f *Frame) Install(ctx context.Context, below []*Frame) {
	s, err := f.Session()
	if err == nil && f.tab.lacking(append([]*Frame{f}, below...))[s] > 1 {
		f.tab.install(ctx, s)
	}
}

// processes sorts frames by the sessions of their processes, nil: they are in none
// now.
func (t *Tab) processes(frames []*Frame) map[*transport.Session][]*Frame {
	all := make(map[*transport.Session][]*Frame)
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	for _, f := range frames {
		all[f.session] = append(all[f.session], f)
	}
	return all
}

// lacking counts the frames of each session that lack our code.
func (t *Tab) lacking(frames []*Frame) map[*transport.Session]int {
	lack := make(map[*transport.Session]int)
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	for _, f := range frames {
		if s, err := f.ready(); err == nil && (!f.installed || f.world == "") {
			lack[s]++
		}
	}
	return lack
}

// install puts our code into all documents of a session: for each by itself it would
// be sent, and the world made, on a trip of its own.
func (t *Tab) install(ctx context.Context, s *transport.Session) {
	ctx, end := t.guard(ctx)
	defer end()
	_, _ = s.StartThen("Page.addScriptToEvaluateOnNewDocument", map[string]any{
		"source": inject.Source(), "worldName": worldName, "runImmediately": true,
	}, func(made []byte) {
		// Documents that come later are not to pay for it.
		s.Start("Page.removeScriptToEvaluateOnNewDocument", map[string]string{"identifier": decode[struct {
			ID string `json:"identifier"`
		}](made).ID})
		t.installed(s)
	}).Wait(ctx) // a frame that is without it then gets it by itself
}

// installed takes note that our code is in every world of a session that was told
// of until now.
func (t *Tab) installed(s *transport.Session) {
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	for _, f := range t.frames {
		if f.session == s && f.world != "" {
			f.installed = true
		}
	}
}

// bind makes the elements of frames directly in f known to our code in it.
func (f *Frame) bind(ctx context.Context, children []*Frame) map[*Frame]error {
	b := f.tab.browser
	failed := make(map[*Frame]error)
	fail := func(list []*Frame, err error) map[*Frame]error {
		for _, child := range list {
			failed[child] = err
		}
		return failed
	}
	world := f.World()
	b.mu.Lock()
	var list []*Frame // that are not bound
	for _, child := range children {
		if world == "" || child.bound != world {
			list = append(list, child)
		}
	}
	b.mu.Unlock()
	if len(list) == 0 {
		return failed
	}
	if world == "" {
		var err error
		if _, world, err = f.Invoke(ctx, "", "ready", nil); err != nil {
			return fail(list, err)
		}
	}
	ctx, end := f.tab.guard(ctx)
	defer end()
	b.mu.Lock()
	s, err := f.ready()
	number, same := f.context, f.world == world
	b.mu.Unlock()
	if err == nil && !same {
		err = ErrNavigated
	}
	if err != nil {
		return fail(list, err)
	}
	group := fmt.Sprintf("bind %s %d", f.ID, f.asked.Add(1))
	defer s.Start("Runtime.releaseObjectGroup", map[string]string{"objectGroup": group})
	owners := make([]*transport.Pending, len(list))
	for i, child := range list {
		owners[i] = s.Start("DOM.getFrameOwner", map[string]any{"frameId": child.ID})
	}
	nodes := make([]*transport.Pending, len(list))
	for i, child := range list {
		raw, err := owners[i].Wait(ctx)
		if err != nil {
			failed[child] = f.failed(s, err)
			continue
		}
		nodes[i] = s.Start("DOM.resolveNode", map[string]any{
			"backendNodeId": decode[struct {
				ID cdp.BackendNodeID `json:"backendNodeId"`
			}](raw).ID, "executionContextId": number, "objectGroup": group,
		})
	}
	var bound []*Frame
	var ids, elements []any
	object := "" // one of the world's, to call its function on
	for i, child := range list {
		if nodes[i] == nil {
			continue
		}
		raw, err := nodes[i].Wait(ctx)
		if err != nil {
			failed[child] = f.failed(s, err)
			continue
		}
		object = decode[struct {
			Object struct {
				ID string `json:"objectId"`
			} `json:"object"`
		}](raw).Object.ID
		bound = append(bound, child)
		ids = append(ids, map[string]any{"value": child.ID})
		elements = append(elements, map[string]any{"objectId": object})
	}
	if len(bound) == 0 {
		return failed
	}
	var r remote
	err = s.Call(ctx, "Runtime.callFunctionOn", map[string]any{
		"functionDeclaration": "function(...all) { const n = all.length / 2; for (let i = 0; i < n; i++) __vant.bindFrame(all[n + i], all[i]) }",
		"objectId":            object,
		"arguments":           append(ids, elements...),
	}, &r)
	if err != nil {
		return fail(bound, f.failed(s, err))
	}
	if r.Exception != nil {
		return fail(bound, fmt.Errorf("our code in the page failed: %w", r.Exception))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, child := range bound {
		child.bound = world
	}
	return failed
}
