// Package devtools connects to a browser that runs already, over the WebSocket
// that it opens with --remote-debugging-port. The connection is a pair of streams
// like the browser's debugging pipe, for package transport.
//
// Only this machine is spoken to: whoever reaches that port has all that the
// browser's user has, so it must not cross a network. And only to a browser of the
// same user, where that can be seen (Linux): another one's would see what is typed.
package devtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

const (
	// dialWait bounds each step of a connection.
	dialWait = 5 * time.Second
	// maxVersion bounds what /json/version may say, in bytes.
	maxVersion = 64 << 10
)

// ErrOther: another browser answers at the address than the one before.
var ErrOther = errors.New("another browser answers there")

// Address is where a browser listens.
type Address struct {
	scheme, host string
	path         string // of the socket, "" when /json/version tells it
}

// Parse reads an address: http://127.0.0.1:9222, or the whole ws:// address of
// the browser's socket. Other machines' are refused.
func Parse(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, fmt.Errorf("attach: %q is no address: write http://127.0.0.1:9222", text)
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Address{}, errors.New("attach: only scheme, host, port and path belong into the address")
	case u.Port() == "" || u.Hostname() == "":
		return Address{}, fmt.Errorf("attach: %q names no host and port: write http://127.0.0.1:9222", text)
	case u.Scheme == "ws" && strings.HasPrefix(u.Path, "/devtools/browser"):
	case u.Scheme == "ws":
		return Address{}, fmt.Errorf("attach: %q is not the browser's own socket, whose path begins with /devtools/browser", text)
	case u.Scheme != "http" || strings.Trim(u.Path, "/") != "":
		return Address{}, fmt.Errorf("attach: %q is neither like http://127.0.0.1:9222 nor like ws://127.0.0.1:9222/devtools/browser/…", text)
	default:
		u.Path = ""
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil && u.Hostname() != "localhost" || ip != nil && !ip.IsLoopback() {
		return Address{}, fmt.Errorf("attach: %s is not this machine: only 127.0.0.1, [::1] and localhost are spoken to, since the port gives away all that the browser's user has; use a tunnel (ssh -L)", u.Hostname())
	}
	return Address{u.Scheme, u.Host, u.Path}, nil
}

// String is the address as it is shown.
func (a Address) String() string { return a.scheme + "://" + a.host + a.path }

// Gone says whether err shows that no browser listens any more, rather than that
// a connection failed.
func Gone(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, ErrOther) }

// Dial connects to the browser. id names this run of it; unless it is "", only
// that one will do.
func (a Address) Dial(ctx context.Context, id string) (r io.ReadCloser, w io.WriteCloser, run string, err error) {
	client := &http.Client{
		Transport:     &http.Transport{DialContext: local, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	path := a.path
	if path == "" {
		if path, err = a.find(ctx, client); err != nil {
			return nil, nil, "", a.explain(err)
		}
	}
	if id != "" && id != path {
		return nil, nil, "", a.explain(ErrOther)
	}
	bounded, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	c, res, err := websocket.Dial(bounded, "ws://"+a.host+path, &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // Dial closes it
	if err != nil {
		if res != nil {
			err = fmt.Errorf("it answers %s to %s", res.Status, path)
			if res.StatusCode == http.StatusNotFound {
				err = fmt.Errorf("%w: %w", ErrOther, err)
			}
		}
		return nil, nil, "", a.explain(err)
	}
	c.SetReadLimit(-1) // package transport has its own
	s := &socket{conn: c}
	return reader{s}, writer{s}, path, nil
}

// local connects to loopback addresses only, whatever a name stands for, and to
// this user's processes.
func local(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialWait, Control: func(_, addr string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(addr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("%s is not this machine", addr)
		}
		return nil
	}}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := owned(conn, os.Geteuid()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// find asks for the path of the browser's socket.
func (a Address) find(ctx context.Context, client *http.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.host+"/json/version", nil)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %s to /json/version: give the ws:// address of its socket instead", res.Status)
	}
	var version struct {
		Socket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxVersion)).Decode(&version); err != nil {
		return "", fmt.Errorf("what answers is no browser: %w", err)
	}
	// Host and port are those that were configured, whatever is said here.
	u, err := url.Parse(version.Socket)
	if err != nil || !strings.HasPrefix(u.Path, "/devtools/browser") {
		return "", errors.New("what answers is no browser: its /json/version names no socket of one")
	}
	return u.Path, nil
}

// explain says where the browser was looked for and what to do.
func (a Address) explain(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		_, port, _ := net.SplitHostPort(a.host)
		return fmt.Errorf("no browser answers at %s (%w): is it running with --remote-debugging-port=%s?", a, syscall.ECONNREFUSED, port)
	}
	return fmt.Errorf("connecting to the browser at %s: %w", a, err)
}
