// The browser plugin: Chromium for agents. This package is its methods, its
// configuration and its error codes. Package target is the browser's live model,
// package page what is done in a tab, package inject the code in pages, package
// chromium the process, and package transport the protocol.
package main

import (
	"time"

	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/sdk"
)

func main() { sdk.Serve(plugin()) }

func plugin() *sdk.Plugin {
	p := sdk.New("browser", release.Version(), "A Chromium browser for agents.",
		// Two processes cannot have one profile.
		sdk.Exclusive(), sdk.MaxInFlight(128),
		sdk.Namespaces("browser", "page"),
		sdk.Features("live-session", "stable-ids", "javascript", "semantic-snapshot", "semantic-interaction",
			"content-inspection", "diagnostics", "multi-controller"))
	l := &life{}
	sdk.Config(p, l.configure)
	p.OnStart(l.start)
	p.OnStop(l.stop)
	windows(p, l)
	navigation(p, l)
	pages(p, l)
	return p
}

// Bounds of the methods for the host; their own come earlier.
var (
	quick = sdk.Timeout(20 * time.Second)
	long  = sdk.Timeout(45 * time.Second)
)
