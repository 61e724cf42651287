package output

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// unsafe says whether a rune could move the cursor, change colours, or turn
// the order of what is shown.
func unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Escape gives text with control characters and marks of writing direction as
// \u escapes. Newlines and tabs stay.
func Escape(text string) string { return escape(text, true) }

// OneLine is Escape for what must stay on one line.
func OneLine(text string) string { return escape(text, false) }

func escape(text string, lines bool) string {
	clean := true
	for _, r := range text {
		if r == utf8.RuneError || unsafe(r) && (!lines || r != '\n' && r != '\t') {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	for _, r := range text { // invalid UTF-8 comes as U+FFFD
		if unsafe(r) && (!lines || r != '\n' && r != '\t') {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
