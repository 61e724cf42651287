package target

import (
	"strconv"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// Exception is one that a script has thrown.
type Exception struct {
	Text   string `json:"text"`
	Line   int    `json:"lineNumber"`
	Column int    `json:"columnNumber"`
	Stack  struct {
		Frames []struct {
			URL    string `json:"url"`
			Line   int    `json:"lineNumber"`
			Column int    `json:"columnNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
	Exception struct {
		Type        string       `json:"type"`
		Description string       `json:"description"`
		Value       jsonv2.Value `json:"value"`
		Preview     *Preview     `json:"preview"`
	} `json:"exception"`
}

// Preview is the first of what an object holds. No getter of it was called.
type Preview struct {
	Subtype    string `json:"subtype"`
	Overflow   bool   `json:"overflow"`
	Properties []struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"properties"`
}

// String gives a plain object or a list as JavaScript writes it, after a space; ""
// for anything else.
func (p *Preview) String() string {
	if p == nil || len(p.Properties) == 0 || p.Subtype != "" && p.Subtype != "array" {
		return ""
	}
	var parts []string
	for _, q := range p.Properties {
		value := q.Value
		switch q.Type {
		case "string":
			value = strconv.Quote(value)
		case "accessor":
			value = "(...)"
		}
		if p.Subtype != "array" {
			value = strconv.Quote(q.Name) + ": " + value
		}
		parts = append(parts, value)
	}
	if p.Overflow {
		parts = append(parts, "…")
	}
	if p.Subtype == "array" {
		return " [" + strings.Join(parts, ", ") + "]"
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// Error implements error.
func (e *Exception) Error() string {
	if e.Exception.Description != "" {
		return e.Exception.Description
	}
	if len(e.Exception.Value) > 0 {
		return e.Text + " " + string(e.Exception.Value)
	}
	if e.Exception.Type == "undefined" {
		return e.Text + " undefined"
	}
	return e.Text
}
