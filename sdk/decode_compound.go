package sdk

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// member is how one struct field is read.
type member struct {
	index []int
	into  func(*jsontext.Decoder, reflect.Value) error
	fill  func(reflect.Value) // what an absent member gets; nil: nothing
}

func structPlan(p *plan, made map[reflect.Type]*plan) error {
	fields, err := fieldsOf(p.typ)
	if err != nil {
		return err
	}
	members := make([]member, len(fields))
	byName := make(map[string]int, len(fields))
	fills := false
	for i, f := range fields {
		m := &members[i]
		m.index = f.index
		byName[f.name] = i
		fp, err := makePlan(f.typ, made)
		if err != nil {
			return fmt.Errorf("%s: field %s: %w", p.typ, f.name, err)
		}
		m.into = func(d *jsontext.Decoder, v reflect.Value) error { return fp.into(d, v) }
		if f.typ.Kind() == reflect.Struct {
			m.fill = func(v reflect.Value) {
				if fp.fill != nil {
					fp.fill(v)
				}
			}
			fills = true
		}
		if err := tagged(f, m); err != nil {
			return fmt.Errorf("%s: field %s: %w", p.typ, f.name, err)
		}
		fills = fills || m.fill != nil
	}
	if fills {
		p.fill = func(v reflect.Value) {
			for i := range members {
				if m := &members[i]; m.fill != nil {
					m.fill(fieldAt(v, m.index))
				}
			}
		}
	}
	p.into = func(d *jsontext.Decoder, v reflect.Value) error { return intoStruct(d, v, p, members, byName) }
	return nil
}

func intoStruct(d *jsontext.Decoder, v reflect.Value, p *plan, members []member, byName map[string]int) error {
	if d.PeekKind() != '{' {
		return kindError(d, "object")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if p.fill != nil {
		p.fill(v)
	}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		i, known := byName[name]
		if !known || d.PeekKind() == 'n' {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		f := fieldAt(v, members[i].index)
		if members[i].fill != nil {
			f.SetZero() // else a list or map would grow on its default
		}
		if err := members[i].into(d, f); err != nil {
			return below(name, err)
		}
	}
	_, err := d.ReadToken()
	return err
}

// tagged adds what the field's default and clamp tags say.
func tagged(f field, m *member) error {
	lo, hi, ok, err := clampOf(f)
	if err != nil {
		return err
	}
	if ok {
		t := f.typ
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		low, _ := parseNumber(t, string(lo), nil)  // clampOf has read both
		high, _ := parseNumber(t, string(hi), nil) //
		into := intoNumber(&clamp{low, high})
		m.into = func(d *jsontext.Decoder, v reflect.Value) error {
			for v.Kind() == reflect.Pointer {
				v.Set(reflect.New(v.Type().Elem()))
				v = v.Elem()
			}
			return into(d, v)
		}
	}
	text, ok := f.tag.Lookup("default")
	if !ok {
		return nil
	}
	t := f.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !plainDefault(t) {
		return fmt.Errorf("default is for booleans, numbers, strings and lists of these")
	}
	m.fill = func(v reflect.Value) {
		for v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		v.Set(defaultValue(t, text))
	}
	// Made once here so that a bad default shows at the declaration.
	return checkDefault(t, text)
}

// plainDefault: values that can be made again for every call without sharing.
func plainDefault(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Bool || t.Kind() == reflect.String || numeric(t)
}

func checkDefault(t reflect.Type, text string) error {
	_, err := readDefault(t, text)
	return err
}

func defaultValue(t reflect.Type, text string) reflect.Value {
	v, err := readDefault(t, text)
	if err != nil {
		panic("sdk: default " + strconv.Quote(text) + " was checked and fails now: " + err.Error())
	}
	return v
}

func readDefault(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch {
	case t.Kind() == reflect.String && t != numberType:
		v.SetString(text)
		return v, nil
	case t.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b)
		return v, err
	case numeric(t):
		return parseNumber(t, text, nil)
	case t == numberType:
		v.SetString(text)
		return v, nil
	}
	elem := &plan{typ: t.Elem()}
	switch {
	case t.Elem().Kind() == reflect.Bool:
		elem.into = intoBool
	case t.Elem().Kind() == reflect.String:
		elem.into = intoString
	default:
		elem.into = intoNumber(nil)
	}
	list := &plan{typ: t, into: intoSlice(elem)}
	return v, list.decode([]byte(text), v)
}

// fieldAt follows index and makes embedded pointers on the way.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}

func pointerPlan(p *plan, made map[reflect.Type]*plan) error {
	elem, err := makePlan(p.typ.Elem(), made)
	if err != nil {
		return err
	}
	p.into = func(d *jsontext.Decoder, v reflect.Value) error {
		v.Set(reflect.New(p.typ.Elem()))
		return elem.into(d, v.Elem())
	}
	return nil
}

func slicePlan(p *plan, made map[reflect.Type]*plan) error {
	elem, err := makePlan(p.typ.Elem(), made)
	if err != nil {
		return err
	}
	p.into = intoSlice(elem)
	return nil
}

func intoSlice(elem *plan) func(*jsontext.Decoder, reflect.Value) error {
	return func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() != '[' {
			return kindError(d, "array")
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
		for n := 0; d.PeekKind() != ']'; n++ {
			v.Grow(1)
			v.SetLen(n + 1)
			item := v.Index(n)
			item.SetZero()
			if err := intoElem(d, elem, item); err != nil {
				return below(strconv.Itoa(n), err)
			}
		}
		_, err := d.ReadToken()
		return err
	}
}

func mapPlan(p *plan, made map[reflect.Type]*plan) error {
	elem, err := makePlan(p.typ.Elem(), made)
	if err != nil {
		return err
	}
	p.into = func(d *jsontext.Decoder, v reflect.Value) error {
		if d.PeekKind() != '{' {
			return kindError(d, "object")
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		v.Set(reflect.MakeMap(v.Type()))
		for d.PeekKind() != '}' {
			tok, err := d.ReadToken()
			if err != nil {
				return err
			}
			name := tok.String()
			item := reflect.New(p.typ.Elem()).Elem()
			if err := intoElem(d, elem, item); err != nil {
				return below(name, err)
			}
			v.SetMapIndex(reflect.ValueOf(name).Convert(p.typ.Key()), item)
		}
		_, err := d.ReadToken()
		return err
	}
	return nil
}

// intoElem reads an item of a list or map. A null stays what it is where the
// type can say so (nil pointers, any); elsewhere there is no "absent" in a
// list, so it is a wrong type.
func intoElem(d *jsontext.Decoder, p *plan, v reflect.Value) error {
	if d.PeekKind() == 'n' && v.Kind() == reflect.Pointer {
		return d.SkipValue()
	}
	return p.into(d, v)
}
