package target

import "crypto/rand"

// What our code needs of the page's own world is taken when a document begins, before
// any script of it can change it. It is kept under a name that the page cannot find:
// one of its global scope, and no property of its window.

// originalsName is another one with each start, as worldName is.
var originalsName = "vant" + rand.Text()

const theirs = `({__proto__: null, stringify: JSON.stringify, eval, Function, Promise, Node, RangeError, SyntaxError,
object: Object.prototype, own: Object.hasOwn, frame: requestAnimationFrame, later: setTimeout, never: clearTimeout})`

// keepOriginals is what each document begins with.
var keepOriginals = "const " + originalsName + " = " + theirs

// Originals is an expression for Evaluate and Watch that gives an object with what a
// document had when it began: stringify, eval, Function, Promise, Node, RangeError,
// SyntaxError, object (the prototype of all), own (Object.hasOwn), frame, later and never (of
// requestAnimationFrame and of timeouts). In a document that was there before it was
// followed it is what that has now.
var Originals = "(typeof " + originalsName + ` == "undefined" ? ` + theirs + " : " + originalsName + ")"
