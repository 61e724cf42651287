package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a file.
const (
	// MaxBytes bounds the file.
	MaxBytes = 1 << 20
	// maxDepth bounds nesting.
	maxDepth = 64
	// maxCost bounds what aliases may expand to, about in bytes of JSON.
	maxCost = 4 << 20
	// maxEntries bounds keys and list items in block style: the parser's time
	// grows with their square.
	maxEntries = 10_000
	// maxProperties bounds anchors and tags before one value.
	maxProperties = 4
)

// readYAML parses one document whose root is a mapping; nil stands for an
// empty file. What is wrong goes to f.
func readYAML(data []byte, f *faults) *node {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if len(data) > MaxBytes {
		f.add(pos{}, "is larger than %d bytes; this is no configuration", MaxBytes)
		return nil
	}
	if at := badByte(text); at >= 0 {
		f.add(place(text, at), "is not UTF-8 text")
		return nil
	}
	file, err := parseYAML(text)
	if err != nil {
		at := pos{}
		var bad *syntaxError
		if errors.As(err, &bad) {
			at = bad.at
		}
		f.add(at, "%s", err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			body = doc.Body
		}
	}
	if body == nil {
		return nil
	}
	c := &converter{faults: f, anchors: map[string]*node{}, open: map[string]bool{}}
	root := c.value(body, 0)
	if root != nil && root.kind != kindMap && root.kind != kindNull {
		f.add(root.at, "the file must be a mapping of keys to values, found %s", root.kind)
		return nil
	}
	if root != nil && root.kind == kindNull {
		return nil
	}
	return root
}

// badByte gives the offset of the first byte that no text file holds, or -1.
func badByte(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
		if r == 0 {
			return i
		}
	}
	return -1
}

func place(text string, offset int) pos {
	before := text[:offset]
	return pos{
		line: 1 + strings.Count(before, "\n"),
		col:  1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
	}
}

// syntaxError is a fault of the YAML itself.
type syntaxError struct {
	at      pos
	message string
}

func (e *syntaxError) Error() string { return e.message }

func fail(tk *token.Token, format string, args ...any) error {
	return &syntaxError{tokenPos(tk), fmt.Sprintf(format, args...)}
}

func tokenPos(tk *token.Token) pos {
	if tk == nil || tk.Position == nil {
		return pos{}
	}
	return pos{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

// parseYAML runs the library's parser, which is recursive and takes every
// nesting: checkTokens bounds it first. Its errors quote the source, which may
// hold secrets, so only their short message is used.
func parseYAML(text string) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, &syntaxError{message: "is not YAML: the parser gave up on it"}
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err = parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	var known interface {
		GetToken() *token.Token
		GetMessage() string
	}
	switch {
	case errors.As(err, &known):
		return nil, fail(known.GetToken(), "is not YAML: %s", known.GetMessage())
	case err != nil:
		return nil, &syntaxError{message: "is not YAML"}
	}
	return file, nil
}

// checkTokens refuses what would make the parser recurse without end, and what
// it would silently leave out.
func checkTokens(tokens token.Tokens) error {
	var flow, line, onLine, entries, properties, documents int
	ended, first := false, true
	for i, tk := range tokens {
		if tk.Position == nil {
			return &syntaxError{message: "is not YAML"}
		}
		if tk.Position.Line != line {
			line, onLine = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			onLine++
			entries++
		case token.MappingValueType:
			entries++
		case token.DirectiveType:
			return fail(tk, "has a %% directive; leave it out")
		case token.DocumentHeaderType:
			if documents++; !first {
				documents = max(documents, 2) // it ends a document without one
			}
		case token.DocumentEndType:
			ended = true
			continue
		case token.CommentType:
			continue
		}
		first = false
		if documents > 1 || ended {
			return fail(tk, "holds more than one document; keep one")
		}
		if entries > maxEntries {
			return fail(tk, "holds more than %d keys and list items; this is no configuration", maxEntries)
		}
		if flow > maxDepth || onLine > maxDepth {
			return fail(tk, "is nested deeper than %d levels", maxDepth)
		}
		switch {
		case tk.Type == token.AnchorType || tk.Type == token.TagType:
			properties++
		case i == 0 || tokens[i-1].Type != token.AnchorType:
			properties = 0
		}
		if properties > maxProperties {
			return fail(tk, "has more than %d anchors and tags on one value", maxProperties)
		}
	}
	return nil
}
