package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Events of the main frame of the tab "a", in its session.
func begins(loader, url string) string {
	return fmt.Sprintf(`{"method":"Page.frameStartedNavigating","sessionId":"a","params":{"frameId":"a","loaderId":%q,"url":%q,"navigationType":"differentDocument"}}`, loader, url)
}

func comes(loader, url string) string {
	return fmt.Sprintf(`{"method":"Page.frameNavigated","sessionId":"a","params":{"frame":{"id":"a","loaderId":%q,"url":%q}}}`, loader, url)
}

func reaches(name, loader string) string {
	return fmt.Sprintf(`{"method":"Page.lifecycleEvent","sessionId":"a","params":{"frameId":"a","loaderId":%q,"name":%q}}`, loader, name)
}

func spins(on string) string {
	return fmt.Sprintf(`{"method":"Page.frame%sLoading","sessionId":"a","params":{"frameId":"a"}}`, on)
}

// launched gives the model of a browser that was started here, its tab, and the
// page.load events, as they are told.
func launched(t *testing.T) (*Tab, *person, *[]string) {
	t.Helper()
	told := &[]string{}
	b, p := connect(t, Options{Event: func(typ string, data any) {
		if typ == "page.load" {
			d := data.(map[string]any)
			*told = append(*told, fmt.Sprint(d["event"], " ", d["uri"]))
		}
	}}, sheet{id: "a", context: "home", window: 7, blank: true})
	p.loader = "L"
	synctest.Wait()
	tab, err := b.Tab(0)
	if err != nil {
		t.Fatal(err)
	}
	if tab.url != "about:blank" {
		t.Fatalf("the tab is at %s", tab.url)
	}
	return tab, p, told
}

const address = "https://a.test/"

// TestADocumentThatWasNotToldIsAskedFor: two navigations to one address begin
// before the renderer follows anything, and the document of the second is there by
// then.
func TestADocumentThatWasNotToldIsAskedFor(t *testing.T) {
	for name, late := range map[string][]string{
		"it has loaded":   {reaches("commit", "L"), reaches("DOMContentLoaded", "L"), reaches("load", "L"), reaches("networkIdle", "L"), spins("Stopped")},
		"it loads on":     {reaches("commit", "L"), spins("Stopped"), reaches("DOMContentLoaded", "L"), reaches("load", "L")},
		"its load is all": {reaches("load", "L"), spins("Stopped")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, p, told := launched(t)
				first := make(chan error, 1)
				go func() {
					_, err := tab.Navigate(t.Context(), address, "", Load, time.Minute)
					first <- err
				}()
				synctest.Wait()
				p.children = `,"childFrames":[{"frame":{"id":"f","parentId":"a","loaderId":"F","url":"https://f.test/"}}]`
				p.tell(begins("K", address), spins("Started"), begins("L", address))
				synctest.Wait()
				if got := tab.Info(); got.URI != address || !got.Loading {
					t.Errorf("before it has come the tab is %+v", got)
				}
				p.tell(reaches("init", "L"))
				p.tell(late...)
				if err := <-first; err != nil {
					t.Errorf("who waits for its load is told %v", err)
				}
				within, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := errors.Join(tab.WaitLoad(within), tab.WaitURL(within, func(url string) bool { return url == address })); err != nil {
					t.Errorf("the waits end with %v", err)
				}
				if got := tab.Info(); got.URI != address || got.Loading {
					t.Errorf("the tab is %+v", got)
				}
				want := []FrameInfo{{ID: "a", URI: address}, {ID: "f", Parent: "a", URI: "https://f.test/"}}
				if diff := cmp.Diff(want, tab.Frames()); diff != "" {
					t.Errorf("the frames (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"0 " + address, "0 " + address, "2 " + address, "3 " + address}, *told); diff != "" {
					t.Errorf("the events (-want +got):\n%s", diff)
				}
				if p.trees != 1 {
					t.Errorf("the page was asked %d times", p.trees)
				}
			})
		})
	}
}

// TestAPageThatNeverLoadsIsShown: its commit alone is told, late.
func TestAPageThatNeverLoadsIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, p, _ := launched(t)
		p.tell(begins("L", address), spins("Started"), reaches("commit", "L"))
		synctest.Wait()
		if got := tab.Frames(); got[0].URI != address {
			t.Errorf("the frames are %+v", got)
		}
		if got := tab.Info(); got.URI != address || !got.Loading {
			t.Errorf("the tab is %+v", got)
		}
	})
}

