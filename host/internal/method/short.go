package method

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// maxReturnBytes bounds the short form of a result.
const maxReturnBytes = 160

// shortParams gives the short form of parameters, {"tab_id":"integer?"}: the
// names in the schema's order, the types, and a question mark behind those
// that may be left out.
func shortParams(doc any, text []byte) []byte {
	s := resolveRoot(doc)
	props, _ := s["properties"].(map[string]any)
	b := []byte("{")
	for _, name := range propertyOrder(s, doc, text) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, name)
		b = append(b, ':')
		form := shortType(props[name], 0)
		if !required(s, name) {
			form += "?"
		}
		b = wire.AppendString(b, form)
	}
	return append(b, '}')
}

// shortReturn gives the short form of a result: a type, for objects with their
// names.
func shortReturn(doc any, text []byte) string {
	s := resolveRoot(doc)
	if s["type"] == "array" {
		if items, ok := s["items"].(map[string]any); ok && items["type"] == "object" {
			if form := fields(items, propertyOrder(items, nil, nil)); form != "" {
				return form + "[]"
			}
		}
	}
	if s["type"] == "object" {
		if form := fields(s, propertyOrder(s, doc, text)); form != "" {
			return form
		}
	}
	return shortType(doc, 0)
}

// fields gives {name, other?}, cut when it is long.
func fields(s map[string]any, names []string) string {
	if len(names) == 0 {
		return ""
	}
	form := "{"
	for i, name := range names {
		if i > 0 {
			form += ", "
		}
		if len(form)+len(name) > maxReturnBytes {
			form += "…"
			break
		}
		form += name
		if !required(s, name) {
			form += "?"
		}
	}
	return form + "}"
}

// propertyOrder lists the names of s's properties: in the order of the text
// when s is its root, else sorted.
func propertyOrder(s map[string]any, doc any, text []byte) []string {
	var names []string
	if root, ok := doc.(map[string]any); ok && root["properties"] != nil && text != nil {
		// The text was compiled, so that no error can come here.
		_ = wire.ScanObject(text, nil, func(m wire.Member) error {
			if string(m.Name) == "properties" {
				return wire.ScanObject(m.Value, nil, func(m wire.Member) error {
					names = append(names, strings.ToValidUTF8(string(m.Name), "\ufffd"))
					return nil
				})
			}
			return nil
		})
		return names
	}
	props, _ := s["properties"].(map[string]any)
	for name := range props {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// resolveRoot follows a root that only refers to a definition.
func resolveRoot(doc any) map[string]any {
	s, _ := doc.(map[string]any)
	p := &pruner{root: doc}
	for range maxHops {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		target, _ := p.resolve(ref)
		next, ok := target.(map[string]any)
		if !ok {
			return s
		}
		s = next
	}
	return s
}

func required(s map[string]any, name string) bool {
	list, _ := s["required"].([]any)
	return slices.Contains(list, any(name))
}

// shortType gives the short form of one schema: integer, string[],
// string|number, any. Null is left out beside other types.
func shortType(schema any, depth int) string {
	s, ok := schema.(map[string]any)
	if !ok || depth > 4 {
		return "any"
	}
	var forms []string
	add := func(form string) {
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	switch t := s["type"].(type) {
	case string:
		add(typeForm(t, s, depth))
	case []any:
		for _, name := range t {
			if name, ok := name.(string); ok {
				add(typeForm(name, s, depth))
			}
		}
	default:
		for _, v := range values(s) {
			add(valueForm(v))
		}
		for _, k := range []string{"anyOf", "oneOf"} {
			list, _ := s[k].([]any)
			for _, alt := range list {
				for form := range strings.SplitSeq(shortType(alt, depth+1), "|") {
					add(form)
				}
			}
		}
	}
	if len(forms) > 1 {
		forms = slices.DeleteFunc(forms, func(f string) bool { return f == "null" })
	}
	if len(forms) == 0 || slices.Contains(forms, "any") {
		return "any"
	}
	return strings.Join(forms, "|")
}

func typeForm(name string, s map[string]any, depth int) string {
	if name != "array" {
		return name
	}
	items, ok := s["items"]
	if !ok {
		return name
	}
	form := shortType(items, depth+1)
	if form == "any" {
		return name
	}
	// A union of arrays reads the same and needs no parentheses, which would
	// be torn apart where unions are joined.
	return strings.ReplaceAll(form, "|", "[]|") + "[]"
}

func values(s map[string]any) []any {
	if list, ok := s["enum"].([]any); ok {
		return list
	}
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return nil
}

func valueForm(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	default:
		return "object"
	}
}
