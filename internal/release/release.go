// Package release says which build this is: the host, the CLI and the plugins
// print it and compare it.
package release

import "runtime/debug"

// Set by the build with -ldflags -X.
var (
	version = ""
	commit  = ""
)

// Version is the release, "dev" for a build without one.
func Version() string {
	if version == "" {
		return "dev"
	}
	return version
}

// Commit is the short commit id, "unknown" when the build did not say.
func Commit() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 7 {
				return s.Value[:7]
			}
		}
	}
	return "unknown"
}
