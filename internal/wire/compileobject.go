package wire

import (
	"maps"
	"slices"
)

// manyProps is the number of names from which a map beats looking at each.
const manyProps = 8

func (b *builder) prop(name string) *prop {
	p := b.props[name]
	if p == nil {
		p = &prop{name: name, key: nameKey([]byte(name), 0, len(name)), required: -1}
		b.props[name] = p
	}
	return p
}

// members compiles properties, required and additionalProperties.
func (b *builder) members() error {
	n := b.n
	declared, hasProps := b.m["properties"]
	if hasProps {
		m, ok := declared.(map[string]any)
		if !ok {
			return b.errorf("properties must be an object")
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			p := b.prop(name)
			p.declared = true
			var err error
			if p.node, err = b.sub(m[name], "/properties/"+pointerEscaper.Replace(name)); err != nil {
				return err
			}
		}
	}
	if v, ok := b.m["required"]; ok {
		list, ok := v.([]any)
		if !ok {
			return b.errorf("required must be a list of strings")
		}
		for _, v := range list {
			name, ok := v.(string)
			if !ok {
				return b.errorf("required must be a list of strings")
			}
			p := b.prop(name)
			p.known = true
			if p.required < 0 {
				p.required = len(n.required)
				n.required = append(n.required, name)
			}
		}
	}
	if v, ok := b.m["additionalProperties"]; ok {
		var err error
		if n.additional, err = b.sub(v, "/additionalProperties"); err != nil {
			return err
		}
	}
	_, said := b.m["additionalProperties"]
	n.warn = hasProps && !said && !b.ctx.quiet
	for name := range b.ctx.optional {
		b.prop(name).nullable = true
	}
	for _, p := range b.props {
		if p.declared && p.required < 0 {
			p.nullable = true
		}
	}
	return nil
}

// choice compiles anyOf or oneOf.
func (b *builder) choice(keyword string, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return b.errorf("%s must be a list of schemas that is not empty", keyword)
	}
	if b.alternatives += len(list); b.alternatives > maxAlternatives {
		return b.errorf("the schema has more than %d alternatives", maxAlternatives)
	}
	_, hasProps := b.m["properties"]
	_, said := b.m["additionalProperties"]
	ctx := context{optional: map[string]bool{}, quiet: b.ctx.quiet || hasProps || said}
	for name, p := range b.props {
		if p.nullable {
			ctx.optional[name] = true
		}
	}
	ch := choice{one: keyword == "oneOf"}
	var all types
	typed := true
	for _, v := range list {
		alt, err := b.node(v, b.pointer+"/"+keyword, ctx)
		if err != nil {
			return err
		}
		if alt == nil {
			alt = &node{maxLen: -1, maxItems: -1, maxProps: -1}
		}
		ch.alternatives = append(ch.alternatives, alt)
		all |= alt.types
		typed = typed && alt.types != 0
		if hasProps {
			for i := range alt.props {
				if p := &alt.props[i]; p.declared || p.known {
					b.prop(p.name).known = true
				}
			}
		}
	}
	if typed {
		ch.expect = all.expect()
	}
	b.n.choices = append(b.n.choices, ch)
	return nil
}

// finish lays the names out for lookups.
func (b *builder) finish() {
	n := b.n
	for _, name := range slices.Sorted(maps.Keys(b.props)) {
		n.props = append(n.props, *b.props[name])
	}
	if len(n.props) > manyProps {
		n.byName = make(map[string]*prop, len(n.props))
		for i := range n.props {
			n.byName[n.props[i].name] = &n.props[i]
		}
	}
}
