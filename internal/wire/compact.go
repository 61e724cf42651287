package wire

import (
	"encoding/binary"
	"math/bits"
)

// AppendCompact appends text, a JSON text that Valid accepts, without the
// whitespace outside strings. Of another text it appends something without
// sense, but it never fails.
func AppendCompact(dst, text []byte) []byte {
	start, i := 0, 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '"':
			i = quoteEnd(text, i+1)
		case isSpace(c):
			dst = append(dst, text[start:i]...)
			i = skipSpaces(text, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, text[start:]...)
}

// quoteEnd gives the index after the quote that closes the string in which
// p[i] stands, len(p) when there is none.
func quoteEnd(p []byte, i int) int {
	for {
		for i+8 <= len(p) {
			w := binary.LittleEndian.Uint64(p[i:])
			q, b := w^'"'*ones, w^'\\'*ones
			m := ((q-ones)&^q | (b-ones)&^b) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(p) && p[i] != '"' && p[i] != '\\' {
			i++
		}
		if i >= len(p) {
			return len(p)
		}
		if p[i] == '"' {
			return i + 1
		}
		i = min(i+2, len(p))
	}
}
