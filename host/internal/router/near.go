package router

import (
	"slices"
	"strings"

	"github.com/vant-run/vant/host/internal/method"
	"github.com/vant-run/vant/internal/wire"
)

const maxNear = 3

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
