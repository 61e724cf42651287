package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// MethodOption says something about one method.
type MethodOption func(*method)

// Timeout bounds a call, at most 305 s; without it the host's default stands.
func Timeout(d time.Duration) MethodOption { return func(m *method) { m.timeout = d } }

// ReadOnly: the method changes nothing.
func ReadOnly() MethodOption { return func(m *method) { m.readOnly = true } }

// Idempotent: calling twice has the effect of calling once.
func Idempotent() MethodOption { return func(m *method) { m.idempotent = true } }

// Errors names the codes that the method may answer with. Those that are not
// the protocol's become the plugin's own.
func Errors(codes ...string) MethodOption {
	return func(m *method) { m.errors = append(m.errors, codes...) }
}

// Since names the plugin version that had the method first.
func Since(version string) MethodOption { return func(m *method) { m.since = version } }

// Deprecated says what to use instead.
func Deprecated(instead string) MethodOption { return func(m *method) { m.deprecated = instead } }

// Example adds parameters that work, as a JSON object.
func Example(params string) MethodOption {
	return func(m *method) { m.examples = append(m.examples, []byte(params)) }
}

// Closed makes unknown parameters an error, not a warning. It closes inferred
// schemas, the nested objects too.
func Closed() MethodOption { return func(m *method) { m.closed = true } }

// ParamsSchema gives the JSON Schema (2020-12) of the parameters instead of
// the inferred one.
func ParamsSchema(schema string) MethodOption {
	return func(m *method) { m.paramsSchema = []byte(schema) }
}

// ResultSchema gives the JSON Schema of the result instead of the inferred one.
func ResultSchema(schema string) MethodOption {
	return func(m *method) { m.resultSchema = []byte(schema) }
}

// Handle declares a method. P is a struct or a map with string keys, R any
// type with a JSON form. fn may be called concurrently. It panics when the
// declaration is not valid, so that the first test shows it.
func Handle[P, R any](p *Plugin, name, summary string, fn func(context.Context, P) (R, error), options ...MethodOption) {
	m := newMethod(name, summary, options)
	in := reflect.TypeFor[P]()
	if m.paramsSchema == nil {
		schema, err := inferParams(in, m.closed)
		if err != nil {
			panic(fmt.Sprintf("sdk: method %s: parameters: %v; give sdk.ParamsSchema", name, err))
		}
		m.paramsSchema = schema
	}
	if m.resultSchema == nil {
		schema, err := inferResult(reflect.TypeFor[R]())
		if err != nil {
			panic(fmt.Sprintf("sdk: method %s: result: %v; give sdk.ResultSchema", name, err))
		}
		m.resultSchema = schema
	}
	plan, err := planFor(in)
	if err != nil {
		panic(fmt.Sprintf("sdk: method %s: parameters: %v", name, err))
	}
	m.run = func(ctx context.Context, params []byte) ([]byte, error) {
		var v P
		if err := plan.decode(params, reflect.ValueOf(&v).Elem()); err != nil {
			return nil, err
		}
		r, err := fn(ctx, v)
		if err != nil {
			return nil, err
		}
		out, err := encode(r)
		if err != nil {
			return nil, fmt.Errorf("the result has no JSON form: %w", err)
		}
		return out, nil
	}
	p.checkJSON(m)
	p.add(m)
}

// HandleRaw declares a method that takes its parameters and gives its result
// as JSON text; neither is decoded on the way. fn must not keep params. A nil
// result is null. Without [ParamsSchema] any object is taken.
func HandleRaw(p *Plugin, name, summary string, fn func(ctx context.Context, params json.RawMessage) (json.RawMessage, error), options ...MethodOption) {
	m := newMethod(name, summary, options)
	if m.paramsSchema == nil {
		m.paramsSchema = []byte(`{"type":"object"}`)
	}
	m.run = func(ctx context.Context, params []byte) ([]byte, error) { return fn(ctx, params) }
	p.checkJSON(m)
	p.add(m)
}

func newMethod(name, summary string, options []MethodOption) *method {
	m := &method{name: name, summary: summary}
	for _, o := range options {
		o(m)
	}
	return m
}

// checkJSON refuses texts that the host would refuse later.
func (p *Plugin) checkJSON(m *method) {
	for _, s := range [][]byte{m.paramsSchema, m.resultSchema} {
		if len(s) > 0 && !json.Valid(s) {
			panic("sdk: method " + m.name + ": a schema is not valid JSON")
		}
	}
	for _, e := range m.examples {
		var object map[string]json.RawMessage
		if json.Unmarshal(e, &object) != nil || object == nil {
			panic("sdk: method " + m.name + ": an example is not a JSON object")
		}
	}
}

// Config declares the plugin's configuration: fn receives its section, decoded
// as parameters are and already checked against the schema inferred from T,
// before the first call. Unknown keys are refused. An error keeps the plugin
// from starting and is shown to the operator.
func Config[T any](p *Plugin, fn func(ctx context.Context, config T) error) {
	t := reflect.TypeFor[T]()
	if p.configure != nil {
		panic("sdk: plugin " + p.name + ": Config is declared twice")
	}
	schema, err := inferParams(t, true)
	if err != nil {
		panic(fmt.Sprintf("sdk: plugin %s: config: %v", p.name, err))
	}
	plan, err := planFor(t)
	if err != nil {
		panic(fmt.Sprintf("sdk: plugin %s: config: %v", p.name, err))
	}
	p.configSchema = schema
	p.configure = func(ctx context.Context, config []byte) error {
		var v T
		if err := plan.decode(config, reflect.ValueOf(&v).Elem()); err != nil {
			return err
		}
		return fn(ctx, v)
	}
}
