// The net plugin: net.fetch, the direct HTTP client. Package fetch does the
// work; this is its method, its config and its error codes.
package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
	"github.com/vant-run/vant/plugins/net/fetch"
	"github.com/vant-run/vant/sdk"
)

// config is the plugin's section of the host's config.
type config struct {
	AllowHosts  []string `json:"allow_hosts,omitempty" doc:"hosts that may be reached, all others may not: names, *.names, addresses, CIDR blocks"`
	DenyHosts   []string `json:"deny_hosts,omitempty" doc:"hosts that may not be reached; wins over allow_hosts; where either list has addresses, proxies are not used"`
	DenyPrivate bool     `json:"deny_private,omitempty" doc:"refuse loopback, private, link-local and metadata addresses, whatever name leads there; proxies are not used then"`
	Files       files    `json:"files,omitzero" doc:"where net.fetch with path may write"`
}

type files struct {
	Dirs     []string `json:"dirs,omitempty" doc:"folders below which files may be written; none: anywhere"`
	MaxBytes int64    `json:"max_bytes,omitempty" doc:"largest file; default 268435456" min:"0"`
}

func main() { sdk.Serve(plugin()) }

func plugin() *sdk.Plugin {
	n := &network{}
	p := sdk.New("net", release.Version(), "HTTP for agents, without a browser.", sdk.Features("api-fetch"))
	sdk.Config(p, n.configure)
	p.OnStop(n.stop)
	sdk.Handle(p, "net.fetch", "Fetch a URL over HTTP. A 404 or 500 is a result: look at status.", n.fetch,
		// The answer of its own deadline always comes before the host's.
		sdk.Timeout(33*time.Second),
		sdk.Errors("fetch_error", "invalid_params", "permission_denied"),
		sdk.Example(`{"url":"https://api.example.com/status"}`),
		sdk.Example(`{"url":"https://api.example.com/items","method":"POST","headers":{"Content-Type":"application/json"},"body":"{}"}`),
		sdk.Since("0.1.0"))
	return p
}

// network holds the client that the configuration makes.
type network struct{ client *fetch.Client }

func (n *network) configure(_ context.Context, c config) error {
	client, err := fetch.New(fetch.Options{
		Policy: urlpolicy.Config{AllowHosts: c.AllowHosts, DenyHosts: c.DenyHosts, DenyPrivate: c.DenyPrivate},
		Files:  fetch.Files{Dirs: c.Files.Dirs, MaxBytes: c.Files.MaxBytes},
	})
	if err != nil {
		return err
	}
	n.client = client
	return nil
}

func (n *network) stop(context.Context) error {
	if n.client != nil { // else it was never configured
		n.client.Close()
	}
	return nil
}

func (n *network) fetch(ctx context.Context, p fetch.Params) (*fetch.Result, error) {
	res, err := n.client.Fetch(ctx, p)
	if err != nil {
		return nil, coded(err)
	}
	return res, nil
}

// coded gives an error of package fetch its code.
func coded(err error) error {
	var param *fetch.ParamError
	var file *fetch.FileError
	var failed *fetch.Error
	switch {
	case errors.As(err, &param):
		return sdk.Errorf("invalid_params", "%s", param.Error())
	case errors.As(err, &file) && errors.Is(file.Err, fs.ErrPermission):
		return sdk.Errorf("permission_denied", "%s", file.Error())
	case errors.As(err, &file):
		return sdk.Errorf("invalid_params", "/%s", file.Error())
	case errors.As(err, &failed):
		data := map[string]any{"kind": failed.Kind}
		if failed.Status != 0 {
			data["status"] = failed.Status
		}
		return sdk.Errorf("fetch_error", "%s", failed.Message).With(data).From(sdk.Downstream)
	}
	return err
}
