package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// page puts html into a new page that notes what it sees.
func (c *client) page(html string) *tab {
	c.t.Helper()
	p := c.open("/pages/blank")
	p.js("document.body.innerHTML = " + quote(html) + "; 1")
	return p
}

// quote writes a text as JavaScript does.
func quote(text string) string {
	b, _ := json.Marshal(text) // a text has a JSON form
	return string(b)
}

// giveUp begins an action that cannot be done yet, and gives it up: by its
// deadline, or as a caller that goes.
func (t *tab) giveUp(byDeadline bool, params m) {
	t.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	if !byDeadline {
		cancel()
		ctx, cancel = context.WithCancel(context.Background())
	}
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- t.Call(ctx, "page.interact", t.with(params), nil) }()
	if !byDeadline {
		for range 20 { // so that it has begun
			t.js("1")
		}
		cancel()
	}
	select {
	case err := <-done:
		if err == nil {
			t.t.Fatalf("%v was done", params)
		}
	case <-time.After(patience):
		t.t.Fatalf("%v goes on after it was given up", params)
	}
}

func TestWhatWasGivenUpIsNotDoneLater(t *testing.T) {
	actions := map[string]struct {
		html, then, undone string
		action             m
	}{
		"select":                {`<select id="x"><option>1</select>`, `x.add(new Option('2'))`, `x.value === '1'`, m{"action": "select", "value": "2"}},
		"a date":                {`<input id="x" type="date" readonly>`, `x.readOnly = false`, `x.value === ''`, m{"action": "fill", "value": "2026-01-01"}},
		"fill":                  {`<input id="x" readonly value="old">`, `x.readOnly = false`, `x.value === 'old' && document.activeElement !== x`, m{"action": "fill", "value": "new"}},
		"type":                  {`<input id="x" disabled>`, `x.disabled = false`, `x.value === '' && document.activeElement !== x`, m{"action": "type", "value": "new"}},
		"focus":                 {`<button id="x" disabled>x</button>`, `x.disabled = false`, `document.activeElement !== x`, m{"action": "focus"}},
		"press":                 {`<input id="x" disabled>`, `x.disabled = false`, `x.value === '' && document.activeElement !== x`, m{"action": "key", "value": "a"}},
		"scroll":                {`<p style="height:3000px"></p><p id="x" hidden>x</p>`, `x.hidden = false`, `scrollY === 0`, m{"action": "scroll"}},
		"click":                 {`<button id="x" disabled onclick="window.clicked = true">x</button>`, `x.disabled = false`, `!window.clicked`, m{"action": "click"}},
		"check":                 {`<input id="x" type="checkbox" disabled>`, `x.disabled = false`, `!x.checked`, m{"action": "check"}},
		"one that is not there": {`<p id="w"></p>`, `w.innerHTML = '<select id="x"><option>1<option>2</select>'`, `x.value === '1'`, m{"action": "select", "value": "2"}},
	}
	tests := make(map[string]func(c *client))
	for name, a := range actions {
		for how, byDeadline := range map[string]bool{" at its deadline": true, " by its caller": false} {
			tests[name+how] = func(c *client) {
				p := c.page(a.html)
				params := m{"selector": "#x", "timeout_ms": 30000}
				for k, v := range a.action {
					params[k] = v
				}
				p.giveUp(byDeadline, params)
				p.js(a.then + "; 1")
				p.js("await new Promise((done) => setTimeout(done, 300))")
				p.is(a.undone, true)
			}
		}
	}
	tests["a click that a busy page comes to later"] = func(c *client) {
		p := c.page(`<button id="x" onclick="window.clicked = true" style="position:fixed;left:0;top:0;width:200px;height:80px">x</button>`)
		p.js(`addEventListener('mousemove', () => { for (const end = performance.now() + 2500; performance.now() < end;); }, {once: true}); 1`)
		p.giveUp(true, m{"selector": "#x", "action": "click", "timeout_ms": 30000})
		p.is("window.clicked === true", false)
		p.does("click", sel("#x"))
		p.is("window.clicked", true)
	}
	for name, a := range map[string]struct {
		html, undone string
		action       m
	}{
		"select":              {`<select id="x"><option>1<option>2</select>`, `x.value === '1'`, m{"action": "select", "value": "2", "selector": "#x"}},
		"a date":              {`<input id="x" type="date">`, `x.value === ''`, m{"action": "fill", "value": "2026-01-01", "selector": "#x"}},
		"focus":               {`<input id="x">`, `document.activeElement !== x`, m{"action": "focus", "selector": "#x"}},
		"blur":                {`<input id="x">`, `document.activeElement === x`, m{"action": "blur"}},
		"scroll":              {`<p style="height:3000px"></p><p id="x">x</p>`, `scrollY === 0`, m{"action": "scroll", "selector": "#x"}},
		"a key":               {`<input id="x">`, `x.value === ''`, m{"action": "key", "value": "a", "selector": "#x"}},
		"a key for the focus": {`<input id="x">`, `x.value === ''`, m{"action": "press", "value": "a"}},
		"fill":                {`<input id="x">`, `x.value === ''`, m{"action": "fill", "value": "a", "selector": "#x"}},
		"check":               {`<input id="x" type="checkbox">`, `!x.checked`, m{"action": "check", "selector": "#x"}},
	} {
		tests[name+", of a page that is busy when its caller goes"] = func(c *client) {
			p := c.page(a.html)
			if a.action["selector"] == nil {
				p.does("focus", sel("#x"))
			}
			p.js(`setTimeout(() => { for (const end = performance.now() + 2500; performance.now() < end;); }, 0); 1`)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(300*time.Millisecond, cancel)
			if err := p.Call(ctx, "page.interact", p.with(a.action), nil); err == nil {
				c.t.Error("it was done")
			}
			p.is(a.undone, true)
		}
	}
	tests["a wait for a function"] = func(c *client) {
		p := c.open("/pages/blank")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- c.Call(ctx, "page.wait", p.with(m{"function": "(window.looks = (window.looks || 0) + 1, false)", "timeout_ms": 30000}), nil)
		}()
		p.until(m{"function": "window.looks > 2"})
		cancel()
		<-done
		await(c.t, "the page looks no more", func() bool {
			return p.js("const before = looks; await new Promise((done) => setTimeout(done, 300)); return looks === before") == true
		})
	}
	group(t, "", tests)
}

