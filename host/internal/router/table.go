package router

import (
	"context"
	"slices"
	"strings"

	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// hostName stands for the plugin of the built-in methods.
const hostName = "host"

// invoker runs a plugin's methods: *supervise.Plugin, or a fake. The request
// and its bytes must not be kept after Invoke has returned.
type invoker interface {
	Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error)
	// Failed notes the code that a caller got for a call of the plugin.
	Failed(code string)
}

// source is a plugin as the table is built from it.
type source struct {
	set        *method.Set
	invoke     invoker
	sha256     string
	generation uint64
	state      supervise.State
}

// table is all that can be called at one moment, and what the discovery
// methods answer then. It is immutable, but for replaced being closed.
type table struct {
	entries      map[string]*entry
	names        []string // sorted
	describe     []byte
	capabilities []byte
	version      []byte
	ready        int // plugins that serve
	replaced     chan struct{}
}

// entry is one method in a table.
type entry struct {
	*method.Method
	plugin string
	invoke invoker         // of a plugin's method
	codes  map[string]bool // the plugin's own error codes

	run   builtin // of a built-in
	quick bool    // the built-in neither waits nor needs a bound

	described []byte // `"name":{…}`, as in describe
}

// builtin answers a call itself. The result may be c.buf, or bytes that nobody
// modifies.
type builtin func(ctx context.Context, c *call) ([]byte, error)

// build makes a table of the built-ins and these plugins. Where two have one
// name, which package supervise rules out, the built-in wins, then the first.
func (r *Router) build(list []source) *table {
	list = slices.Clone(list)
	list = slices.DeleteFunc(list, func(p source) bool { return p.set == nil })
	slices.SortStableFunc(list, func(a, b source) int { return strings.Compare(a.set.Name, b.set.Name) })
	t := &table{
		entries:  make(map[string]*entry),
		replaced: make(chan struct{}),
	}
	for _, e := range r.builtins {
		t.entries[e.Name] = e
	}
	for _, p := range list {
		if p.state == supervise.Ready {
			t.ready++
		}
		for _, m := range p.set.Methods {
			if old := t.entries[m.Name]; old != nil {
				r.log.Error("two plugins claim one method", "method", m.Name, "kept", old.plugin, "refused", p.set.Name)
				continue
			}
			t.entries[m.Name] = &entry{
				Method: m, plugin: p.set.Name, invoke: p.invoke, codes: p.set.ErrorCodes,
				described: describeMethod(m, p.set.Name, p.set.Version, p.sha256, p.generation, p.state),
			}
		}
	}
	t.names = make([]string, 0, len(t.entries))
	for name := range t.entries {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	t.describe = append(t.describe, '{')
	for i, name := range t.names {
		if i > 0 {
			t.describe = append(t.describe, ',')
		}
		t.describe = append(t.describe, t.entries[name].described...)
	}
	t.describe = append(t.describe, '}')
	t.capabilities = r.capabilities(list)
	t.version = r.version(list)
	return t
}
