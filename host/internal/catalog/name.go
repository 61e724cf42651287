package catalog

import (
	"regexp"
	"strings"
)

// Prefix begins the file name of every plugin.
const Prefix = "vant-plugin-"

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// ValidName says whether name may be a plugin's: [a-z][a-z0-9-]{0,31}.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// ofInterest says whether a directory entry claims to be a plugin. Copies in
// progress by the usual name for them are left alone until they are renamed.
func ofInterest(base string) bool {
	return strings.HasPrefix(base, Prefix) && !strings.HasSuffix(base, ".part")
}
