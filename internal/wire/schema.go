package wire

// Schema is a compiled schema. It is immutable and may be used concurrently.
type Schema struct {
	root *node // nil: everything conforms
	full func(value []byte) *Violation
}

// Check checks value in one pass. The error is a *SyntaxError: value is not
// what Check accepts. What the schema says of it stands in the report, of
// which the strings do not alias value.
func (s *Schema) Check(value []byte) (Report, error) {
	c := newChecker(value)
	defer c.free()
	if err := c.whole(s.root); err != nil {
		return Report{}, err
	}
	if s.full != nil {
		c.rep.Violation = s.full(value)
	}
	return c.rep, nil
}

// ScanObject walks the members of text, which must be one object, in order and
// in one pass, as strictly as Check. Want, unless nil, says against which
// schema a member's value is checked; nil for none. Got receives each member
// once its value was checked; its error ends the walk and is returned. Any
// other error is a *SyntaxError; the members before the fault have been
// reported then.
func ScanObject(text []byte, want func(name []byte) *Schema, got func(m Member) error) error {
	c := newChecker(text)
	defer c.free()
	i := skipSpace(text, 0)
	if i >= len(text) {
		c.fail(i, "expected an object")
		return c.err
	}
	if text[i] != '{' {
		if i = c.value(i, nil, 0); i < 0 {
			return c.err
		}
		if c.end(i) == nil {
			c.fail(skipSpace(text, 0), "expected an object")
		}
		return c.err
	}
	var large *nameSet
	i = skipSpace(text, i+1)
	if i < len(text) && text[i] == '}' {
		i++
	} else {
		for {
			if i = c.name(i, 0, &large); i < 0 {
				return c.err
			}
			m := Member{Name: c.bytes(&c.names[len(c.names)-1])}
			var s *Schema
			if want != nil {
				s = want(m.Name)
			}
			var err error
			if i, err = c.report(i, s, &m); err != nil {
				return err
			}
			if err := got(m); err != nil {
				return err
			}
			i = skipSpace(text, i)
			if i < len(text) && text[i] == ',' {
				i = skipSpace(text, i+1)
				continue
			}
			if i < len(text) && text[i] == '}' {
				i++
				break
			}
			c.fail(i, "expected , or }")
			return c.err
		}
	}
	if err := c.end(i); err != nil {
		return err
	}
	return nil
}

// report checks the value at i for m.
func (c *checker) report(i int, s *Schema, m *Member) (end int, err error) {
	var root *node
	if s != nil {
		root = s.root
	}
	c.rep = Report{}
	if end = c.value(i, root, 1); end < 0 {
		return end, c.err
	}
	m.Value = c.text[i:end]
	m.Kind = kindOf(m.Value[0])
	if s != nil && s.full != nil {
		c.rep.Violation = s.full(m.Value)
	}
	m.Report = c.rep
	// The next value may change the name's place in the arena, never its bytes.
	return end, nil
}

// kindOf tells a value's kind by its first byte.
func kindOf(first byte) Kind {
	switch first {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}
