package method

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// pruner drops null members that count as absent, as the one-pass checker does
// in its own way: those of declared properties that are not required.
type pruner struct{ root any }

// maxHops bounds how many schemas are gathered for one value.
const maxHops = 64

// prune changes v, to which all the schemas apply.
func (p *pruner) prune(v any, schemas []any, depth int) any {
	if depth > wire.MaxDepth || len(schemas) == 0 {
		return v
	}
	all := p.gather(schemas)
	if len(all) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		var items []any
		for _, s := range all {
			if sub, ok := s["items"]; ok {
				items = append(items, sub)
			}
		}
		for i := range v {
			v[i] = p.prune(v[i], items, depth+1)
		}
	case map[string]any:
		for name, member := range v {
			subs, required := p.member(all, name)
			if member == nil && len(subs) > 0 && !required {
				delete(v, name)
				continue
			}
			v[name] = p.prune(member, subs, depth+1)
		}
	}
	return v
}

// member gives what the schemas say of a name.
func (p *pruner) member(all []map[string]any, name string) (subs []any, required bool) {
	for _, s := range all {
		if props, ok := s["properties"].(map[string]any); ok {
			if sub, ok := props[name]; ok {
				subs = append(subs, sub)
			}
		}
		if list, ok := s["required"].([]any); ok && slices.Contains(list, any(name)) {
			required = true
		}
	}
	return subs, required
}

// gather follows $ref within the document and allOf.
func (p *pruner) gather(schemas []any) (all []map[string]any) {
	for hops := 0; len(schemas) > 0 && hops < maxHops; hops++ {
		s, ok := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if !ok {
			continue
		}
		all = append(all, s)
		if list, ok := s["allOf"].([]any); ok {
			schemas = append(slices.Clip(schemas), list...)
		}
		if ref, ok := s["$ref"].(string); ok {
			if target, ok := p.resolve(ref); ok {
				schemas = append(slices.Clip(schemas), target)
			}
		}
	}
	return all
}

// resolve finds what "#/$defs/name" refers to.
func (p *pruner) resolve(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := p.root
	if path == "" {
		return at, true
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// Limits of numbers that are given to the library: it makes fractions of them,
// whose cost grows with the exponent.
const (
	maxNumberBytes = 512
	maxExponent    = 1000
)

// bigNumber finds a number that would cost too much.
func bigNumber(v any, path []string) *wire.Violation {
	switch v := v.(type) {
	case json.Number:
		if i := strings.IndexAny(string(v), "eE"); i >= 0 {
			if n, err := strconv.Atoi(string(v[i+1:])); err != nil || n > maxExponent || n < -maxExponent {
				return &wire.Violation{Pointer: wire.Pointer(path...), Message: "expected a number of usual size"}
			}
		}
		if len(v) > maxNumberBytes {
			return &wire.Violation{Pointer: wire.Pointer(path...), Message: "expected a number of usual size"}
		}
	case []any:
		for i := range v {
			if bad := bigNumber(v[i], append(path, strconv.Itoa(i))); bad != nil {
				return bad
			}
		}
	case map[string]any:
		for name := range v {
			if bad := bigNumber(v[name], append(path, name)); bad != nil {
				return bad
			}
		}
	}
	return nil
}
