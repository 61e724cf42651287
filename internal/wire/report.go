package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what messages show of names, patterns and pointers.
const (
	maxShown   = 64
	maxPointer = 256
)

// violate records the first violation, at the place of the walk.
func (c *checker) violate(wrongType bool, message string) {
	c.rep.Violation = &Violation{Pointer: c.pointer(), Type: wrongType, Message: message}
}

func (c *checker) violateType(n *node) {
	if !c.fails(true) {
		c.violate(!n.never, n.expect)
	}
}

func (c *checker) violateMissing(required string) {
	if !c.fails(false) {
		c.violate(false, "missing required "+Quote(required))
	}
}

// violateUnknown refuses the current name.
func (c *checker) violateUnknown(n *node) {
	if c.fails(false) {
		return
	}
	last := string(c.bytes(&c.names[len(c.names)-1]))
	message := "unknown parameter " + Quote(last)
	if near := n.nearest(last); near != "" {
		message += "; nearest: " + Quote(near)
	}
	c.violate(false, message)
	c.rep.Violation.Unknown = last
}

// warnUnknown reports the current name, which the schema does not know.
func (c *checker) warnUnknown(n *node) {
	if c.trial > 0 {
		c.unknown++
		return
	}
	if len(c.rep.Warnings) >= MaxWarnings {
		return
	}
	last := string(c.bytes(&c.names[len(c.names)-1]))
	shown, at := Quote(last), c.pointer()
	if at != "" {
		shown = `"` + at + "/" + shown[1:]
	}
	message := "unknown parameter " + shown + " ignored"
	if near := n.nearest(last); near != "" {
		message += "; nearest: " + Quote(near)
	}
	c.rep.Warnings = append(c.rep.Warnings, message)
	c.rep.Unknown = append(c.rep.Unknown, at+Pointer(last))
}

func (n *node) nearest(unknown string) string {
	known := make([]string, 0, len(n.props))
	for i := range n.props {
		if p := &n.props[i]; (p.declared || p.known) && p.name != unknown {
			known = append(known, p.name)
		}
	}
	return Nearest(unknown, known)
}

// pointer gives the JSON Pointer of the place of the walk, cut when it is long.
func (c *checker) pointer() string {
	if len(c.path) == 0 {
		return ""
	}
	var b strings.Builder
	for _, step := range c.path {
		b.WriteByte('/')
		if step < 0 {
			b.WriteString(strconv.Itoa(^step))
		} else {
			b.WriteString(pointerEscaper.Replace(clean(string(c.bytes(&c.names[step])))))
		}
		if b.Len() > maxPointer {
			b.WriteString("…")
			break
		}
	}
	return b.String()
}

// Pointer makes a JSON Pointer of steps that is safe to show, as those of
// violations are: names are escaped, long ones are cut.
func Pointer(steps ...string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(clean(step)))
		if b.Len() > maxPointer {
			b.WriteString("…")
			break
		}
	}
	return b.String()
}

// PointerSteps takes a JSON Pointer apart.
func PointerSteps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		steps[i] = pointerUnescaper.Replace(step)
	}
	return steps
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Quote gives a name in quotes that is safe to show, cut when it is long.
func Quote(name string) string { return `"` + clean(name) + `"` }

// clean cuts a name and escapes what could play tricks on a terminal or a
// reader: control and format characters, quotes, and what is not UTF-8.
func clean(s string) string {
	if len(s) <= maxShown && isIdent(s) {
		return s
	}
	s = Shorten(s, maxShown)
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				r = unicode.ReplacementChar
			}
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

func isIdent(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '-' && c != '.' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Shorten cuts s to about limit bytes, between characters.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
