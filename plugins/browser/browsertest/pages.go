// Package browsertest is what the browser plugin's tests stand on.
//
// # Pages
//
// The folder pages holds one behaviour a page: covered buttons, dialogs,
// frames of every kind, pages that never come to rest, and others that drivers
// are known to fail at. [Handler] serves them with the routes below;
// [Pages] lists their names. All of them take events into window.log through
// /pages/record.js, as {type, isTrusted, x, y, button, key, target, …}; what a
// page itself notices is in the same array under a name of its own. A page
// that needs another site finds this server under its other name, localhost
// for 127.0.0.1 and the reverse, with the port of ?port= or its own.
//
//	/pages/NAME            a page, with or without .html; /pages/record.js, …
//	/slow?ms=&type=&body=  answers after a while
//	/never                 begins an answer and never ends it
//	/hang                  never answers at all
//	/drop                  closes the connection without an answer
//	/redirect?n=&to=&code= n redirects, then to (default /pages/blank)
//	/redirect-loop         redirects to itself
//	/status?code=&type=&body=
//	/download?name=&bytes= an attachment; /download-slow?ms= takes that long,
//	                       /download-cut breaks off in the middle
//	/auth?to=              HTTP basic, user vant, password secret
//	/sse                   an event every 100 ms
//	/headers               the request as JSON: method, url, host, headers, body
//	/submit                a form's fields and files as a page, and as JSON in #data
//	/set-cookie?name=&value=&path=&domain=&max_age=&same_site=&secure=&http_only=
//	/big?mb=&type=         so many MiB
//	/csp                   a page under a strict content security policy
//	/opener?coop=          a page to be opened: tells its opener, closes itself
//	/frame-deny            a page that refuses to be framed
//	/broken-utf8           a page that is not the UTF-8 it says it is
//	/beacon                takes anything, answers nothing
//
// Whatever waits ends with its request, and after a minute in any case. A
// server that is closed while a page still waits must close its clients'
// connections first ([net/http/httptest.Server.CloseClientConnections]).
package browsertest

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed pages
var files embed.FS

const longest = time.Minute // that anything waits

// Pages gives the names of all pages, in order.
func Pages() []string {
	var names []string
	found, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, f := range found {
		names = append(names, strings.TrimSuffix(path.Base(f), ".html"))
	}
	return names
}

// Handler serves the pages and the routes of the package comment.
func Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /pages/{file...}":       page,
		"GET /pages/pushstate/inner": func(w http.ResponseWriter, _ *http.Request) { send(w, "pages/pushstate.html") },
		"/slow":                      slow,
		"/never":                     never,
		"/hang":                      hang,
		"/drop":                      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/redirect":                  redirect,
		"/redirect-loop":             func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/redirect-loop", http.StatusFound) },
		"/status":                    status,
		"/download":                  download,
		"/download-slow":             download,
		"/download-cut":              downloadCut,
		"/auth":                      auth,
		"/sse":                       events,
		"/headers":                   headers,
		"POST /submit":               submit,
		"GET /submit":                submit,
		"/set-cookie":                setCookie,
		"/big":                       big,
		"/csp":                       csp,
		"/opener":                    opener,
		"/frame-deny":                frameDeny,
		"/broken-utf8":               brokenUTF8,
		"/beacon":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	} {
		mux.HandleFunc(pattern, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, 64<<20)
		mux.ServeHTTP(w, r)
	})
}

func page(w http.ResponseWriter, r *http.Request) {
	name := "pages/" + r.PathValue("file")
	if path.Ext(name) == "" {
		name += ".html"
	}
	send(w, name)
}

func send(w http.ResponseWriter, name string) {
	b, err := files.ReadFile(name)
	if err != nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	put(w, b)
}

