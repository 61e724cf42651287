package page

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/plugins/browser/target"
)

// maxValue bounds the JSON of a script's value, in UTF-16 units; it is looked at
// in the page.
const maxValue = 4 << 20

// form finds out, without running it, which form a script has that names await or
// return: plain, function (return on its top level), expression, async (a function's
// body), or script, which is followed by its names: + those of var that the page has
// not; - those of var that it has; = those of functions. A static block of a class is
// where neither await nor return may stand.
//
// It is the page's world: what a page puts in the place of Promise or Array is what
// a script there gets. What is needed here is of the document's beginning.
const form = `((o, source, { awaits, returns, waits, block, without, names, functions, parsings }) => {
	const parses = (text) => { try { return !!new o.Function(text) } catch (e) { if (e instanceof o.SyntaxError) return false; throw e } }
	const body = (text) => parses("(async () => {" + text + "\n})")
	const inert = (text) => parses("class C { static {" + text + "\n} }")
	if (inert(source)) return "plain"
	const sync = parses(source)
	if (!awaits || sync && !(waits && body(source))) return returns && (sync || !awaits) ? "function" : "plain"
	if (!block && parses("(async () => (" + source + "\n))")) return "expression"
	if (!body("{" + source + "\n}") || returns && !inert(without)) return "async"
	let left = parsings, found = "", plain = true
	// A let of its name stands in the way of a var: those are found by halves.
	const declared = (list, from, to, tell) => {
		let lets = ""
		for (let i = from; i < to; i++) lets += (lets && ", ") + list[i]
		if (!lets || --left < 0 || body("let " + lets + "; {" + source + "\n}")) return
		if (to - from == 1) return tell(list[from])
		const middle = (from + to) >> 1
		declared(list, from, middle, tell)
		declared(list, middle, to, tell)
	}
	const usable = (list) => {
		const good = []
		for (let i = 0; i < list.length; i++) if (parses("let " + list[i])) good[good.length] = list[i]
		return good
	}
	const vars = usable(names), inner = usable(functions), outer = {__proto__: null}
	declared(vars, 0, vars.length, (name) => {
		const there = o.own(this, name)
		// A let of the page with its name refuses it.
		try { (0, o.eval)("if (0) var " + name) } catch { plain = false; return }
		if (!there) delete this[name]
		found += (there ? " -" : " +") + name
	})
	declared(inner, 0, inner.length, (name) => { outer[name] = true })
	for (let i = 0; i < inner.length; i++) if (!outer[inner[i]]) found += " =" + inner[i]
	return plain && left >= 0 ? "script" + found : "async"
})`

// parsings bounds how often the page parses a script to find what it declares.
func parsings(source string) int { return min(400, 20+4<<20/max(1, len(source))) }

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
const settle = `(async (value) => {
	const whole = value === null || typeof value != "object" && typeof value != "function" || value.then === o.object.then
	return %s(whole ? value : await value)
})`

// sourceURL names what is of the script in its stacks; what has no name there is ours.
const (
	sourceName = "script"
	sourceURL  = "\n//# sourceURL=" + sourceName
)

var (
	awaits    = regexp.MustCompile(`\bawait\b`)
	returns   = regexp.MustCompile(`\breturn\b`)
	loops     = regexp.MustCompile(`\bfor\s+await\b`)
	vars      = regexp.MustCompile(`\bvar\b`)
	names     = regexp.MustCompile(`[\p{L}\p{Nl}_$][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$]*`)
	functions = regexp.MustCompile(`\bfunction\b[\s*]*([\p{L}\p{Nl}_$][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$]*)`)
	strict    = regexp.MustCompile(`^\s*(?:"use strict"|'use strict')`)
	block     = regexp.MustCompile(`^\s*\{`)
)

// Script says what to run.
type Script struct {
	Source  string
	Await   bool
	Timeout time.Duration
	Frame   string // id of a frame, "" for the main one
}

// JavaScript runs a script in the page's own world and gives the JSON of its
// value. A script that does not end is stopped when its time is over, or ctx ends.
func JavaScript(ctx context.Context, t *target.Tab, s Script) (jsonv2.Value, error) {
	f, err := t.Frame(s.Frame)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	kind := "plain"
	if awaits.MatchString(s.Source) || returns.MatchString(s.Source) {
		if kind, err = s.form(ctx, f); err != nil {
			return nil, told(err, 0)
		}
	}
	text, above, err := s.run(ctx, f, kind)
	if err != nil {
		return nil, told(err, above)
	}
	if _, err := wire.Valid([]byte(text)); err != nil {
		return nil, &ScriptError{Message: "the value has no JSON that is taken: " + err.Error()}
	}
	return jsonv2.Value(text), nil
}

