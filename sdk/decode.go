package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vant-run/vant/proto/envelope"
)

// plan is how JSON becomes values of one type. It differs from encoding/json
// where the protocol does: null is absent, names match exactly, 1.0 is an
// integer, defaults and clamps hold at any depth. A plan is made once for a
// type and is safe for concurrent use.
type plan struct {
	typ  reflect.Type
	into func(d *jsontext.Decoder, v reflect.Value) error
	// fill sets defaults where a struct's member is missing; nil: none.
	fill func(v reflect.Value)
}

var plans struct {
	sync.Mutex
	made map[reflect.Type]*plan
}

// planFor makes or finds the plan of t.
func planFor(t reflect.Type) (*plan, error) {
	plans.Lock()
	defer plans.Unlock()
	if p := plans.made[t]; p != nil {
		return p, nil
	}
	// A failed attempt must leave no half-made plans behind.
	made := make(map[reflect.Type]*plan)
	p, err := makePlan(t, made)
	if err != nil {
		return nil, err
	}
	if plans.made == nil {
		plans.made = make(map[reflect.Type]*plan)
	}
	for t, p := range made {
		plans.made[t] = p
	}
	return p, nil
}

func makePlan(t reflect.Type, made map[reflect.Type]*plan) (*plan, error) {
	if p := made[t]; p != nil {
		return p, nil
	}
	p := &plan{typ: t}
	made[t] = p // before its parts: types may be recursive
	switch {
	case t == rawMessageType:
		p.into = intoRaw
	case t == numberType:
		p.into = intoJSONNumber
	case t.Kind() == reflect.Pointer:
		return p, pointerPlan(p, made)
	case implements(t, jsonUnmarshaler), implements(t, textUnmarshaler), t == bytesType:
		p.into = intoLibrary
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		p.into = intoLibrary
	case t.Kind() == reflect.Bool:
		p.into = intoBool
	case t.Kind() == reflect.String:
		p.into = intoString
	case numeric(t):
		p.into = intoNumber(nil)
	case t.Kind() == reflect.Struct:
		return p, structPlan(p, made)
	case t.Kind() == reflect.Slice:
		return p, slicePlan(p, made)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return p, mapPlan(p, made)
	case t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		p.into = intoLibrary
	default:
		return nil, fmt.Errorf("%s cannot be read from JSON", t)
	}
	return p, nil
}

// decode reads one JSON text into v, which must be a settable zero value. Its
// error is an *Error with the place and what was expected, never the value.
func (p *plan) decode(text []byte, v reflect.Value) error {
	if len(bytes.TrimLeft(text, " \t\r\n")) == 0 {
		text = []byte("null")
	}
	d := jsontext.NewDecoder(bytes.NewReader(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() == 'n' {
		if p.fill != nil {
			p.fill(v)
		}
		if err := d.SkipValue(); err != nil {
			return asError(err)
		}
	} else if err := p.into(d, v); err != nil {
		return asError(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Code: string(envelope.InvalidParams), Message: "more than one JSON value", Source: Caller}
	}
	return nil
}

// fault is where and why a value does not fit.
type fault struct {
	pointer string
	badType bool
	message string
}

func (f *fault) Error() string { return f.message }

// below adds the step that led to the fault.
func below(step string, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	step = strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
	return &fault{pointer: "/" + step + f.pointer, badType: f.badType, message: f.message}
}

func asError(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return &Error{Code: string(envelope.InvalidParams), Message: "malformed JSON", Source: Caller, cause: err}
	}
	e := &Error{Code: string(envelope.InvalidParams), Message: f.message, Source: Caller}
	if f.badType {
		e.Code = string(envelope.InvalidParamType)
	}
	if f.pointer != "" {
		e.Message = f.pointer + ": " + f.message
	}
	return e
}

// wrongType skips nothing: the decoding ends here.
func wrongType(expected string) error { return &fault{badType: true, message: "expected " + expected} }

func intoBool(d *jsontext.Decoder, v reflect.Value) error {
	if k := d.PeekKind(); k != 't' && k != 'f' {
		return kindError(d, "boolean")
	}
	tok, err := d.ReadToken()
	if err != nil {
		return err
	}
	v.SetBool(tok.Bool())
	return nil
}

func intoString(d *jsontext.Decoder, v reflect.Value) error {
	if d.PeekKind() != '"' {
		return kindError(d, "string")
	}
	tok, err := d.ReadToken()
	if err != nil {
		return err
	}
	v.SetString(tok.String())
	return nil
}

func intoNumber(c *clamp) func(*jsontext.Decoder, reflect.Value) error {
	return func(d *jsontext.Decoder, v reflect.Value) error {
		expected := "integer"
		if v.CanFloat() {
			expected = "number"
		}
		if d.PeekKind() != '0' {
			return kindError(d, expected)
		}
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		n, err := parseNumber(v.Type(), string(text), c)
		switch {
		case errors.Is(err, errRange):
			return &fault{message: "number out of range"}
		case err != nil:
			return wrongType(expected)
		}
		v.Set(n)
		return nil
	}
}

func intoRaw(d *jsontext.Decoder, v reflect.Value) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	v.SetBytes(bytes.Clone(text))
	return nil
}

func intoJSONNumber(d *jsontext.Decoder, v reflect.Value) error {
	if d.PeekKind() != '0' {
		return kindError(d, "number")
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	v.SetString(string(text))
	return nil
}

// intoLibrary leaves a value to encoding/json: types that read themselves, and
// any.
func intoLibrary(d *jsontext.Decoder, v reflect.Value) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	r := json.NewDecoder(bytes.NewReader(text))
	r.UseNumber()
	if err := r.Decode(v.Addr().Interface()); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) {
			return wrongType(goKind(typ.Type))
		}
		// The text of the type's own error may quote the value.
		return &fault{message: "not a valid " + strings.ToLower(v.Type().Name())}
	}
	return nil
}

func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	if numeric(t) {
		return "integer"
	}
	return "object"
}

// kindError tells a wrong type from a syntax error.
func kindError(d *jsontext.Decoder, expected string) error {
	if d.PeekKind() == 0 {
		_, err := d.ReadToken()
		return err
	}
	return wrongType(expected)
}

// decodeInto reads text into what target points to.
func decodeInto(text []byte, target any) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%T is no pointer to put it in", target)
	}
	p, err := planFor(v.Type().Elem())
	if err != nil {
		return err
	}
	v.Elem().SetZero()
	return p.decode(text, v.Elem())
}
