package sdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// field is a struct field as JSON sees it.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	tag      reflect.StructTag
	optional bool // pointer, omitempty, omitzero or default
}

// fieldsOf lists the JSON fields of a struct, those of embedded structs too;
// the shallower one of two fields with one name wins.
func fieldsOf(t reflect.Type) ([]field, error) {
	var out []field
	at := make(map[string]int)
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			if f.Anonymous && f.Tag.Get("json") != "" {
				return nil, fmt.Errorf("%s.%s: an embedded struct with a json tag is not supported, name the field", t, f.Name)
			}
			continue
		}
		tag, _ := f.Tag.Lookup("json")
		name, rest, more := strings.Cut(tag, ",")
		if name == "-" && !more {
			continue
		}
		if name == "" {
			name = f.Name
		}
		x := field{name: name, index: f.Index, typ: f.Type, tag: f.Tag, optional: f.Type.Kind() == reflect.Pointer}
		for s := range strings.SplitSeq(rest, ",") {
			switch s {
			case "omitempty", "omitzero":
				x.optional = true
			case "string":
				return nil, fmt.Errorf("%s.%s: the json option \"string\" is not supported", t, f.Name)
			}
		}
		if _, ok := f.Tag.Lookup("default"); ok {
			x.optional = true
		}
		if i, ok := at[name]; ok {
			if len(f.Index) < len(out[i].index) {
				out[i] = x
			}
			continue
		}
		at[name] = len(out)
		out = append(out, x)
	}
	return out, nil
}

var (
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	bytesType      = reflect.TypeFor[[]byte]()
	timeType       = reflect.TypeFor[time.Time]()

	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// implements reports whether t or *t has the methods of iface.
func implements(t, iface reflect.Type) bool {
	return t.Implements(iface) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(iface)
}
