package method

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// maxApplied bounds how many subschemas a schema may apply to one value, all
// ways by which they are reached counted.
const maxApplied = 4096

// bounded refuses a schema whose check could cost more than a bounded multiple
// of the value: the library applies each subschema once for every way that
// leads to it, so alternatives that come back to themselves double the work at
// each level of the value.
func bounded(doc any) error {
	g := &graph{doc: doc, nodes: map[string]*vertex{}, anchors: map[string]string{}}
	g.findAnchors(doc, "", 0)
	if err := g.visit("", doc); err != nil {
		return err
	}
	g.components()
	for _, at := range slices.Sorted(maps.Keys(g.nodes)) {
		if err := g.judge(g.nodes[at]); err != nil {
			return err
		}
	}
	return nil
}

// graph is the subschemas of a document, by their JSON pointers.
type graph struct {
	doc     any
	nodes   map[string]*vertex
	anchors map[string]string

	// For components.
	count int
	stack []*vertex
}

// vertex is one subschema and what it applies: to the value itself, and to
// what is in the value.
type vertex struct {
	pointer string
	here    []*vertex
	members children // of an object
	items   children // of an array

	index, low int // 0: not seen yet
	onStack    bool
	component  int
	recursive  bool
	state      int // of the search for here's cycles
	applied    int // to one value, this one included; 0: not known yet
	most       int // the same for the value and all within; 0: not known yet
}

// children are schemas for what is in a value: by name or index, for all that
// has none there, and for all.
type children struct {
	named      map[string]*vertex
	rest, each []*vertex
}

func (g *graph) findAnchors(v any, at string, depth int) {
	if depth > wire.MaxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["$anchor"].(string); ok {
			g.anchors[name] = at
		}
		for key, sub := range v {
			g.findAnchors(sub, at+"/"+escape(key), depth+1)
		}
	case []any:
		for i, sub := range v {
			g.findAnchors(sub, at+"/"+strconv.Itoa(i), depth+1)
		}
	}
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

var (
	hereLists = []string{"allOf", "anyOf", "oneOf"}
	hereOnes  = []string{"not", "if", "then", "else"}
)

// visit makes the vertex of the schema at a pointer, and of all that it leads
// to. Nesting is bounded by the document's, references by their number.
func (g *graph) visit(at string, schema any) error {
	if g.nodes[at] != nil {
		return nil
	}
	n := &vertex{pointer: at}
	g.nodes[at] = n
	s, ok := schema.(map[string]any)
	if !ok {
		return nil // true and false, and what the library refuses
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[key]; ok {
			return fmt.Errorf("%s is not supported; use $ref", key)
		}
	}
	var errs []error
	sub := func(key string, v any) *vertex {
		to := at + "/" + key
		errs = append(errs, g.visit(to, v))
		return g.nodes[to]
	}
	list := func(key string) (out []*vertex) {
		values, _ := s[key].([]any)
		for i, v := range values {
			out = append(out, sub(key+"/"+strconv.Itoa(i), v))
		}
		return out
	}
	table := func(key string) map[string]*vertex {
		values, _ := s[key].(map[string]any)
		out := make(map[string]*vertex, len(values))
		for _, name := range slices.Sorted(maps.Keys(values)) {
			out[name] = sub(key+"/"+escape(name), values[name])
		}
		return out
	}
	one := func(to []*vertex, keys ...string) []*vertex {
		for _, key := range keys {
			if v, ok := s[key]; ok {
				to = append(to, sub(key, v))
			}
		}
		return to
	}
	for _, key := range hereLists {
		n.here = append(n.here, list(key)...)
	}
	n.here = one(n.here, hereOnes...)
	n.here = appendSorted(n.here, table("dependentSchemas"))
	n.members.named = table("properties")
	n.members.rest = one(nil, "additionalProperties")
	n.members.each = appendSorted(one(nil, "propertyNames", "unevaluatedProperties"), table("patternProperties"))
	n.items.named = map[string]*vertex{}
	for i, v := range list("prefixItems") {
		n.items.named[strconv.Itoa(i)] = v
	}
	n.items.rest = one(nil, "items")
	n.items.each = one(nil, "contains", "unevaluatedItems")
	if ref, ok := s["$ref"].(string); ok {
		to, v, err := g.target(ref)
		if err == nil {
			err = g.visit(to, v)
		}
		if err != nil {
			return err
		}
		n.here = append(n.here, g.nodes[to])
	}
	return errors.Join(errs...)
}

func appendSorted(list []*vertex, table map[string]*vertex) []*vertex {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, table[name])
	}
	return list
}