func TestNoPageIsAskedForWhatWasTold(t *testing.T) {
	for name, events := range map[string][]string{
		"a load in order":           {begins("L", address), spins("Started"), reaches("init", "L"), comes("L", address), reaches("commit", "L"), reaches("DOMContentLoaded", "L"), reaches("load", "L"), spins("Stopped")},
		"the first, empty document": {reaches("commit", "E"), reaches("load", "E"), begins("L", address), spins("Started"), reaches("networkIdle", "E"), reaches("init", "L"), comes("L", address), reaches("load", "L"), spins("Stopped")},
		"the document before":       {begins("K", "https://k.test/"), comes("K", "https://k.test/"), begins("L", address), spins("Started"), reaches("load", "K"), comes("L", address), reaches("networkIdle", "K"), reaches("load", "L"), spins("Stopped")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, p, _ := launched(t)
				p.tell(events...)
				synctest.Wait()
				if got := tab.Info(); got.URI != address || got.Loading {
					t.Errorf("the tab is %+v", got)
				}
				if p.trees != 0 {
					t.Errorf("the page was asked %d times", p.trees)
				}
			})
		})
	}
}

// TestTheAddressOfAPopUpIsThatOfItsDocument: what is to come is its opener's word.
func TestTheAddressOfAPopUpIsThatOfItsDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, p, _ := launched(t)
		tab.browser.mu.Lock()
		tab.opener = 9
		tab.browser.mu.Unlock()
		p.tell(begins("L", address))
		synctest.Wait()
		if got := tab.Info(); got.URI != "about:blank" || !got.Loading {
			t.Errorf("the tab is %+v", got)
		}
	})
}

// TestNoLoginIsInTheModel: whatever tells of an address.
func TestNoLoginIsInTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, p, told := launched(t)
		mark := tab.Mark()
		const login = "https://me:secret@a.test/"
		p.tell(begins("L", login),
			`{"method":"Network.requestWillBeSent","sessionId":"a","params":{"requestId":"L","loaderId":"L","frameId":"a","type":"Document","redirectResponse":{"status":302},"request":{"url":"`+login+`"}}}`,
			`{"method":"Network.loadingFailed","sessionId":"a","params":{"requestId":"L","type":"Document","errorText":"net::ERR_FAILED"}}`,
			comes("L", login), reaches("load", "L"),
			`{"method":"Page.navigatedWithinDocument","sessionId":"a","params":{"frameId":"a","url":"`+login+`#x"}}`,
			`{"method":"Page.frameNavigated","sessionId":"a","params":{"frame":{"id":"f","parentId":"a","loaderId":"F","url":"`+login+`"}}}`,
			`{"method":"Browser.downloadWillBegin","params":{"frameId":"a","url":"`+login+`","suggestedFilename":"x"}}`)
		synctest.Wait()
		effects, err := tab.Since(t.Context(), mark, false)
		if err != nil || effects.Download == nil || len(*told) != 4 {
			t.Fatalf("what came is %+v, %v, %q", effects, err, *told)
		}
		p.tell(strings.Replace(asks(login), "currentTab", "newTab", 1),
			`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"n","type":"page","url":"`+login+`x"}}}`,
			`{"method":"Target.attachedToTarget","params":{"sessionId":"n","targetInfo":{"targetId":"n","type":"page","browserContextId":"home"},"waitingForDebugger":true}}`,
			`{"method":"Target.attachedToTarget","params":{"sessionId":"o","targetInfo":{"targetId":"o","type":"page","url":"`+login+`y","browserContextId":"home"},"waitingForDebugger":true}}`,
			`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"m","type":"page","url":"`+login+`"}}}`)
		synctest.Wait()
		b := tab.browser
		b.mu.Lock()
		model := fmt.Sprintf("%+v %+v %+v %+v", b.wanted, b.orphans, b.begins, b.byTarget["n"].begins)
		if len(b.wanted) != 1 || len(b.orphans) != 2 || len(b.begins) != 1 {
			t.Errorf("the model has %s", model)
		}
		b.mu.Unlock()
		all := fmt.Sprintf("%+v %+v %+v %+v %q %s", tab.Info(), tab.Frames(), effects, *effects.Download, *told, model)
		if strings.Contains(all, "secret") || strings.Contains(all, "@a.test") {
			t.Error(all)
		}
	})
}

