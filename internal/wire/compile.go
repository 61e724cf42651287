package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of schemas, so that checking a value costs a bounded multiple of it.
const (
	maxSchemaDepth  = 64
	maxNodes        = 1 << 14
	maxAlternatives = 512
	maxExponentText = 1 << 30
)

// Compile compiles a JSON Schema (2020-12). The keywords type, properties,
// required, additionalProperties, items, enum, const, pattern (RE2 syntax),
// minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// minItems, maxItems, minProperties, maxProperties, anyOf and oneOf are checked
// while a value is scanned; annotations and names with x- are passed over. A
// schema with any other keyword is given to full as a whole, and what that
// returns checks values that were found to be well-formed; without full it is
// an error.
//
// Two rules go beyond JSON Schema: null for a declared property that is not
// required counts as absent, and names that an object with properties and
// without additionalProperties does not declare give warnings.
func Compile(schema []byte, full func(schema []byte) (func(value []byte) *Violation, error)) (*Schema, error) {
	if len(schema) > MaxSchemaBytes {
		return nil, fmt.Errorf("the schema is longer than %d bytes", MaxSchemaBytes)
	}
	if err := Check(schema); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	var c compiler
	root, err := c.node(v, "", context{})
	if err == nil {
		return &Schema{root: root}, nil
	}
	var foreign *foreignKeyword
	if !errors.As(err, &foreign) || full == nil {
		return nil, err
	}
	check, err := full(schema)
	if err != nil {
		return nil, err
	}
	return &Schema{full: check}, nil
}

// foreignKeyword is a keyword that the one-pass checker does not have.
type foreignKeyword struct{ pointer, keyword string }

func (e *foreignKeyword) Error() string {
	return at(e.pointer) + "keyword " + strconv.Quote(Shorten(e.keyword, maxShown)) + " is not supported"
}

func at(pointer string) string {
	if pointer == "" {
		return "schema: "
	}
	return "schema at " + Shorten(pointer, maxPointer) + ": "
}

// compiler counts what the limits bound.
type compiler struct{ depth, nodes, alternatives int }

// context is what an alternative must know of the schema in which it stands,
// because both speak of the same object.
type context struct {
	optional map[string]bool // names whose null stands for nothing
	quiet    bool            // unknown names are the outer schema's to report
}

// builder compiles one schema object.
type builder struct {
	*compiler
	n       *node
	m       map[string]any
	pointer string
	ctx     context
	props   map[string]*prop
}

func (c *compiler) node(v any, pointer string, ctx context) (*node, error) {
	if c.depth++; c.depth > maxSchemaDepth {
		return nil, errors.New(at(pointer) + "schemas are nested too deep")
	}
	defer func() { c.depth-- }()
	if c.nodes++; c.nodes > maxNodes {
		return nil, fmt.Errorf("the schema has more than %d parts", maxNodes)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return nil, nil
		}
		return &node{never: true, expect: "expected no value"}, nil
	case map[string]any:
		b := builder{
			compiler: c, m: v, pointer: pointer, ctx: ctx, props: map[string]*prop{},
			n: &node{maxLen: -1, maxItems: -1, maxProps: -1},
		}
		if err := b.build(); err != nil {
			return nil, err
		}
		return b.n, nil
	}
	return nil, errors.New(at(pointer) + "a schema must be an object or a boolean")
}

func (b *builder) errorf(format string, args ...any) error {
	return errors.New(at(b.pointer) + fmt.Sprintf(format, args...))
}

// build goes by the names' order, so that errors do not change from run to run.
func (b *builder) build() error {
	for _, keyword := range slices.Sorted(maps.Keys(b.m)) {
		if err := b.keyword(keyword, b.m[keyword]); err != nil {
			return err
		}
	}
	if err := b.members(); err != nil {
		return err
	}
	// Alternatives come last: they ask what the properties are.
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if v, ok := b.m[keyword]; ok {
			if err := b.choice(keyword, v); err != nil {
				return err
			}
		}
	}
	b.finish()
	return nil
}

