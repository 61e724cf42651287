package urlpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntriesHavePatterns(t *testing.T) {
	for entry, want := range map[string]string{
		"Example.com":         "example.com example.com.",
		"example.com.":        "example.com example.com.",
		"*.example.com":       "example.com example.com. *.example.com *.example.com.",
		"bücher.example":      "xn--bcher-kva.example xn--bcher-kva.example.",
		"127.0.0.1":           "127.0.0.1 ::ffff:7f00:1 [::ffff:7f00:1]",
		"127.0.0.1/32":        "127.0.0.1 ::ffff:7f00:1 [::ffff:7f00:1]",
		"::1":                 "::1 [::1]",
		"[fd00::1]":           "fd00::1 [fd00::1]",
		"FD00:0::1/128":       "fd00::1 [fd00::1]",
		"::ffff:127.0.0.1":    "127.0.0.1 ::ffff:7f00:1 [::ffff:7f00:1]",
		"under_score.example": "under_score.example under_score.example.",
	} {
		got, err := Patterns([]string{entry})
		if err != nil {
			t.Errorf("%s: %v", entry, err)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%s: %s", entry, diff)
		}
	}
}

func TestEntriesWithoutPatternsAreNamed(t *testing.T) {
	for _, entry := range []string{"10.0.0.0/8", "::/0", "fe80::/10", "", "*", "*.", "a b", "a,b", "a?b", "a*b", "x, EXCLUDE *", "a/b", "a:1", `a\b`, "*.*.x"} {
		if got, err := Patterns([]string{"fine.example", entry}); err == nil || entry != "" && !strings.Contains(err.Error(), strings.ReplaceAll(entry, `\`, `\\`)) {
			t.Errorf("%q: %v, %v", entry, got, err)
		}
	}
}
