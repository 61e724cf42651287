package wire

// checkRaw checks what needs the whole value: enum, const, anyOf and oneOf.
// The value is text[start:end], and well-formed.
func (c *checker) checkRaw(start, end int, kind Kind, n *node) {
	// A violation here must not be tried for again below; a number's range may
	// be broken already.
	if c.failed && c.trial > 0 {
		return
	}
	for i := range n.fixed {
		if !n.fixed[i].has(c, start, end, kind) {
			if !c.fails(false) {
				c.violate(false, n.fixed[i].expect)
			}
			return
		}
	}
	for i := range n.choices {
		if !c.choose(start, kind, &n.choices[i]) {
			return
		}
	}
}

// choose looks for the alternative that the value at start conforms to.
func (c *checker) choose(start int, kind Kind, ch *choice) bool {
	var (
		match   *node // that knows most of the names
		matches int
		unknown int
		close   *node // whose type is right, though not all within
		nClose  int
	)
	for _, alt := range ch.alternatives {
		if !alt.mayTake(kind) {
			continue
		}
		ok, top, u := c.try(start, alt)
		switch {
		case ok:
			if match == nil || u < unknown {
				match, unknown = alt, u
			}
			matches++
		case !top:
			close = alt
			nClose++
		}
		if ok && !ch.one && u == 0 {
			break
		}
	}
	switch {
	case matches == 1, matches > 1 && !ch.one:
		switch {
		case unknown == 0:
		case c.trial > 0:
			c.unknown += unknown
		default:
			c.value(start, match, 0) // for its warnings
		}
		return true
	case c.fails(nClose == 0 && matches == 0):
	case matches > 1:
		c.violate(false, "matches more than one of the allowed forms")
	case nClose == 1:
		c.value(start, close, 0) // for its violation
	case nClose == 0 && ch.expect != "":
		c.violate(true, ch.expect)
	default:
		c.violate(false, "matches none of the allowed forms")
	}
	return false
}

// try checks the value at start against an alternative without reporting. Top
// says that the value's own type is wrong.
func (c *checker) try(start int, alt *node) (ok, top bool, unknown int) {
	failed, failedTop, before, path := c.failed, c.failedTop, c.unknown, len(c.path)
	base := c.base
	c.failed, c.failedTop, c.unknown, c.base = false, false, 0, path
	c.trial++
	c.value(start, alt, 0)
	c.trial--
	ok, top, unknown = !c.failed, c.failedTop, c.unknown
	c.failed, c.failedTop, c.unknown, c.base = failed, failedTop, before, base
	c.path = c.path[:path]
	return ok, top, unknown
}

// fails notes a violation within a trial; false outside of one, where it is
// for the caller to report. Top: the value's type is wrong.
func (c *checker) fails(top bool) bool {
	if c.trial > 0 {
		if !c.failed {
			c.failed = true
			c.failedTop = top && len(c.path) == c.base
		}
		return true
	}
	return c.rep.Violation != nil
}
