package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// fixed is the list of values that enum or const allows.
type fixed struct {
	texts  map[string]struct{} // the strings
	values []constant          // the rest
	expect string
}

// constant is a value of a schema.
type constant struct {
	kind    Kind
	truth   bool
	text    string
	number  *bound
	list    []constant
	members map[string]constant
}

func newFixed(values []any) (fixed, error) {
	f := fixed{texts: map[string]struct{}{}}
	shown := make([]string, 0, len(values))
	for _, v := range values {
		k, err := newConstant(v)
		if err != nil {
			return fixed{}, err
		}
		if k.kind == String {
			f.texts[k.text] = struct{}{}
		} else {
			f.values = append(f.values, k)
		}
		if len(shown) < maxShown {
			shown = append(shown, show(v))
		}
	}
	switch len(values) {
	case 0:
		f.expect = "expected no value"
	case 1:
		f.expect = "expected " + shown[0]
	default:
		f.expect = "expected one of " + Shorten(strings.Join(shown, ", "), 4*maxShown)
	}
	return f, nil
}

// show gives a schema's own value for a message.
func show(v any) string {
	if s, ok := v.(string); ok {
		return Quote(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "another value"
	}
	return Shorten(string(b), maxShown)
}

func newConstant(v any) (constant, error) {
	switch v := v.(type) {
	case nil:
		return constant{kind: Null}, nil
	case bool:
		return constant{kind: Bool, truth: v}, nil
	case string:
		return constant{kind: String, text: v}, nil
	case json.Number:
		b, err := schemaNumber(v)
		return constant{kind: Number, number: b}, err
	case []any:
		k := constant{kind: Array, list: make([]constant, len(v))}
		for i := range v {
			var err error
			if k.list[i], err = newConstant(v[i]); err != nil {
				return k, err
			}
		}
		return k, nil
	case map[string]any:
		k := constant{kind: Object, members: make(map[string]constant, len(v))}
		for name, m := range v {
			var err error
			if k.members[name], err = newConstant(m); err != nil {
				return k, err
			}
		}
		return k, nil
	}
	return constant{}, nil
}

// has says whether the list has the well-formed value text[start:end].
func (f *fixed) has(c *checker, start, end int, kind Kind) bool {
	if kind == String {
		_, ok := f.texts[string(c.plainText(start, end))]
		return ok
	}
	return slices.ContainsFunc(f.values, func(k constant) bool {
		_, same := c.equal(start, &k)
		return same
	})
}

// plainText gives what the string text[start:end], with its quotes, stands
// for. It is valid until the next such call.
func (c *checker) plainText(start, end int) []byte {
	raw := c.text[start:end]
	inner := raw[1 : len(raw)-1]
	if Plain(raw) {
		return inner
	}
	c.buf = unescape(c.buf[:0], inner, false)
	return c.buf
}

// equal compares the well-formed value at i with k as JSON Schema does: numbers
// by value, objects without order. When they are the same, end is the index
// after the value.
func (c *checker) equal(i int, k *constant) (end int, same bool) {
	p := c.text
	switch p[i] {
	case '"':
		end, _, _ = scanString(p, i+1)
		return end, k.kind == String && string(c.plainText(i, end)) == k.text
	case 'n':
		return i + 4, k.kind == Null
	case 't':
		return i + 4, k.kind == Bool && k.truth
	case 'f':
		return i + 5, k.kind == Bool && !k.truth
	case '[':
		return c.equalList(i, k)
	case '{':
		return c.equalMembers(i, k)
	default:
		end = scanNumber(p, i)
		return end, k.kind == Number && k.number.compare(p[i:end]) == 0
	}
}

func (c *checker) equalList(i int, k *constant) (end int, same bool) {
	if k.kind != Array {
		return 0, false
	}
	p := c.text
	i = skipSpace(p, i+1)
	for n := range k.list {
		if n > 0 {
			if p[i] != ',' {
				return 0, false
			}
			i = skipSpace(p, i+1)
		}
		if p[i] == ']' {
			return 0, false
		}
		if i, same = c.equal(i, &k.list[n]); !same {
			return 0, false
		}
		i = skipSpace(p, i)
	}
	return i + 1, p[i] == ']'
}

func (c *checker) equalMembers(i int, k *constant) (end int, same bool) {
	if k.kind != Object {
		return 0, false
	}
	p := c.text
	i = skipSpace(p, i+1)
	n := 0
	for ; p[i] != '}'; n++ {
		if n > 0 {
			i = skipSpace(p, i+1)
		}
		end, _, _ := scanString(p, i+1)
		m, ok := k.members[string(c.plainText(i, end))]
		if !ok {
			return 0, false
		}
		i = skipSpace(p, skipSpace(p, end)+1)
		if i, same = c.equal(i, &m); !same {
			return 0, false
		}
		i = skipSpace(p, i)
	}
	return i + 1, n == len(k.members)
}
