package router

import (
	"math"
	"strconv"
	"time"

	"github.com/vant-run/vant/internal/wire"
)

// arg is a parameter of a built-in: raw JSON that the method's schema has
// passed.
type arg struct {
	raw  []byte
	kind wire.Kind
}

// readArgs gives the members of params that are not null.
func readArgs(params []byte, got func(name string, v arg)) error {
	if string(params) == "{}" {
		return nil
	}
	return wire.ScanObject(params, nil, func(m wire.Member) error {
		if m.Kind != wire.Null {
			got(string(m.Name), arg{m.Value, m.Kind})
		}
		return nil
	})
}

func (a arg) text() string {
	s, _ := wire.Unquote(a.raw)
	return s
}

func (a arg) truth() bool { return string(a.raw) == "true" }

// number gives an integer that is not negative; one beyond 64 bits becomes the
// largest, a negative one 0.
func (a arg) number() uint64 {
	s := string(a.raw)
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n
	}
	// A fraction of zeros, an exponent or a size that calls for care: what is
	// above 2^53 in these forms has lost nothing that a cursor needs.
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && math.IsInf(f, 1), f >= math.MaxUint64:
		return math.MaxUint64
	case f <= 0 || math.IsNaN(f):
		return 0
	}
	return uint64(f)
}

// clamped gives the number within bounds, low and high included.
func (a arg) clamped(low, high uint64) uint64 { return min(max(a.number(), low), high) }

// millis gives a number of milliseconds from 0 to high.
func (a arg) millis(high time.Duration) time.Duration {
	return time.Duration(a.clamped(0, uint64(high/time.Millisecond))) * time.Millisecond
}

// texts gives the strings of an array.
func (a arg) texts() []string {
	var out []string
	for _, raw := range elements(a.raw) {
		if s, ok := wire.Unquote(raw); ok {
			out = append(out, s)
		}
	}
	return out
}

// elements splits an array of strings into its raw strings.
func elements(raw []byte) [][]byte {
	var out [][]byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		from := i
		for i++; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		if i < len(raw) {
			out = append(out, raw[from:i+1])
		}
	}
	return out
}
