package target

import (
	"bytes"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/vant-run/vant/plugins/browser/diagnostics"
	"github.com/vant-run/vant/plugins/browser/transport"
)

// The events' parts that are of use here. Chromium sends more.
type (
	targetInfo struct {
		TargetID         string `json:"targetId"`
		Type             string `json:"type"`
		Title            string `json:"title"`
		URL              string `json:"url"`
		OpenerID         string `json:"openerId"`
		BrowserContextID string `json:"browserContextId"`
		Subtype          string `json:"subtype"`
		ParentFrameID    string `json:"parentFrameId"`
	}
	attached struct {
		SessionID string     `json:"sessionId"`
		Info      targetInfo `json:"targetInfo"`
		Waiting   bool       `json:"waitingForDebugger"`
	}
	announced struct {
		Info targetInfo `json:"targetInfo"`
	}
	detached struct {
		SessionID string `json:"sessionId"`
	}
	frameEvent struct {
		FrameID   string `json:"frameId"`
		ParentID  string `json:"parentFrameId"`
		LoaderID  string `json:"loaderId"`
		Name      string `json:"name"`
		Reason    string `json:"reason"`
		URL       string `json:"url"`
		Kind      string `json:"navigationType"`
		Placement string `json:"disposition"`
	}
)

// decode gives an event's parts; one that cannot be read is empty, and then names
// nothing that is known.
func decode[T any](params []byte) T {
	var v T
	if err := jsonv2.Unmarshal(params, &v); err != nil {
		var zero T
		return zero
	}
	return v
}

