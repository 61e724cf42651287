package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// params gives parameters with the defaults that the SDK fills in.
func params(url string, change ...func(*Params)) Params {
	p := Params{URL: url, Method: "GET", TimeoutMS: 15000, DeadlineMS: 28000, MaxBytes: 1 << 20}
	for _, c := range change {
		c(&p)
	}
	return p
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// raw serves one connection after another by hand.
func raw(t *testing.T, serve func(net.Conn, *bufio.Reader)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(c, bufio.NewReader(c))
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return "http://" + ln.Addr().String()
}

func readHead(r *bufio.Reader) string {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String()
		}
	}
}

func kindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Kind(fmt.Sprintf("not an *Error: %T %v", err, err))
}

func text1(s string) *string { return &s }

func TestErrorStatusIsAnAnswer(t *testing.T) {
	c := client(t, Options{})
	for _, status := range []int{200, 204, 304, 404, 500} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		res, err := c.Fetch(t.Context(), params(url))
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != status || res.OK != (status/100 == 2) {
			t.Errorf("status %d ok %v, want %d", res.Status, res.OK, status)
		}
	}
}

func TestNothingIsSentThatWasNotAskedFor(t *testing.T) {
	heads := make(chan string, 1)
	url := raw(t, func(c net.Conn, r *bufio.Reader) {
		heads <- readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b\r\n\r\n")
	})
	c := client(t, Options{})
	for range 2 { // the second would carry the cookie
		if _, err := c.Fetch(t.Context(), params(url+"/p?q=1#frag")); err != nil {
			t.Fatal(err)
		}
		want := "GET /p?q=1 HTTP/1.1\r\nHost: " + strings.TrimPrefix(url, "http://") + "\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n"
		if diff := cmp.Diff(want, <-heads); diff != "" {
			t.Errorf("request head (-want +got):\n%s", diff)
		}
	}
}

