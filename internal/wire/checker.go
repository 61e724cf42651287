package wire

import "sync"

// Check reports whether text is exactly one JSON value as this protocol wants
// it: valid UTF-8, no name twice in an object, nesting of at most MaxDepth,
// nothing behind it but whitespace. The error is a *SyntaxError.
func Check(text []byte) error {
	c := newChecker(text)
	defer c.free()
	if err := c.whole(nil); err != nil {
		return err
	}
	return nil
}

// checker walks one text. Its stacks are kept between texts, so that checking
// makes no garbage.
type checker struct {
	text  []byte
	loose bool // names may stand twice
	err   *SyntaxError

	names []name   // of the objects that are open, innermost last
	arena []byte   // names that had escapes, unescaped
	seen  []uint64 // which required names the open objects have, as bits
	buf   []byte   // a string value that had escapes, unescaped

	// Where the walk stands below the root of the schema: the index of a name
	// in names, or the complement of an array's index.
	path []int
	rep  Report
	// trial counts the alternatives inside which the walk is. There a
	// violation ends the walk, and texts are not made.
	trial     int
	base      int  // length of path where the innermost trial began
	failed    bool // a violation within a trial
	failedTop bool // it is a wrong type of the alternative's own value
	unknown   int  // unknown names within a trial
}

var checkers = sync.Pool{New: func() any { return new(checker) }}

func newChecker(text []byte) *checker {
	c := checkers.Get().(*checker)
	c.text = text
	return c
}

// free gives the checker back. What grew with an unusual text is dropped.
func (c *checker) free() {
	const keep = 1 << 12
	if cap(c.names) > keep || cap(c.arena) > 4*keep || cap(c.buf) > 4*keep || cap(c.seen) > keep {
		return
	}
	*c = checker{
		names: c.names[:0], arena: c.arena[:0], seen: c.seen[:0], buf: c.buf[:0], path: c.path[:0],
	}
	checkers.Put(c)
}

// whole checks that the text is one value.
func (c *checker) whole(n *node) *SyntaxError {
	i := skipSpace(c.text, 0)
	i = c.value(i, n, 0)
	if i < 0 {
		return c.err
	}
	return c.end(i)
}

// end checks that nothing follows.
func (c *checker) end(i int) *SyntaxError {
	if i = skipSpaces(c.text, i); i < len(c.text) {
		c.fail(i, "unexpected text after the value")
		return c.err
	}
	return nil
}

// fail records the first fault; it gives -1, as all who walk do then.
func (c *checker) fail(i int, message string) int {
	if c.err == nil {
		if i >= len(c.text) && message != stringFaults[-1-faultOpen] {
			message = "unexpected end"
		}
		c.err = &SyntaxError{Offset: i, Message: message}
	}
	return -1
}

// value checks the value at i, which is no whitespace, against n, nil for
// none. It gives the index after it; -1 after a fault of syntax, and within a
// trial after a violation.
func (c *checker) value(i int, n *node, depth int) int {
	p := c.text
	if i >= len(p) {
		return c.fail(i, "expected a value")
	}
	start := i
	var kind Kind
	switch p[i] {
	case '"':
		end, escaped, at := scanString(p, i+1)
		if end < 0 {
			return c.fail(at, stringFaults[-1-end])
		}
		if n == nil {
			return end
		}
		i, kind = end, String
		if n.allows(String) {
			c.checkString(p[start+1:end-1], escaped, n)
		}
	case '{', '[':
		if depth >= MaxDepth {
			return c.fail(i, "nesting is too deep")
		}
		kind = Object
		if p[i] == '[' {
			kind = Array
		}
		inner := n
		if n != nil && !n.allows(kind) {
			// Nothing within is of interest, but for its syntax.
			if c.violateType(n); c.trial > 0 {
				return -1
			}
			inner = nil
		}
		if kind == Object {
			i = c.object(i+1, inner, depth+1)
		} else {
			i = c.array(i+1, inner, depth+1)
		}
		if i < 0 || inner == nil {
			return i
		}
	case 't', 'f', 'n':
		kind = Bool
		if p[i] == 'n' {
			kind = Null
		}
		if i = scanLiteral(p, i); i < 0 {
			return c.fail(start, "expected true, false or null")
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		kind = Number
		if i = scanNumber(p, i); i < 0 {
			return c.fail(start, "malformed number")
		}
		if n == nil {
			return i
		}
		c.checkNumber(p[start:i], n)
	default:
		return c.fail(i, "expected a value")
	}
	if n != nil {
		if kind != Number && !n.allows(kind) {
			c.violateType(n)
		} else if n.hasFixed || n.choices != nil {
			c.checkRaw(start, i, kind, n)
		}
		if c.failed && c.trial > 0 {
			return -1
		}
	}
	return i
}

// array checks the elements behind the bracket before i.
func (c *checker) array(i int, n *node, depth int) int {
	p := c.text
	var items *node
	if n != nil {
		items = n.items
	}
	count := 0
	i = skipSpace(p, i)
	if i < len(p) && p[i] == ']' {
		i++
	} else {
		for {
			if items != nil {
				c.path = append(c.path, ^count)
			}
			if i = c.value(i, items, depth); i < 0 {
				return i
			}
			if items != nil {
				c.path = c.path[:len(c.path)-1]
			}
			count++
			i = skipSpace(p, i)
			if i < len(p) && p[i] == ',' {
				i = skipSpace(p, i+1)
				continue
			}
			if i < len(p) && p[i] == ']' {
				i++
				break
			}
			return c.fail(i, "expected , or ]")
		}
	}
	if n != nil {
		c.checkCount(count, n.minItems, n.maxItems, "element", "elements")
	}
	return i
}
