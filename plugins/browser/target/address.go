package target

import "strings"

// bare is an address without the user name and password in it. The model keeps no
// other: they would be in lists, events, errors and logs.
func bare(url string) string {
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	authority := len(rest)
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		authority = i
	}
	if at := strings.LastIndexByte(rest[:authority], '@'); at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return url
}