func TestHeadersGoOutAsGiven(t *testing.T) {
	got := make(chan *http.Request, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { r.Body = http.NoBody; got <- r })
	_, err := client(t, Options{}).Fetch(t.Context(), params(url, func(p *Params) {
		p.Method = "PURGE"
		p.Headers = map[string]string{"host": "other.example", "user-agent": "mine", "x-a": "1", "Idempotency-Key": "k", "Accept-Encoding": "identity"}
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.Method != "PURGE" || r.Host != "other.example" || r.UserAgent() != "mine" || r.Header.Get("X-A") != "1" ||
		r.Header.Get("Idempotency-Key") != "k" || r.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("got %s %s %v", r.Method, r.Host, r.Header)
	}
}

func TestBodies(t *testing.T) {
	type seen struct{ Type, Body string }
	got := make(chan seen, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- seen{r.Header.Get("Content-Type"), string(b)}
	})
	tests := []struct {
		name   string
		change func(*Params)
		want   seen
	}{
		{"text, exact bytes", func(p *Params) { p.Body = text1("a\r\nö") }, seen{"application/octet-stream", "a\r\nö"}},
		{"base64", func(p *Params) { p.BodyBase64 = text1(base64.StdEncoding.EncodeToString([]byte{0, 255, 10})) }, seen{"application/octet-stream", "\x00\xff\n"}},
		{"the caller's type stays", func(p *Params) {
			p.Body, p.Headers = text1("{}"), map[string]string{"content-type": "application/json"}
		}, seen{"application/json", "{}"}},
		{"a right length is accepted", func(p *Params) { p.Body, p.Headers = text1("abc"), map[string]string{"Content-Length": "3"} }, seen{"application/octet-stream", "abc"}},
		{"an empty body is a body", func(p *Params) { p.Body = text1("") }, seen{"application/octet-stream", ""}},
		{"none", func(p *Params) {}, seen{"", ""}},
	}
	c := client(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := c.Fetch(t.Context(), params(url, func(p *Params) { p.Method = "POST" }, tt.change)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, <-got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadParametersSendNothing(t *testing.T) {
	var hits atomic.Int32
	url := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	secret := "s3cret"
	header := func(k, v string) func(*Params) { return func(p *Params) { p.Headers = map[string]string{k: v} } }
	tests := []struct {
		name    string
		pointer string
		change  func(*Params)
	}{
		{"another scheme", "/url", func(p *Params) { p.URL = "ftp://example.com" }},
		{"file", "/url", func(p *Params) { p.URL = "file:///etc/passwd" }},
		{"no scheme", "/url", func(p *Params) { p.URL = "example.com" }},
		{"no host", "/url", func(p *Params) { p.URL = "http://" }},
		{"no host but a port", "/url", func(p *Params) { p.URL = "http://:80/" }},
		{"port out of range", "/url", func(p *Params) { p.URL = "http://localhost:99999/" }},
		{"broken escape with a password", "/url", func(p *Params) { p.URL = "http://u:" + secret + "@h/%zz" + secret }},
		{"control character", "/url", func(p *Params) { p.URL = url + "/\x00" }},
		{"method", "/method", func(p *Params) { p.Method = "GET /" }},
		{"header name with a line break", "/headers", header("X-A\r\nX-B", "1")},
		{"header name with NUL", "/headers", header("X\x00", "1")},
		{"empty header name", "/headers", header("", "1")},
		{"header value with a line break", "/headers/X-A", header("X-A", secret+"\r\nX-B: 1")},
		{"header value with NUL", "/headers/Authorization", header("Authorization", secret+"\x00")},
		{"wrong length", "/headers/content-length", header("content-length", "12")},
		{"transfer encoding", "/headers/Transfer-Encoding", header("Transfer-Encoding", "chunked")},
		{"host with a space", "/headers/Host", header("Host", "a b")},
		{"two bodies", "/body_base64", func(p *Params) { p.Body, p.BodyBase64 = text1("a"), text1("YQ==") }},
		{"bad base64", "/body_base64", func(p *Params) { p.BodyBase64 = text1(secret + "*") }},
		{"relative path", "/path", func(p *Params) { p.Path = "x" }},
	}
	c := client(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Fetch(t.Context(), params(url, tt.change))
			var pe *ParamError
			if !errors.As(err, &pe) {
				t.Fatalf("got %v, want a *ParamError", err)
			}
			if !strings.HasPrefix(pe.Error(), tt.pointer+":") {
				t.Errorf("error %q, want pointer %s", pe, tt.pointer)
			}
			if strings.Contains(pe.Error(), secret) {
				t.Errorf("error %q repeats a value", pe)
			}
		})
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were sent", hits.Load())
	}
}

func TestFailuresBelowHTTP(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = nil
	defer untrusted.Close()
	tests := []struct {
		name string
		url  string
		want Kind
	}{
		{"refused", "http://" + closed.Addr().String(), KindConnect},
		{"no such name", "http://nowhere.invalid/", KindDNS},
		{"unknown certificate", untrusted.URL, KindTLS},
		{"TLS to a plain server", strings.Replace(raw(t, func(c net.Conn, r *bufio.Reader) { io.WriteString(c, "hello\r\n\r\n") }), "http:", "https:", 1), KindTLS},
		{"closed without an answer", raw(t, func(c net.Conn, r *bufio.Reader) { readHead(r) }), KindProtocol},
		{"not HTTP", raw(t, func(c net.Conn, r *bufio.Reader) { readHead(r); io.WriteString(c, "SSH-2.0-x\r\n") }), KindProtocol},
		{"reset", raw(t, func(c net.Conn, r *bufio.Reader) { readHead(r); c.(*net.TCPConn).SetLinger(0) }), KindConnect},
		{"head too large", raw(t, func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 1<<20)+"\r\n\r\n")
		}), KindProtocol},
		{"body cut off", raw(t, func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		}), KindBody},
		{"body that is no gzip", raw(t, func(c net.Conn, r *bufio.Reader) {
			readHead(r)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")
		}), KindBody},
	}
	c := client(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Fetch(t.Context(), params(tt.url+"/?token=s3cret", func(p *Params) { p.Headers = map[string]string{"Authorization": "Bearer s3cret"} }))
			if got := kindOf(err); got != tt.want {
				t.Errorf("kind %s (%v), want %s", got, err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %q repeats a secret", err)
			}
		})
	}
}

