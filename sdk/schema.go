package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// inferParams makes the schema of parameters or of a configuration. Objects
// stay open unless closed is set: a newer client must work with an older
// plugin.
func inferParams(t reflect.Type, closed bool) ([]byte, error) {
	if t.Kind() == reflect.Interface || t == rawMessageType {
		return []byte(`{"type":"object"}`), nil
	}
	if k := t.Kind(); k != reflect.Struct && (k != reflect.Map || t.Key().Kind() != reflect.String) {
		return nil, fmt.Errorf("%s is no struct and no map with string keys", t)
	}
	return infer(t, shaper{params: true, closed: closed})
}

// inferResult makes the schema of a result; its objects are open, so that a
// later version may say more.
func inferResult(t reflect.Type) ([]byte, error) {
	if t.Kind() == reflect.Interface || t == rawMessageType {
		return nil, nil
	}
	return infer(t, shaper{})
}

func infer(t reflect.Type, sh shaper) ([]byte, error) {
	custom := make(map[reflect.Type]*jsonschema.Schema)
	collect(t, custom, make(map[reflect.Type]bool))
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: custom})
	if err != nil {
		return nil, err
	}
	sh.custom = custom
	if err := sh.shape(t, schema); err != nil {
		return nil, err
	}
	return json.Marshal(schema)
}

// collect finds the types below t that write their own JSON: reflection would
// describe their insides.
func collect(t reflect.Type, custom map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch {
	case t.Kind() == reflect.Pointer:
		collect(t.Elem(), custom, seen)
	case t == rawMessageType:
		custom[t] = &jsonschema.Schema{}
	case t == numberType:
		custom[t] = &jsonschema.Schema{Type: "number"}
	case t == bytesType, t == timeType:
		custom[t] = &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Interface:
	case implements(t, jsonMarshaler):
		custom[t] = &jsonschema.Schema{}
	case implements(t, textMarshaler):
		custom[t] = &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			collect(t.Field(i).Type, custom, seen)
		}
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		collect(t.Elem(), custom, seen)
	}
}

// shaper turns a schema inferred by the library into ours.
type shaper struct {
	params, closed bool
	custom         map[reflect.Type]*jsonschema.Schema
}

func (sh shaper) shape(t reflect.Type, s *jsonschema.Schema) error {
	nullable := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	sh.null(t, s, nullable)
	if sh.custom[t] != nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return sh.shapeStruct(t, s)
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			return sh.shape(t.Elem(), s.Items)
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return sh.shape(t.Elem(), s.AdditionalProperties)
		}
	}
	return nil
}

// null corrects where null is allowed: in parameters nowhere, because null
// means absent; in results where a pointer is, nil slices being [].
func (sh shaper) null(t reflect.Type, s *jsonschema.Schema, nullable bool) {
	if !slices.Contains(s.Types, "null") {
		return
	}
	if len(s.Types) == 1 { // a pointer to what may be anything
		s.Types = nil
		return
	}
	if sh.params || !nullable {
		s.Types = slices.DeleteFunc(s.Types, func(x string) bool { return x == "null" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
		return
	}
	// null last reads better: "string or null".
	s.Types = append(slices.DeleteFunc(s.Types, func(x string) bool { return x == "null" }), "null")
}

func (sh shaper) shapeStruct(t reflect.Type, s *jsonschema.Schema) error {
	if !sh.closed {
		s.AdditionalProperties = nil
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return err
	}
	for _, f := range fields {
		fs := s.Properties[f.name]
		if fs == nil {
			return fmt.Errorf("%s: field %s has no schema", t, f.name)
		}
		if err := sh.shape(f.typ, fs); err != nil {
			return err
		}
		if err := applyTags(f, fs); err != nil {
			return fmt.Errorf("%s: field %s: %w", t, f.name, err)
		}
		if sh.params && f.optional {
			s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == f.name })
		}
	}
	if len(s.Required) == 0 {
		s.Required = nil
	}
	return nil
}

// applyTags writes a field's tags into its schema.
func applyTags(f field, s *jsonschema.Schema) error {
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if doc := f.tag.Get("doc"); doc != "" {
		s.Description = doc
	}
	if raw, ok := f.tag.Lookup("default"); ok {
		text, err := literal(t, raw)
		if err != nil {
			return fmt.Errorf("default %q: %w", raw, err)
		}
		s.Default = text
	}
	if list, ok := f.tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(list, ",") {
			text, err := literal(t, word)
			if err != nil {
				return fmt.Errorf("enum %q: %w", word, err)
			}
			s.Enum = append(s.Enum, text)
		}
	}
	if pattern, ok := f.tag.Lookup("pattern"); ok {
		if t.Kind() != reflect.String {
			return errors.New("pattern is for strings")
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		s.Pattern = pattern
	}
	if err := applyBounds(f, t, s); err != nil {
		return err
	}
	lo, hi, ok, err := clampOf(f)
	if err != nil {
		return err
	}
	if ok {
		s.Extra = map[string]any{"x-vant-clamp": []json.Number{lo, hi}}
		// The type's own bounds would refuse what is to be moved.
		s.Minimum, s.Maximum = nil, nil
	}
	return nil
}

func applyBounds(f field, t reflect.Type, s *jsonschema.Schema) error {
	for _, tag := range []string{"min", "max"} {
		text, ok := f.tag.Lookup(tag)
		if !ok {
			continue
		}
		low := tag == "min"
		switch {
		case numeric(t):
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s %q is no number", tag, text)
			}
			if low {
				s.Minimum = &v
			} else {
				s.Maximum = &v
			}
		case t.Kind() == reflect.String, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return fmt.Errorf("%s %q is no length", tag, text)
			}
			setLength(t, s, low, n)
		default:
			return fmt.Errorf("%s is for numbers, strings, lists and maps", tag)
		}
	}
	return nil
}

func setLength(t reflect.Type, s *jsonschema.Schema, low bool, n int) {
	var at **int
	switch {
	case t.Kind() == reflect.String && low, t == bytesType && low:
		at = &s.MinLength
	case t.Kind() == reflect.String, t == bytesType:
		at = &s.MaxLength
	case t.Kind() == reflect.Map && low:
		at = &s.MinProperties
	case t.Kind() == reflect.Map:
		at = &s.MaxProperties
	case low:
		at = &s.MinItems
	default:
		at = &s.MaxItems
	}
	*at = &n
}

// clampOf reads a clamp tag.
func clampOf(f field) (lo, hi json.Number, ok bool, err error) {
	text, ok := f.tag.Lookup("clamp")
	if !ok {
		return "", "", false, nil
	}
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !numeric(t) {
		return "", "", false, errors.New("clamp is for numbers")
	}
	a, b, two := strings.Cut(text, ",")
	lo, hi = json.Number(strings.TrimSpace(a)), json.Number(strings.TrimSpace(b))
	low, errLow := parseNumber(t, string(lo), nil)
	high, errHigh := parseNumber(t, string(hi), nil)
	if !two || errLow != nil || errHigh != nil || compareNumbers(low, high) > 0 {
		return "", "", false, fmt.Errorf("clamp %q: give two numbers of the field's type, the lower first", text)
	}
	return lo, hi, true, nil
}

// literal turns a tag's text into JSON: bare text for strings, JSON for all
// else. The text must suit the type.
func literal(t reflect.Type, text string) (json.RawMessage, error) {
	if t.Kind() == reflect.String && t != numberType {
		return json.Marshal(text)
	}
	plan, err := planFor(t)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not valid JSON")
	}
	if err := plan.decode([]byte(text), reflect.New(t).Elem()); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}

func numeric(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return true
	}
	return false
}
