package output

import (
	"fmt"
	"unicode/utf8"
)

// Colours of JSON on a terminal.
const (
	reset       = "\x1b[0m"
	colorKey    = "\x1b[34;1m"
	colorString = "\x1b[32m"
	colorNumber = "\x1b[36m"
	colorBool   = "\x1b[33m"
	colorNull   = "\x1b[90m"
)

// appendJSON appends a JSON text for a terminal. It works on tokens, so
// numbers and strings keep their bytes, but for characters that a terminal
// would act on: those become \u escapes, which mean the same.
func appendJSON(dst, raw []byte, indent, color bool) []byte {
	var open []byte // the containers around this place, '{' or '['
	key := false    // the next string is a member's name
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '{', '[':
			i = skipSpace(raw, i+1)
			dst = append(dst, c)
			if i < len(raw) && raw[i] == c+2 { // the closing bracket is two further
				dst = append(dst, c+2)
				i++
				break
			}
			open = append(open, c)
			key = c == '{'
			dst = newline(dst, len(open), indent)
		case '}', ']':
			i++
			open = open[:max(0, len(open)-1)]
			dst = newline(dst, len(open), indent)
			dst = append(dst, c)
		case ',':
			i++
			dst = append(dst, ',')
			key = len(open) > 0 && open[len(open)-1] == '{'
			dst = newline(dst, len(open), indent)
		case ':':
			i++
			dst = append(dst, ':')
			if indent {
				dst = append(dst, ' ')
			}
			key = false
		case '"':
			end := stringEnd(raw, i)
			style := colorString
			if key {
				style = colorKey
			}
			dst = paint(dst, style, color, func(dst []byte) []byte { return appendSafe(dst, raw[i:end]) })
			i = end
		default:
			end := i + 1
			for end < len(raw) && !delimiter(raw[end]) {
				end++
			}
			dst = paint(dst, wordColor(c), color, func(dst []byte) []byte { return append(dst, raw[i:end]...) })
			i = end
		}
	}
	return dst
}

func wordColor(first byte) string {
	switch first {
	case 't', 'f':
		return colorBool
	case 'n':
		return colorNull
	}
	return colorNumber
}

func paint(dst []byte, style string, color bool, token func([]byte) []byte) []byte {
	if !color {
		return token(dst)
	}
	dst = append(dst, style...)
	dst = token(dst)
	return append(dst, reset...)
}

func newline(dst []byte, depth int, indent bool) []byte {
	if !indent {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

func delimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '{', '}', '[', ']', ',', ':', '"':
		return true
	}
	return false
}

// stringEnd gives the place after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func appendSafe(dst, token []byte) []byte {
	for len(token) > 0 {
		r, n := utf8.DecodeRune(token)
		switch {
		case r == utf8.RuneError && n == 1: // a stray byte may be a control to a terminal
			dst = utf8.AppendRune(dst, r)
		case unsafe(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = append(dst, token[:n]...)
		}
		token = token[n:]
	}
	return dst
}