func TestSilenceEndsAtTimeout(t *testing.T) {
	quit := make(chan struct{})
	defer close(quit)
	tests := []struct{ name, sent string }{
		{"before the answer", ""},
		{"inside the body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := raw(t, func(c net.Conn, r *bufio.Reader) {
				readHead(r)
				io.WriteString(c, tt.sent)
				io.Copy(io.Discard, r) // until the client goes
			})
			begun := time.Now()
			_, err := client(t, Options{}).Fetch(t.Context(), params(url, func(p *Params) { p.TimeoutMS = 100 }))
			if kindOf(err) != KindTimeout || !strings.Contains(err.Error(), "timeout_ms (100)") {
				t.Errorf("got %v", err)
			}
			if d := time.Since(begun); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestBytesKeepAnExchangeAliveUntilTheDeadline(t *testing.T) {
	url := raw(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
		}
	})
	begun := time.Now()
	_, err := client(t, Options{}).Fetch(t.Context(), params(url, func(p *Params) { p.TimeoutMS, p.DeadlineMS = 200, 600 }))
	if kindOf(err) != KindTimeout || !strings.Contains(err.Error(), "deadline_ms (600)") {
		t.Errorf("got %v", err)
	}
	if d := time.Since(begun); d < 500*time.Millisecond {
		t.Errorf("ended after %v although bytes kept coming", d)
	}
	var e *Error
	if errors.As(err, &e) && e.Status != 200 {
		t.Errorf("status %d, want the one that had come", e.Status)
	}
}

func TestCallersCancellationIsItsOwn(t *testing.T) {
	url := raw(t, func(c net.Conn, r *bufio.Reader) { readHead(r); io.Copy(io.Discard, r) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client(t, Options{}).Fetch(ctx, params(url)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestBodyLimits(t *testing.T) {
	body := ""
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, body)
	})
	tests := []struct {
		name, path, body string
		max              int
		want             Result
	}{
		{"exactly the limit", "/", "abcd", 4, Result{Body: "abcd", BodyEncoding: "text", Bytes: 4}},
		{"one more, length known", "/", "abcde", 4, Result{Body: "abcd", BodyEncoding: "text", Truncated: true, Bytes: 5}},
		{"one more, length unknown", "/chunked", "abcde", 4, Result{Body: "abcd", BodyEncoding: "text", Truncated: true, Bytes: 4}},
		{"cut inside a character", "/", "abc€", 5, Result{Body: "abc", BodyEncoding: "text", Truncated: true, Bytes: 6}},
		{"cut after a character", "/", "ab€c", 5, Result{Body: "ab€", BodyEncoding: "text", Truncated: true, Bytes: 6}},
		{"binary", "/", "\xff\x00", 4, Result{Body: "/wA=", BodyEncoding: "base64", Bytes: 2}},
		{"unfinished character at the end", "/", "ab\xe2\x82", 9, Result{Body: "YWLigg==", BodyEncoding: "base64", Bytes: 4}},
		{"empty", "/", "", 4, Result{BodyEncoding: "text"}},
	}
	c := client(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body = tt.body
			res, err := c.Fetch(t.Context(), params(url+tt.path, func(p *Params) { p.MaxBytes = tt.max }))
			if err != nil {
				t.Fatal(err)
			}
			got := Result{Body: res.Body, BodyEncoding: res.BodyEncoding, Truncated: res.Truncated, Bytes: res.Bytes}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestControlTextThatWouldSwellTravelsInBase64(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 4<<20)) })
	res, err := client(t, Options{}).Fetch(t.Context(), params(url, func(p *Params) { p.MaxBytes = 4 << 20 }))
	if err != nil {
		t.Fatal(err)
	}
	if res.BodyEncoding != "base64" || res.Bytes != 4<<20 || res.Truncated {
		t.Errorf("encoding %s, %d bytes, truncated %v", res.BodyEncoding, res.Bytes, res.Truncated)
	}
}