// target finds what a reference within the document leads to.
func (g *graph) target(ref string) (at string, schema any, err error) {
	at, ok := strings.CutPrefix(ref, "#")
	if ok && at != "" && !strings.HasPrefix(at, "/") {
		at, ok = g.anchors[at]
	}
	if ok {
		if schema, ok = (&pruner{root: g.doc}).resolve("#" + at); ok {
			return at, schema, nil
		}
	}
	return "", nil, fmt.Errorf("$ref %s leads to nothing in the schema", wire.Quote(ref))
}

// next lists all that a vertex applies.
func (n *vertex) next() []*vertex {
	all := slices.Clone(n.here)
	for _, c := range []children{n.members, n.items} {
		all = append(appendSorted(all, c.named), c.rest...)
		all = append(all, c.each...)
	}
	return all
}

// components finds what comes back to itself: Tarjan's algorithm. Its depth is
// that of the graph, which has at most as many vertices as the text has braces.
func (g *graph) components() {
	for _, at := range slices.Sorted(maps.Keys(g.nodes)) {
		if n := g.nodes[at]; n.index == 0 {
			g.connect(n)
		}
	}
}

func (g *graph) connect(n *vertex) {
	g.count++
	n.index, n.low = g.count, g.count
	g.stack = append(g.stack, n)
	n.onStack = true
	for _, to := range n.next() {
		switch {
		case to == n:
			n.recursive = true
		case to.index == 0:
			g.connect(to)
			n.low = min(n.low, to.low)
		case to.onStack:
			n.low = min(n.low, to.index)
		}
	}
	if n.low != n.index {
		return
	}
	i := slices.Index(g.stack, n)
	members := g.stack[i:]
	g.stack = g.stack[:i]
	for _, m := range members {
		m.onStack, m.component = false, n.index
		m.recursive = m.recursive || len(members) > 1
	}
}

// closure lists n and all that it applies to the value itself, as often as it
// does. Its length is bounded by applications.
func (n *vertex) closure(list []*vertex) []*vertex {
	list = append(list, n)
	for _, to := range n.here {
		list = to.closure(list)
	}
	return list
}

// applications counts what n applies to the value itself.
func (n *vertex) applications() (int, error) {
	switch {
	case n.applied > 0:
		return n.applied, nil
	case n.state == 1:
		return 0, n.errorf("applies itself to the same value again")
	}
	n.state = 1
	total := 1
	for _, to := range n.here {
		k, err := to.applications()
		if err != nil {
			return 0, err
		}
		if total += k; total > maxApplied {
			return 0, n.errorf("applies more than %d subschemas to one value", maxApplied)
		}
	}
	n.state, n.applied = 2, total
	return total, nil
}

// judge bounds what n applies to the value and, along any path into it, to
// what is within.
func (g *graph) judge(n *vertex) error {
	_, err := n.worst()
	return err
}

func (n *vertex) worst() (int, error) {
	if n.most > 0 {
		return n.most, nil
	}
	most, err := n.applications()
	if err != nil {
		return 0, err
	}
	all := n.closure(nil)
	for _, part := range []func(*vertex) *children{
		func(v *vertex) *children { return &v.members }, func(v *vertex) *children { return &v.items },
	} {
		var names []string
		for _, v := range all {
			names = slices.AppendSeq(names, maps.Keys(part(v).named))
		}
		slices.Sort(names)
		for _, name := range append(slices.Compact(names), "\x00other") {
			k, err := n.within(all, part, name)
			if err != nil {
				return 0, err
			}
			most = max(most, k)
		}
	}
	n.most = most
	return most, nil
}

// within counts what is applied along any path that begins with one child.
func (n *vertex) within(all []*vertex, part func(*vertex) *children, name string) (int, error) {
	total, again, recursive := 0, 0, 0
	for _, v := range all {
		c := part(v)
		to := c.each
		if named := c.named[name]; named != nil {
			to = append(slices.Clip(to), named)
		} else {
			to = append(slices.Clip(to), c.rest...)
		}
		for _, t := range to {
			switch {
			case n.recursive && t.component == n.component:
				again++
				k, err := t.applications()
				if err != nil {
					return 0, err
				}
				total += k
				continue
			case t.recursive:
				recursive++
			}
			k, err := t.worst()
			if err != nil {
				return 0, err
			}
			total += k
		}
	}
	switch {
	case again > 1 || again == 1 && recursive > 0:
		return 0, n.errorf("applies what leads back to it to one value more than once, which doubles the work at every level")
	case total > maxApplied:
		return 0, n.errorf("applies more than %d subschemas to one value", maxApplied)
	}
	return total, nil
}

func (n *vertex) errorf(format string, args ...any) error {
	at := n.pointer
	if at == "" {
		at = "/"
	}
	return fmt.Errorf("%s "+format, append([]any{wire.Quote(at)}, args...)...)
}
