package sdk

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

var (
	errNotInteger = errors.New("expected integer")
	errRange      = errors.New("number out of range")
)

// clamp moves numbers between two bounds of the field's type.
type clamp struct{ lo, hi reflect.Value }

// parseNumber reads a JSON number into a value of kind t exactly: 1.0 and 1e3
// are integers, no digit is lost on the way. Numbers that t cannot hold are
// errRange, or the nearer bound when there is a clamp.
func parseNumber(t reflect.Type, text string, c *clamp) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	var err error
	switch {
	case v.CanFloat():
		var f float64
		if f, err = strconv.ParseFloat(text, t.Bits()); err == nil {
			v.SetFloat(f)
		} else if errors.Is(err, strconv.ErrRange) {
			err = errRange
		}
	case v.CanInt():
		var n int64
		if n, err = strconv.ParseInt(text, 10, t.Bits()); err == nil {
			v.SetInt(n)
		} else if n, ok, e := wholeInt(text); e != nil {
			err = e
		} else if !ok || v.OverflowInt(n) {
			err = errRange
		} else {
			v.SetInt(n)
			err = nil
		}
	default:
		var n uint64
		if n, err = strconv.ParseUint(text, 10, t.Bits()); err == nil {
			v.SetUint(n)
		} else if n, ok, e := wholeUint(text); e != nil {
			err = e
		} else if !ok || v.OverflowUint(n) {
			err = errRange
		} else {
			v.SetUint(n)
			err = nil
		}
	}
	if c == nil {
		return v, err
	}
	switch {
	case errors.Is(err, errRange) && strings.HasPrefix(text, "-"):
		return c.lo, nil
	case errors.Is(err, errRange):
		return c.hi, nil
	case err != nil:
		return v, err
	case compareNumbers(v, c.lo) < 0:
		return c.lo, nil
	case compareNumbers(v, c.hi) > 0:
		return c.hi, nil
	}
	return v, nil
}

func compareNumbers(a, b reflect.Value) int {
	switch {
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Uint(), b.Uint())
}

func wholeInt(text string) (n int64, ok bool, err error) {
	i, err := whole(text)
	if err != nil || i == nil || !i.IsInt64() {
		return 0, false, err
	}
	return i.Int64(), true, nil
}

func wholeUint(text string) (n uint64, ok bool, err error) {
	i, err := whole(text)
	if err != nil || i == nil || !i.IsUint64() {
		return 0, false, err
	}
	return i.Uint64(), true, nil
}

// whole reads a number that is an integer in value; nil means that it is too
// large for any integer type. The work is bounded whatever the exponent says.
func whole(text string) (*big.Int, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.TrimLeft(mantissa, "-+0.")
	if digits == "" { // 0, -0.00, 0e99
		if mantissa == "" || strings.Trim(mantissa, "-+.") == "" {
			return nil, errNotInteger
		}
		return new(big.Int), nil
	}
	point := len(mantissa)
	fraction := 0
	if i := strings.IndexByte(mantissa, '.'); i >= 0 {
		point = i
		fraction = len(strings.TrimRight(mantissa[i+1:], "0"))
	}
	exp := 0
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		switch {
		case err == nil:
			exp = max(min(e, math.MaxInt32), math.MinInt32)
		case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(exponent, "-"):
			exp = math.MinInt32
		case errors.Is(err, strconv.ErrRange):
			exp = math.MaxInt32
		default:
			return nil, errNotInteger
		}
	}
	if fraction > exp && (fraction > 0 || !trailingZeros(mantissa[:point], -exp)) {
		return nil, errNotInteger
	}
	if fraction == 0 { // 1.000 may be as long as it likes
		mantissa = mantissa[:point]
		text = mantissa + "e" + strconv.Itoa(exp)
	}
	if len(mantissa) > 64 || exp > 64 || exp < -64 {
		return nil, nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return nil, errNotInteger
	}
	return r.Num(), nil
}

// trailingZeros reports whether s ends in at least n zeros.
func trailingZeros(s string, n int) bool {
	return n <= 0 || n <= len(s) && strings.Trim(s[len(s)-n:], "0") == ""
}

var errNotJSON = errors.New("not valid JSON")