// TestTheFirstDocumentOfATabIsToldHoweverLate: what follows the tab may be turned on
// when the document is there, and its load has come.
func TestTheFirstDocumentOfATabIsToldHoweverLate(t *testing.T) {
	const login, bared = "http://me:secret@a.test/x", "http://a.test/x"
	x := func(event string) string { return strings.ReplaceAll(event, `"a"`, `"x"`) }
	for name, loaded := range map[string]bool{"it has loaded": true, "it loads on": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, p, told := launched(t)
				p.hold("Page.getFrameTree")
				p.tell(`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"x","type":"page","url":"`+login+`"}}}`,
					`{"method":"Target.attachedToTarget","params":{"sessionId":"x","targetInfo":{"targetId":"x","type":"page","browserContextId":"home"},"waitingForDebugger":true}}`)
				synctest.Wait()
				tab.browser.mu.Lock()
				made := tab.browser.byTarget["x"]
				tab.browser.mu.Unlock()
				p.tell(x(framed("f", "a", "a", false)), x(world("f", "a")))
				if loaded {
					p.tell(x(reaches("load", "L")))
				}
				p.mu.Lock()
				p.failed, p.children = login, `,"childFrames":[{"frame":{"id":"f","parentId":"x","loaderId":"F","url":"https://f.test/"}}]`
				p.mu.Unlock()
				p.release()
				synctest.Wait()
				if got := made.Info(); got.URI != bared || got.Loading == loaded {
					t.Errorf("when it is told the tab is %+v", got)
				}
				if !loaded {
					p.tell(x(reaches("load", "L")))
				}
				synctest.Wait()
				if got := made.Info(); got.URI != bared || got.Loading {
					t.Errorf("when it has loaded the tab is %+v", got)
				}
				if diff := cmp.Diff([]string{"2 " + bared, "3 " + bared}, *told); diff != "" {
					t.Errorf("the events (-want +got):\n%s", diff)
				}
				f, err := made.Frame("f")
				if err != nil {
					t.Fatal(err)
				}
				if in, _, err := f.enter(t.Context()); err != nil || in.world != "world of f" {
					t.Errorf("the world in its frame is %q, %v", in.world, err)
				}
				if diff := cmp.Diff([]FrameInfo{{ID: "x", URI: bared}, {ID: "f", Parent: "x", URI: "https://f.test/"}}, made.Frames()); diff != "" {
					t.Errorf("the frames (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func asks(url string) string {
	return fmt.Sprintf(`{"method":"Page.frameRequestedNavigation","sessionId":"a","params":{"frameId":"a","reason":"anchorClick","url":%q,"disposition":"currentTab"}}`, url)
}

// TestAnActionWaitsForTheNavigationThatItBegan: the load before it may stop late.
func TestAnActionWaitsForTheNavigationThatItBegan(t *testing.T) {
	const cleared = `{"method":"Page.frameClearedScheduledNavigation","sessionId":"a","params":{"frameId":"a"}}`
	const (
		nothing = `{"method":"Network.responseReceived","sessionId":"a","params":{"requestId":"L","loaderId":"L","frameId":"a","type":"Document","response":{"status":204}}}`
		file    = `{"method":"Browser.downloadWillBegin","params":{"frameId":"a","url":"https://a.test/x","suggestedFilename":"x"}}`
	)
	for name, play := range map[string]struct {
		during, after []string // before and after the action asks for its effects
		navigated     bool
		wait          time.Duration
	}{
		"it was begun":         {[]string{asks(address), begins("L", address), spins("Stopped")}, []string{spins("Started"), comes("L", address)}, true, 0},
		"it was asked for":     {[]string{asks(address), spins("Stopped")}, []string{begins("L", address), spins("Started"), comes("L", address)}, true, 0},
		"it comes to nothing":  {[]string{asks(address), spins("Stopped"), begins("L", address)}, []string{spins("Started"), spins("Stopped")}, false, lateBound},
		"there is no content":  {[]string{asks(address), spins("Stopped"), begins("L", address)}, []string{spins("Started"), nothing, spins("Stopped")}, false, 0},
		"it is a download":     {[]string{asks(address), begins("L", address)}, []string{spins("Started"), spins("Stopped"), file}, false, 0},
		"it is not begun":      {[]string{asks(address), spins("Stopped")}, []string{cleared}, false, 0},
		"there is none":        {[]string{spins("Stopped")}, nil, false, 0},
		"the page goes within": {[]string{asks(address)}, []string{`{"method":"Page.navigatedWithinDocument","sessionId":"a","params":{"frameId":"a","url":"https://a.test/#x"}}`}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab, p, _ := launched(t)
				p.tell(begins("K", address), spins("Started"), comes("K", address), reaches("load", "K"))
				synctest.Wait()
				mark := tab.Mark()
				p.tell(play.during...)
				synctest.Wait()
				began := time.Now()
				effects := make(chan Effects, 1)
				go func() {
					e, err := tab.Since(t.Context(), mark, false)
					if err != nil {
						t.Error(err)
					}
					effects <- e
				}()
				synctest.Wait()
				if over := len(effects) > 0; over != (play.after == nil) {
					t.Errorf("it has its effects before they have come: %t", over)
				}
				for _, after := range play.after {
					p.tell(after)
					synctest.Wait() // it is told by itself
				}
				saved := slices.Contains(play.after, file)
				if e := <-effects; e.Navigated != play.navigated || time.Since(began) != play.wait || (e.Download != nil) != saved {
					t.Errorf("after %v it has %+v", time.Since(began), e)
				}
			})
		})
	}
}
