package target

import "strconv"

// issue is which frames gave refs of one generation.
type issue struct {
	tab    *Tab
	frames []span
}

// span is the numbers that one document gave.
type span struct {
	from, to int64 // to is the first that is not its own
	frame    *Frame
	world    string
}

// maxIssues bounds the generations that are known of one tab; refs of older ones
// are stale.
const maxIssues = 4096

// Generation begins a snapshot.
func (b *Browser) Generation() int64 { return b.o.IDs.Generation() }

// Issued notes that a document has given refs.
func (f *Frame) Issued(generation, from, to int64, world string) {
	if from >= to {
		return
	}
	b := f.tab.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tabs[f.tab.ID] == nil {
		return
	}
	i := b.refs[generation]
	if i == nil {
		i = &issue{tab: f.tab}
		b.refs[generation] = i
		f.tab.issued = append(f.tab.issued, generation)
		if len(f.tab.issued) > maxIssues {
			delete(b.refs, f.tab.issued[0])
			f.tab.issued = f.tab.issued[1:]
		}
	}
	i.frames = append(i.frames, span{from, to, f, world})
}

// dropRefs forgets the refs of a tab; mu is held.
func (b *Browser) dropRefs(t *Tab) {
	for _, g := range t.issued {
		delete(b.refs, g)
	}
	t.issued = nil
}

// Reasons why a ref names nothing.
const (
	Navigated = "navigated" // its document has gone
	Unknown   = "unknown"   // it was never given, or in another tab, or too long ago
)

// Ref finds the frame and document that gave a ref of the form @e7_12. reason is
// "" when there is one.
func (t *Tab) Ref(ref string) (f *Frame, world, reason string) {
	generation, n, ok := parseRef(ref)
	if !ok {
		return nil, "", Unknown
	}
	b := t.browser
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.refs[generation]
	if i == nil || i.tab != t {
		return nil, "", Unknown
	}
	for _, s := range i.frames {
		if n < s.from || n >= s.to {
			continue
		}
		if s.frame.gone || s.frame.world != s.world {
			return nil, "", Navigated
		}
		return s.frame, s.world, ""
	}
	return nil, "", Unknown
}

// parseRef takes a ref apart: @e<generation>_<n>, without leading zeros.
func parseRef(ref string) (generation, n int64, ok bool) {
	if len(ref) < 5 || ref[:2] != "@e" {
		return 0, 0, false
	}
	i := 2
	for i < len(ref) && ref[i] != '_' {
		i++
	}
	if i == len(ref) {
		return 0, 0, false
	}
	generation, ok1 := number(ref[2:i])
	n, ok2 := number(ref[i+1:])
	return generation, n, ok1 && ok2
}

func number(digits string) (int64, bool) {
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}
