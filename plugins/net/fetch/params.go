package fetch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Params are the parameters of net.fetch.
type Params struct {
	URL             string            `json:"url" doc:"http or https address"`
	Method          string            `json:"method,omitempty" doc:"HTTP method" default:"GET" min:"1"`
	Headers         map[string]string `json:"headers,omitempty" doc:"request headers; nothing else is sent but what HTTP itself needs"`
	Body            *string           `json:"body,omitempty" doc:"request body, the exact bytes of the text"`
	BodyBase64      *string           `json:"body_base64,omitempty" doc:"request body in base64, for binary data"`
	TimeoutMS       int               `json:"timeout_ms,omitempty" doc:"milliseconds for connecting, and for silence between bytes" default:"15000" clamp:"1000,25000"`
	DeadlineMS      int               `json:"deadline_ms,omitempty" doc:"milliseconds for everything" default:"28000" clamp:"1,28000"`
	MaxBytes        int               `json:"max_bytes,omitempty" doc:"bytes of the body that are kept" default:"1048576" clamp:"1,4194304"`
	FollowRedirects int               `json:"follow_redirects,omitempty" doc:"redirects to follow; 0 returns the first one as it is" default:"0" clamp:"0,10"`
	Path            string            `json:"path,omitempty" doc:"absolute path of a file to write the whole body to instead" min:"1"`
}

// request is one checked exchange; a redirect makes the next one from it.
type request struct {
	method string
	url    *url.URL
	header http.Header
	host   string // of a Host header, "" for the URL's own
	body   []byte
	sends  bool // a body was given, an empty one too
}

// parse checks everything that can be wrong before anything is sent.
func parse(p Params) (*request, error) {
	u, err := parseURL(p.URL)
	if err != nil {
		return nil, err
	}
	r := &request{method: p.Method, url: u, header: http.Header{}}
	if r.method == "" {
		r.method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(r.method) {
		return nil, invalid("method", "expected an HTTP token such as GET")
	}
	if err := r.takeBody(p); err != nil {
		return nil, err
	}
	if err := r.takeHeaders(p.Headers); err != nil {
		return nil, err
	}
	if p.Path != "" && !filepath.IsAbs(p.Path) {
		return nil, invalid("path", "expected an absolute path")
	}
	return r, nil
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		// The parser's own text repeats the address, which may hold a password.
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, invalid("url", "not an address: "+safeText(err))
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, invalid("url", "expected http or https")
	case u.Hostname() == "":
		return nil, invalid("url", "no host")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		u.Host = strings.TrimSuffix(u.Host, ":")
	case u.Port() != "":
		if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
			return nil, invalid("url", "expected a port from 1 to 65535")
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// safeText gives an error of net/url without the part of the address in it.
func safeText(err error) string {
	text := err.Error()
	if i := strings.IndexByte(text, '"'); i > 0 {
		text = strings.TrimRight(text[:i], " :")
	}
	return text
}

func (r *request) takeBody(p Params) error {
	switch {
	case p.Body != nil && p.BodyBase64 != nil:
		return invalid("body_base64", "give body or body_base64, not both")
	case p.Body != nil:
		r.body, r.sends = []byte(*p.Body), true
	case p.BodyBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*p.BodyBase64)
		if err != nil {
			return invalid("body_base64", "not base64 of the standard alphabet with padding")
		}
		r.body, r.sends = b, true
	}
	return nil
}

// hopHeaders belong to the connection, which this client keeps to itself.
var hopHeaders = map[string]bool{"Transfer-Encoding": true, "Trailer": true, "Upgrade": true, "Te": true, "Keep-Alive": true}

func (r *request) takeHeaders(headers map[string]string) error {
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return invalid("headers", "a name is not an HTTP token")
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return invalid("headers/"+name, "the value has a control character")
		}
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case canonical == "Host":
			if value == "" || !httpguts.ValidHostHeader(value) {
				return invalid("headers/"+name, "not a host")
			}
			r.host = value
		case canonical == "Content-Length":
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err != nil || n != len(r.body) {
				return invalid("headers/"+name, fmt.Sprintf("the body has %d bytes; leave the header out", len(r.body)))
			}
		case hopHeaders[canonical]:
			return invalid("headers/"+name, "belongs to the connection and cannot be set")
		default:
			if r.header[canonical] != nil {
				return invalid("headers/"+name, "given twice in different cases")
			}
			r.header[canonical] = []string{value}
		}
	}
	if r.sends && r.header["Content-Type"] == nil {
		r.header.Set("Content-Type", "application/octet-stream")
	}
	return nil
}

// build makes the request that is sent. body reports what was read of it.
func (r *request) build(reading func()) *http.Request {
	req := &http.Request{
		Method: r.method, URL: r.url, Host: r.host, Header: r.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if u := r.url.User; u != nil && req.Header["Authorization"] == nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	if req.Header["User-Agent"] == nil {
		// Present and empty is how net/http is told to send none.
		req.Header["User-Agent"] = []string{""}
	}
	// net/http repeats a request that carries an idempotency key when a reused
	// connection breaks. It looks for the canonical name, HTTP takes any case.
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v := req.Header[key]; v != nil {
			delete(req.Header, key)
			req.Header[strings.ToLower(key)] = v
		}
	}
	if len(r.body) > 0 {
		// No GetBody: a body that began to be sent is never sent again.
		req.Body = &noticedReader{r: bytes.NewReader(r.body), noticed: reading}
		req.ContentLength = int64(len(r.body))
	} else if r.sends {
		req.Body = http.NoBody
	}
	return req
}