// What a page saw of a drag.
const (
	let     = "log.some(e => e.type === 'pointerup')"
	dropped = "log.findLast(e => e.type === 'dropped')?.inside"
	onMove  = `let n = 0; ball.addEventListener('pointermove', (e) => { if (e.buttons && ++n === 1) { %s } }); 1`
)

// told gives an address that a page asks for, and what tells of each time.
func (c *client) told() (url string, begun <-chan struct{}) {
	c.t.Helper()
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	c.t.Cleanup(server.Close)
	return server.URL, asked
}

// goAfter begins an action, whose caller goes when it has begun.
func (t *tab) goAfter(begun <-chan struct{}, params m) {
	t.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- t.Call(ctx, "page.interact", t.with(params), nil) }()
	select {
	case <-begun:
	case err := <-done:
		t.t.Fatalf("it has ended before it began: %v", err)
	}
	cancel()
	if err := <-done; err == nil {
		t.t.Error("it was done")
	}
}

func TestADragThatFailsLetsGo(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"when its caller goes": func(c *client) {
			p := c.open("/pages/drag-pointer")
			url, begun := c.told()
			p.js(fmt.Sprintf(onMove, `fetch('`+url+`', {mode: 'no-cors'}); for (const end = performance.now() + 3000; performance.now() < end;);`))
			p.js("ball.onclick = () => { window.clicked = true }; 1")
			p.goAfter(begun, sel("#ball", "action", "drag", "to", m{"selector": "#goal"}))
			p.until(m{"function": let})
			p.is(dropped, false)
			p.is("window.clicked === true", false)
			p.does("drag", sel("#ball", "to", m{"selector": "#goal"}))
			p.is(dropped, true)
		},
		"when its caller goes in a drag of the browser's own": func(c *client) {
			url, begun := c.told()
			for _, event := range []string{"dragstart", "dragenter"} {
				p := c.page(`<div id=a draggable=true style="width:40px;height:40px;background:red"></div>` +
					`<div id=z style="width:40px;height:40px;background:blue" ondragover="event.preventDefault()" ondrop="window.drops = (window.drops || 0) + 1"></div>`)
				p.js(fmt.Sprintf(`addEventListener(%q, () => { fetch(%q, {mode: "no-cors"}); for (const end = performance.now() + 2000; performance.now() < end;); }, {once: true}); 1`, event, url))
				p.goAfter(begun, sel("#a", "action", "drag", "to", m{"selector": "#z"}))
				p.js("window.drops = 0; 1") // what was sent before cannot be taken back
				p.does("drag", sel("#a", "to", m{"selector": "#z"}))
				p.is("window.drops", 1)
			}
		},
	})
}

