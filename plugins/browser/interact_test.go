package main

import "testing"

func TestClicks(t *testing.T) {
	group(t, "", map[string]func(c *client){
		"a click is trusted, in the order of a person's, and happens once": func(c *client) {
			p := c.open("/pages/buttons")
			out := p.do("click", map[string]any{"ref": p.ref("button", "Clicked 0")})
			if out["ok"] != true {
				c.t.Errorf("it gave %v", out)
			}
			got := p.js(`log.filter(e => /pointer|mouse|click/.test(e.type)).map(e => e.type + ' ' + e.isTrusted).join()`)
			if want := "pointerdown true,mousedown true,pointerup true,mouseup true,click true"; got != want {
				c.t.Errorf("the page saw %v", got)
			}
		},
		"a button that moves after the check is clicked where it is": func(c *client) {
			p := c.open("/pages/move-after-check")
			c.t.Logf("%v", p.snapshot(nil))
		},
	})
}
