package wire

// decimal is a JSON number taken apart: 0.DIGITS × 10^point, where DIGITS are
// whole then frac without leading zeros. Comparing digits is exact for every
// size, makes no garbage, and costs as much as the text is long, whatever its
// exponent.
type decimal struct {
	negative    bool
	whole, frac []byte
	point       int64 // position of the decimal point behind the first digit
	zero        bool
}

// maxExponent is where exponents stop growing. No text has that many digits,
// so that the order of numbers stays right unless both exceed it.
const maxExponent = 1 << 60

// parseDecimal takes apart a well-formed number.
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative = true
		raw = raw[1:]
	}
	i := digits(raw, 0)
	d.whole = raw[:i]
	if i < len(raw) && raw[i] == '.' {
		j := digits(raw, i+1)
		d.frac = raw[i+1 : j]
		i = j
	}
	if i < len(raw) {
		d.point = parseExponent(raw[i+1:])
	}
	for len(d.whole) > 0 && d.whole[0] == '0' {
		d.whole = d.whole[1:]
	}
	d.point += int64(len(d.whole))
	if len(d.whole) == 0 {
		for len(d.frac) > 0 && d.frac[0] == '0' {
			d.frac = d.frac[1:]
			d.point--
		}
	}
	for len(d.frac) > 0 && d.frac[len(d.frac)-1] == '0' {
		d.frac = d.frac[:len(d.frac)-1]
	}
	if len(d.frac) == 0 {
		for len(d.whole) > 0 && d.whole[len(d.whole)-1] == '0' {
			d.whole = d.whole[:len(d.whole)-1]
		}
	}
	if len(d.whole)+len(d.frac) == 0 {
		return decimal{zero: true}
	}
	return d
}

func parseExponent(raw []byte) int64 {
	negative := raw[0] == '-'
	if raw[0] == '-' || raw[0] == '+' {
		raw = raw[1:]
	}
	var n int64
	for _, c := range raw {
		if n = n*10 + int64(c-'0'); n > maxExponent {
			n = maxExponent
			break
		}
	}
	if negative {
		return -n
	}
	return n
}

// integer says whether the number has no fraction, as 1.0 and 1e3 have none.
func (d *decimal) integer() bool {
	return d.zero || int64(len(d.whole)+len(d.frac)) <= d.point
}

func (d *decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	if i -= len(d.whole); i < len(d.frac) {
		return d.frac[i]
	}
	return '0'
}

// compare gives -1, 0 or 1.
func (d *decimal) compare(e *decimal) int {
	if d.zero && e.zero {
		return 0
	}
	if d.zero {
		return -e.side()
	}
	if e.zero || d.negative != e.negative {
		return d.side()
	}
	if d.point != e.point {
		if d.point < e.point {
			return -d.side()
		}
		return d.side()
	}
	n := max(len(d.whole)+len(d.frac), len(e.whole)+len(e.frac))
	for i := range n {
		if a, b := d.digit(i), e.digit(i); a < b {
			return -d.side()
		} else if a > b {
			return d.side()
		}
	}
	return 0
}

// side says on which side of zero a number stands that is not zero.
func (d *decimal) side() int {
	if d.negative {
		return -1
	}
	return 1
}

// CompareNumbers compares two well-formed JSON numbers exactly: -1, 0 or 1.
func CompareNumbers(a, b []byte) int {
	x, y := parseDecimal(a), parseDecimal(b)
	return x.compare(&y)
}

// smallInt reads a number that is written as an integer of at most 18 digits.
func smallInt(raw []byte) (n int64, ok bool) {
	i, negative := 0, false
	if raw[0] == '-' {
		i, negative = 1, true
	}
	if len(raw)-i > 18 {
		return 0, false
	}
	for ; i < len(raw); i++ {
		c := raw[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if negative {
		n = -n
	}
	return n, true
}

// isInteger says whether a well-formed number has no fraction.
func isInteger(raw []byte) bool {
	for _, c := range raw {
		if c == '.' || c|0x20 == 'e' {
			d := parseDecimal(raw)
			return d.integer()
		}
	}
	return true
}

// bound is a number of a schema, ready to be compared with.
type bound struct {
	raw     []byte
	small   int64
	isSmall bool
	exact   decimal
}

func newBound(raw []byte) *bound {
	b := &bound{raw: raw, exact: parseDecimal(raw)}
	b.small, b.isSmall = smallInt(raw)
	return b
}

// compare says where raw, a well-formed number, stands: -1 below the bound.
func (b *bound) compare(raw []byte) int {
	if b.isSmall {
		if n, ok := smallInt(raw); ok {
			switch {
			case n < b.small:
				return -1
			case n > b.small:
				return 1
			}
			return 0
		}
	}
	d := parseDecimal(raw)
	return d.compare(&b.exact)
}
