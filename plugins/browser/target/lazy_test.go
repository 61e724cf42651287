package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// person is a browser of somebody else, as far as this package asks it.
type person struct {
	t   *testing.T
	out io.Writer

	mu        sync.Mutex // guards the fields that follow
	pages     []sheet
	activated []string
	waiting   []int64        // frame trees that sleeping pages owe
	trees     int            // that were asked for
	loader    string         // of the navigations that are asked for
	children  string         // of the pages' documents
	failed    string         // what these were to show, and could not be loaded
	sent      map[string]int // commands, by their methods
	stuck     string         // session that answers nothing
	held      string         // method that is answered by release
	owed      []func()
}

type sheet struct {
	id, context string
	window      int64 // 0: the browser does not say
	asleep      bool
	blank       bool // it has no address yet
}

// drive gives the model of a person's browser.
func drive(t *testing.T, pages ...sheet) (*Browser, *person) {
	t.Helper()
	b, p := connect(t, Options{Lazy: true, Headed: true}, pages...)
	if err := b.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, p
}

// connect gives the model of a browser with these pages.
func connect(t *testing.T, o Options, pages ...sheet) (*Browser, *person) {
	t.Helper()
	ids, err := OpenIDs(filepath.Join(t.TempDir(), "ids"), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	commands, ours := io.Pipe()
	answers, theirs := io.Pipe()
	p := &person{t: t, out: theirs, pages: pages, sent: make(map[string]int)}
	go p.serve(bufio.NewReader(commands))
	o.IDs = ids
	b := New(answers, ours, o)
	t.Cleanup(func() {
		b.Close()
		commands.Close()
		theirs.Close()
	})
	return b, p
}

func (p *person) say(format string, args ...any) {
	_, _ = p.out.Write(append(fmt.Appendf(nil, format, args...), 0)) // nobody may listen any more
}

// tell says what happens at once: no answer comes between.
func (p *person) tell(events ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		p.say("%s", e)
	}
}

func (p *person) serve(in *bufio.Reader) {
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var c struct {
			ID        int64
			Method    string
			SessionID string
			Params    struct{ TargetID string }
		}
		if err := json.Unmarshal(text[:len(text)-1], &c); err != nil {
			p.t.Errorf("the command %s: %v", text, err)
			return
		}
		p.mu.Lock()
		p.do(c.ID, c.Method, c.SessionID, c.Params.TargetID)
		p.mu.Unlock()
	}
}

// find gives the page of a target or session, which have the same name here.
func (p *person) find(id string) *sheet {
	i := slices.IndexFunc(p.pages, func(g sheet) bool { return g.id == id })
	if i < 0 {
		return &sheet{}
	}
	return &p.pages[i]
}

func (g sheet) info() string {
	url := "https://" + g.id + ".test/"
	if g.blank {
		url = "about:blank"
	}
	return fmt.Sprintf(`{"targetId":%q,"type":"page","title":%q,"url":%q,"browserContextId":%q}`, g.id, g.id, url, g.context)
}

// hold has the commands of a method wait for release.
func (p *person) hold(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = method
}

func (p *person) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = ""
	for _, answer := range p.owed {
		answer()
	}
	p.owed = nil
}

