package method

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/vant-run/vant/internal/wire"
)

// full checks schemas with keywords that package wire does not have. It is the
// slow way: it decodes the value.
func full(raw []byte) (check func(value []byte) *wire.Violation, err error) {
	// The library is handed what strangers wrote; a fault of it must not end
	// the host.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", r)
		}
	}()
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if bad := bigNumber(doc, nil); bad != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", bad)
	}
	if err := bounded(doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be bounded: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	const url = "vant:///schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	s, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	f := &fullSchema{schema: s, doc: doc}
	return f.check, nil
}

// noLoader keeps the library from reading files and from the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: a schema may refer to itself only", wire.Quote(url))
}

type fullSchema struct {
	schema *jsonschema.Schema
	doc    any
}

func (f *fullSchema) check(value []byte) (v *wire.Violation) {
	defer func() {
		if recover() != nil {
			v = &wire.Violation{Message: "cannot be checked against the schema"}
		}
	}()
	doc, err := decode(value)
	if err != nil {
		return &wire.Violation{Message: "cannot be checked against the schema"}
	}
	if v := bigNumber(doc, nil); v != nil {
		return v
	}
	doc = (&pruner{root: f.doc}).prune(doc, []any{f.doc}, 0)
	err = f.schema.Validate(doc)
	if err == nil {
		return nil
	}
	ve, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // the library returns it as it is
	if !ok {
		return &wire.Violation{Message: "does not conform to the schema"}
	}
	return violation(leaf(ve))
}

// leaf finds the error that says most: one without causes, but for alternatives,
// of which none can be told to be the one that was meant. Of several mistakes it
// is always the same: the library has them in the order of a map.
func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			if len(e.Causes) > 1 {
				return e
			}
		}
		e = slices.MinFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
	}
	return e
}

// violation words an error without the value that it holds.
func violation(e *jsonschema.ValidationError) *wire.Violation {
	v := &wire.Violation{Pointer: wire.Pointer(e.InstanceLocation...)}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		v.Type = true
		v.Message = "expected " + strings.Join(k.Want, " or ")
	case *kind.Required:
		v.Message = "missing required " + wire.Quote(k.Missing[0])
	case *kind.DependentRequired:
		v.Message = "missing " + wire.Quote(k.Missing[0]) + ", which " + wire.Quote(k.Prop) + " needs"
	case *kind.AdditionalProperties:
		v.Unknown = slices.Min(k.Properties)
		v.Message = "unknown parameter " + wire.Quote(v.Unknown)
	case *kind.AnyOf, *kind.OneOf:
		v.Message = "matches none of the allowed forms, or more than it may"
	case *kind.Minimum:
		v.Message = "expected at least " + number(k.Want)
	case *kind.Maximum:
		v.Message = "expected at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		v.Message = "expected more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		v.Message = "expected less than " + number(k.Want)
	case *kind.MultipleOf:
		v.Message = "expected a multiple of " + number(k.Want)
	default:
		v.Message = "breaks the schema's rule"
		if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
			v.Message += " " + wire.Quote(path[0])
		}
	}
	return v
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
