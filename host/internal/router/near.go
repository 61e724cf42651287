package router

import (
	"slices"
	"strings"
)

const (
	maxNear     = 3
	maxNearName = 128 // of a name that is worth comparing; no method's is longer
)

// nearest gives up to three of the sorted names that are probably meant by
// name, the likeliest first.
func nearest(name string, names []string) []string {
	if len(name) > maxNearName {
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
		cost := distance(lower, n, limit)
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

// distance counts the edits (insert, delete, replace, swap of neighbours) that
// make a into b; beyond limit it gives any number above limit. A must not be
// longer than maxNearName.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit || len(b) > maxNearName {
		return limit + 1
	}
	var rows [3][maxNearName + 1]int
	before, prev, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) {
		prev[j+1] = j + 1
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