func (p *person) do(id int64, method, session, target string) {
	if method == p.held {
		p.owed = append(p.owed, func() { p.do(id, method, session, target) })
		return
	}
	p.sent[method]++
	if session != "" && session == p.stuck {
		return
	}
	result := "{}"
	switch method {
	case "Target.getBrowserContexts":
		result = `{"browserContextIds":[],"defaultBrowserContextId":"home"}`
	case "Target.setDiscoverTargets":
		for _, g := range p.pages {
			p.say(`{"method":"Target.targetCreated","params":{"targetInfo":%s}}`, g.info())
		}
	case "Browser.getWindowForTarget":
		w := p.find(target).window
		if w == 0 {
			return
		}
		result = fmt.Sprintf(`{"windowId":%d}`, w)
	case "Target.attachToTarget":
		p.say(`{"method":"Target.attachedToTarget","params":{"sessionId":%q,"targetInfo":%s,"waitingForDebugger":false}}`, target, p.find(target).info())
		result = fmt.Sprintf(`{"sessionId":%q}`, target)
	case "Target.activateTarget":
		p.activated = append(p.activated, target)
		p.find(target).asleep = false
		for _, owed := range p.waiting {
			p.tree(owed, target)
		}
		p.waiting = nil
	case "Target.setAutoAttach":
		for _, g := range p.pages {
			if session == "" {
				p.say(`{"method":"Target.attachedToTarget","params":{"sessionId":%q,"targetInfo":%s,"waitingForDebugger":false}}`, g.id, g.info())
			}
		}
	case "Page.navigate":
		result = fmt.Sprintf(`{"frameId":%q,"loaderId":%q}`, session, p.loader)
	case "Runtime.evaluate":
		return // its scripts never end
	case "Page.getFrameTree":
		p.trees++
		if p.find(session).asleep {
			p.waiting = append(p.waiting, id)
			return
		}
		p.tree(id, session)
		return
	}
	if session != "" {
		p.say(`{"id":%d,"result":%s,"sessionId":%q}`, id, result, session)
		return
	}
	p.say(`{"id":%d,"result":%s}`, id, result)
}

func (p *person) tree(id int64, session string) {
	failed := ""
	if p.failed != "" {
		failed = fmt.Sprintf(`,"unreachableUrl":%q`, p.failed)
	}
	p.say(`{"id":%d,"result":{"frameTree":{"frame":{"id":%q,"loaderId":"L","url":"https://%s.test/"%s}%s}},"sessionId":%q}`, id, session, session, failed, p.children, session)
}

func (p *person) move(id string, window int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.find(id).window = window
}

func TestTabsAreKnownAndNoPageIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := drive(t, sheet{id: "a", context: "home", window: 7, asleep: true}, sheet{id: "b", context: "home", window: 8, asleep: true}, sheet{id: "c", context: "secret", window: 9, asleep: true})
		got := b.Tabs()
		want := []TabInfo{
			{ID: 1, WindowID: 1, URI: "https://a.test/", Title: "a", Current: true},
			{ID: 2, WindowID: 3, URI: "https://b.test/", Title: "b"},
			{ID: 3, WindowID: 2, URI: "https://c.test/", Title: "c", Private: true},
		}
		slices.SortFunc(got, func(x, y TabInfo) int { return x.ID - y.ID })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tabs (-want +got):\n%s", diff)
		}
	})
}

func TestASleepingTabIsWokenByWhoActsInItOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := drive(t, sheet{id: "a", context: "home", window: 7}, sheet{id: "b", context: "home", window: 7, asleep: true})
		awake, asleep := b.byTarget["a"], b.byTarget["b"]
		ended := make(chan error)
		go func() { ended <- asleep.Attach(t.Context(), false) }()
		synctest.Wait()
		if err := awake.Attach(t.Context(), false); err != nil {
			t.Errorf("the other tab: %v", err)
		}
		if err := <-ended; !errors.Is(err, ErrAsleep) {
			t.Errorf("the sleeping tab: %v", err)
		}
		if p.activated != nil {
			t.Errorf("%v came to the front", p.activated)
		}
		if err := asleep.Attach(t.Context(), true); err != nil {
			t.Errorf("to act in it: %v", err)
		}
		if !slices.Equal(p.activated, []string{"b"}) {
			t.Errorf("%v came to the front", p.activated)
		}
	})
}

func TestADiscardedTabEndsItsWaitAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := drive(t, sheet{id: "a", context: "home", window: 7, asleep: true})
		tab := b.byTarget["a"]
		ended := make(chan error)
		go func() { ended <- tab.Attach(t.Context(), false) }()
		synctest.Wait()
		p.tell(`{"method":"Target.detachedFromTarget","params":{"sessionId":"a"}}`,
			`{"method":"Target.targetDestroyed","params":{"targetId":"a"}}`)
		if err := <-ended; !errors.Is(err, ErrTabClosed) {
			t.Errorf("the wait ended with %v", err)
		}
		if err := tab.Attach(t.Context(), true); !errors.Is(err, ErrTabClosed) {
			t.Errorf("later: %v", err)
		}
	})
}

