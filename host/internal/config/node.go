package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// kind is a JSON type.
type kind int

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindText
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a text", "a list", "a mapping"}[k]
}

// pos is a place in the file, from 1.
type pos struct{ line, col int }

// node is one value of the file. Nodes of an anchor are shared by its aliases,
// so they must not be modified.
type node struct {
	kind kind
	at   pos
	// text is a scalar: a text's content; otherwise its JSON.
	text string
	// written is a scalar as the file has it.
	written string
	items   []*node
	members []member
	// cost is the size of the value with all aliases written out.
	cost int
}

type member struct {
	key   string
	at    pos
	value *node
}

// find gives the place of what path leads to, or of the last on the way that is
// there; zero when there is none.
func (n *node) find(path ...string) (at pos) {
	for _, step := range path {
		next, nextAt := n.child(step)
		if next == nil {
			return at
		}
		n, at = next, nextAt
	}
	return at
}

// child gives a member, with its key's place, or an item; nil when there is
// none.
func (n *node) child(step string) (*node, pos) {
	if n == nil {
		return nil, pos{}
	}
	for _, m := range n.members {
		if m.key == step {
			return m.value, m.at
		}
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i], n.items[i].at
	}
	return nil, pos{}
}

// appendJSON appends the value as compact JSON.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case kindText:
		return appendText(b, n.text)
	case kindList:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case kindMap:
		return appendObject(b, n.members)
	}
	return append(b, n.text...)
}

func appendObject(b []byte, members []member) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, m.key)
		b = append(b, ':')
		b = m.value.appendJSON(b)
	}
	return append(b, '}')
}

// appendText appends a JSON string. s is valid UTF-8.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	// A string never fails, and Encode ends with a newline.
	_ = enc.Encode(s)
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
