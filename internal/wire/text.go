package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Bytes that are no UTF-8 become
// U+FFFD; beyond what JSON asks nothing is escaped.
func AppendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Unquote gives the string that raw, a JSON string with its quotes, stands
// for; false when raw is none. Unpaired surrogate escapes become U+FFFD.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	end, escaped, _ := scanString(raw, 1)
	if end != len(raw) {
		return "", false
	}
	if !escaped {
		return string(raw[1 : len(raw)-1]), true
	}
	b := unescape(make([]byte, 0, len(raw)), raw[1:len(raw)-1], false)
	return string(b), true
}

// UnquotedLen gives the length in bytes of the string that raw stands for,
// without making it. Raw must be a JSON string; unpaired surrogate escapes
// count three bytes.
func UnquotedLen(raw []byte) int {
	n := len(raw) - 2
	if Plain(raw) {
		return n
	}
	for i := 1; i < len(raw)-1; {
		if raw[i] != '\\' {
			i++
			continue
		}
		r, size := escapedRune(raw, i)
		i += size
		n -= size - runeLen(r)
	}
	return n
}

// Plain says whether raw, a JSON string, has no escapes: what stands between
// its quotes then is the string.
func Plain(raw []byte) bool { return bytes.IndexByte(raw, '\\') < 0 }

// runeLen is the length of r in UTF-8, with surrogates as three bytes.
func runeLen(r rune) int {
	if n := utf8.RuneLen(r); n > 0 {
		return n
	}
	return 3
}

// unescape appends what the inner part of a well-formed string stands for.
// With exact, an unpaired surrogate is written as the three bytes that UTF-8
// would have for it: no valid string has those, so names stay distinct.
func unescape(dst, inner []byte, exact bool) []byte {
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			run := plainRun(inner, i)
			dst = append(dst, inner[i:run]...)
			i = run
			continue
		}
		r, size := escapedRune(inner, i)
		i += size
		if exact && utf16.IsSurrogate(r) {
			dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
			continue
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// plainRun gives the index of the next backslash from p[i] on.
func plainRun(p []byte, i int) int {
	for i+8 <= len(p) {
		b := binary.LittleEndian.Uint64(p[i:]) ^ '\\'*ones
		if m := (b - ones) &^ b & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(p) && p[i] != '\\' {
		i++
	}
	return i
}

// escapedRune gives the character of the well-formed escape at p[i] and the
// escape's length. Two escapes that are a pair of surrogates are one
// character; an unpaired one is given as it is.
func escapedRune(p []byte, i int) (rune, int) {
	switch c := p[i+1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r := hex4(p, i+2)
		if r >= 0xd800 && r < 0xdc00 && i+12 <= len(p) && p[i+6] == '\\' && p[i+7] == 'u' {
			if low := hex4(p, i+8); low >= 0xdc00 && low < 0xe000 {
				return utf16.DecodeRune(r, low), 12
			}
		}
		return r, 6
	default:
		return rune(c), 2
	}
}

func hex4(p []byte, i int) rune {
	return rune(hex[p[i]])<<12 | rune(hex[p[i+1]])<<8 | rune(hex[p[i+2]])<<4 | rune(hex[p[i+3]])
}
