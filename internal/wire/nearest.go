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
		score := distance(want, have, limit)
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

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours between a and b, both at most maxShown bytes; more than limit when
// there are more than that.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var rows [3][maxShown + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, prev2 := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			cur[j] = d
		}
	}
	return rows[len(a)%3][len(b)]
}