// rootEvent follows which targets there are.
func (b *Browser) rootEvent(method string, params []byte) {
	switch method {
	case "Target.attachedToTarget":
		a := decode[attached](params)
		if a.Info.Type != "page" {
			b.release(b.Root(), a)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		t := b.byTarget[cdptarget.ID(a.Info.TargetID)]
		if t == nil {
			t = newTab(b, &a.Info)
			t.begins = b.begins[a.Info.TargetID]
			delete(b.begins, a.Info.TargetID)
			t.attach(a) // first: a tab that can be found has a session
			b.add(t, &a.Info)
		} else {
			t.attach(a)
		}
	case "Target.targetCreated":
		if b.o.Lazy {
			b.discovered(decode[announced](params).Info)
		} else if info := decode[announced](params).Info; info.URL != empty {
			b.mu.Lock()
			b.begins[info.TargetID] = bare(info.URL)
			b.mu.Unlock()
		}
	case "Target.targetDestroyed":
		id := decode[struct {
			TargetID string `json:"targetId"`
		}](params).TargetID
		if b.o.Lazy {
			b.mu.Lock()
			if t := b.byTarget[cdptarget.ID(id)]; t != nil {
				t.end(ErrTabClosed)
				b.remove(t)
			}
			b.mu.Unlock()
		} else {
			b.mu.Lock()
			delete(b.begins, id)
			b.mu.Unlock()
		}
	case "Target.detachedFromTarget":
		id := decode[detached](params).SessionID
		if b.o.Lazy {
			b.sessionLost(id)
			return
		}
		b.mu.Lock()
		if t := b.attachedBy(id); t != nil {
			t.end(ErrTabClosed)
			b.remove(t)
		}
		b.mu.Unlock()
		b.conn.Load().Detach(id, ErrTabClosed)
	case "Target.targetInfoChanged":
		info := decode[announced](params).Info
		if b.o.Lazy {
			b.discovered(info)
		}
		b.mu.Lock()
		if t := b.byTarget[cdptarget.ID(info.TargetID)]; t != nil {
			t.title = info.Title // its URL may be one that is still loading
		}
		b.mu.Unlock()
	case "Browser.downloadWillBegin":
		d := decode[struct {
			Download
			FrameID string `json:"frameId"`
		}](params)
		b.mu.Lock()
		for _, t := range b.tabs {
			if t.frames[cdp.FrameID(d.FrameID)] != nil {
				t.downloads++
				t.lastDownload = Download{URL: bare(d.URL), Filename: d.Filename}
				t.notify()
			}
		}
		b.mu.Unlock()
	case "Target.targetCrashed":
		c := decode[struct {
			TargetID string `json:"targetId"`
			Status   string `json:"status"`
		}](params)
		b.mu.Lock()
		if t := b.byTarget[cdptarget.ID(c.TargetID)]; t != nil {
			t.crash(c.Status)
		}
		b.mu.Unlock()
	}
}

// release lets a target go that nobody watches; from is the session that it was
// attached in.
func (b *Browser) release(from *transport.Session, a attached) {
	s := b.conn.Load().Attach(a.SessionID, nil)
	if a.Waiting {
		s.Start("Runtime.runIfWaitingForDebugger", nil)
	}
	from.Start("Target.detachFromTarget", cdptarget.DetachFromTargetParams{SessionID: cdptarget.SessionID(a.SessionID)})
}

// event follows one page or frame session of the tab.
func (t *Tab) event(s *sessionOf, method string, params []byte) {
	switch method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		t.Diagnostics.Add(method, params)
		return
	case "Fetch.requestPaused":
		if t.browser.o.Files == nil {
			return // a caller has asked for it by browser.cdp
		}
		go t.pausedFile(s.Session, decode[pausedRequest](params))
		return
	case "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFailed":
		t.request(s, method, params)
		return
	}
	b := t.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "Target.attachedToTarget":
		t.attachChild(s, decode[attached](params))
	case "Target.detachedFromTarget":
		id := decode[detached](params).SessionID
		for _, f := range t.frames {
			if f.session != nil && f.session.ID() == id {
				f.move(nil)
			}
		}
		delete(t.children, id)
		b.conn.Load().Detach(id, ErrFrameGone)
	case "Page.frameAttached":
		e := decode[frameEvent](params)
		f := t.frames[cdp.FrameID(e.FrameID)]
		if f == nil {
			f = t.addFrame(e.FrameID, e.ParentID)
		}
		f.move(s.Session) // known before: it came back into this process
	case "Page.frameDetached":
		e := decode[frameEvent](params)
		if f := t.frames[cdp.FrameID(e.FrameID)]; f != nil && e.Reason != "swap" && f != t.main {
			t.removeFrame(f)
		}
	case "Page.frameNavigated":
		t.frameNavigated(s, decode[navigated](params).Frame)
	case "Page.navigatedWithinDocument":
		e := decode[frameEvent](params)
		if f := t.frames[cdp.FrameID(e.FrameID)]; f != nil {
			f.url = bare(e.URL)
			if f == t.main {
				t.url, t.asked = f.url, false
				t.sameDocument++
				t.notify()
			}
		}
	case "Page.frameRequestedNavigation":
		e := decode[frameEvent](params)
		if e.FrameID == string(t.main.ID) && e.Placement == "currentTab" && opens(e.URL) {
			t.requested++
			t.asked = true
			t.notify()
		}
		if e.newPlace() {
			b.wants(t, bare(e.URL))
		}
	case "Page.frameClearedScheduledNavigation":
		if e := decode[frameEvent](params); e.FrameID == string(t.main.ID) && t.asked {
			t.asked = false
			t.notify()
		}
	case "Page.frameStartedNavigating":
		e := decode[frameEvent](params)
		if e.FrameID == string(t.main.ID) && e.Kind != "sameDocument" && e.Kind != "historySameDocument" {
			t.starting, t.startingURL, t.started, t.asked = e.LoaderID, bare(e.URL), false, false
			if t.begun = append(t.begun, begun{loader: e.LoaderID}); len(t.begun) > maxBegun {
				t.begun = t.begun[1:]
			}
			t.requested++
			b.publish("page.load", map[string]any{"tab_id": t.ID, "event": 0, "uri": t.startingURL})
			t.notify()
		}
	case "Page.frameStartedLoading":
		t.setLoading(decode[frameEvent](params).FrameID, true)
	case "Page.frameStoppedLoading":
		t.setLoading(decode[frameEvent](params).FrameID, false)
	case "Page.lifecycleEvent":
		t.lifecycle(s, decode[frameEvent](params))
	case "Runtime.executionContextCreated":
		c := decode[created](params).Context
		f := t.frames[cdp.FrameID(c.Aux.FrameID)]
		switch {
		case f == nil || f.session != s.Session:
		case c.Aux.Default:
			f.main = c.UniqueID
		case c.Name == worldName:
			f.world, f.context, f.installed = c.UniqueID, c.ID, false
		}
	case "Runtime.executionContextsCleared":
		for _, f := range t.frames {
			if f.session == s.Session {
				f.world, f.main = "", ""
			}
		}
	case "Runtime.executionContextDestroyed":
		id := decode[created](params).UniqueID
		for _, f := range t.frames {
			if f.world == id {
				f.world = ""
			}
			if f.main == id {
				f.main = ""
			}
		}
	case "Page.javascriptDialogOpening":
		t.dialogOpening(s, decode[Dialog](params))
	case "Page.javascriptDialogClosed":
		t.dialogClosed(s)
	case "Page.fileChooserOpened":
		c := decode[Chooser](params)
		c.session = s.Session
		t.chooser = &c
		t.notify()
	case "Inspector.targetCrashed":
		if s.Session != t.session { // the tab's own is told of at the root, with a reason
			t.frameCrashed(s)
		}
	case "Inspector.targetReloadedAfterCrash":
		if s.Session == t.session {
			t.revived = true // the crash is over when it shows a document
		}
	}
}

