package chromium

import (
	"slices"
	"strings"
)

// kept are the variables that a browser needs of those of its starter: where its
// user's things are, in which language and on which screen, and how the network is
// reached. A * stands for any end.
var kept = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TZ",
	"LANG", "LANGUAGE", "LC_*",
	"DISPLAY", "XAUTHORITY", "WAYLAND_*", "XDG_*", "DBUS_*", "FONTCONFIG*",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "auto_proxy",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
	"__CF_USER_TEXT_ENCODING", // macOS
}

// environ gives a browser its part of an environment: pages may break out of their
// renderer, and the starter's keys are in its own.
func environ(whole []string) []string {
	return slices.DeleteFunc(slices.Clone(whole), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !slices.ContainsFunc(kept, func(k string) bool {
			start, wide := strings.CutSuffix(k, "*")
			return name == k || wide && strings.HasPrefix(name, start)
		})
	})
}

// inTemporary gives an environment the profile's own folder for temporary files,
// where there can be one.
func (p *profile) inTemporary(env []string) []string {
	const name = "TMPDIR="
	all := "/tmp"
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, name); ok && dir != "" {
			all = dir
		}
	}
	own := p.makeTemporary(all)
	if own == "" {
		return env
	}
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name) })
	return append(env, name+own)
}