func TestCompressionIsUndoneOnlyWhenWeAskedForIt(t *testing.T) {
	plain := strings.Repeat("hello ", 1000)
	encode := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z },
	}
	for coding, open := range encode {
		t.Run(coding, func(t *testing.T) {
			var buf bytes.Buffer
			w := open(&buf)
			io.WriteString(w, plain)
			w.Close()
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", coding)
				w.Write(buf.Bytes())
			})
			c := client(t, Options{})
			res, err := c.Fetch(t.Context(), params(url))
			if err != nil {
				t.Fatal(err)
			}
			if res.Body != plain || res.Bytes != int64(len(plain)) {
				t.Errorf("got %d bytes, want the %d decoded ones", res.Bytes, len(plain))
			}
			res, err = c.Fetch(t.Context(), params(url, func(p *Params) { p.Headers = map[string]string{"Accept-Encoding": coding} }))
			if err != nil {
				t.Fatal(err)
			}
			if want := base64.StdEncoding.EncodeToString(buf.Bytes()); res.Body != want {
				t.Error("the caller who asked for the coding did not get its bytes")
			}
		})
	}
}

func TestBombStopsAtTheLimit(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	for range 1 << 7 {
		z.Write(make([]byte, 1<<20)) // 128 MiB of zeros
	}
	z.Close()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(buf.Bytes())
	})
	begun := time.Now()
	res, err := client(t, Options{}).Fetch(t.Context(), params(url, func(p *Params) { p.MaxBytes = 1000 }))
	if err != nil {
		t.Fatal(err)
	}
	if !res.Truncated || res.Bytes != 1000 || time.Since(begun) > 20*time.Second {
		t.Errorf("truncated %v, %d bytes, %v", res.Truncated, res.Bytes, time.Since(begun))
	}
}

func TestResponseHeaders(t *testing.T) {
	url := raw(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 302 Found\r\nlocation: /x\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nx-latin: \xe4\r\ncontent-length: 0\r\n\r\n")
	})
	res, err := client(t, Options{}).Fetch(t.Context(), params(url))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"Location": "/x", "Set-Cookie": "a=1, b=2", "X-Latin": "ä", "Content-Length": "0"}, res.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	want := [][]string{{"Content-Length", "0"}, {"Location", "/x"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"X-Latin", "ä"}}
	if diff := cmp.Diff(want, res.HeaderList); diff != "" {
		t.Errorf("header_list (-want +got):\n%s", diff)
	}
	if res.Status != 302 || len(res.Redirects) != 0 || res.Protocol != "HTTP/1.1" {
		t.Errorf("status %d, redirects %v, protocol %s", res.Status, res.Redirects, res.Protocol)
	}
}

