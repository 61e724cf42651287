package supervise

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vant-run/vant/host/internal/method"
)

// claims decides which plugin has a method that several want. It is pure: the
// Supervisor holds its lock around it.
//
// The earlier plugin keeps a contested method, and the other is refused whole.
// Earlier is who comes first in the configured order, then who comes first by
// name. Only plugins that hold their methods refuse others: one that is itself
// refused does not. Whatever the order of events, that has one stable outcome,
// and every event moves towards it.
type claims struct {
	order map[string]int
	of    map[string]*claim
}

type claim struct {
	set  *method.Set
	held bool // in the method table; else refused
	// wants is what a new generation was refused while an old one with set
	// serves on; nil: nothing.
	wants *method.Set
}

func newClaims(order []string) claims {
	c := claims{order: map[string]int{}, of: map[string]*claim{}}
	for i, name := range order {
		if _, dup := c.order[name]; !dup {
			c.order[name] = i
		}
	}
	return c
}

// compare is negative when a comes before b.
func (c *claims) compare(a, b string) int {
	rank := func(n string) int {
		if i, ok := c.order[n]; ok {
			return i
		}
		return len(c.order)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// blocked says why name cannot have set: the first plugin before it that holds
// one of its methods.
func (c *claims) blocked(name string, set *method.Set) *claimError {
	var found *claimError
	for other, cl := range c.of {
		if other == name || !cl.held || c.compare(other, name) > 0 {
			continue
		}
		m := common(set, cl.set)
		if m != "" && (found == nil || c.compare(other, found.winner) < 0) {
			found = &claimError{loser: name, winner: other, method: m}
		}
	}
	return found
}

// take gives name the methods of set, whatever it had before. Plugins that
// come later and hold some of them lose all of theirs: they are evicted. Freed
// are those that were refused and are no longer.
func (c *claims) take(name string, set *method.Set) (evicted, freed []string, err *claimError) {
	if err := c.blocked(name, set); err != nil {
		return nil, nil, err
	}
	c.of[name] = &claim{set: set, held: true}
	evicted = c.rivals(name, set)
	for _, other := range evicted {
		c.of[other].held = false
	}
	return evicted, c.free(), nil
}

// rivals are the others that hold one of the methods of set, in order.
func (c *claims) rivals(name string, set *method.Set) (found []string) {
	for other, cl := range c.of {
		if other != name && cl.held && common(set, cl.set) != "" {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, c.compare)
	return found
}

// refuse remembers a plugin that lost, and with it what it wants.
func (c *claims) refuse(name string, set *method.Set) (freed []string) {
	c.of[name] = &claim{set: set}
	return c.free()
}

// want remembers what name would have instead of what it holds; nil: nothing.
func (c *claims) want(name string, set *method.Set) {
	if cl := c.of[name]; cl != nil {
		cl.wants = set
	}
}

// drop forgets a plugin.
func (c *claims) drop(name string) (freed []string) {
	delete(c.of, name)
	return c.free()
}

// free lists those that nobody refuses any more, in order.
func (c *claims) free() (freed []string) {
	for name, cl := range c.of {
		if c.isFree(name, cl) {
			freed = append(freed, name)
		}
	}
	slices.SortFunc(freed, c.compare)
	return freed
}

// isFree says whether a plugin that was refused no longer is.
func (c *claims) isFree(name string, cl *claim) bool {
	switch {
	case !cl.held:
		return c.blocked(name, cl.set) == nil
	case cl.wants != nil:
		return c.blocked(name, cl.wants) == nil
	}
	return false
}

// holds says whether name's methods are in the table.
func (c *claims) holds(name string) bool {
	cl := c.of[name]
	return cl != nil && cl.held
}

// common gives the first method that both have, or "".
func common(a, b *method.Set) string {
	for i, j := 0, 0; i < len(a.Methods) && j < len(b.Methods); {
		switch cmp.Compare(a.Methods[i].Name, b.Methods[j].Name) {
		case 0:
			return a.Methods[i].Name
		case -1:
			i++
		default:
			j++
		}
	}
	return ""
}

// claimError names both sides of a contest.
type claimError struct{ loser, winner, method string }

func (e *claimError) Error() string {
	return fmt.Sprintf("method %q of plugin %q is already claimed by plugin %q, which comes first; "+
		"remove one of the two, or name %q before %q in plugins.order",
		e.method, e.loser, e.winner, e.loser, e.winner)
}
