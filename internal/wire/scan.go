package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Masks for eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// specialMask marks the bytes of w that end a plain run within a string: quote,
// backslash, control characters and everything that is not ASCII. Bits above
// the lowest mark may be wrong, because a subtraction borrows; the lowest is
// always right.
func specialMask(w uint64) uint64 {
	// Flipping bit 1 moves the quote to 0x20, right above the control
	// characters, and leaves those among themselves: one comparison finds both.
	return (((w ^ 0x02*ones) - 0x21*ones) | ((w ^ '\\'*ones) - ones) | w) & highs
}

// faults of strings.
const (
	faultOpen = -1 - iota
	faultControl
	faultEscape
	faultUTF8
)

var stringFaults = [...]string{
	-1 - faultOpen:    "string without end",
	-1 - faultControl: "control character in a string; write it as an escape",
	-1 - faultEscape:  "unknown escape in a string",
	-1 - faultUTF8:    "invalid UTF-8",
}

// scanString reads a string whose opening quote is at p[i-1]. It gives the
// index after the closing quote and whether the string has escapes. On a fault
// end is its negative number and at the place.
func scanString(p []byte, i int) (end int, escaped bool, at int) {
	for {
		for i+8 <= len(p) {
			m := specialMask(binary.LittleEndian.Uint64(p[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			i += 8
		}
		for i < len(p) && plain[p[i]] {
			i++
		}
		if i >= len(p) {
			return faultOpen, escaped, i
		}
	found:
		switch c := p[i]; {
		case c == '"':
			return i + 1, escaped, 0
		case c == '\\':
			n := scanEscape(p, i)
			if n == 0 {
				return faultEscape, escaped, i
			}
			escaped = true
			i += n
		case c < 0x20:
			return faultControl, escaped, i
		default:
			n := runs(p, i)
			if n < 0 {
				return faultUTF8, escaped, ^n
			}
			i = n
		}
	}
}

// runs passes over text that is mostly not ASCII and gives the index at which
// to look anew; ^index of the first bad byte on a fault.
func runs(p []byte, i int) int {
	for i < len(p) {
		c := p[i]
		if c < utf8.RuneSelf {
			// A single plain one, as between words, does not end the run.
			if i+1 < len(p) && p[i+1] >= utf8.RuneSelf && plain[c] {
				i++
				continue
			}
			return i
		}
		switch {
		case c >= 0xc2 && c <= 0xdf:
			if i+1 >= len(p) || p[i+1]&0xc0 != 0x80 {
				return ^i
			}
			i += 2
		case c >= 0xe1 && c <= 0xef && c != 0xed:
			if i+2 >= len(p) || p[i+1]&0xc0 != 0x80 || p[i+2]&0xc0 != 0x80 {
				return ^i
			}
			i += 3
		default:
			r, n := utf8.DecodeRune(p[i:])
			if r == utf8.RuneError && n == 1 {
				return ^i
			}
			i += n
		}
	}
	return i
}

// scanEscape gives the length of the escape at p[i], 0 when it is none.
func scanEscape(p []byte, i int) int {
	if i+1 >= len(p) {
		return 0
	}
	switch p[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if i+6 <= len(p) && hex[p[i+2]]|hex[p[i+3]]|hex[p[i+4]]|hex[p[i+5]] < 0x10 {
			return 6
		}
	}
	return 0
}

// scanNumber gives the index after the number at p[i], -1 when there is none.
// The caller refuses what may not follow a number.
func scanNumber(p []byte, i int) int {
	if i < len(p) && p[i] == '-' {
		i++
	}
	if i >= len(p) {
		return -1
	}
	switch c := p[i]; {
	case c == '0':
		i++
	case c-'1' < 9:
		i = digits(p, i+1)
	default:
		return -1
	}
	return scanFraction(p, i)
}

// scanFraction gives the index after the fraction and the exponent at p[i], -1
// when one of them is malformed.
func scanFraction(p []byte, i int) int {
	if i < len(p) && p[i] == '.' {
		if i+1 >= len(p) || p[i+1]-'0' > 9 {
			return -1
		}
		i = digits(p, i+2)
	}
	if i < len(p) && p[i]|0x20 == 'e' {
		i++
		if i < len(p) && (p[i] == '+' || p[i] == '-') {
			i++
		}
		if i >= len(p) || p[i]-'0' > 9 {
			return -1
		}
		i = digits(p, i+1)
	}
	return i
}

func digits(p []byte, i int) int {
	for i < len(p) && p[i]-'0' <= 9 {
		i++
	}
	return i
}

// scanLiteral gives the index after true, false or null at p[i], -1 when there
// is none of them.
func scanLiteral(p []byte, i int) int {
	if i+4 > len(p) {
		return -1
	}
	switch binary.LittleEndian.Uint32(p[i:]) {
	case 't' | 'r'<<8 | 'u'<<16 | 'e'<<24, 'n' | 'u'<<8 | 'l'<<16 | 'l'<<24:
		return i + 4
	case 'f' | 'a'<<8 | 'l'<<16 | 's'<<24:
		if i+5 <= len(p) && p[i+4] == 'e' {
			return i + 5
		}
	}
	return -1
}

// skipSpace gives the index of the first byte from p[i] on that is no JSON
// whitespace. Its first lines are small so that calls of it disappear where
// there is none.
func skipSpace(p []byte, i int) int {
	if i < len(p) && p[i] > ' ' {
		return i
	}
	return skipSpaces(p, i)
}

func skipSpaces(p []byte, i int) int {
	for i < len(p) && isSpace(p[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// plain marks the bytes that stand for themselves within strings, as specialMask
// does for eight.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// hex gives the value of a hexadecimal digit, 0xff for all else.
var hex = func() (t [256]byte) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9':
			t[c] = byte(c - '0')
		case 'a' <= c && c <= 'f':
			t[c] = byte(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			t[c] = byte(c - 'A' + 10)
		default:
			t[c] = 0xff
		}
	}
	return t
}()
