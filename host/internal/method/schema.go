package method

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/vant-run/vant/internal/wire"
)

// schema is a schema that was found to be good.
type schema struct {
	text     []byte // compact
	doc      any    // decoded, numbers as json.Number
	compiled *wire.Schema
}

// compileSchema checks and compiles a schema; with object, one that takes
// objects only.
func compileSchema(raw []byte, object bool) (*schema, error) {
	compiled, err := wire.Compile(raw, full)
	if err != nil {
		return nil, err
	}
	s := &schema{text: wire.AppendCompact(nil, raw), compiled: compiled}
	if s.doc, err = decode(s.text); err != nil {
		return nil, err
	}
	if object {
		return s, objectType(s.doc)
	}
	return s, nil
}

func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// objectType refuses a schema that could take something else than an object,
// as far as its root says.
func objectType(doc any) error {
	s, ok := doc.(map[string]any)
	if !ok {
		return errors.New(`the schema must be an object that has "type":"object"`)
	}
	switch t := s["type"].(type) {
	case string:
		if t == "object" {
			return nil
		}
	case []any:
		if len(t) == 1 && t[0] == "object" {
			return nil
		}
	case nil:
		for _, k := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			if _, ok := s[k]; ok {
				return nil
			}
		}
	}
	return errors.New(`the schema must have "type":"object"`)
}

// waitNames are the parameters that say how long a method may wait, in
// milliseconds.
var waitNames = []string{"timeout_ms", "wait_ms", "deadline_ms"}

// longestWait gives the longest wait that parameters can ask for.
func longestWait(doc any) (ms int64, found bool) {
	s, _ := doc.(map[string]any)
	props, _ := s["properties"].(map[string]any)
	for _, name := range waitNames {
		p, _ := props[name].(map[string]any)
		if !isInteger(p["type"]) {
			continue
		}
		most := p["maximum"]
		if clamp, ok := p["x-vant-clamp"].([]any); ok && len(clamp) == 2 {
			most = clamp[1]
		}
		if n, ok := most.(json.Number); ok {
			ms = max(ms, milliseconds(n))
			found = true
		}
	}
	return ms, found
}

func isInteger(t any) bool {
	if list, ok := t.([]any); ok {
		return slices.Contains(list, any("integer"))
	}
	return t == "integer"
}

// milliseconds rounds a number up, to a bound that is too long in any case.
func milliseconds(n json.Number) int64 {
	f, err := n.Float64()
	if err != nil || f > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(0, int64(math.Ceil(f)))
}