func TestRedirects(t *testing.T) {
	type seen struct{ Method, Path, Auth, Cookie, Body string }
	var got []seen
	note := func(r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, seen{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Cookie"), string(b)})
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { note(r) })
	var home string
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/302":
			http.Redirect(w, r, "/end", 302)
		case "/307":
			http.Redirect(w, r, home+"/end", 307)
		case "/away":
			http.Redirect(w, r, other+"/end", 307)
		case "/loop":
			http.Redirect(w, r, "/loop", 302)
		case "/mail":
			w.Header().Set("Location", "mailto:a@example.com")
			w.WriteHeader(302)
		}
	})
	run := func(path string, follow int) (*Result, error) {
		got = nil
		return client(t, Options{}).Fetch(t.Context(), params(home+path, func(p *Params) {
			p.Method, p.Body, p.FollowRedirects = "POST", text1("b"), follow
			p.Headers = map[string]string{"Authorization": "A", "Cookie": "C"}
		}))
	}
	t.Run("302 turns a POST into a GET", func(t *testing.T) {
		if _, err := run("/302", 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]seen{{"POST", "/302", "A", "C", "b"}, {"GET", "/end", "A", "C", ""}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("307 keeps method and body", func(t *testing.T) {
		res, err := run("/307", 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]seen{{"POST", "/307", "A", "C", "b"}, {"POST", "/end", "A", "C", "b"}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]Redirect{{home + "/307", 307}}, res.Redirects); diff != "" {
			t.Errorf("redirects (-want +got):\n%s", diff)
		}
	})
	t.Run("credentials stay with their origin", func(t *testing.T) {
		if _, err := run("/away", 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]seen{{"POST", "/away", "A", "C", "b"}, {"POST", "/end", "", "", "b"}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a loop ends with the last redirect as it is", func(t *testing.T) {
		res, err := run("/loop", 3)
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != 302 || len(res.Redirects) != 3 || len(got) != 4 {
			t.Errorf("status %d, %d redirects, %d requests", res.Status, len(res.Redirects), len(got))
		}
	})
	t.Run("another scheme is not followed", func(t *testing.T) {
		if _, err := run("/mail", 1); kindOf(err) != KindPolicy {
			t.Errorf("got %v", err)
		}
	})
}

func TestPolicyHoldsAtEveryHopAndDial(t *testing.T) {
	target := serve(t, func(http.ResponseWriter, *http.Request) {})
	byName := strings.Replace(target, "127.0.0.1", "localhost", 1)
	hop := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, byName, 302) })
	tests := []struct {
		name   string
		policy urlpolicy.Config
		url    string
		denied bool
	}{
		{"a literal", urlpolicy.Config{DenyPrivate: true}, target, true},
		{"a name that resolves to loopback", urlpolicy.Config{DenyPrivate: true}, byName, true},
		{"a denied name", urlpolicy.Config{DenyHosts: []string{"localhost"}}, byName, true},
		{"a denied address under a name", urlpolicy.Config{DenyHosts: []string{"127.0.0.1", "::1"}}, byName, true},
		{"the second hop", urlpolicy.Config{DenyHosts: []string{"localhost"}}, hop, true},
		{"an allowed name", urlpolicy.Config{AllowHosts: []string{"localhost"}}, byName, false},
		{"not on the list", urlpolicy.Config{AllowHosts: []string{"localhost"}}, target, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client(t, Options{Policy: tt.policy}).Fetch(t.Context(), params(tt.url, func(p *Params) { p.FollowRedirects = 5 }))
			if denied := kindOf(err) == KindPolicy; denied != tt.denied || (!tt.denied && err != nil) {
				t.Errorf("got %v, want denied %v", err, tt.denied)
			}
		})
	}
}

// Behind a proxy only the proxy sees the address, so no policy that needs one
// may use a proxy.
func TestPoliciesThatNeedAddressesUseNoProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		policy urlpolicy.Config
		proxy  bool
	}{
		"none":               {urlpolicy.Config{}, true},
		"names":              {urlpolicy.Config{AllowHosts: []string{"a.example"}, DenyHosts: []string{"*.b.example"}}, true},
		"an allowed block":   {urlpolicy.Config{AllowHosts: []string{"10.0.0.0/8"}}, false},
		"a denied address":   {urlpolicy.Config{DenyHosts: []string{"192.0.2.1"}}, false},
		"only public":        {urlpolicy.Config{DenyPrivate: true}, false},
		"a name and a block": {urlpolicy.Config{AllowHosts: []string{"a.example", "::1/128"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c := client(t, Options{Policy: tt.policy}); (c.transport.Proxy != nil) != tt.proxy {
				t.Errorf("proxies are used: %v", !tt.proxy)
			}
		})
	}
}

