package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/plugins/browser/target"
)

// maxValue bounds the JSON of a script's value, in UTF-16 units; it is looked at
// in the page.
const maxValue = 4 << 20

// ScriptError is an exception that a script has thrown, or a value that has no
// JSON form.
type ScriptError struct {
	Message string `json:"message"`
	Stack   string `json:"stack,omitzero"`
	Line    int    `json:"line,omitzero"`   // from 1, in the script
	Column  int    `json:"column,omitzero"` // from 1
}

// Error implements error.
func (e *ScriptError) Error() string { return e.Message }

// run evaluates a script in the global scope, inside a function, so that each call
// has a scope of its own and sees no name of ours. await or return on the top
// level makes a script no plain one; which form it has is found out without
// running it: a static block of a class is where neither may stand. A function has
// no completion value, so with await the first of endings that parses gives it.
//
// It is the page's world: what a page puts in the place of Promise or Array is what
// a script there gets. What is needed here is of the document's beginning.
const run = `((source, plain, awaits, returns, waits, endings) => {
	const parses = (text) => { try { return !!new o.Function(text) } catch (e) { if (e instanceof o.SyntaxError) return false; throw e } }
	const run = (text) => (0, o.eval)("(" + text + ")()")
	const later = (text) => "async () => {" + text + "\n}"
	if (parses("class C { static {" + source + "\n} }")) return (0, o.eval)(plain)(o.eval)
	const sync = parses(source)
	if (awaits && (waits || !sync) && (!sync || parses("(" + later(source) + ")"))) {
		for (let i = 0; i < endings.length; i++) {
			const before = endings[i][0], text = later(before + " return (" + endings[i][1] + "\n)")
			if (parses("(" + later(before) + ")") && parses("(" + text + ")")) return run(text)
		}
		return run(later(source))
	}
	return returns && sync ? run("() => {" + source + "\n}") : (0, o.eval)(plain)(o.eval)
})(%s, %s, %t, %t, %t, %s)`

const (
	maxEndings     = 200
	maxEndingBytes = 512 << 10
)

var (
	// statement is what begins no expression, or one that as a statement is another thing,
	// or a comment, which may hide one.
	statement = regexp.MustCompile(`^(?:\{|(?:async\s+)?function\b|class\b|let\s*\[|/[/*])`)
	// goesOn may go on what stands before it, on another line or behind a brace.
	goesOn = regexp.MustCompile("^[(\\[`+\\-*/]")
)

// endings are the ways to part a script before what may be its last expression: the
// whole of it, and then from the end on.
func endings(source string) [][2]string {
	source = strings.TrimRight(source, "; \t\r\n")
	list := [][2]string{{"", source}}
	for i, size := len(source)-1, 0; i > 0 && len(list) < maxEndings && size < maxEndingBytes; i-- {
		if !strings.ContainsRune(";}\n", rune(source[i])) {
			continue
		}
		rest := strings.TrimSpace(source[i+1:])
		if source[i] != ';' && goesOn.MatchString(rest) {
			continue
		}
		if rest != "" && !statement.MatchString(rest) {
			list = append(list, [2]string{source[:i+1], source[i+1:]})
			size += len(source)
		}
	}
	return list
}

// show gives the JSON of a value as scripts' results have it.
const show = `((value) => {
	if (typeof o.Node == "function" && value instanceof o.Node || value === globalThis) return "{}"
	const text = o.stringify(value)
	if (text === undefined) return "null"
	if (text.length > %d) throw new o.RangeError("the value is too large: its JSON has " + text.length + " characters, %[1]d are allowed")
	return text
})`

// settle waits for a promise, and not for what has a then as all objects of the page
// have.
const settle = `(async () => {
	const value = %[1]s
	const whole = value === null || typeof value != "object" && typeof value != "function" || value.then === o.object.then
	return %[2]s(whole ? value : await value)
})()`

var (
	awaits  = regexp.MustCompile(`\bawait\b`)
	returns = regexp.MustCompile(`\breturn\b`)
)

// Script says what to run.
type Script struct {
	Source  string
	Await   bool
	Timeout time.Duration
	Frame   string // id of a frame, "" for the main one
}

// JavaScript runs a script in the page's own world and gives the JSON of its
// value. A script that does not end is stopped when its time is over.
func JavaScript(ctx context.Context, t *target.Tab, s Script) (jsonv2.Value, error) {
	f, err := t.Frame(s.Frame)
	if err != nil {
		return nil, err
	}
	source, err := jsonv2.Marshal(s.Source)
	if err != nil {
		return nil, err
	}
	plain, err := jsonv2.Marshal("(eval) => eval(" + string(source) + ")")
	if err != nil {
		return nil, err
	}
	value, format := "(0, o.eval)("+string(plain)+")(o.eval)", fmt.Sprintf(show, maxValue)
	if a, r := awaits.MatchString(s.Source), returns.MatchString(s.Source); a || r {
		ends := []byte("[]")
		if a {
			if ends, err = jsonv2.Marshal(endings(s.Source)); err != nil {
				return nil, err
			}
		}
		value = fmt.Sprintf(run, source, plain, a, r, s.Await, ends)
	}
	expression := format + "(" + value + ")"
	if s.Await {
		expression = fmt.Sprintf(settle, value, format)
	}
	expression = "((o) => " + expression + ")(" + target.Originals + ")"
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	text, err := f.Evaluate(ctx, expression, s.Timeout)
	var thrown *target.Exception
	if errors.As(err, &thrown) {
		return nil, scriptError(thrown)
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, &ScriptError{Message: "the page's own JSON.stringify gave no JSON"}
	}
	return jsonv2.Value(text), nil
}

var position = regexp.MustCompile(`<anonymous>:(\d+):(\d+)`)

func scriptError(e *target.Exception) *ScriptError {
	s := &ScriptError{Message: e.Error()}
	if e.Exception.Description == "" {
		s.Message = clip(s.Message, maxMessage)
		return s
	}
	s.Stack = clip(e.Exception.Description, maxStack)
	s.Message = clip(firstLine(e.Exception.Description), maxMessage)
	if m := position.FindStringSubmatch(e.Exception.Description); m != nil {
		s.Line, _ = strconv.Atoi(m[1])
		s.Column, _ = strconv.Atoi(m[2])
	}
	return s
}