func (b *builder) keyword(keyword string, v any) (err error) {
	n := b.n
	switch keyword {
	case "title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated",
		"format", "readOnly", "writeOnly", "contentEncoding", "contentMediaType":
	case "properties", "required", "additionalProperties", "anyOf", "oneOf":
	case "type":
		return b.types(v)
	case "items":
		n.items, err = b.sub(v, "/items")
	case "enum":
		list, ok := v.([]any)
		if !ok {
			return b.errorf("enum must be a list")
		}
		err = b.fix(list)
	case "const":
		err = b.fix([]any{v})
	case "pattern":
		s, ok := v.(string)
		if !ok {
			return b.errorf("pattern must be a string")
		}
		if n.pattern, err = regexp.Compile(s); err != nil {
			return b.errorf("pattern is not RE2 syntax: %v", err)
		}
		n.hasText = true
	case "minLength":
		n.minLen, err = b.count(keyword, v)
		n.hasText = true
	case "maxLength":
		n.maxLen, err = b.count(keyword, v)
		n.hasText = true
	case "minItems":
		n.minItems, err = b.count(keyword, v)
	case "maxItems":
		n.maxItems, err = b.count(keyword, v)
	case "minProperties":
		n.minProps, err = b.count(keyword, v)
	case "maxProperties":
		n.maxProps, err = b.count(keyword, v)
	case "minimum":
		n.min, err = b.number(keyword, v)
	case "maximum":
		n.max, err = b.number(keyword, v)
	case "exclusiveMinimum":
		n.above, err = b.number(keyword, v)
	case "exclusiveMaximum":
		n.below, err = b.number(keyword, v)
	default:
		if !strings.HasPrefix(keyword, "x-") {
			return &foreignKeyword{b.pointer, keyword}
		}
	}
	return err
}

func (b *builder) sub(v any, step string) (*node, error) {
	return b.node(v, b.pointer+step, context{})
}

var typeBits = map[string]types{
	"null": 1 << Null, "boolean": 1 << Bool, "number": 1 << Number, "integer": integer,
	"string": 1 << String, "array": 1 << Array, "object": 1 << Object,
}

func (b *builder) types(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return b.errorf("type must not be empty")
	}
	for _, t := range list {
		name, ok := t.(string)
		if !ok {
			return b.errorf("type must be a string or a list of strings")
		}
		bit, ok := typeBits[name]
		if !ok {
			return b.errorf("type %s is none of JSON Schema's", Quote(name))
		}
		b.n.types |= bit
	}
	b.n.expect = b.n.types.expect()
	return nil
}

// expect names the types of a set in a fixed order.
func (t types) expect() string {
	var names []string
	for _, name := range []string{"string", "integer", "number", "boolean", "array", "object", "null"} {
		if t&typeBits[name] != 0 {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	if last < 1 {
		return "expected " + strings.Join(names, "")
	}
	return "expected " + strings.Join(names[:last], ", ") + " or " + names[last]
}

func (b *builder) fix(values []any) error {
	f, err := newFixed(values)
	if err != nil {
		return b.errorf("%v", err)
	}
	b.n.fixed = append(b.n.fixed, f)
	b.n.hasFixed = true
	return nil
}

func (b *builder) number(keyword string, v any) (*bound, error) {
	num, ok := v.(json.Number)
	if !ok {
		return nil, b.errorf("%s must be a number", keyword)
	}
	n, err := schemaNumber(num)
	if err != nil {
		return nil, b.errorf("%s: %v", keyword, err)
	}
	return n, nil
}

// schemaNumber refuses exponents beyond which comparisons are not exact.
func schemaNumber(v json.Number) (*bound, error) {
	n := newBound([]byte(v))
	if p := n.exact.point; p > maxExponentText || p < -maxExponentText {
		return nil, errors.New("the number's exponent is too large")
	}
	return n, nil
}

// count reads a length; one that no value can reach is as good as the largest.
func (b *builder) count(keyword string, v any) (int, error) {
	num, ok := v.(json.Number)
	if ok {
		n := newBound([]byte(num))
		if n.exact.integer() && !n.exact.negative {
			if n.compare([]byte("1000000000")) <= 0 {
				return math.MaxInt32, nil
			}
			f, err := num.Float64()
			return int(f), err
		}
	}
	return 0, b.errorf("%s must be an integer that is not negative", keyword)
}
