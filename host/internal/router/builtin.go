package router

import (
	"strings"
	"time"

	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

var yes = []byte("true")

// definition is a built-in method as it is written down.
type definition struct {
	name, summary string
	params        string // "name:string after:integer?"
	schema        string // of the parameters: what stands in "properties"
	result        string // JSON Schema
	returns       string // its short form
	errors        string // separated by spaces
	readOnly      bool
	idempotent    bool
	bound         time.Duration // 0: quick, it neither waits nor needs one
	run           builtin
}

// firstVersion is the release that had all the built-ins first.
const firstVersion = "0.1.0"

// builtins makes the entries of the methods that the host answers itself.
func builtins(r *Router) []*entry {
	defs := r.discoveryMethods()
	defs = append(defs, r.eventMethods()...)
	defs = append(defs, r.hostMethods()...)
	defs = append(defs, r.pluginMethods()...)
	defs = append(defs, r.catalogMethods()...)
	entries := make([]*entry, 0, len(defs))
	for i := range defs {
		entries = append(entries, defs[i].entry(r.opt.Version.Vant))
	}
	return entries
}

// entry compiles the definition. It panics on a fault: definitions are code.
func (d *definition) entry(version string) *entry {
	m := &method.Method{
		Name: d.name, Summary: d.summary,
		ResultSchema: wire.AppendCompact(nil, []byte(d.result)),
		ReturnsShort: d.returns,
		Errors:       strings.Fields(d.errors),
		ReadOnly:     d.readOnly, Idempotent: d.idempotent,
		Timeout: d.bound, Since: firstVersion,
	}
	if m.Timeout == 0 {
		m.Timeout = envelope.DefaultTimeout
	}
	m.ParamsSchema, m.ParamsShort = d.paramsSchema()
	params, err := wire.Compile(m.ParamsSchema, nil)
	if err != nil {
		panic("router: schema of " + d.name + ": " + err.Error())
	}
	m.Params = params
	return &entry{
		Method: m, plugin: hostName, run: d.run, quick: d.bound == 0,
		described: describeMethod(m, hostName, version, "", 0, supervise.Ready),
	}
}

// paramsSchema makes the whole schema, with what is required, and the short
// form of describe.
func (d *definition) paramsSchema() (schema, short []byte) {
	schema = append(schema, `{"type":"object","properties":`...)
	schema = wire.AppendCompact(schema, []byte("{"+d.schema+"}"))
	short = append(short, '{')
	var required []string
	for i, p := range strings.Fields(d.params) {
		name, typ, _ := strings.Cut(p, ":")
		if !strings.HasSuffix(typ, "?") {
			required = append(required, name)
		}
		if i > 0 {
			short = append(short, ',')
		}
		short = wire.AppendString(short, name)
		short = append(short, ':')
		short = wire.AppendString(short, typ)
	}
	if len(required) > 0 {
		schema = append(schema, `,"required":`...)
		schema = appendStrings(schema, required)
	}
	return append(schema, '}'), append(short, '}')
}