// form asks the page for the script's form.
func (s Script) form(ctx context.Context, f *target.Frame) (string, error) {
	ask := map[string]any{
		"awaits": awaits.MatchString(s.Source), "returns": returns.MatchString(s.Source), "waits": s.Await, "block": block.MatchString(s.Source),
		"without": awaits.ReplaceAllString(loops.ReplaceAllString(s.Source, "for"), "void "), "names": []string{}, "functions": []string{},
		"parsings": parsings(s.Source),
	}
	if vars.MatchString(s.Source) {
		ask["names"] = unique(names.FindAllString(s.Source, -1))
	}
	if found := functions.FindAllStringSubmatch(s.Source, -1); found != nil {
		list := make([]string, len(found))
		for i, m := range found {
			list[i] = m[1]
		}
		ask["functions"] = unique(list)
	}
	raw, err := jsonv2.Marshal(ask)
	if err != nil {
		return "", err
	}
	return f.Evaluate(ctx, target.Script{Source: form + "(" + target.Originals + ", " + quote(s.Source) + ", " + string(raw) + ")", Limit: s.left(ctx)})
}

// run runs the script in the form that it has. Each call has a scope of its own, and
// sees no name of ours. above is how many lines of ours stand above its first.
func (s Script) run(ctx context.Context, f *target.Frame, kind string) (text string, above int, err error) {
	shown := fmt.Sprintf(show, maxValue)
	if s.Await {
		shown = fmt.Sprintf(settle, shown)
	}
	var value string
	switch kind {
	case "plain": // within a function, so that its names stay there
		value = "(0, o.eval)(" + quote("(eval) => eval("+quote(s.Source+sourceURL)+")") + ")(o.eval)"
	case "function":
		above, value = 1, s.within("(() => {", "})()")
	case "expression":
		above, value = 1, s.within("(async () => (", "))()")
	case "async":
		above, value = 1, s.within("(async () => {", "})()")
	default:
		show := "function(value) { return ((o) => " + shown + ")(" + target.Originals + ")(value) }"
		script := s.script(strings.Fields(kind)[1:])
		script.Function, script.Limit = show, s.left(ctx)
		text, err = f.Evaluate(ctx, script)
		return text, 1, err
	}
	text, err = f.Evaluate(ctx, target.Script{Source: "((o) => " + shown + "(" + value + "))(" + target.Originals + ")", Limit: s.left(ctx)})
	return text, above, err
}

// within is an expression that evaluates the script between two texts.
func (s Script) within(before, after string) string {
	return "(0, o.eval)(" + quote(before+"\n"+s.Source+"\n"+after+sourceURL) + ")"
}

// script is the script for where await may stand on the top level. let, const, class
// and function stay in its block. The names of var are those of an object around it;
// what their declarations leave on the page's global object would stay there, but for a
// var of an eval before, which goes with the first step. A function in a block within
// would become a name of the page, but for a let of that name outside.
func (s Script) script(declared []string) target.Script {
	var forgotten, own, outside, made string
	for _, d := range declared {
		switch name := d[1:]; d[0] {
		case '=':
			outside += "let " + name + " = this." + name + "; "
		case '+':
			forgotten += "delete this." + name + ", "
			made += "var " + name + "; "
			fallthrough
		default:
			own += ", " + name + ": undefined"
		}
	}
	before, after := "{"+outside+"{\n", "\n}}"
	switch {
	case own != "":
		before = "with ((" + forgotten + "{__proto__: null" + own + "})) " + before
	case strict.MatchString(s.Source):
		before = `"use strict"; ` + before
	}
	script := target.Script{Source: before + s.Source + after + sourceURL}
	if made != "" {
		script.Before = "((o) => (0, o.eval)(" + quote("if (0) { "+made+"}") + "))(" + target.Originals + ")"
	}
	return script
}

// left is how much of the script's time is left.
func (s Script) left(ctx context.Context) time.Duration {
	end, _ := ctx.Deadline()
	return max(min(time.Until(end), s.Timeout), time.Millisecond)
}

// quote gives a text as a literal of JavaScript.
func quote(text string) string {
	raw, err := jsonv2.Marshal(text)
	if err != nil {
		return `""` // not for any text
	}
	return string(raw)
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
