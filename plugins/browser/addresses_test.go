package main

import (
	"strings"
)

// addresses are tests of what is an address.
var addresses = map[string]func(c *client){
	"addresses that are no web page are refused": func(c *client) {
		p := c.open("/pages/buttons")
		for code, urls := range map[string][]string{
			"navigation_rejected": {
				"file:///etc/passwd", "javascript:alert(1)", "JavaScript:alert(1)", " java\nscript:alert(1)", "data:text/html,<h1>x</h1>", "chrome://version",
				"chrome://crash", "view-source:" + site, "blob:" + site + "/x", "about:version", "about:srcdoc", "no such words", "word", "", "ftp://example.com/",
				"ws://example.com/", "http://", "http://a b/", "http://example.com:99999/", "devtools://devtools/bundled/inspector.html", "chrome-extension://x/y.html",
			},
			"navigation_external": {"mailto:ann@example.com", "tel:+1", "sms:1", "magnet:?xt=urn:btih:0", "MAILTO:x@example.com"},
		} {
			for _, url := range urls {
				for _, method := range []string{"browser.navigate", "browser.tab.new", "browser.window.new"} {
					if url == "" && method != "browser.navigate" {
						continue // an empty tab
					}
					c.refused(code, method, map[string]any{"uri": url})
				}
			}
		}
		if info := p.info(); info.Title != "Buttons" {
			c.t.Errorf("the tab is %+v", info)
		}
		if list := p.published("tab_id", p.id, "page.load"); len(list) != 3 {
			c.t.Errorf("%d loads are told", len(list))
		}
	},
	"addresses are completed": func(c *client) {
		p := c.open("/pages/blank")
		port := site[strings.LastIndex(site, ":"):]
		for typed, want := range map[string]string{
			"localhost" + port + "/pages/buttons":             "http://localhost" + port + "/pages/buttons",
			"127.0.0.1" + port + "/pages/buttons":             site + "/pages/buttons",
			"HTTP://127.1" + port + "/pages/../pages/buttons": site + "/pages/buttons",
			" " + site + "/pages/but\ntons ":                  site + "/pages/buttons",
		} {
			if info := p.goTo(typed, nil); info.URI != want || info.Title != "Buttons" {
				c.t.Errorf("%q: %+v", typed, info)
			}
		}
	},
}