func TestADragThatADialogStopsLetsGo(t *testing.T) {
	group(t, `{"dialogs":"hold"}`, map[string]func(c *client){
		"when a dialog opens as the browser begins it": func(c *client) {
			for _, answer := range []bool{true, false} {
				p := c.page(`<div id=a draggable=true ondragstart="alert('Moved')" style="width:40px;height:40px;background:red"></div>` +
					`<div id=z style="width:40px;height:40px;background:blue" ondragover="event.preventDefault()" ondrop="window.drops = (window.drops || 0) + 1"></div>`)
				for range 2 {
					if out := p.does("drag", sel("#a", "to", m{"selector": "#z"})); out["dialog"] == nil || out["partly"] != true {
						c.t.Errorf("it gave %v", out)
					}
					var v any
					c.call("page.dialog", p.with(m{"accept": answer}), &v)
					p.is("window.drops", nil)
				}
				p.js("a.ondragstart = null; 1")
				p.does("drag", sel("#a", "to", m{"selector": "#z"}))
				p.is("window.drops", 1)
			}
		},
		"when several do, one after the other": func(c *client) {
			p := c.page(`<div id=a draggable=true style="width:40px;height:40px;background:red"></div>` +
				`<div id=z style="width:40px;height:40px;background:blue" ondragover="event.preventDefault()" ondrop="window.drops = (window.drops || 0) + 1"></div>`)
			for _, on := range []string{
				`a.ondragstart = () => { alert(1); alert(2); alert(3) }`, // before the browser has begun it
				`a.ondragstart = null; a.onmousedown = () => { a.onmousedown = null; alert(1) }; a.ondragstart = () => { alert(2); alert(3) }`,
				`a.ondragstart = () => alert(1); a.ondragend = () => { alert(2); alert(3); a.ondragend = null }`, // as it ends
			} {
				p.js(on + "; 1")
				if out := p.does("drag", sel("#a", "to", m{"selector": "#z"})); out["dialog"] == nil || out["partly"] != true {
					c.t.Errorf("it gave %v", out)
				}
				for range 3 {
					p.answers(m{"accept": true})
				}
				p.js("a.ondragstart = null; 1")
				p.does("drag", sel("#a", "to", m{"selector": "#z"}))
				p.is("window.drops", 1)
				p.js("window.drops = 0; 1")
			}
		},
		"when a dialog opens": func(c *client) {
			p := c.open("/pages/drag-pointer")
			p.js(fmt.Sprintf(onMove, `confirm('Move it?')`))
			if out := p.does("drag", sel("#ball", "to", m{"selector": "#goal"})); out["dialog"] == nil || out["partly"] != true {
				c.t.Errorf("it gave %v", out)
			}
			var v any
			c.call("page.dialog", p.with(m{"accept": true}), &v)
			p.until(m{"function": let})
			p.is(dropped, false)
			p.does("drag", sel("#ball", "to", m{"selector": "#goal"}))
			p.is(dropped, true)
		},
	})
}
