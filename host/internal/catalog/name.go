package catalog

import (
	"slices"
	"strings"
)

// Prefix begins the file name of every plugin.
const Prefix = "vant-plugin-"

const (
	letters = "abcdefghijklmnopqrstuvwxyz"
	maxName = 32
)

// configKeys are the host's own keys of the configuration's section plugins: a
// plugin of such a name would have no section there.
var configKeys = []string{"dirs", "order", "verify", "lock", "defaults"}

// ValidName says whether name may be a plugin's: [a-z][a-z0-9-]{0,31}, and no
// key of the configuration.
func ValidName(name string) bool {
	return len(name) <= maxName && strings.Trim(name, letters+"0123456789-") == "" && strings.IndexAny(name, letters) == 0 &&
		!slices.Contains(configKeys, name)
}

// ofInterest says whether a directory entry claims to be a plugin. Copies in
// progress by the usual name for them are left alone until they are renamed.
func ofInterest(base string) bool {
	return strings.HasPrefix(base, Prefix) && !strings.HasSuffix(base, ".part")
}
