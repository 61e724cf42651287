package wire

// object checks the members behind the brace before i.
func (c *checker) object(i int, n *node, depth int) int {
	names, arena, seen := len(c.names), len(c.arena), len(c.seen)
	i = c.members(i, n, depth, names, seen)
	c.names, c.arena, c.seen = c.names[:names], c.arena[:arena], c.seen[:seen]
	return i
}

func (c *checker) members(i int, n *node, depth, names, seen int) int {
	p := c.text
	var large *nameSet
	count := 0
	if n != nil {
		for range (len(n.required) + 63) / 64 {
			c.seen = append(c.seen, 0)
		}
	}
	i = skipSpace(p, i)
	if i < len(p) && p[i] == '}' {
		i++
		goto end
	}
	for {
		if i = c.name(i, names, &large); i < 0 {
			return i
		}
		if n == nil {
			if i = c.value(i, nil, depth); i < 0 {
				return i
			}
		} else {
			sub, absent := c.member(i, n, seen)
			if c.failed && c.trial > 0 {
				return -1
			}
			if !absent {
				count++
			}
			if sub != nil {
				c.path = append(c.path, len(c.names)-1)
			}
			if i = c.value(i, sub, depth); i < 0 {
				return i
			}
			if sub != nil {
				c.path = c.path[:len(c.path)-1]
			}
		}
		i = skipSpace(p, i)
		if i < len(p) && p[i] == ',' {
			i = skipSpace(p, i+1)
			continue
		}
		if i < len(p) && p[i] == '}' {
			i++
			break
		}
		return c.fail(i, "expected , or }")
	}
end:
	if n != nil {
		for k, r := range n.required {
			if c.seen[seen+k/64]>>(k%64)&1 == 0 {
				c.violateMissing(r)
				break
			}
		}
		c.checkCount(count, n.minProps, n.maxProps, "member", "members")
	}
	return i
}

// name reads the name at i and what stands between it and its value; it gives
// the value's index. The name is then the last one in c.names, of which those
// from base on are this object's.
func (c *checker) name(i, base int, large **nameSet) int {
	p := c.text
	if i >= len(p) || p[i] != '"' {
		return c.fail(i, "expected a member name")
	}
	start := i + 1
	end, escaped, at := scanString(p, start)
	if end < 0 {
		return c.fail(at, stringFaults[-1-end])
	}
	c.push(start, end-1, escaped)
	if !c.loose && c.twice(base, large) {
		return c.fail(i, "duplicate member name")
	}
	i = skipSpace(p, end)
	if i >= len(p) || p[i] != ':' {
		return c.fail(i, "expected :")
	}
	return skipSpace(p, i+1)
}

// member looks the current name up in n. It notes that a required member is
// there, and gives the schema of the value at i; absent, with none, when the
// value is a null that stands for nothing.
func (c *checker) member(i int, n *node, seen int) (sub *node, absent bool) {
	nm := &c.names[len(c.names)-1]
	pr := n.lookup(nm.key, c.bytes(nm))
	if pr == nil {
		if n.additional == nil {
			if n.warn {
				c.warnUnknown(n)
			}
			return nil, false
		}
		if n.additional.never {
			c.violateUnknown(n)
			return nil, false
		}
		return n.additional, false
	}
	if pr.nullable && c.text[min(i, len(c.text)-1)] == 'n' {
		return nil, true
	}
	if pr.required >= 0 {
		c.seen[seen+pr.required/64] |= 1 << (pr.required % 64)
	}
	if pr.declared {
		return pr.node, false
	}
	if n.additional == nil {
		if n.warn && !pr.known {
			c.warnUnknown(n)
		}
		return nil, false
	}
	if n.additional.never {
		c.violateUnknown(n)
		return nil, false
	}
	return n.additional, false
}
