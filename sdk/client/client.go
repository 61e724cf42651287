package client

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/vant-run/vant/proto/envelope"
)

// DefaultTimeout bounds a call when Options name no bound: a little more than
// the host's own largest, so that the host's answer comes first.
const DefaultTimeout = envelope.MaxTimeout + 5*time.Second

// Options say where the host is and how long to wait. The zero value is ready
// for use.
type Options struct {
	// Socket is the host's socket. When it is empty, $VANT_SOCKET is taken,
	// else vantage-agent-<uid>.sock in $XDG_RUNTIME_DIR, else in /tmp.
	Socket string
	// Timeout bounds a whole call: connecting, sending and waiting for the
	// reply. 0 stands for DefaultTimeout. Events has bounds of its own.
	Timeout time.Duration
	// WaitForHost is how long a call goes on trying to connect while no host
	// is there, as when one has just been started. With 0 a call without a
	// host fails at once.
	WaitForHost time.Duration
}

// Client calls one host. It is safe for concurrent use.
type Client struct {
	opt  Options
	uid  int // the only user that may be at the other end
	pid  string
	last atomic.Uint64 // number of the last request
}

// Dial prepares calls to the host that o names. It checks o and does not
// connect: whether a host is there shows in the first call.
func Dial(o Options) (*Client, error) {
	if o.Socket == "" {
		o.Socket = envelope.SocketPath(os.Getenv, os.Getuid())
	}
	// An absolute path has no second meaning: "@name" would be an abstract
	// socket, which has no owner and no permissions.
	socket, err := filepath.Abs(o.Socket)
	if err != nil {
		return nil, fmt.Errorf("socket path %q: %w", o.Socket, err)
	}
	o.Socket = socket
	if n := len(o.Socket); n > envelope.MaxSocketPath {
		return nil, fmt.Errorf("socket path %q has %d bytes, the limit is %d: choose a shorter one with $VANT_SOCKET or --socket",
			o.Socket, n, envelope.MaxSocketPath)
	}
	if o.Timeout < 0 || o.WaitForHost < 0 {
		return nil, fmt.Errorf("timeout %v and wait %v must not be negative", o.Timeout, o.WaitForHost)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	return &Client{opt: o, uid: os.Geteuid(), pid: strconv.Itoa(os.Getpid())}, nil
}

// Socket gives the path of the host's socket.
func (c *Client) Socket() string { return c.opt.Socket }

// Reply is what the host answered to one call.
type Reply struct {
	// Line is the whole reply as it came, without its newline.
	Line []byte
	// OK tells a result from a failure.
	OK bool
	// Result is the result's raw JSON when OK; it aliases Line.
	Result json.RawMessage
	// Warnings are remarks on a call that was served all the same, such as an
	// unknown parameter.
	Warnings []string

	failure *Error
}

// Err gives the failure that the host answered, nil when OK.
func (r *Reply) Err() error {
	if r.OK {
		return nil
	}
	return r.failure
}

// Call calls method with params, anything that marshals to a JSON object, and
// unmarshals the result into result. Nil params stand for {}; with a nil
// result the answer is dropped. A failure that the host answered is an *Error.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			return fmt.Errorf("%s: parameters: %w", method, err)
		}
	}
	reply, err := c.CallRaw(ctx, method, raw)
	if err != nil {
		return err
	}
	if err := reply.Err(); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return fmt.Errorf("%s: result: %w", method, err)
	}
	return nil
}

// CallRaw calls method with the raw JSON object params and gives the reply,
// whether it is a result or a failure. The error says that there is no reply.
// Numbers and strings pass in both directions exactly as they are.
func (c *Client) CallRaw(ctx context.Context, method string, params json.RawMessage) (*Reply, error) {
	return c.exchange(ctx, method, params, c.opt.WaitForHost, c.opt.Timeout)
}

// requestID gives an id that no other request of this host's clients has at
// the same time, as raw JSON.
func (c *Client) requestID() []byte {
	b := append([]byte(nil), `"c`...)
	b = append(b, c.pid...)
	b = append(b, '-')
	b = strconv.AppendUint(b, c.last.Add(1), 10)
	return append(b, '"')
}