func TestPostIsNotRepeatedOnABrokenReusedConnection(t *testing.T) {
	for name, key := range map[string]string{"without a key": "X-None", "with an idempotency key": "Idempotency-Key"} {
		for _, body := range []string{"", "b"} {
			t.Run(fmt.Sprintf("%s, body %q", name, body), func(t *testing.T) {
				var posts atomic.Int32
				url := raw(t, func(c net.Conn, r *bufio.Reader) {
					if readHead(r) != "" {
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
					if head := readHead(r); strings.HasPrefix(head, "POST") {
						posts.Add(1) // and close without an answer
					}
				})
				c := client(t, Options{})
				if _, err := c.Fetch(t.Context(), params(url)); err != nil {
					t.Fatal(err)
				}
				_, err := c.Fetch(t.Context(), params(url, func(p *Params) {
					p.Method, p.Body, p.Headers = "POST", &body, map[string]string{key: "k"}
				}))
				if err == nil {
					t.Error("the broken exchange was a success")
				}
				if n := posts.Load(); n != 1 {
					t.Errorf("the POST was sent %d times", n)
				}
			})
		}
	}
}

func TestBodyToFile(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	broken := raw(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
	})
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c := client(t, Options{Files: Files{Dirs: []string{dir}, MaxBytes: 5}})
	small := client(t, Options{Files: Files{MaxBytes: 4}})
	to := func(path string) func(*Params) { return func(p *Params) { p.Path, p.MaxBytes = path, 1 } }

	res, err := c.Fetch(t.Context(), params(url, to(filepath.Join(dir, "f"))))
	if err != nil {
		t.Fatal(err)
	}
	if res.Bytes != 5 || res.Truncated || res.Body != "" || res.SHA256 != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("got %+v", res)
	}
	if b, err := os.ReadFile(res.Path); err != nil || string(b) != "hello" {
		t.Errorf("file %q, %v", b, err)
	}
	var fe *FileError
	for name, path := range map[string]string{
		"outside": filepath.Join(outside, "f"), "through a link": filepath.Join(dir, "link", "f"),
		"above": filepath.Join(dir, "..", "f"), "a folder": dir, "no folder": filepath.Join(dir, "no", "f"),
	} {
		if _, err := c.Fetch(t.Context(), params(url, to(path))); !errors.As(err, &fe) {
			t.Errorf("%s: got %v, want a *FileError", name, err)
		}
	}
	if _, err := small.Fetch(t.Context(), params(url, to(filepath.Join(dir, "big")))); kindOf(err) != KindBody {
		t.Errorf("too large: got %v", err)
	}
	if _, err := c.Fetch(t.Context(), params(broken, to(filepath.Join(dir, "broken")))); kindOf(err) != KindBody {
		t.Errorf("broken: got %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"f", "link"}, names); diff != "" {
		t.Errorf("what is left in the folder (-want +got):\n%s", diff)
	}
}

// The folder is judged before the exchange and written to after it.
func TestAFolderThatIsSwappedMeanwhileLeadsNowhereElse(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	dir := filepath.Join(base, "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := errors.Join(os.Rename(dir, dir+".old"), os.Symlink(outside, dir)); err != nil {
			t.Error(err)
		}
		io.WriteString(w, "hello")
	})
	for name, files := range map[string]Files{"with folders": {Dirs: []string{base}}, "without": {}} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, Options{Files: files}).Fetch(t.Context(), params(url, func(p *Params) { p.Path = filepath.Join(dir, "f") }))
			if left, rerr := os.ReadDir(outside); rerr != nil || len(left) != 0 {
				t.Errorf("the fetch gave %v and wrote %v, %v", err, left, rerr)
			}
			if err := errors.Join(os.Remove(dir), os.Rename(dir+".old", dir)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestHTTP2AndReuse(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := client(t, Options{TLS: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}})
	for i := range 2 {
		res, err := c.Fetch(t.Context(), params(s.URL))
		if err != nil {
			t.Fatal(err)
		}
		if res.Protocol != "HTTP/2.0" || res.Body != "HTTP/2.0" {
			t.Errorf("spoke %s", res.Protocol)
		}
		if reused := res.Timing.TLS == 0; reused != (i == 1) || res.Timing.Total <= 0 {
			t.Errorf("exchange %d: timing %+v", i, res.Timing)
		}
	}
}

func TestCredentialsInTheURLAreSentAndNeverShown(t *testing.T) {
	auth := make(chan string, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { auth <- r.Header.Get("Authorization") })
	res, err := client(t, Options{}).Fetch(t.Context(), params(strings.Replace(url, "http://", "http://u:s3cret@", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := <-auth; got != "Basic dTpzM2NyZXQ=" {
		t.Errorf("Authorization %q", got)
	}
	if strings.Contains(res.URL, "s3cret") {
		t.Errorf("url %q", res.URL)
	}
}