// opens tells whether the browser itself shows an address: others go to other
// programs, and nothing comes of them in the tab.
func opens(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "about", "file", "blob", "data":
		return true
	}
	return false
}

type (
	navigated struct {
		Frame frameInfo `json:"frame"`
	}
	frameInfo struct {
		ID          string `json:"id"`
		ParentID    string `json:"parentId"`
		LoaderID    string `json:"loaderId"`
		Name        string `json:"name"`
		URL         string `json:"url"`
		Fragment    string `json:"urlFragment"`
		Unreachable string `json:"unreachableUrl"`
	}
	created struct {
		UniqueID string `json:"executionContextUniqueId"` // of Destroyed
		Context  struct {
			ID       int64  `json:"id"`
			Name     string `json:"name"`
			UniqueID string `json:"uniqueId"`
			Aux      struct {
				FrameID string `json:"frameId"`
				Default bool   `json:"isDefault"`
			} `json:"auxData"`
		} `json:"context"`
	}
	requestEvent struct {
		RequestID string `json:"requestId"`
		LoaderID  string `json:"loaderId"`
		FrameID   string `json:"frameId"`
		Type      string `json:"type"`
		ErrorText string `json:"errorText"`
		Canceled  bool   `json:"canceled"`
		Request   struct {
			URL string `json:"url"`
		} `json:"request"`
		Redirect *struct {
			Status int `json:"status"`
		} `json:"redirectResponse"`
		Response struct {
			Status int `json:"status"`
		} `json:"response"`
	}
)

type pausedRequest struct {
	ID      string `json:"requestId"`
	Request struct {
		URL string `json:"url"`
	} `json:"request"`
}

// pausedFile lets a page have a file, or not.
func (t *Tab) pausedFile(s *transport.Session, r pausedRequest) {
	if t.browser.o.Files(r.Request.URL) {
		s.Start("Fetch.continueRequest", map[string]string{"requestId": r.ID})
	} else {
		s.Start("Fetch.failRequest", map[string]string{"requestId": r.ID, "errorReason": "BlockedByClient"})
	}
}

// request follows the requests of the main frame's documents.
func (t *Tab) request(s *sessionOf, method string, params []byte) {
	if !bytes.Contains(params, []byte(`"type":"Document"`)) {
		return // most are not, and are not decoded
	}
	e := decode[requestEvent](params)
	if e.Type != "Document" || (e.FrameID != "" && e.FrameID != string(t.main.ID)) || s.Session != t.session {
		return
	}
	b := t.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "Network.requestWillBeSent":
		if e.Redirect != nil && e.RequestID == e.LoaderID {
			to := bare(e.Request.URL)
			if e.RequestID == t.starting {
				t.startingURL = to
			}
			b.publish("page.load", map[string]any{"tab_id": t.ID, "event": 1, "uri": to})
		}
	case "Network.responseReceived":
		if i := t.begunBy(e.LoaderID); i >= 0 && e.RequestID == e.LoaderID {
			t.begun[i].status = e.Response.Status
		}
	case "Network.loadingFailed":
		if e.RequestID == t.starting {
			t.starting = ""
			if !e.Canceled {
				t.loadFailed(e.ErrorText)
			}
			t.notify()
		}
	}
}

// loadFailed notes why a load failed; mu is held.
func (t *Tab) loadFailed(why string) {
	t.lastLoadError = why
	t.failures++
	t.notify()
	t.browser.publish("page.load_failed", map[string]any{"tab_id": t.ID, "message": why, "uri": t.startingURL, "net_error": why})
}

// newTab makes a tab that was announced.
func newTab(b *Browser, info *targetInfo) *Tab {
	t := &Tab{
		ID: b.o.IDs.Tab(), Diagnostics: diagnostics.New(),
		browser: b, target: cdptarget.ID(info.TargetID), title: info.Title, url: bare(info.URL),
		turn: make(chan struct{}, 1), unblocks: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		frames: make(map[cdp.FrameID]*Frame), children: make(map[string]bool),
	}
	t.main = t.addFrame(info.TargetID, "")
	return t
}
