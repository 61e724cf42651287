package main

import "strings"

// histories are tests of going back and forth.
var histories = map[string]func(c *client){
	"history that a page writes is history": func(c *client) {
		p := c.open("/pages/pushstate")
		p.js("history.pushState(0, '', '/pages/pushstate/inner')")
		c.call("page.wait", p.with(map[string]any{"url": "/inner", "timeout_ms": 30000}), nil)
		if info := p.move("browser.back", nil); info.URI != site+"/pages/pushstate" || !*info.Moved {
			c.t.Errorf("back it is %+v", info)
		}
		if info := p.move("browser.forward", nil); info.URI != site+"/pages/pushstate/inner" || !*info.Moved {
			c.t.Errorf("forward it is %+v", info)
		}
		if info := p.move("browser.reload", nil); info.URI != site+"/pages/pushstate/inner" || info.Title != "Start" {
			c.t.Errorf("reloaded it is %+v", info)
		}
	},
	"the way back from an address that fails is there at once": func(c *client) {
		p := c.open("/pages/buttons")
		other := strings.Replace(site, "127.0.0.1", "localhost", 1)
		for range 5 {
			p.goTo(other+"/pages/form", nil)
			p.js("location.href = 'http://127.0.0.1:1/x'; 1")
			for range 10 {
				err := c.try("browser.back", p.with(m{"wait": "none"}), nil)
				if err != nil && !strings.Contains(err.Error(), "navigation_failed") { // as the page's own does meanwhile
					c.t.Fatal(err)
				}
			}
		}
	},
	"back and forward say when there is nothing": func(c *client) {
		p := c.open("about:blank")
		p.goTo("about:blank", nil) // a tab's first, empty page is replaced by the next one
		for range 2 {
			for _, method := range []string{"browser.back", "browser.forward"} {
				if info := p.move(method, nil); info.Moved == nil || *info.Moved || info.URI != "about:blank" {
					c.t.Errorf("%s: %+v", method, info)
				}
			}
		}
		p.goTo("/pages/buttons", nil)
		p.goTo("/status?code=404", nil)
		if info := p.move("browser.forward", nil); *info.Moved || info.URI != site+"/status?code=404" {
			c.t.Errorf("forward at the end: %+v", info)
		}
		if info := p.move("browser.back", nil); !*info.Moved || info.Title != "Buttons" || info.Status != 200 {
			c.t.Errorf("back: %+v", info)
		}
		if info := p.move("browser.forward", nil); !*info.Moved || info.Status != 404 {
			c.t.Errorf("forward: %+v", info)
		}
		p.move("browser.back", nil)
		if info := p.move("browser.back", nil); !*info.Moved || info.URI != "about:blank" {
			c.t.Errorf("at the start: %+v", info)
		}
		if info := p.move("browser.back", nil); *info.Moved {
			c.t.Errorf("before the start: %+v", info)
		}
	},
}
