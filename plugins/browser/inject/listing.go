package inject

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/vant-run/vant/internal/wire"
)

// Listing is what the function snapshot answers, for one frame.
type Listing struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Total   int    `json:"total"`
	Left    int    `json:"left"`
	Next    int64  `json:"next"`
	Error   string `json:"error"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Closed  int    `json:"closed"`  // elements that may hide a closed shadow root
	Unasked bool   `json:"unasked"` // there are more of them than may be asked for
	Unread  bool   `json:"unread"`  // the walk ended before the document did

	Visible []Line `json:"-"`
	Hidden  []Line `json:"-"`

	Roles []string `json:"roles"` // by their numbers in the lines
	Page  string   `json:"page"`  // the beginnings of addresses that lines leave out
	Site  string   `json:"site"`
}

// Line is one line: a place of a child frame, an element, or of an outline a
// text.
type Line struct {
	text   string
	ref    ref
	hidden bool // whatever the line says
}

type ref struct{ generation, number int64 }

var errListing = errors.New("our code in the page gave no listing")

// ParseListing reads a listing: raw is the JSON string that snapshot answered,
// outline whether its lines are texts.
func ParseListing(raw []byte, outline bool) (*Listing, error) {
	text, ok := wire.Unquote(raw)
	if !ok {
		return nil, errListing
	}
	head, rest, _ := strings.Cut(plain(text), "\n")
	var l Listing
	if err := json.Unmarshal([]byte(head), &l); err != nil {
		return nil, errListing
	}
	var last ref
	to := &l.Visible
	for rest != "" {
		var line Line
		line.text, rest, _ = strings.Cut(rest, "\n")
		if !outline {
			if line.text == "-" {
				to = &l.Hidden
				continue
			}
			if _, isFrame := line.Frame(); !isFrame {
				if !line.readRef(last) {
					return nil, errListing
				}
				last = line.ref
			}
		}
		*to = append(*to, line)
	}
	return &l, nil
}

// readRef takes the line's ref, which is the one after last when it says none.
func (l *Line) readRef(last ref) bool {
	said, rest, ok := strings.Cut(l.text, "\t")
	l.text = rest
	l.ref = ref{last.generation, last.number + 1}
	if said == "" {
		return ok
	}
	generation, number, _ := strings.Cut(said, "_")
	var err error
	if l.ref.generation, err = strconv.ParseInt(generation, 10, 64); err != nil {
		return false
	}
	l.ref.number, err = strconv.ParseInt(number, 10, 64)
	return err == nil && ok
}

// Frame is the id of the child frame whose place it is.
func (l Line) Frame() (id string, ok bool) {
	return strings.CutPrefix(strings.TrimLeft(l.text, " "), ">\t")
}

// Text is the line of an outline, without its indent.
func (l Line) Text() (indent, text string) {
	text = strings.TrimLeft(l.text, " ")
	return l.text[:len(l.text)-len(text)], text
}

// Hide makes an element one that is not visible.
func (l Line) Hide() Line {
	l.hidden = true
	return l
}

// AppendElement appends the JSON of an element's line; frame is the id of the
// frame that it is in, "" for the main one.
func (l *Listing) AppendElement(dst []byte, line Line, frame string) []byte {
	role, rest, _ := strings.Cut(line.text, "\t")
	states, rest, _ := strings.Cut(rest, "\t")
	name, rest, _ := strings.Cut(rest, "\t")
	var value, href, bounds string
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, "\t")
		switch field[:min(1, len(field))] {
		case "=":
			value = field[1:]
		case "#":
			href = l.Page + field[1:]
		case "/":
			href = l.Site + field[1:]
		case ">":
			href = field[1:]
		case "[":
			bounds = field[1:]
		}
	}
	dst = append(dst, `{"ref":"@e`...)
	dst = strconv.AppendInt(dst, line.ref.generation, 10)
	dst = append(dst, '_')
	dst = strconv.AppendInt(dst, line.ref.number, 10)
	dst = append(dst, `","role":`...)
	if n, err := strconv.Atoi(role); err == nil && n >= 0 && n < len(l.Roles) {
		role = l.Roles[n]
	}
	dst = wire.AppendString(dst, role)
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, name)
	has := func(state string) bool { return strings.Contains(states, state) }
	boolean := func(key string, value bool) {
		dst = append(append(append(dst, `,"`...), key...), `":`...)
		dst = strconv.AppendBool(dst, value)
	}
	either := func(key, on, off string) {
		if has(on) || has(off) {
			boolean(key, has(on))
		}
	}
	boolean("visible", !line.hidden && !has("h"))
	boolean("disabled", has("d"))
	if has("m") {
		dst = append(dst, `,"checked":"mixed"`...)
	} else {
		either("checked", "c", "u")
	}
	if json.Valid([]byte(value)) {
		dst = append(append(dst, `,"value":`...), value...)
	}
	either("expanded", "e", "l")
	either("selected", "s", "n")
	if has("r") {
		boolean("required", true)
	}
	if href != "" {
		dst = wire.AppendString(append(dst, `,"href":`...), href)
	}
	if level := number(strings.TrimLeft(states, "hdcumelsnrf")); level > 0 {
		dst = strconv.AppendInt(append(dst, `,"level":`...), level, 10)
	}
	if has("f") {
		boolean("focused", true)
	}
	if bounds != "" {
		dst = appendBounds(dst, bounds)
	}
	if frame != "" {
		dst = wire.AppendString(append(dst, `,"frame":`...), frame)
	}
	return append(dst, '}')
}

func appendBounds(dst []byte, bounds string) []byte {
	dst = append(dst, `,"bounds":`...)
	for _, key := range []string{`{"x":`, `,"y":`, `,"width":`, `,"height":`} {
		var n string
		n, bounds, _ = strings.Cut(bounds, ",")
		dst = strconv.AppendInt(append(dst, key...), number(n), 10)
	}
	return append(dst, '}')
}

// number reads a number that our code wrote; anything else is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// plain undoes what the script does to all that is not ASCII: ~ and the four
// hexadecimal digits of a UTF-16 unit.
func plain(text string) string {
	at := strings.IndexByte(text, '~')
	if at < 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	var pair rune // the first half of a surrogate pair
	for {
		b = append(b, text[:at]...)
		var unit rune
		if len(text) >= at+5 {
			if n, err := strconv.ParseUint(text[at+1:at+5], 16, 16); err == nil {
				unit = rune(n)
			}
		}
		text = text[min(at+5, len(text)):]
		switch {
		case pair != 0:
			b = append(b, string(utf16.DecodeRune(pair, unit))...)
			pair = 0
		case utf16.IsSurrogate(unit):
			pair = unit
		default:
			b = append(b, string(unit)...)
		}
		if at = strings.IndexByte(text, '~'); at < 0 {
			return string(append(b, text...))
		}
	}
}
