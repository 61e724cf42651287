package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// site serves the pages that tests wrote themselves.
var site = struct {
	once   sync.Once
	server *httptest.Server
	mu     sync.Mutex // guards pages
	pages  map[string]string
}{pages: make(map[string]string)}

// Serve puts html on a path of its own and gives its address, which ends in
// /N.html on 127.0.0.1. The same path on localhost is another site for Chromium.
func Serve(t testing.TB, html string) string {
	t.Helper()
	site.once.Do(func() {
		site.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			site.mu.Lock()
			page, ok := site.pages[r.URL.Path]
			site.mu.Unlock()
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page)) // the browser may have gone away
		}))
	})
	site.mu.Lock()
	defer site.mu.Unlock()
	path := fmt.Sprintf("/%d.html", len(site.pages)+1)
	site.pages[path] = html
	return site.server.URL + path
}

// CrossSite is the same address on another site, so that a frame of it gets a
// process of its own.
func CrossSite(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }

// Call runs a command with params as JSON text and gives the result's text.
func (p *Page) Call(method, params string) string {
	p.t.Helper()
	raw, err := p.Session.Start(method, jsonv2.Value(params)).Wait(Within(p.t))
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	return string(raw)
}

// Go loads url and waits for its load event.
func (p *Page) Go(url string) {
	p.t.Helper()
	loaded, cancel := p.Session.Subscribe("Page.loadEventFired")
	defer cancel()
	address, _ := json.Marshal(url)
	answer := p.Call("Page.navigate", fmt.Sprintf(`{"url":%s}`, address))
	if strings.Contains(answer, `"errorText"`) {
		p.t.Fatalf("loading %s: %s", url, answer)
	}
	select {
	case <-loaded:
	case <-Within(p.t).Done():
		p.t.Fatalf("%s did not load", url)
	}
}

// Main evaluates an expression in the page's own world and gives its JSON.
func (p *Page) Main(expression string) string {
	p.t.Helper()
	return p.eval("JSON.stringify("+expression+")", 0)
}

// World is the page's isolated world named vant, with source evaluated in it.
type World struct {
	p  *Page
	id int64
}

// World makes the isolated world of the page's main frame.
func (p *Page) World(source string) *World {
	p.t.Helper()
	return p.FrameWorld(source, string(p.Target))
}

// FrameWorld makes the isolated world of a frame of the page's own process.
func (p *Page) FrameWorld(source, frame string) *World {
	p.t.Helper()
	var made struct {
		ExecutionContextID int64 `json:"executionContextId"`
	}
	raw := p.Call("Page.createIsolatedWorld", fmt.Sprintf(`{"frameId":%q,"worldName":"vant"}`, frame))
	if err := json.Unmarshal([]byte(raw), &made); err != nil {
		p.t.Fatal(err)
	}
	w := &World{p, made.ExecutionContextID}
	w.Eval(source + "\n;undefined")
	return w
}

// Eval evaluates an expression, waits for a promise, and gives a string as it
// is and anything else as its JSON. An exception fails the test.
func (w *World) Eval(expression string) string {
	w.p.t.Helper()
	return w.p.eval(expression, w.id)
}

func (p *Page) eval(expression string, world int64) string {
	p.t.Helper()
	params := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if world != 0 {
		params["contextId"] = world
	}
	text, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal([]byte(p.Call("Runtime.evaluate", string(text))), &answer); err != nil {
		p.t.Fatal(err)
	}
	if e := answer.ExceptionDetails; e != nil {
		p.t.Fatalf("evaluating %.200s: %s %s", expression, e.Text, e.Exception.Description)
	}
	var s string
	if json.Unmarshal(answer.Result.Value, &s) == nil {
		return s
	}
	return string(answer.Result.Value)
}

// Click sends a trusted click at a point of the main frame's viewport, the three
// events in a row, and waits for their answers.
func (p *Page) Click(x, y float64) {
	p.t.Helper()
	ctx := Within(p.t)
	event := func(kind, button string, count int) interface{ Done() <-chan struct{} } {
		return p.Session.Start("Input.dispatchMouseEvent", jsonv2.Value(fmt.Sprintf(
			`{"type":%q,"x":%g,"y":%g,"button":%q,"clickCount":%d}`, kind, x, y, button, count)))
	}
	for _, e := range []interface{ Done() <-chan struct{} }{
		event("mouseMoved", "none", 0), event("mousePressed", "left", 1), event("mouseReleased", "left", 1),
	} {
		select {
		case <-e.Done():
		case <-ctx.Done():
			p.t.Fatal("the browser does not answer a mouse event")
		}
	}
}
