package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maker makes schemas and values out of a stream of choices, small enough for
// both to meet often.
type maker struct {
	choices []byte
	nulls   bool // members may be null
}

func (m *maker) pick(n int) int {
	if len(m.choices) == 0 {
		return 0
	}
	c := m.choices[0]
	m.choices = m.choices[1:]
	return int(c) % n
}

var (
	makerNames   = []string{"a", "b", "tab_id", "a longer name", "é"}
	makerNumbers = []string{"0", "1", "2", "-1", "1.0", "1.5", "15e-1", "9007199254740993", "9007199254740992", "1e2", "100", "-0", "0.1e1"}
	makerTexts   = []string{`""`, `"a"`, `"b"`, `"ab"`, `"\u0061"`, `"é"`, `"\u00e9"`, `"aaaa"`, `"\ud83d\ude00"`, `"a\nb"`}
	makerTypes   = []string{"null", "boolean", "number", "integer", "string", "array", "object"}
)

func (m *maker) name() string { return makerNames[m.pick(len(makerNames))] }

func (m *maker) value(depth int) string {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch m.pick(kinds) {
	case 0:
		return "null"
	case 1:
		return []string{"true", "false"}[m.pick(2)]
	case 2, 3:
		return makerNumbers[m.pick(len(makerNumbers))]
	case 4:
		return makerTexts[m.pick(len(makerTexts))]
	case 5:
		s := "["
		for i := range m.pick(4) {
			if i > 0 {
				s += ", "
			}
			s += m.value(depth - 1)
		}
		return s + "]"
	default:
		return m.object(depth)
	}
}

func (m *maker) object(depth int) string {
	s := "{"
	var used []string
	for range m.pick(5) {
		name := m.name()
		if slices.Contains(used, name) {
			continue
		}
		used = append(used, name)
		v := m.value(depth - 1)
		if v == "null" && !m.nulls {
			v = "true"
		}
		if len(used) > 1 {
			s += ","
		}
		s += strconv.Quote(name) + ": " + v
	}
	return s + "}"
}

func (m *maker) schema(depth int, alternatives bool) any {
	switch m.pick(12) {
	case 0:
		return m.pick(4) > 0
	case 1:
		return map[string]any{"enum": m.values()}
	case 2:
		return map[string]any{"const": m.values()[0]}
	}
	s := map[string]any{}
	if m.pick(3) > 0 {
		s["type"] = makerTypes[m.pick(len(makerTypes))]
		if m.pick(4) == 0 {
			if t := makerTypes[m.pick(len(makerTypes))]; t != s["type"] {
				s["type"] = []any{s["type"], t}
			}
		}
	}
	for range m.pick(3) {
		switch m.pick(8) {
		case 0:
			s[[]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}[m.pick(4)]] =
				json.Number(makerNumbers[m.pick(len(makerNumbers))])
		case 1:
			s[[]string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}[m.pick(6)]] =
				json.Number(strconv.Itoa(m.pick(4)))
		case 2:
			s["pattern"] = []string{"^a", "b$", "^[ab]+$", "é", "^.$"}[m.pick(5)]
		case 3:
			if depth > 0 {
				s["items"] = m.schema(depth-1, alternatives)
			}
		case 4:
			if depth > 0 {
				s["additionalProperties"] = m.schema(depth-1, alternatives)
			}
		case 5:
			s["required"] = []any{m.name()}
		case 6:
			if depth > 0 {
				props := map[string]any{}
				for range 1 + m.pick(3) {
					props[m.name()] = m.schema(depth-1, alternatives)
				}
				s["properties"] = props
			}
		case 7:
			if depth > 0 && alternatives {
				list := []any{}
				for range 1 + m.pick(3) {
					list = append(list, m.schema(depth-1, alternatives))
				}
				s[[]string{"anyOf", "oneOf"}[m.pick(2)]] = list
			}
		}
	}
	return s
}

func (m *maker) values() []any {
	list := []any{}
	for range 1 + m.pick(3) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(m.value(2))))
		if err != nil {
			panic(err)
		}
		list = append(list, v)
	}
	return list
}

// withoutNulls drops the members that count as absent.
func withoutNulls(schema, value any) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return value
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withoutNulls(s["items"], v[i])
		}
	case map[string]any:
		props, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for name, member := range v {
			sub, declared := props[name]
			if !declared {
				sub = s["additionalProperties"]
			}
			if member == nil && declared && !slices.Contains(required, any(name)) {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(sub, member)
		}
	}
	return value
}

// agree makes a schema and values, and compares with the full validator.
func agree(t *testing.T, choices []byte) (valid, invalid int) {
	m := &maker{choices: choices}
	alternatives := m.pick(2) == 0
	m.nulls = !alternatives
	schema := m.schema(3, alternatives)
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := Compile(text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		t.Fatal(err)
	}
	theirs, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for range 4 {
		value := m.value(3)
		if m.pick(2) == 0 {
			value = m.object(3)
		}
		rep, err := ours.Check([]byte(value))
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(value)))
		if err != nil {
			t.Fatal(err)
		}
		want := theirs.Validate(withoutNulls(doc, v))
		if (rep.Violation == nil) != (want == nil) {
			t.Fatalf("schema %s\nvalue %s\nours   %s\noracle %v", text, value, say(rep), want)
		}
		if want == nil {
			valid++
		} else {
			invalid++
		}
	}
	return valid, invalid
}

// FuzzSchema holds Schema.Check against a full validator.
func FuzzSchema(f *testing.F) {
	f.Add([]byte("anyOf and oneOf, properties and items"))
	f.Add([]byte{1, 5, 1, 6, 2, 6, 3, 1, 4, 4, 2, 0, 9, 3, 2, 1, 0, 6, 4, 3, 1})
	f.Fuzz(func(t *testing.T, choices []byte) { agree(t, choices) })
}

func TestSchemaCheckAgreesWithAFullValidator(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	valid, invalid := 0, 0
	for range 4000 {
		choices := make([]byte, 400)
		for i := range choices {
			choices[i] = byte(r.Uint32())
		}
		v, i := agree(t, choices)
		valid, invalid = valid+v, invalid+i
	}
	if valid < 1000 || invalid < 1000 {
		t.Errorf("the comparison is worth little: %d valid, %d invalid", valid, invalid)
	}
}
