// Package wire reads JSON texts in one pass without making Go values of them:
// it checks syntax, finds the raw bytes of members, and checks values against
// compiled schemas while it scans. The envelope, the router, the config and
// the SDK share it.
package wire

import "strconv"

// MaxDepth is the deepest nesting of arrays and objects that is accepted.
const MaxDepth = 512

// MaxSchemaBytes bounds a schema's text.
const MaxSchemaBytes = 256 << 10

// SyntaxError is the first fault of a text. It never quotes the text.
type SyntaxError struct {
	Offset  int    // bytes before the fault
	Message string // what is wrong there, without the position
}

// Error gives message and position.
func (e *SyntaxError) Error() string {
	return e.Message + " at byte " + strconv.Itoa(e.Offset)
}

// Violation says where a value breaks its schema and what was expected there.
// It never holds the value: that may be a secret.
type Violation struct {
	Pointer string // JSON Pointer, "" for the whole value
	Type    bool   // the JSON type is wrong; else a rule on the value is broken
	Message string // what was expected: "expected integer", "missing required \"url\""
	Unknown string // the member below Pointer that the schema does not allow, "" for other violations
}

func (v *Violation) Error() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + ": " + v.Message
}

// Report is what a schema says of a value that is well-formed JSON.
type Report struct {
	Violation *Violation
	// Warnings name parameters that the schema does not know, at most
	// MaxWarnings, each with the nearest known name.
	Warnings []string
	// Unknown are the JSON Pointers of these parameters.
	Unknown []string
}

// MaxWarnings bounds Report.Warnings.
const MaxWarnings = 8

// Kind is the JSON type of a value.
type Kind uint8

// The kinds of values.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "boolean", "number", "string", "array", "object"}

// String gives the type's name as JSON Schema spells it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Member is one member of an object.
type Member struct {
	// Name is the unescaped name. It is valid during the callback only.
	Name []byte
	// Value is the value's raw text, without whitespace around it. It aliases
	// the scanned text.
	Value []byte
	Kind  Kind
	// Report is what the schema said, when one was asked for.
	Report Report
}
