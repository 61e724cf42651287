// Package page is what the browser plugin does in one tab: snapshots,
// interaction, waits, scripts, inspection and screenshots. It talks to the code
// of package inject in the page, through the frames of package target.
package page

import (
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// Bounds of texts that come from pages, in bytes.
const (
	maxMessage = 4 << 10
	maxStack   = 8 << 10
)

// clip cuts a text between two characters.
func clip(s string, n int) string { return wire.Shorten(s, n) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
