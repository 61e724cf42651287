package router

import (
	"context"
	"strconv"

	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

// describeMethod makes a method's member of describe: `"name":{…}`.
func describeMethod(m *method.Method, plugin, version, sha256 string, generation uint64, state supervise.State) []byte {
	b := make([]byte, 0, 512+len(m.ParamsSchema)+len(m.ResultSchema))
	b = wire.AppendString(b, m.Name)
	b = append(b, `:{"summary":`...)
	b = wire.AppendString(b, m.Summary)
	b = append(b, `,"params":`...)
	b = append(b, m.ParamsShort...)
	b = append(b, `,"returns":`...)
	b = wire.AppendString(b, m.ReturnsShort)
	b = append(b, `,"params_schema":`...)
	b = append(b, m.ParamsSchema...)
	b = append(b, `,"result_schema":`...)
	b = append(b, m.ResultSchema...)
	b = append(b, `,"errors":`...)
	b = appendStrings(b, m.Errors)
	b = append(b, `,"read_only":`...)
	b = strconv.AppendBool(b, m.ReadOnly)
	b = append(b, `,"idempotent":`...)
	b = strconv.AppendBool(b, m.Idempotent)
	b = append(b, `,"timeout_ms":`...)
	b = strconv.AppendInt(b, m.Timeout.Milliseconds(), 10)
	b = append(b, `,"since":`...)
	b = wire.AppendString(b, m.Since)
	if m.Deprecated != "" {
		b = append(b, `,"deprecated":`...)
		b = wire.AppendString(b, m.Deprecated)
	}
	b = append(b, `,"state":`...)
	b = wire.AppendString(b, string(state))
	b = append(b, `,"plugin":{"name":`...)
	b = wire.AppendString(b, plugin)
	b = append(b, `,"version":`...)
	b = wire.AppendString(b, version)
	b = append(b, `,"sha256":`...)
	b = wire.AppendString(b, sha256)
	b = append(b, `,"generation":`...)
	b = strconv.AppendUint(b, generation, 10)
	return append(b, '}', '}')
}

// describe answers with the whole table or with one method of it.
func (r *Router) describe(_ context.Context, c *call) ([]byte, error) {
	var name string
	if err := readArgs(c.params, func(member string, v arg) {
		if member == "name" {
			name = v.text()
		}
	}); err != nil {
		return nil, err
	}
	if name == "" {
		return c.table.describe, nil
	}
	e := c.table.entries[name]
	if e == nil {
		missing := r.missing(c.table, name)
		missing.Code = envelope.NotFound // describe itself does exist
		return nil, missing
	}
	c.buf = append(c.buf[:0], '{')
	c.buf = append(c.buf, e.described...)
	c.buf = append(c.buf, '}')
	return c.buf, nil
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, s)
	}
	return append(b, ']')
}
