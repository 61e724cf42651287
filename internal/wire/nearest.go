package wire

import "strings"

// maxCandidates bounds how many names Nearest looks at.
const maxCandidates = 512

// Nearest gives the name of known that s was probably meant to be, "" when
// none is near. Case, dashes and underscores do not count; a name that begins
// or ends with the other one is near too. Of two that are as near, the shorter
// wins, then the one that stands first.
func Nearest(s string, known []string) string {
	want := fold(s)
	if want == "" {
		return ""
	}
	best, bestScore := "", 1<<30
	for _, k := range known[:min(len(known), maxCandidates)] {
		have := fold(k)
		if have == "" {
			continue
		}
		limit := max(1, min(len(want), len(have))/3)
		score := Distance(want, have, limit)
		if score > limit {
			short, long := want, have
			if len(short) > len(long) {
				short, long = long, short
			}
			if len(short) < 3 || !strings.HasPrefix(long, short) && !strings.HasSuffix(long, short) {
				continue
			}
			score = limit + 1
		}
		if min(len(want), len(have)) == 1 && score > 0 {
			continue // one letter is near to every other
		}
		if score < bestScore || score == bestScore && len(k) < len(best) {
			best, bestScore = k, score
		}
	}
	return best
}

// fold drops what people mix up when they spell a name.
func fold(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown]
	}
	b := make([]byte, 0, maxShown)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' || c == '-':
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// maxCompared bounds the names whose distance is counted.
const maxCompared = 128

// Distance counts the insertions, deletions, substitutions and swaps of
// neighbours, in bytes, that make a into b. When there are more than limit, or
// one of the two is longer than 128 bytes, it gives some number above limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit || max(len(a), len(b)) > maxCompared {
		return limit + 1
	}
	var rows [3][maxCompared + 1]int
	before, prev, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		prev[j] = j
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
