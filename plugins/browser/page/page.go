// Package page is what the browser plugin does in one tab: snapshots,
// interaction, waits, scripts, inspection and screenshots. It talks to the code
// of package inject in the page, through the frames of package target.
package page

import (
	"strings"
	"unicode/utf8"
)

// Bounds of texts that come from pages, in bytes.
const (
	maxMessage = 4 << 10
	maxStack   = 8 << 10
)

// clip cuts a text between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
