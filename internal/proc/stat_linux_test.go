package proc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatIsNotFooledByNames(t *testing.T) {
	tail := " S 7 8 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 55\n"
	want := stat{state: 'S', ppid: 7, pgrp: 8, start: 4242, rss: 55, environ: -1}
	for _, name := range []string{"x", "a b", ") Z 1 (", "x) R 2 3"} {
		got, err := parseStat([]byte("12 (" + name + ")" + tail))
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(stat{})); d != "" {
			t.Errorf("%q: %s", name, d)
		}
	}
	for _, bad := range []string{"", "12 x S 7", "12 (x) S 7", "12 (x)" + strings.Replace(tail, "4242", "-1", 1), "12 (x)" + strings.Replace(tail, " 7 ", " q ", 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
