package method

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vant-run/vant/internal/wire"
)

// nested is {"n":{"n":…}} of a depth.
func nested(depth int) []byte {
	return []byte(strings.Repeat(`{"n":`, depth) + "1" + strings.Repeat("}", depth))
}

func TestSchemasThatMultiplyWorkAreRefused(t *testing.T) {
	chain := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 30 {
		chain += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	chain += `"d30":{"type":"object"}}}`
	down := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 30 {
		down += fmt.Sprintf(`"d%d":{"allOf":[{"properties":{"n":{"$ref":"#/$defs/d%d"}}},{"properties":{"n":{"$ref":"#/$defs/d%d"}}}]},`, i, i+1, i+1)
	}
	down += `"d30":{"type":"object"}}}`
	for name, schema := range map[string]string{
		"two alternatives that come back":      `{"anyOf":[{"properties":{"n":{"$ref":"#"}}},{"properties":{"n":{"$ref":"#"}}}],"minProperties":0,"not":false}`,
		"the same by definitions":              `{"$ref":"#/$defs/t","$defs":{"t":{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]},"a":{"properties":{"n":{"$ref":"#/$defs/t"}}},"b":{"additionalProperties":{"$ref":"#/$defs/t"}}}}`,
		"a property and a pattern":             `{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"n":{"$ref":"#/$defs/t"}},"patternProperties":{"n":{"$ref":"#/$defs/t"}}}}}`,
		"if and then":                          `{"$ref":"#/$defs/t","$defs":{"t":{"if":{"properties":{"n":{"$ref":"#/$defs/t"}}},"then":{"properties":{"n":{"$ref":"#/$defs/t"}}}}}}`,
		"items and contains":                   `{"$ref":"#/$defs/t","$defs":{"t":{"items":{"$ref":"#/$defs/t"},"contains":{"$ref":"#/$defs/t"}}}}`,
		"an anchor":                            `{"$ref":"#t","$defs":{"x":{"$anchor":"t","allOf":[{"properties":{"n":{"$ref":"#t"}}},{"properties":{"n":{"$ref":"#t"}}}]}}}`,
		"one recursion inside another":         `{"$ref":"#/$defs/t","$defs":{"t":{"additionalProperties":{"allOf":[{"$ref":"#/$defs/t"},{"$ref":"#/$defs/u"}]}},"u":{"additionalProperties":{"$ref":"#/$defs/u"}}}}`,
		"a chain of doublings at one value":    chain,
		"a chain of doublings down the levels": down,
		"itself at the same value":             `{"$ref":"#/$defs/t","$defs":{"t":{"allOf":[{"$ref":"#/$defs/t"}]}}}`,
		"a dynamic reference":                  `{"$dynamicRef":"#t","$defs":{"x":{"$dynamicAnchor":"t"}}}`,
		"a reference to nothing":               `{"$ref":"#/$defs/none"}`,
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if _, err := wire.Compile([]byte(schema), full); err == nil {
				t.Error("it is accepted")
			}
			if d := time.Since(began); d > 10*time.Second {
				t.Errorf("to refuse it took %v", d)
			}
		})
	}
}

func TestRecursiveSchemasThatAreBoundedWork(t *testing.T) {
	for name, schema := range map[string]string{
		"a list":            `{"$ref":"#/$defs/t","$defs":{"t":{"type":["object","integer"],"properties":{"n":{"$ref":"#/$defs/t"}}}}}`,
		"a tree":            `{"$ref":"#/$defs/t","$defs":{"t":{"type":["object","integer"],"properties":{"n":{"$ref":"#/$defs/t"},"m":{"$ref":"#/$defs/t"}}}}}`,
		"any JSON value":    `{"$ref":"#/$defs/any","$defs":{"any":{"anyOf":[{"type":["null","boolean","number","string"]},{"type":"array","items":{"$ref":"#/$defs/any"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/any"}}]}}}`,
		"the root":          `{"type":["object","integer"],"properties":{"n":{"$ref":"#"}},"dependentRequired":{"x":["y"]}}`,
		"names and others":  `{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"m":{"$ref":"#/$defs/t"}},"additionalProperties":{"$ref":"#/$defs/t"}}}}`,
		"shared definition": `{"properties":{"n":{"$ref":"#/$defs/o"},"m":{"$ref":"#/$defs/o"}},"$defs":{"o":{"allOf":[{"type":"object"}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := wire.Compile([]byte(schema), full)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if r, err := s.Check(nested(wire.MaxDepth - 1)); err != nil || r.Violation != nil && name != "shared definition" {
				t.Errorf("a deep value: %v, %v", r.Violation, err)
			}
			if d := time.Since(began); d > 5*time.Second {
				t.Errorf("the check took %v", d)
			}
		})
	}
}