func TestWhoWaitsIsToldWhatHasEnded(t *testing.T) {
	const lost = `{"method":"Target.detachedFromTarget","params":{"sessionId":"a"}}`
	ends := map[string]struct {
		end  func(b *Browser, p *person)
		want error
	}{
		"the session": {func(_ *Browser, p *person) { p.say(lost) }, ErrDisconnected},
		"the tab": {func(_ *Browser, p *person) {
			p.tell(lost, `{"method":"Target.targetDestroyed","params":{"targetId":"a"}}`)
		}, ErrTabClosed},
		"the connection": {func(b *Browser, _ *person) {
			b.Close()
			b.Dropped()
		}, ErrDisconnected},
	}
	waits := map[string]func(context.Context, *Tab) error{
		"a command": func(ctx context.Context, t *Tab) error {
			_, err := t.Raw(ctx, "Runtime.evaluate", nil)
			return err
		},
		"a wait":        func(ctx context.Context, t *Tab) error { return t.WaitURL(ctx, func(string) bool { return false }) },
		"an attachment": func(ctx context.Context, t *Tab) error { return t.Attach(ctx, false) },
	}
	for what, wait := range waits {
		for which, end := range ends {
			t.Run(what+", "+which, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					asleep := what == "an attachment"
					b, p := drive(t, sheet{id: "a", context: "home", window: 7, asleep: asleep})
					tab := b.byTarget["a"]
					if !asleep {
						if err := tab.Attach(t.Context(), false); err != nil {
							t.Fatal(err)
						}
					}
					ended := make(chan error)
					go func() { ended <- wait(t.Context(), tab) }()
					synctest.Wait()
					end.end(b, p)
					if err := <-ended; !errors.Is(err, end.want) {
						t.Errorf("it was told %v", err)
					}
					if which != "the session" {
						return
					}
					p.mu.Lock()
					p.find("a").asleep = false
					p.mu.Unlock()
					if err := tab.Attach(t.Context(), false); err != nil {
						t.Errorf("attached to again: %v", err)
					}
				})
			})
		}
	}
}

func TestATabIsInTheWindowWhereAPersonHasPutIt(t *testing.T) {
	windows := func(b *Browser) map[int][]int {
		all := make(map[int][]int)
		for _, w := range b.Windows() {
			all[w.ID] = w.Tabs
		}
		return all
	}
	synctest.Test(t, func(t *testing.T) {
		b, p := drive(t, sheet{id: "a", context: "home", window: 7}, sheet{id: "b", context: "home", window: 7}, sheet{id: "c", context: "home", window: 8})
		for _, step := range []struct {
			name   string
			id     string
			window int64
			want   map[int][]int
		}{
			{"nothing", "a", 7, map[int][]int{1: {1, 2}, 2: {3}}},
			{"into another window", "b", 8, map[int][]int{1: {1}, 2: {3, 2}}},
			{"into a new window", "c", 9, map[int][]int{1: {1}, 2: {2}, 3: {3}}},
			{"the last of its window", "a", 9, map[int][]int{2: {2}, 3: {3, 1}}},
			{"no answer", "a", 0, map[int][]int{2: {2}, 3: {3, 1}}},
			{"back into a window whose number comes again", "a", 7, map[int][]int{2: {2}, 3: {3}, 4: {1}}},
		} {
			p.move(step.id, step.window)
			b.Locate(context.Background())
			if diff := cmp.Diff(step.want, windows(b)); diff != "" {
				t.Errorf("%s: the windows (-want +got):\n%s", step.name, diff)
			}
			// The first tab is the current one, wherever it goes.
			if tab, err := b.Tab(0); err != nil || tab.ID != 1 {
				t.Errorf("%s: the current tab is %v, %v", step.name, tab, err)
			}
		}
	})
}
