package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
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
// running it: a static block of a class is where neither may stand.
//
// It is the page's world: what a page puts in the place of Promise or Array is what
// a script there gets. What is needed here is of the document's beginning.
const run = `((source, plain, awaits, returns) => {
	const parses = (text) => { try { return !!new o.Function(text) } catch (e) { if (e instanceof o.SyntaxError) return false; throw e } }
	const run = (text) => (0, o.eval)("(" + text + ")()")
	if (!awaits || parses(source)) {
		const top = returns && parses(source) && !parses("class C { static {" + source + "\n} }")
		return top ? run("() => {" + source + "\n}") : (0, o.eval)(plain)(o.eval)
	}
	const expression = "async () => (" + source + "\n)"
	return run(parses("(" + expression + ")") ? expression : "async () => {" + source + "\n}")
})(%s, %s, %t, %t)`

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
		value = fmt.Sprintf(run, source, plain, a, r)
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
