package catalog

import (
	"slices"
	"strings"
)

// passed are the variables every plugin gets; passedPrefixes, those whose
// names begin so. Everything else stays with the host: one plugin's secrets
// never reach another, nor do the host's own sockets and switches.
var (
	passed = []string{
		"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR",
		"DISPLAY", "WAYLAND_DISPLAY",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
	passedPrefixes = []string{"LC_", "XDG_"}

	// reserved are the service manager's words with the host.
	reserved = []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"}

	// hostSet are the variables that the host sets for every plugin, whatever
	// else is said; hostSetPrefixes, those whose names begin so.
	hostSet         = []string{"VANT_HOST", "VANT_INSTANCE"}
	hostSetPrefixes = []string{"VANT_PLUGIN", "PLUGIN_"}
)

// Reserved says whether a variable is the host's alone, so that no plugin may
// ask for it: with it one could speak to the service manager in the host's
// name, or take a descriptor for its own.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// HostSet says whether a variable is the host's to set: it marks the plugin's
// process or belongs to the handshake, and a value of somebody else's would
// have no effect.
func HostSet(name string) bool {
	return slices.Contains(hostSet, name) || hasPrefix(name, hostSetPrefixes)
}

// Env makes the whole environment of a plugin, sorted: from base (as
// os.Environ gives it) what every plugin gets and what from names, then set,
// which wins. missing are the names in from that base does not have.
func Env(base []string, set map[string]string, from []string) (env, missing []string) {
	vars := make(map[string]string, len(passed)+len(set))
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && (passes(name) || slices.Contains(from, name)) {
			vars[name] = value
		}
	}
	for _, name := range from {
		_, inBase := vars[name]
		if _, isSet := set[name]; !inBase && !isSet {
			missing = append(missing, name)
		}
	}
	for name, value := range set {
		vars[name] = value
	}
	env = make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, missing
}

func passes(name string) bool {
	return slices.Contains(passed, name) || hasPrefix(name, passedPrefixes)
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
