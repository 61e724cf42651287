package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// converter turns the parser's tree to nodes: aliases are resolved, merge keys
// applied, scalars typed.
type converter struct {
	*faults
	anchors map[string]*node // nil when the anchor's value has a fault
	open    map[string]bool  // anchors whose own value is being read
	copied  int              // members that merge keys have copied
}

// maxCopied bounds the members that merge keys copy in all: many small
// mappings may each merge a large one.
const maxCopied = 100_000

// value converts one value; nil means that a fault was noted.
func (c *converter) value(n ast.Node, depth int) *node {
	if n == nil {
		return &node{kind: kindNull, text: "null", cost: 4}
	}
	at := tokenPos(n.GetToken())
	if depth > maxDepth {
		c.add(at, "is nested deeper than %d levels", maxDepth)
		return nil
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Values, mappingPos(n), depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, tokenPos(n.Key.GetToken()), depth)
	case *ast.SequenceNode:
		return c.sequence(n, at, depth)
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		if _, seen := c.anchors[name]; seen {
			c.add(at, "anchor &%s is set twice; rename one", clip(name))
			return nil
		}
		c.anchors[name], c.open[name] = nil, true
		v := c.value(n.Value, depth+1)
		c.anchors[name], c.open[name] = v, false
		return v
	case *ast.AliasNode:
		return c.alias(n, at)
	case *ast.TagNode:
		return c.tagged(n, at, depth)
	case *ast.LiteralNode:
		return text(n.Value.Value, at)
	case *ast.StringNode:
		if tk := n.GetToken(); tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType {
			return text(n.Value, at)
		}
		return c.plain(n.Value, at)
	case *ast.NullNode:
		return &node{kind: kindNull, at: at, text: "null", written: n.GetToken().Value, cost: 4}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return c.plain(n.GetToken().Value, at)
	}
	c.add(at, "is of a kind that a configuration cannot hold")
	return nil
}

func mappingPos(n *ast.MappingNode) pos {
	if n.IsFlowStyle || len(n.Values) == 0 {
		return tokenPos(n.GetToken())
	}
	return tokenPos(n.Values[0].Key.GetToken())
}

func text(s string, at pos) *node {
	return &node{kind: kindText, at: at, text: s, written: s, cost: len(s) + 2}
}

func (c *converter) plain(s string, at pos) *node {
	k, t, fault := plain(s)
	if fault != "" {
		c.add(at, "%s", fault)
		return nil
	}
	return &node{kind: k, at: at, text: t, written: s, cost: len(t) + 2}
}

// charge adds up costs; what aliases multiply is refused before it is written
// out.
func (c *converter) charge(n *node, cost int) *node {
	n.cost = cost
	if cost > maxCost {
		c.add(n.at, "grows beyond %d bytes when its aliases are written out", maxCost)
		return nil
	}
	return n
}

func (c *converter) sequence(n *ast.SequenceNode, at pos, depth int) *node {
	out := &node{kind: kindList, at: at}
	cost, whole := 2, true
	for _, v := range n.Values {
		item := c.value(v, depth+1)
		if item == nil {
			whole = false
			continue
		}
		out.items = append(out.items, item)
		cost += item.cost + 1
		if cost > maxCost {
			break
		}
	}
	if !whole {
		return nil
	}
	return c.charge(out, cost)
}

func (c *converter) mapping(values []*ast.MappingValueNode, at pos, depth int) *node {
	out := &node{kind: kindMap, at: at}
	seen := make(map[string]pos, len(values))
	var merged []*node
	cost, whole := 2, true
	for _, mv := range values {
		if mv.Key.IsMergeKey() {
			from := c.value(mv.Value, depth+1)
			list := c.mergeSources(from)
			whole = whole && list != nil
			merged = append(merged, list...)
			continue
		}
		key, keyAt, ok := c.key(mv.Key)
		if !ok {
			whole = false
			continue
		}
		if first, dup := seen[key]; dup {
			c.add(keyAt, "key %q is here twice, first in line %d; remove one", clip(key), first.line)
			whole = false
			continue
		}
		seen[key] = keyAt
		v := c.value(mv.Value, depth+1)
		if v == nil {
			whole = false
			continue
		}
		out.members = append(out.members, member{key, keyAt, v})
		cost += len(key) + v.cost + 4
	}
	// Keys of its own win; of several sources, the earlier one.
	for _, src := range merged {
		for _, m := range src.members {
			if _, has := seen[m.key]; !has {
				if c.copied++; c.copied > maxCopied {
					if c.copied == maxCopied+1 {
						c.add(at, "<< copies more than %d keys in this file", maxCopied)
					}
					return nil
				}
				seen[m.key] = m.at
				out.members = append(out.members, m)
				cost += len(m.key) + m.value.cost + 4
			}
		}
	}
	if !whole {
		return nil
	}
	return c.charge(out, cost)
}

// mergeSources gives the mappings that << names; nil when a fault was noted.
func (c *converter) mergeSources(from *node) []*node {
	if from == nil {
		return nil
	}
	list := []*node{from}
	if from.kind == kindList {
		list = from.items
	}
	for _, src := range list {
		if src.kind != kindMap {
			c.add(src.at, "<< takes a mapping or a list of mappings, found %s", src.kind)
			return nil
		}
	}
	if len(list) == 0 {
		return []*node{{kind: kindMap}}
	}
	return list
}

// key gives a mapping's key as text: JSON has no other keys.
func (c *converter) key(k ast.MapKeyNode) (key string, at pos, ok bool) {
	var n ast.Node = k
	if q, is := n.(*ast.MappingKeyNode); is {
		n = q.Value
	}
	if n == nil {
		return "", pos{}, false
	}
	at = tokenPos(n.GetToken())
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, at, true
	case *ast.LiteralNode:
		return n.Value.Value, at, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, at, true
	}
	c.add(at, "a key must be a text; quote it")
	return "", at, false
}

func (c *converter) alias(n *ast.AliasNode, at pos) *node {
	name := n.Value.GetToken().Value
	target, known := c.anchors[name]
	switch {
	case !known:
		c.add(at, "alias *%s has no anchor &%s before it", clip(name), clip(name))
	case c.open[name]:
		c.add(at, "alias *%s cannot be used: its anchor is not complete", clip(name))
	}
	return target
}

// tagged applies a tag. Only those of the core schema are known.
func (c *converter) tagged(n *ast.TagNode, at pos, depth int) *node {
	tag := n.GetToken().Value
	if tag == "!!str" || tag == "!" {
		if s, ok := scalarText(n.Value); ok {
			return text(s, at)
		}
	}
	v := c.value(n.Value, depth+1)
	if v == nil {
		return nil
	}
	want, known := map[string]kind{
		"!!null": kindNull, "!!bool": kindBool, "!!int": kindNumber, "!!float": kindNumber,
		"!!str": kindText, "!!seq": kindList, "!!map": kindMap,
	}[tag]
	switch {
	case !known:
		c.add(at, "tag %s is not known; leave it out", clip(tag))
		return nil
	case want != v.kind:
		c.add(at, "tag %s does not fit %s", tag, v.kind)
		return nil
	}
	return v
}

func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	case *ast.NullNode:
		if n.GetToken().Type == token.ImplicitNullType {
			return "", true
		}
		return n.GetToken().Value, true
	}
	return "", false
}
