package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vant-run/vant/plugins/browser/devtools"
	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

// config is the plugin's section of the host's configuration.
type config struct {
	Path       string   `json:"path,omitempty" doc:"the browser's executable; without it chromium, google-chrome and others are looked for"`
	Headless   string   `json:"headless,omitempty" enum:"auto,true,false" doc:"true: no window is shown; auto, the default: so when there is no display"`
	Profile    string   `json:"profile,omitempty" doc:"folder of the profile, absolute; without it one below the plugin's data folder"`
	Args       []string `json:"args,omitempty" doc:"more flags for the browser"`
	Attach     string   `json:"attach,omitempty" doc:"drive a browser that runs already, which was started with --remote-debugging-port: http://127.0.0.1:9222, or the ws:// address of its socket; on this machine only"`
	Restore    bool     `json:"restore,omitempty" doc:"after the browser was lost, open the addresses of its tabs again, private ones excepted"`
	Dialogs    string   `json:"dialogs,omitempty" enum:"dismiss,hold" doc:"dismiss, the default: alerts are accepted, confirm and prompt are dismissed, pages may be left; hold: page.dialog answers"`
	AllowFile  []string `json:"allow_file,omitempty" doc:"folders, absolute, below which file: addresses may be opened"`
	UploadFrom []string `json:"upload_from,omitempty" doc:"folders, absolute, below which files may be uploaded; without it every file that the host's user may read can be"`
	WriteTo    []string `json:"write_to,omitempty" doc:"folders, absolute, below which pictures may be written; without it they may be written over every file that the host's user may change"`
	AllowHosts []string `json:"allow_hosts,omitempty" doc:"hosts that may be reached, all others may not: names, *.names and single addresses"`
	DenyHosts  []string `json:"deny_hosts,omitempty" doc:"hosts that may not be reached; wins over allow_hosts; where either list is given, no proxy is used"`
}

// check says what the schema cannot.
func (c config) check() error {
	for _, folder := range slices.Concat(c.AllowFile, c.UploadFrom, c.WriteTo, []string{c.Profile}) {
		if folder != "" && !filepath.IsAbs(folder) {
			return fmt.Errorf("%s is not an absolute path", folder)
		}
	}
	if _, err := c.hosts(); err != nil {
		return err
	}
	if c.Attach != "" {
		if _, err := devtools.Parse(c.Attach); err != nil {
			return err
		}
		switch {
		case c.Path != "" || c.Headless != "" || c.Profile != "" || len(c.Args) > 0 || c.Restore:
			return errors.New("attach: path, headless, profile, args and restore are for a browser that is started here: leave them out")
		case len(c.AllowHosts) > 0 || len(c.DenyHosts) > 0:
			return errors.New("attach: allow_hosts and deny_hosts cannot be kept in a browser that runs already: leave them out, or let the browser be started here")
		}
	}
	if _, err := hostRules(c); err != nil {
		return err
	}
	lists := len(c.AllowHosts)+len(c.DenyHosts) > 0
	for _, arg := range c.Args {
		if len(arg) < 3 || arg[:2] != "--" {
			return errors.New("args: each must begin with --")
		}
		if lists && strings.HasPrefix(arg, "--proxy-") {
			return fmt.Errorf("args: %s cannot go with allow_hosts or deny_hosts: behind a proxy they would not hold", arg)
		}
	}
	return nil
}

// hosts judges what callers name as the browser's own rules do: by name, not by
// what it resolves to.
func (c config) hosts() (*urlpolicy.Policy, error) {
	return urlpolicy.New(urlpolicy.Config{AllowHosts: c.AllowHosts, DenyHosts: c.DenyHosts, NamesOnly: true})
}
