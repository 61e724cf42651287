package router

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

// hostFeatures are there without any plugin.
var hostFeatures = []string{"event-sequence", "multi-controller"}

func statusHead(socket string, pid int) []byte {
	b := append([]byte(nil), `{"running":true,"socket":`...)
	b = wire.AppendString(b, socket)
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	return append(b, `,"uptime_ms":`...)
}

// statusOf answers status. It is what clients poll, so it makes no values.
func (r *Router) statusOf(_ context.Context, c *call) ([]byte, error) {
	connections := 0
	if r.opt.Connections != nil {
		connections = r.opt.Connections()
	}
	uptime := time.Since(r.opt.Started)
	b := append(c.buf[:0], r.status...)
	b = strconv.AppendInt(b, uptime.Milliseconds(), 10)
	b = append(b, `,"connections":`...)
	b = strconv.AppendInt(b, int64(connections), 10)
	b = append(b, `,"plugins":{"ready":`...)
	b = strconv.AppendInt(b, int64(c.table.ready), 10)
	b = append(b, `,"total":`...)
	b = strconv.AppendInt(b, int64(r.totalOf(c.table, uptime)), 10)
	c.buf = append(b, '}', '}')
	return c.buf, nil
}

// versionOf answers version.
func (r *Router) versionOf(_ context.Context, c *call) ([]byte, error) {
	native := ""
	if r.opt.Native != nil {
		native = r.opt.Native()
	}
	b := append(c.buf[:0], `{"protocol":`...)
	b = strconv.AppendInt(b, envelope.Version, 10)
	b = append(b, `,"vant":`...)
	b = wire.AppendString(b, r.opt.Version.Vant)
	b = append(b, `,"vantage":`...) // the name that older clients read
	b = wire.AppendString(b, r.opt.Version.Vant)
	b = append(b, `,"native":`...)
	b = wire.AppendString(b, native)
	c.buf = append(b, c.table.versionTail...)
	return c.buf, nil
}

// versionTail is version from "go" on.
func (r *Router) versionTail(list []source) []byte {
	b := append([]byte(nil), `,"go":`...)
	b = wire.AppendString(b, r.opt.Version.Go)
	b = append(b, `,"commit":`...)
	b = wire.AppendString(b, r.opt.Version.Commit)
	b = append(b, `,"plugins":{`...)
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, p.set.Name)
		b = append(b, ':')
		b = wire.AppendString(b, p.set.Version)
	}
	return append(b, '}', '}')
}

// capabilities makes the answer to capabilities. Namespaces are those of all
// that is registered, as methods are in describe; features only those of
// plugins that are ready.
func (r *Router) capabilities(plugins []source) []byte {
	var namespaces []string
	for _, e := range r.builtins {
		if ns, ok := namespace(e.Name); ok {
			namespaces = append(namespaces, ns)
		}
	}
	features := slices.Clone(hostFeatures)
	for _, p := range plugins {
		namespaces = append(namespaces, p.set.Namespaces...)
		if p.state == supervise.Ready {
			features = append(features, p.set.Features...)
		}
	}
	b := append([]byte(nil), `{"protocol":`...)
	b = strconv.AppendInt(b, envelope.Version, 10)
	b = append(b, `,"stability":"stable","namespaces":`...)
	b = appendStrings(b, sorted(namespaces))
	b = append(b, `,"features":`...)
	b = appendStrings(b, sorted(features))
	b = append(b, `,"limits":{"request_bytes":`...)
	b = strconv.AppendInt(b, int64(r.opt.Limits.RequestBytes), 10)
	b = append(b, `,"result_bytes":`...)
	b = strconv.AppendInt(b, int64(r.opt.Limits.ResultBytes), 10)
	b = append(b, `,"operation_ms":`...)
	b = strconv.AppendInt(b, r.opt.Limits.Operation.Milliseconds(), 10)
	b = append(b, `,"connections":`...)
	b = strconv.AppendInt(b, int64(r.opt.Limits.Connections), 10)
	b = append(b, `},"plugins":[`...)
	for i, p := range plugins {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = wire.AppendString(b, p.set.Name)
		b = append(b, `,"version":`...)
		b = wire.AppendString(b, p.set.Version)
		b = append(b, `,"state":`...)
		b = wire.AppendString(b, string(p.state))
		b = append(b, `,"namespaces":`...)
		b = appendStrings(b, p.set.Namespaces)
		b = append(b, '}')
	}
	return append(b, ']', '}')
}

// tallyLife is how long a count of plugins stands when no table has come
// since: making the list costs more than all the rest of status.
const tallyLife = 250 * time.Millisecond

// tally is how many plugins there are, the ones without methods included.
type tally struct {
	table *table
	at    time.Duration // of the host's life
	total int
}

// totalOf counts the accepted plugins. The table has only those that have
// described themselves once; the supervisor knows of the others too.
func (r *Router) totalOf(t *table, uptime time.Duration) int {
	if n := r.tally.Load(); n != nil && n.table == t && uptime-n.at < tallyLife {
		return n.total
	}
	n := &tally{t, uptime, 0}
	for _, p := range r.opt.Plugins.List(false) {
		if p.State != supervise.Stopped { // by the operator
			n.total++
		}
	}
	n.total = max(n.total, t.total)
	if closed(r.Settled()) { // before that every moment may bring another one
		r.tally.Store(n)
	}
	return n.total
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
