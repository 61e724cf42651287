// Package inject is the JavaScript that works inside of pages, and how it is
// called. It knows nothing of CDP: package page evaluates what it gives.
//
// The files of js are one script, in the order of their numbers, in one
// function scope: what an earlier file declares, the later ones use. It is
// evaluated once in the isolated world named "vant" of each document, and sets
// one thing there, globalThis.__vant, which holds what Go calls. A file adds to
// it through the constant api.
//
// The rules that all of it keeps:
//
//   - The page sees nothing: no attribute, no node and no global is ours, and
//     what is kept is in closures, by WeakMap and WeakRef, so that nothing of
//     the page lives longer.
//   - A call takes one JSON value and answers with one string: JSON, or lines.
//     Failures are values; an exception is a fault of the script.
//   - What waits, waits for somebody: a call made by Ask is ended by Stop, or by
//     its time, and does nothing afterwards.
//   - Properties of forms and of the document are read by the getters of their
//     prototypes (package dom of the script), for both answer to the names of
//     what they hold.
//   - The work and the answer of a call are bounded, whatever the page is.
//   - Text leaves well-formed and cut at the end of a grapheme, and the values
//     of secret fields do not leave at all.
package inject

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed js/*.js
var files embed.FS

// Source is the script. Evaluated a second time in a world, it leaves the first
// as it is.
var Source = sync.OnceValue(func() string {
	names, err := fs.Glob(files, "js/*.js") // sorted
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\nif (Object.hasOwn(globalThis, '__vant')) return;\nconst api = {};\n")
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) { // comments and indents are not for the page
			if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
				b.WriteString(line)
			}
		}
	}
	// Defined, not assigned: an element of that name is a property of the window too.
	b.WriteString("Object.defineProperty(globalThis, '__vant', {value: api, configurable: true});\n})();")
	return b.String()
})

// Call is the expression that calls a function of the script with one argument,
// which must be a value that encoding/json can write.
func Call(name string, arg any) (string, error) {
	text, err := json.Marshal(arg)
	if err != nil {
		return "", fmt.Errorf("the argument of %s: %w", name, err)
	}
	return "__vant." + name + "(" + string(text) + ")", nil
}

// Stopped is what a question answers that has ended before it had its answer.
const Stopped = "stopped"

// Ask is the expression that calls a function as a question: id names it to Stop,
// and after until, unless that is zero, nothing of it is done.
func Ask(id int64, until time.Time, name string, arg any) (string, error) {
	text, err := json.Marshal(arg)
	if err != nil {
		return "", fmt.Errorf("the argument of %s: %w", name, err)
	}
	last := int64(0)
	if !until.IsZero() {
		last = until.UnixMilli()
	}
	return "__vant.ask(" + strconv.FormatInt(id, 10) + "," + strconv.FormatInt(last, 10) + `,"` + name + `",` + string(text) + ")", nil
}

// Stop is the expression that ends a question that has no answer yet.
func Stop(id int64) string { return "__vant.stop(" + strconv.FormatInt(id, 10) + ")" }
