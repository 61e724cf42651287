package browsertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/plugins/browser/browsertest"
)

// site is a running server of the pages and a client that follows nothing.
type site struct {
	*testing.T
	url    string
	client *http.Client
}

func serve(t *testing.T) site {
	s := httptest.NewServer(browsertest.Handler())
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	c := s.Client()
	c.Timeout = 20 * time.Second
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return site{t, s.URL, c}
}

func (s site) get(path string) (*http.Response, string) {
	s.Helper()
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatalf("%s: %v", path, err)
	}
	return resp, string(b)
}

func TestEveryPageIsServed(t *testing.T) {
	s := serve(t)
	names := browsertest.Pages()
	if len(names) < 80 {
		t.Fatalf("only %d pages", len(names))
	}
	title := regexp.MustCompile(`<title>[^<]+</title>`)
	// Nothing may be loaded from outside; link targets of other schemes are data.
	outside := regexp.MustCompile(`(?i)(src|href|action)=["']?https?:`)
	for _, name := range names {
		resp, body := s.get("/pages/" + name)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %s, %s", name, resp.Status, resp.Header.Get("Content-Type"))
		}
		if !strings.HasPrefix(body, "<!doctype html>\n<html lang=\"en\"") || !title.MatchString(body) {
			t.Errorf("%s has no doctype, language or title", name)
		}
		if !strings.Contains(body, "/pages/record.js") && !strings.Contains(body, "window.log") {
			t.Errorf("%s records nothing", name)
		}
		if m := outside.FindString(body); m != "" {
			t.Errorf("%s loads from outside: %s", name, m)
		}
		if resp, again := s.get("/pages/" + name + ".html"); resp.StatusCode != http.StatusOK || again != body {
			t.Errorf("%s.html is not %s", name, name)
		}
	}
}

// A page names others in its source: all of those must be there.
func TestEveryLinkOfEveryPageIsServed(t *testing.T) {
	s := serve(t)
	link := regexp.MustCompile(`['"(](/[a-z][a-z0-9./-]*)(?:[?#][^'"]*)?['"` + "`]")
	missing := map[string]bool{"/p/": true} // the list of links has made-up ends
	seen := map[string]bool{"/never": true, "/hang": true, "/drop": true, "/sse": true, "/download-cut": true, "/download-slow": true}
	for _, name := range browsertest.Pages() {
		_, body := s.get("/pages/" + name)
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			path := m[1]
			if seen[path] || missing[path] {
				continue
			}
			seen[path] = true
			if path == "/pages/sw/" {
				continue // the worker's folder
			}
			if resp, _ := s.get(path); resp.StatusCode >= 400 {
				t.Errorf("%s names %s: %s", name, path, resp.Status)
			}
		}
	}
	for _, path := range []string{"/pages/record.js", "/pages/worker.js", "/pages/frame-child", "/opener", "/submit"} {
		if !seen[path] {
			t.Errorf("no page names %s: the links are not found", path)
		}
	}
}

func TestScriptsAreJavaScript(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/pages/record.js", "/pages/worker.js", "/pages/sw/worker.js"} {
		resp, _ := s.get(path)
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %s, %s", path, resp.Status, got)
		}
	}
}

func TestRoutes(t *testing.T) {
	tests := []struct {
		path   string
		code   int
		header string // "Name: value"
		body   string // a part of it
	}{
		{"/pages/nothing", 404, "", "no such page"},
		{"/pages/../pages.go", 307, "Location: /pages.go", ""},
		{"/pages/pushstate/inner", 200, "", "OLD"},
		{"/slow?ms=1&body=hello", 200, "Content-Type: text/plain", "hello"},
		{"/redirect", 302, "Location: /pages/blank", ""},
		{"/redirect?n=3&code=307&to=/x", 307, "Location: /redirect?code=307&n=2&to=%2Fx", ""},
		{"/redirect?code=200", 400, "", "300 to 308"},
		{"/redirect-loop", 302, "Location: /redirect-loop", ""},
		{"/status?code=503", 503, "Content-Type: text/html; charset=utf-8", "Status 503"},
		{"/status?code=204", 204, "", ""},
		{"/status?code=1", 400, "", "200 to 999"},
		{"/status?type=image/png&body=x", 200, "Content-Type: image/png", "x"},
		{"/download?name=a%20b.txt&bytes=10", 200, `Content-Disposition: attachment; filename="a b.txt"`, strings.Repeat("\x00", 10)},
		{"/download-slow?ms=20&bytes=100", 200, "Content-Length: 100", ""},
		{"/download?bytes=0", 200, "Content-Length: 0", ""},
		{"/auth", 401, `Www-Authenticate: Basic realm="vant", charset="UTF-8"`, ""},
		{"/headers?a=b", 200, "Content-Type: application/json", `"url":"/headers?a=b"`},
		{"/submit?a=b", 200, "", "&#34;a&#34;:[&#34;b&#34;]"},
		{"/set-cookie?name=n&value=v&max_age=5&same_site=strict&http_only=true", 200, "Set-Cookie: n=v; Path=/; Max-Age=5; HttpOnly; SameSite=Strict", ""},
		{"/csp", 200, "X-Content-Type-Options: ", "Strict policy"},
		{"/opener", 200, "Cross-Origin-Opener-Policy: ", "Opened"},
		{"/opener?coop=1", 200, "Cross-Origin-Opener-Policy: same-origin", "Opened"},
		{"/frame-deny", 200, "X-Frame-Options: DENY", ""},
		{"/broken-utf8", 200, "", "\xff"},
		{"/beacon", 204, "Cache-Control: no-store", ""},
		{"/elsewhere", 404, "", ""},
	}
	s := serve(t)
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			resp, body := site{t, s.url, s.client}.get(tt.path)
			if resp.StatusCode != tt.code {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.code)
			}
			if name, want, _ := strings.Cut(tt.header, ": "); resp.Header.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, resp.Header.Get(name), want)
			}
			if !strings.Contains(body, tt.body) {
				t.Errorf("body %.200q has no %q", body, tt.body)
			}
		})
	}
}

