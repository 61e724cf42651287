package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// site serves the pages of all sides.
type site struct{ server *httptest.Server }

// pages are their names and the elements that a snapshot of each has.
var pages = []struct {
	name     string
	elements int
}{{"form", 11}, {"big500", 500}, {"big5000", 5000}}

func serve() *site {
	mux := http.NewServeMux()
	for _, p := range pages {
		html := form
		if p.name != "form" {
			html = orders(p.elements / 5)
		}
		mux.HandleFunc("/"+p.name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(html)) // the browser may have gone away
		})
	}
	return &site{httptest.NewServer(mux)}
}

func (s *site) url(page string) string { return s.server.URL + "/" + page }

func (s *site) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.server.CloseClientConnections() // a browser keeps its ones
	err := s.server.Config.Shutdown(ctx)
	s.server.Close()
	return err
}

// form has 11 elements. #press counts its clicks in clicks.
const form = `<!doctype html><html lang="en"><title>Form</title>
<style>body{font:16px sans-serif;margin:24px} label{display:block;margin:4px 0}</style>
<nav><a href="/form">Home</a> <a href="/big500">Orders</a></nav>
<form onsubmit="return false">
<label>Name <input id="name" name="name"></label>
<label>E-mail <input name="email" type="email"></label>
<label>Comment <textarea name="comment"></textarea></label>
<label><input type="checkbox" name="news"> Newsletter</label>
<label><input type="checkbox" name="terms"> Terms accepted</label>
<label><input type="radio" name="size" value="s"> Small</label>
<label><input type="radio" name="size" value="l"> Large</label>
<button id="press" type="button" onclick="clicks++">Save</button>
<button type="reset">Reset</button>
</form>
<script>var clicks = 0</script>`

// orders has five elements a row: the first are as those of form, so that a
// click and a fill find their targets on each page.
func orders(rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="en"><title>%d orders</title>
<style>body{font:14px sans-serif} .row{display:flex;gap:8px;padding:2px 8px;border-bottom:1px solid #ddd}</style>
<script>var clicks = 0</script>`, rows)
	for i := range rows {
		press, name := "", ""
		if i == 0 {
			press, name = ` id="press" onclick="clicks++"`, ` id="name"`
		}
		fmt.Fprintf(&b, `<div class="row"><span>%d</span><a href="#order-%d">Order %d</a><span>Customer %d, a text that no one clicks</span>`+
			`<label>Note %d <input%s></label><label><input type="checkbox"> Paid %d</label>`+
			`<button type="button"%s>Save %d</button><button type="button">Delete %d</button></div>`+"\n", i, i, i, i, i, name, i, press, i, i)
	}
	return b.String()
}
