package router

import (
	"slices"
	"strings"

	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

const maxNear = 3

// missing answers for a method that a table does not have. Where it would be of
// a plugin that does not serve, that is told: the name may well be right.
func (r *Router) missing(t *table, name string) *envelope.Error {
	down, its := r.down(name)
	names := t.names
	if len(its) > 0 && !slices.Contains(its, name) {
		names = slices.Concat(names, its)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	failed := envelope.ErrMethodNotFound(name, nearest(name, names))
	if down != nil {
		failed.Message += "; " + down.Error() + `: see "vant plugin list --all"`
	}
	return failed
}

// down gives the plugin of a method's namespace when there is one and nothing
// serves under its name, and which methods it has as far as is known.
func (r *Router) down(name string) (down *supervise.UnavailableError, methods []string) {
	space, _, dotted := strings.Cut(name, ".")
	if !dotted || space == "" {
		return nil, nil
	}
	for _, s := range r.opt.Plugins.List(true) {
		if strings.ReplaceAll(s.Name, "-", "_") != space {
			continue
		}
		methods = append(methods, s.Described...)
		if s.Leaving {
			continue // what is refused in its place counts
		}
		switch s.State {
		case supervise.Ready, supervise.Starting, supervise.Draining:
			return nil, nil
		}
		if down == nil {
			down = &supervise.UnavailableError{Plugin: s.Name, State: s.State}
		}
	}
	if down == nil {
		return nil, nil
	}
	return down, methods
}

// nearest gives up to three of the sorted names that are probably meant by
// name, the likeliest first.
func nearest(name string, names []string) []string {
	if len(name) > method.MaxNameBytes {
		return nil
	}
	type candidate struct {
		name string
		cost int
	}
	var found []candidate
	limit := max(2, len(name)/4)
	lower := strings.ToLower(name)
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	for _, n := range names {
		cost := wire.Distance(lower, n, limit)
		switch {
		case cost <= limit:
		case len(lower) >= 3 && strings.HasPrefix(n, lower):
			cost = limit + 1
		case len(last) >= 3 && n[strings.LastIndexByte(n, '.')+1:] == last:
			// The right word in the wrong namespace.
			cost = limit + 2
		default:
			continue
		}
		found = append(found, candidate{n, cost})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.cost - b.cost })
	var out []string
	for _, c := range found[:min(len(found), maxNear)] {
		out = append(out, c.name)
	}
	return out
}