// put writes and flushes, and tells whether the client is still there.
func put(w http.ResponseWriter, b []byte) bool {
	if _, err := w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// wait tells whether the time passed before the request's end.
func wait(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(min(d, longest))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// number reads a parameter, within bounds; without one it is the default.
func number(r *http.Request, name string, def, most int) int {
	n, err := strconv.Atoi(r.FormValue(name))
	if err != nil {
		n = def
	}
	return max(0, min(n, most))
}

func text(r *http.Request, name, def string) string {
	if s := r.FormValue(name); s != "" {
		return s
	}
	return def
}

func ms(r *http.Request, def int) time.Duration {
	return time.Duration(number(r, "ms", def, int(longest/time.Millisecond))) * time.Millisecond
}

func document(title, body string) string {
	return "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>" + html.EscapeString(title) +
		"</title>\n<script src=\"/pages/record.js\"></script>\n" + body + "\n"
}

func slow(w http.ResponseWriter, r *http.Request) {
	if !wait(r, ms(r, 1000)) {
		return
	}
	w.Header().Set("Content-Type", text(r, "type", "text/plain"))
	put(w, []byte(text(r, "body", "slow")))
}

func never(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", text(r, "type", "text/html; charset=utf-8"))
	// Enough for the parser to show what is there already.
	if put(w, []byte(document("Never", `<h1>Never</h1><button id="here">Here</button>`+strings.Repeat(" ", 4096)))) {
		wait(r, longest)
	}
	panic(http.ErrAbortHandler) // an answer that ends well would be an end
}

func hang(_ http.ResponseWriter, r *http.Request) {
	wait(r, longest)
	panic(http.ErrAbortHandler)
}

func redirect(w http.ResponseWriter, r *http.Request) {
	code := number(r, "code", http.StatusFound, http.StatusPermanentRedirect)
	if code < 300 {
		http.Error(w, "code must be 300 to 308", http.StatusBadRequest)
		return
	}
	to, n := text(r, "to", "/pages/blank"), number(r, "n", 1, 1000)
	if n > 1 {
		q := url.Values{"n": {strconv.Itoa(n - 1)}, "to": {to}, "code": {strconv.Itoa(code)}}
		to = "/redirect?" + q.Encode()
	}
	http.Redirect(w, r, to, code)
}

func status(w http.ResponseWriter, r *http.Request) {
	code := number(r, "code", http.StatusOK, 999)
	if code < 200 {
		http.Error(w, "code must be 200 to 999", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", text(r, "type", "text/html; charset=utf-8"))
	w.WriteHeader(code)
	if code != http.StatusNoContent && code != http.StatusNotModified {
		put(w, []byte(text(r, "body", document("Status "+strconv.Itoa(code), "<h1>Status "+strconv.Itoa(code)+"</h1>"))))
	}
}

func attach(w http.ResponseWriter, r *http.Request, length int) {
	w.Header().Set("Content-Type", text(r, "type", "application/octet-stream"))
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": text(r, "name", "file.bin")}))
	w.Header().Set("Content-Length", strconv.Itoa(length))
}

// download sends an attachment in twenty parts, evenly over its time.
func download(w http.ResponseWriter, r *http.Request) {
	length, took := number(r, "bytes", 1000, 1<<30), ms(r, 0)
	if r.URL.Path == "/download-slow" && r.FormValue("ms") == "" {
		took = 5 * time.Second
	}
	attach(w, r, length)
	part := make([]byte, length/20+1)
	for left := length; left > 0; left -= len(part) {
		if !put(w, part[:min(left, len(part))]) || !wait(r, took/20) {
			return
		}
	}
}

func downloadCut(w http.ResponseWriter, r *http.Request) {
	attach(w, r, 1<<20)
	put(w, make([]byte, 1<<19))
	wait(r, 100*time.Millisecond) // so that the first half arrives before the break
	panic(http.ErrAbortHandler)
}

func auth(w http.ResponseWriter, r *http.Request) {
	if user, password, ok := r.BasicAuth(); !ok || user != "vant" || password != "secret" {
		w.Header().Set("WWW-Authenticate", `Basic realm="vant", charset="UTF-8"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if to := r.FormValue("to"); to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	put(w, []byte(document("Let in", "<h1>Let in</h1>")))
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for n := range int(longest / (100 * time.Millisecond)) {
		if !put(w, fmt.Appendf(nil, "id: %d\ndata: event %d\n\n", n, n)) || !wait(r, 100*time.Millisecond) {
			return
		}
	}
}

func headers(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	b, err := json.Marshal(map[string]any{
		"method": r.Method, "url": r.URL.String(), "host": r.Host, "headers": r.Header, "body": string(body),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	put(w, b)
}

func submit(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(64 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type file struct {
		Field string `json:"field"`
		Name  string `json:"name"`
		Size  int64  `json:"size"`
	}
	sent := struct {
		Method string     `json:"method"`
		Fields url.Values `json:"fields"`
		Files  []file     `json:"files"`
	}{r.Method, r.Form, []file{}}
	if r.MultipartForm != nil {
		for field, all := range r.MultipartForm.File {
			for _, f := range all {
				sent.Files = append(sent.Files, file{field, f.Filename, f.Size})
			}
		}
	}
	b, err := json.Marshal(sent)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	put(w, []byte(document("Sent", `<h1>Sent</h1><pre id="data">`+html.EscapeString(string(b))+`</pre>`)))
}

func setCookie(w http.ResponseWriter, r *http.Request) {
	sites := map[string]http.SameSite{"lax": http.SameSiteLaxMode, "strict": http.SameSiteStrictMode, "none": http.SameSiteNoneMode}
	http.SetCookie(w, &http.Cookie{
		Name: text(r, "name", "vant"), Value: text(r, "value", "1"), Path: text(r, "path", "/"), Domain: r.FormValue("domain"),
		MaxAge: number(r, "max_age", 0, 1<<31-1), SameSite: sites[strings.ToLower(r.FormValue("same_site"))],
		Secure: r.FormValue("secure") == "true", HttpOnly: r.FormValue("http_only") == "true",
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	put(w, []byte(document("Cookie set", "<h1>Cookie set</h1>")))
}

func big(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", text(r, "type", "text/plain; charset=utf-8"))
	mib := []byte(strings.Repeat(strings.Repeat("big ", 15)+"end\n", 1<<14))
	for range number(r, "mb", 1, 1024) {
		if !put(w, mib) {
			return
		}
	}
}

func csp(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; script-src 'nonce-vant'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	send(w, "pages/csp.html")
}

func opener(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("coop") != "" {
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	send(w, "pages/opener.html")
}

func frameDeny(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Frame-Options", "DENY")
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
	send(w, "pages/frame-child.html")
}

func brokenUTF8(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	put(w, []byte(document("Broken \xff\xc3\x28 title", "<button id=\"here\">Broken \xf0\x28\x8c\xbc \xed\xa0\x80 bytes</button>")))
}
