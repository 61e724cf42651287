package wire

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// node is one compiled schema. A nil node allows everything.
type node struct {
	types  types
	never  bool   // the schema false
	expect string // what types ask for: "expected string or null"

	props      []prop           // declared, required and otherwise known names
	byName     map[string]*prop // when there are many
	required   []string
	additional *node // for names that are not declared; nil: anything
	warn       bool  // names that are not declared deserve a warning
	items      *node

	hasText            bool // one of the next three is set
	pattern            *regexp.Regexp
	minLen, maxLen     int
	minItems, maxItems int
	minProps, maxProps int

	min, max, above, below *bound

	hasFixed bool
	fixed    []fixed  // enum and const
	choices  []choice // anyOf and oneOf
}

// prop is what a node knows of a member name.
type prop struct {
	name     string
	key      uint64 // as in type name
	node     *node
	required int // index in node.required, -1 for none
	declared bool
	nullable bool // null stands for nothing
	known    bool // an alternative declares it
}

// choice is one anyOf or oneOf.
type choice struct {
	alternatives []*node
	one          bool
	expect       string // all types that are allowed; "" when any is
}

// types is a set of JSON types, as bits by Kind; none: every type.
type types uint16

const integer types = 1 << 15

func (n *node) allows(k Kind) bool {
	return n.types == 0 && !n.never || n.types>>k&1 != 0
}

// mayTake says whether a value of the kind can conform.
func (n *node) mayTake(k Kind) bool {
	return n.allows(k) || k == Number && n.types&integer != 0
}

// lookup finds a name; key is its nameKey.
func (n *node) lookup(key uint64, b []byte) *prop {
	if n.byName != nil {
		return n.byName[string(b)]
	}
	for i := range n.props {
		p := &n.props[i]
		if p.key == key && len(p.name) == len(b) && (len(b) <= 8 || p.name == string(b)) {
			return p
		}
	}
	return nil
}

// checkString checks the length and the pattern of a string's inner text.
func (c *checker) checkString(inner []byte, escaped bool, n *node) {
	if !n.hasText {
		return
	}
	if escaped {
		c.buf = unescape(c.buf[:0], inner, false)
		inner = c.buf
	}
	if n.minLen > 0 || n.maxLen >= 0 {
		// No character takes more than four bytes, none less than one.
		if len(inner) < n.minLen || len(inner) < 4*n.minLen && utf8.RuneCount(inner) < n.minLen {
			c.violateLimit("at least ", n.minLen, "character", "characters")
			return
		}
		if n.maxLen >= 0 && len(inner) > n.maxLen && utf8.RuneCount(inner) > n.maxLen {
			c.violateLimit("at most ", n.maxLen, "character", "characters")
			return
		}
	}
	if n.pattern != nil && !n.pattern.Match(inner) {
		if c.fails(false) {
			return
		}
		c.violate(false, "expected a match of the pattern "+Shorten(n.pattern.String(), maxShown))
	}
}

// checkNumber checks type and range of a number.
func (c *checker) checkNumber(raw []byte, n *node) {
	if !n.allows(Number) && (n.types&integer == 0 || !isInteger(raw)) {
		c.violateType(n)
		return
	}
	switch {
	case n.min != nil && n.min.compare(raw) < 0:
		c.violateBound("at least ", n.min)
	case n.above != nil && n.above.compare(raw) <= 0:
		c.violateBound("more than ", n.above)
	case n.max != nil && n.max.compare(raw) > 0:
		c.violateBound("at most ", n.max)
	case n.below != nil && n.below.compare(raw) >= 0:
		c.violateBound("less than ", n.below)
	}
}

func (c *checker) checkCount(count, least, most int, one, many string) {
	if count < least {
		c.violateLimit("at least ", least, one, many)
	} else if most >= 0 && count > most {
		c.violateLimit("at most ", most, one, many)
	}
}

func (c *checker) violateBound(relation string, b *bound) {
	if !c.fails(false) {
		c.violate(false, "expected "+relation+Shorten(string(b.raw), maxShown))
	}
}

func (c *checker) violateLimit(relation string, n int, one, many string) {
	if c.fails(false) {
		return
	}
	if n == 1 {
		many = one
	}
	c.violate(false, "expected "+relation+strconv.Itoa(n)+" "+many)
}
