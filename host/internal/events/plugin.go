package events

import (
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

const (
	maxTypeBytes = 128
	maxDataBytes = 64 << 10
)

// FromPlugin says what of a plugin's event goes into the ring: all of it; its
// type alone, when the data is not a JSON object of at most 64 KiB; or nothing
// (an entry without type), when the type is not a dotted name or is the
// host's. The fault is "" or says why.
func FromPlugin(typ string, data []byte) (entry Entry, fault string) {
	switch {
	case !validType(typ):
		return Entry{}, "the type is not a dotted name of at most 128 bytes"
	case reserved(typ):
		return Entry{}, "the type is one of the host's own"
	case len(data) == 0:
		return Entry{Type: typ}, ""
	case len(data) > maxDataBytes:
		return Entry{Type: typ}, "the data is larger than 64 KiB"
	}
	data, ok := Object(data)
	if !ok {
		return Entry{Type: typ}, "the data is not a JSON object"
	}
	return Entry{Type: typ, Data: data}, ""
}

// validType follows ^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$.
func validType(s string) bool {
	if len(s) > maxTypeBytes || s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	dots := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		case c == '.' && s[i-1] != '.':
			dots++
		default:
			return false
		}
	}
	return dots > 0 && s[len(s)-1] != '.'
}

func reserved(typ string) bool {
	first, _, _ := strings.Cut(typ, ".")
	return first == "host" || first == "plugin" || first == "methods"
}

// Object gives data, a JSON object, without insignificant whitespace; false when data
// is none.
func Object(data []byte) ([]byte, bool) {
	compact, err := wire.Valid(data)
	if err != nil {
		return nil, false
	}
	if !compact {
		data = wire.AppendCompact(nil, data)
	}
	return data, data[0] == '{'
}
