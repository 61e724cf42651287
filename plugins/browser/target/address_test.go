package target

import "testing"

func TestAddressesAreKeptWithoutLogins(t *testing.T) {
	for url, want := range map[string]string{
		"http://user:secret@a.example/x":      "http://a.example/x",
		"https://user@a.example":              "https://a.example",
		"http://:secret@a.example:80/":        "http://a.example:80/",
		"http://a@b:secret@c.example/?x#y":    "http://c.example/?x#y",
		`http://user:secret@a.example\x@y`:    `http://a.example\x@y`,
		"blob:http://user:secret@a.example/b": "blob:http://a.example/b",
		"http://a.example/@x":                 "http://a.example/@x",
		"http://a.example?u=me@b.example":     "http://a.example?u=me@b.example",
		"http://a.example#me@b.example":       "http://a.example#me@b.example",
		"http://[::1]:8000/":                  "http://[::1]:8000/",
		"about:blank":                         "about:blank",
		"data:text/plain,a@b":                 "data:text/plain,a@b",
		"file:///folder/a@b.html":             "file:///folder/a@b.html",
		"":                                    "",
	} {
		if got := bare(url); got != want {
			t.Errorf("%q is kept as %q; want %q", url, got, want)
		}
	}
}
