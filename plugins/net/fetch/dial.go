package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

const (
	maxConnsPerHost    = 32
	maxIdlePerHost     = 8
	maxIdle            = 64
	maxResponseHeaders = 256 << 10
	maxConnect         = 25 * time.Second
)

// transport is the one pool of connections. Every address is judged at the
// moment it is dialled.
func transport(policy *urlpolicy.Policy, tlsConfig *tls.Config) *http.Transport {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			// A dial goes on when its request has ended, so it has a bound of its own.
			d := net.Dialer{Timeout: maxConnect, ControlContext: func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
				if ctx.Value(proxied{}) != nil {
					return nil // the proxy is the operator's own choice
				}
				ap, err := netip.ParseAddrPort(resolved)
				if err != nil {
					return err
				}
				return policy.CheckAddr(host, ap.Addr())
			}}
			return d.DialContext(ctx, network, address)
		},
		TLSClientConfig:        tlsConfig,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // package fetch decodes what it asked for
		MaxConnsPerHost:        maxConnsPerHost,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxIdleConns:           maxIdle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxResponseHeaders,
		TLSHandshakeTimeout:    maxConnect,
		ExpectContinueTimeout:  time.Second,
	}
	if policy.NeedsAddress() {
		t.Proxy = nil
	}
	return t
}

// proxied marks the context of a request that goes through a proxy.
type proxied struct{}
