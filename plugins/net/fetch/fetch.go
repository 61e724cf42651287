// Package fetch is the HTTP client behind net.fetch: one exchange a call,
// nothing remembered between calls but idle connections, and no surprise in
// what is sent. The plugin's main maps its errors to the protocol's codes.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

// Options configure a Client. The zero value allows everything.
type Options struct {
	Policy urlpolicy.Config
	Files  Files
	// TLS is for certificates that the system does not know; nil: the system's.
	TLS *tls.Config
}

// Client runs exchanges. It may be used concurrently.
type Client struct {
	policy    *urlpolicy.Policy
	files     Files
	transport *http.Transport
}

// New checks the options. Its error names what is wrong.
func New(o Options) (*Client, error) {
	policy, err := urlpolicy.New(o.Policy)
	if err != nil {
		return nil, err
	}
	return &Client{policy: policy, files: o.Files, transport: transport(policy, o.TLS)}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Result is an HTTP answer, whatever its status.
type Result struct {
	Status int  `json:"status" doc:"HTTP status"`
	OK     bool `json:"ok" doc:"the status is 2xx"`
	// URL is the address that answered, without credentials.
	URL          string            `json:"url" doc:"the address that answered"`
	Headers      map[string]string `json:"headers" doc:"canonical names; several values are joined by a comma"`
	Body         string            `json:"body"`
	BodyEncoding string            `json:"body_encoding" enum:"text,base64"`
	Truncated    bool              `json:"truncated" doc:"the body is longer than max_bytes"`
	Bytes        int64             `json:"bytes" doc:"the full size of the body when it is known, else what was read"`
	HeaderList   [][]string        `json:"header_list" doc:"name and value of each header"`
	Redirects    []Redirect        `json:"redirects" doc:"the redirects that were followed"`
	Timing       Timing            `json:"timing" doc:"milliseconds"`
	Protocol     string            `json:"protocol" doc:"for example HTTP/1.1"`
	Path         string            `json:"path,omitempty" doc:"the file that was written"`
	SHA256       string            `json:"sha256,omitempty" doc:"of the file's bytes"`
}

// Redirect is one that was followed.
type Redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// Fetch runs one exchange. Its error is a *ParamError, a *FileError, an *Error
// or ctx's own.
func (c *Client) Fetch(ctx context.Context, p Params) (*Result, error) {
	req, err := parse(p)
	if err != nil {
		return nil, err
	}
	var to *place
	if p.Path != "" {
		if to, err = c.files.place(p.Path); err != nil {
			return nil, err
		}
		defer to.close()
	}
	ctx, w := startWatch(ctx, time.Duration(p.TimeoutMS)*time.Millisecond, time.Duration(p.DeadlineMS)*time.Millisecond)
	defer w.stop()

	redirects := []Redirect{}
	for {
		resp, err := c.send(ctx, req, w)
		if err != nil {
			return nil, classify(ctx, err)
		}
		next := req.redirect(resp)
		if next == nil || len(redirects) == p.FollowRedirects {
			res, err := c.receive(ctx, p, to, req, resp, w)
			if err != nil {
				return nil, err
			}
			res.Redirects = redirects
			return res, nil
		}
		discard(resp)
		redirects = append(redirects, Redirect{shown(req.url), resp.StatusCode})
		if next.url.Scheme != "http" && next.url.Scheme != "https" {
			return nil, &Error{Kind: KindPolicy, Message: "a redirect leads away from http and https", Status: resp.StatusCode}
		}
		req = next
	}
}

func (c *Client) send(ctx context.Context, r *request, w *watch) (*http.Response, error) {
	if err := c.policy.CheckHost(r.url.Hostname()); err != nil {
		return nil, err
	}
	w.enter("connecting")
	req := r.build(w.progress)
	if req.Header["Accept-Encoding"] == nil && req.Header["Range"] == nil && r.method != http.MethodHead {
		req.Header.Set("Accept-Encoding", acceptEncoding)
	}
	if c.transport.Proxy != nil {
		if via, err := c.transport.Proxy(req); err == nil && via != nil {
			ctx = context.WithValue(ctx, proxied{}, true)
		}
	}
	return c.transport.RoundTrip(req.WithContext(ctx))
}

func (c *Client) receive(ctx context.Context, p Params, to *place, r *request, resp *http.Response, w *watch) (*Result, error) {
	defer resp.Body.Close()
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&noticedReader{r: resp.Body, noticed: w.progress}, resp.Body}
	res := &Result{
		Status: resp.StatusCode, OK: resp.StatusCode >= 200 && resp.StatusCode < 300,
		URL: shown(r.url), Protocol: resp.Proto, BodyEncoding: "text",
	}
	res.Headers, res.HeaderList = headers(resp.Header)

	body, compressed := io.Reader(resp.Body), false
	if r.header["Accept-Encoding"] == nil {
		decodedBody, release, was, err := decoded(resp)
		if err != nil {
			return nil, bodyError(ctx, err, resp.StatusCode)
		}
		defer release()
		body, compressed = decodedBody, was
	}
	if to != nil {
		n, sum, err := to.write(body, c.files.limit())
		if err != nil {
			return nil, bodyError(ctx, err, resp.StatusCode)
		}
		res.Bytes, res.Path, res.SHA256 = n, p.Path, sum
	} else {
		k, err := keep(body, p.MaxBytes)
		if err != nil {
			return nil, bodyError(ctx, err, resp.StatusCode)
		}
		res.Body, res.BodyEncoding, res.Truncated, res.Bytes = k.text, k.encoding, k.truncated, k.read
		if k.truncated && !compressed && resp.ContentLength > 0 {
			res.Bytes = resp.ContentLength
		}
	}
	res.Timing = w.timing()
	return res, nil
}

// bodyError is a failure after the head of the answer had come.
func bodyError(ctx context.Context, err error, status int) error {
	var own *Error
	var file *FileError
	switch {
	case errors.As(err, &file):
		return file
	case errors.As(err, &own):
	case errors.As(context.Cause(ctx), &own):
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	default:
		own = &Error{Kind: KindBody, Message: "the body broke off or cannot be decoded: " + err.Error()}
	}
	return &Error{Kind: own.Kind, Message: own.Message, Status: status}
}

// discard lets the connection be used again when little is left of the body.
func discard(resp *http.Response) {
	// What cannot be read here is of no use: the connection is closed instead.
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// headers joins several values of a name, and lists each of them.
func headers(h http.Header) (map[string]string, [][]string) {
	joined := make(map[string]string, len(h))
	list := make([][]string, 0, len(h))
	for name, values := range h {
		for i, v := range values {
			values[i] = text(v)
			list = append(list, []string{name, values[i]})
		}
		joined[name] = strings.Join(values, ", ")
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i][0] < list[j][0] })
	return joined, list
}

// text reads a header value that is not UTF-8 as Latin-1, as HTTP once said.
func text(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	runes := make([]rune, len(v))
	for i := range len(v) {
		runes[i] = rune(v[i])
	}
	return string(runes)
}

// shown is an address without the credentials in it.
func shown(u *url.URL) string {
	clean := *u
	clean.User = nil
	return clean.String()
}
