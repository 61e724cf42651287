package config

import (
	"math/big"
	"regexp"
	"strings"
	"sync"
)

// pattern compiles an expression when it is first needed: most starts need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Plain scalars by the core schema of YAML 1.2. What YAML 1.1 reads otherwise
// (yes, on, dates) is text; numbers that the two read differently are refused.
var (
	decimalInt  = pattern(`^[-+]?(0|[1-9][0-9]*)$`)
	leadingZero = pattern(`^[-+]?0[0-9_]+$`)
	underscores = pattern(`^[-+]?(0[xob])?[0-9a-fA-F]+(_[0-9a-fA-F_]*)+$`)
	prefixedInt = pattern(`^0(x[0-9a-fA-F]+|o[0-7]+)$`)
	binaryInt   = pattern(`^[-+]?0b[01]+$`)
	decimal     = pattern(`^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$`)
	notFinite   = pattern(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// maxNumber bounds a number's digits: no JSON reader wants more.
const maxNumber = 4096

// plain resolves a scalar without quotes to its type and JSON. A fault says
// why it stands for nothing certain.
func plain(s string) (k kind, text, fault string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return kindNull, "null", ""
	case "true", "True", "TRUE":
		return kindBool, "true", ""
	case "false", "False", "FALSE":
		return kindBool, "false", ""
	}
	if c := s[0]; c != '.' && c != '-' && c != '+' && (c < '0' || c > '9') {
		return kindText, s, ""
	}
	switch {
	case len(s) > maxNumber:
		return kindText, s, ""
	case decimalInt().MatchString(s):
		return kindNumber, strings.TrimPrefix(s, "+"), ""
	case leadingZero().MatchString(s):
		return 0, "", "a number with a leading zero may be octal or not; quote it if it is a text, write 0o… for octal"
	case prefixedInt().MatchString(s):
		n, _ := new(big.Int).SetString(s, 0) // the pattern leaves no failure
		return kindNumber, n.String(), ""
	case binaryInt().MatchString(s):
		return 0, "", "binary numbers are not read everywhere; write it in decimal, or quote it if it is a text"
	case underscores().MatchString(s) && strings.ContainsFunc(s[:1], isDigit):
		return 0, "", "a number with _ is not read everywhere; leave the _ out, or quote it if it is a text"
	case notFinite().MatchString(s):
		return 0, "", "infinity and not-a-number cannot be given to plugins"
	}
	if m := decimal().FindStringSubmatch(s); m != nil && m[2]+m[3] != "" {
		return kindNumber, jsonDecimal(m[1], m[2], m[3], m[4]), ""
	}
	return kindText, s, ""
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// jsonDecimal writes a decimal as JSON allows: digits on both sides of the
// point, no plus, no leading zeros. Nothing is rounded.
func jsonDecimal(sign, whole, fraction, exponent string) string {
	var b strings.Builder
	if sign == "-" {
		b.WriteByte('-')
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	b.WriteString(whole)
	if fraction != "" {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	b.WriteString(exponent)
	return b.String()
}