func TestStrictPolicyAllowsNoScriptOfOthers(t *testing.T) {
	resp, body := serve(t).get("/csp")
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(body, `nonce="vant"`) {
		t.Errorf("policy %q", policy)
	}
}

func TestBigIsAsBigAsAsked(t *testing.T) {
	if _, body := serve(t).get("/big?mb=3"); len(body) != 3<<20 {
		t.Errorf("%d bytes", len(body))
	}
}

func TestBasicAuthorisation(t *testing.T) {
	s := serve(t)
	for _, tt := range []struct {
		user, password string
		want           int
	}{{"vant", "secret", 200}, {"vant", "wrong", 401}, {"", "", 401}} {
		r, err := http.NewRequest(http.MethodGet, s.url+"/auth", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(tt.user, tt.password)
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s:%s gets %d, want %d", tt.user, tt.password, resp.StatusCode, tt.want)
		}
	}
}

func TestSubmitShowsFieldsAndFiles(t *testing.T) {
	s := serve(t)
	const body = "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi <b>\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"up\"; filename=\"a.txt\"\r\n\r\nabc\r\n--b--\r\n"
	resp, err := s.client.Post(s.url+"/submit", "multipart/form-data; boundary=b", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(b), `<pre id="data">`)
	data, _, _ = strings.Cut(data, "</pre>")
	var got struct {
		Method string
		Fields map[string][]string
		Files  []struct {
			Field, Name string
			Size        int
		}
	}
	data = strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(data)
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	if diff := cmp.Diff(map[string][]string{"note": {"hi <b>"}}, got.Fields); diff != "" || got.Method != "POST" {
		t.Error(got.Method, diff)
	}
	if len(got.Files) != 1 || got.Files[0].Name != "a.txt" || got.Files[0].Size != 3 || got.Files[0].Field != "up" {
		t.Errorf("files %+v", got.Files)
	}
}

func TestWhatNeverEndsEndsWithItsRequest(t *testing.T) {
	for path, answers := range map[string]bool{"/never": true, "/sse": true, "/hang": false, "/slow?ms=60000": false, "/download-slow?ms=60000": true} {
		t.Run(path, func(t *testing.T) {
			ended := make(chan struct{})
			h := browsertest.Handler()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				h.ServeHTTP(w, r)
			}))
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.Client().Do(r)
			if (err == nil) != answers {
				t.Fatalf("answer %v, want one: %v", err, answers)
			}
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the handler goes on without its client")
			}
		})
	}
}

func TestBrokenAnswersBreak(t *testing.T) {
	s := serve(t)
	if resp, err := s.client.Get(s.url + "/drop"); err == nil {
		resp.Body.Close()
		t.Error("/drop answered")
	}
	resp, err := s.client.Get(s.url + "/download-cut")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || n == 0 || n >= resp.ContentLength {
		t.Errorf("got %d of %d bytes, error %v", n, resp.ContentLength, err)
	}
}

func TestCookieParametersSurviveEscaping(t *testing.T) {
	resp, _ := serve(t).get("/set-cookie?" + url.Values{"name": {"a"}, "value": {"x y"}, "path": {"/p"}}.Encode())
	if got := resp.Header.Get("Set-Cookie"); got != `a="x y"; Path=/p` {
		t.Error(got)
	}
}
