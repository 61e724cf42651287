package supervise

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vant-run/vant/internal/wire"
)

// ErrResultTooLarge: the plugin's answer is larger than the host takes. The
// plugin lives on.
var ErrResultTooLarge = errors.New("the plugin's result is larger than the host takes")

// PluginFault: the plugin answered a call with a failure of its own machinery,
// not with an error of the method.
type PluginFault struct {
	Plugin  string
	Message string // the plugin's words, at most 1 KiB
}

func (e *PluginFault) Error() string { return "plugin " + e.Plugin + " failed: " + e.Message }

// NotFoundError: there is no plugin of this name.
type NotFoundError struct {
	Name string
	Near []string // at most three names that are like it, nearest first
}

func (e *NotFoundError) Error() string {
	s := "no plugin is called " + strconv.Quote(e.Name)
	if len(e.Near) > 0 {
		q := make([]string, len(e.Near))
		for i, n := range e.Near {
			q[i] = strconv.Quote(n)
		}
		s += "; near: " + strings.Join(q, ", ")
	}
	return s
}

// NotFound makes the error for a name that is none of names: those it may have
// meant are in it.
func NotFound(name string, names []string) *NotFoundError {
	name = clip(name, 64)
	type near struct {
		name string
		d    int
	}
	var found []near
	limit := max(1, len(name)/3)
	for _, n := range names {
		d := wire.Distance(name, n, limit)
		if name != "" && strings.HasPrefix(n, name) {
			d = min(d, 1)
		}
		if d <= limit {
			found = append(found, near{n, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.name, b.name))
	})
	e := &NotFoundError{Name: name}
	for _, f := range found[:min(3, len(found))] {
		e.Near = append(e.Near, f.name)
	}
	return e
}

// clip bounds a text that others wrote and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		cut := n
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
