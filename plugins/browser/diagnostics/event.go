package diagnostics

import (
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/vant-run/vant/internal/wire"
)

const (
	maxText = 2000 // bytes of one text that is shown
	maxArgs = 20
)

// Event is one event as it is shown.
type Event struct {
	Time    float64  `json:"time"` // milliseconds since 1970
	Type    string   `json:"type"` // console, error, unhandledrejection, network or csp
	Level   string   `json:"level"`
	Args    []string `json:"args,omitzero"` // of console
	Message string   `json:"message,omitzero"`
	Source  string   `json:"source,omitzero"` // address of the script
	Line    int      `json:"line,omitzero"`   // from 1
	Column  int      `json:"column,omitzero"` // from 1
}

func rank(level string) int {
	switch level {
	case "log":
		return 1
	case "info":
		return 2
	case "warn":
		return 3
	case "error":
		return 4
	}
	return 0
}

type (
	object struct {
		Type           string       `json:"type"`
		Subtype        string       `json:"subtype"`
		Value          jsonv2.Value `json:"value"`
		Unserializable string       `json:"unserializableValue"`
		Description    string       `json:"description"`
		Preview        *preview     `json:"preview"`
	}
	preview struct {
		Subtype    string     `json:"subtype"`
		Overflow   bool       `json:"overflow"`
		Properties []property `json:"properties"`
	}
	property struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	stack struct {
		Frames []struct {
			URL    string `json:"url"`
			Line   int    `json:"lineNumber"`
			Column int    `json:"columnNumber"`
		} `json:"callFrames"`
	}
	consoleCall struct {
		Type  string   `json:"type"`
		Args  []object `json:"args"`
		Time  float64  `json:"timestamp"`
		Stack stack    `json:"stackTrace"`
	}
	thrown struct {
		Time    float64 `json:"timestamp"`
		Details struct {
			Text      string `json:"text"`
			Line      int    `json:"lineNumber"`
			Column    int    `json:"columnNumber"`
			URL       string `json:"url"`
			Exception object `json:"exception"`
			Stack     stack  `json:"stackTrace"`
		} `json:"exceptionDetails"`
	}
	entry struct {
		Entry struct {
			Source string  `json:"source"`
			Level  string  `json:"level"`
			Text   string  `json:"text"`
			Time   float64 `json:"timestamp"`
			URL    string  `json:"url"`
			Line   int     `json:"lineNumber"`
		} `json:"entry"`
	}
)

// read makes an event of what the browser sent. What cannot be read is shown as a
// line that says so.
func read(method string, params []byte) *Event {
	var e *Event
	var err error
	switch method {
	case "Runtime.consoleAPICalled":
		var c consoleCall
		err = jsonv2.Unmarshal(params, &c)
		e = c.event()
	case "Runtime.exceptionThrown":
		var t thrown
		err = jsonv2.Unmarshal(params, &t)
		e = t.event()
	default:
		var n entry
		err = jsonv2.Unmarshal(params, &n)
		e = n.event()
	}
	if err != nil {
		e.Message = "an event could not be read: " + cut(err.Error())
	}
	return e
}

func (c consoleCall) event() *Event {
	e := &Event{Time: c.Time, Type: "console", Args: []string{}}
	switch c.Type {
	case "debug", "info", "error":
		e.Level = c.Type
	case "warning":
		e.Level = "warn"
	case "assert":
		e.Level = "error"
	default:
		e.Level = "log"
	}
	for i, arg := range c.Args {
		if i == maxArgs {
			e.Args = append(e.Args, "…")
			break
		}
		e.Args = append(e.Args, arg.text())
	}
	e.from(c.Stack)
	return e
}

func (t thrown) event() *Event {
	d := t.Details
	e := &Event{Time: t.Time, Type: "error", Level: "error", Source: d.URL, Line: d.Line + 1, Column: d.Column + 1}
	text, rejected := strings.CutPrefix(d.Text, "Uncaught (in promise)")
	if rejected {
		e.Type = "unhandledrejection"
	}
	e.Message = cut(strings.TrimSpace(strings.TrimPrefix(text, "Uncaught")))
	if what := d.Exception.text(); d.Exception.Type != "" {
		e.Message = what
	}
	e.from(d.Stack)
	return e
}

func (n entry) event() *Event {
	e := &Event{Time: n.Entry.Time, Type: "console", Level: n.Entry.Level, Message: cut(n.Entry.Text), Source: n.Entry.URL}
	if n.Entry.Line > 0 {
		e.Line = n.Entry.Line + 1
	}
	switch n.Entry.Level {
	case "warning":
		e.Level = "warn"
	case "verbose":
		e.Level = "debug"
	}
	switch n.Entry.Source {
	case "network":
		e.Type = "network"
	case "security":
		e.Type = "error"
	}
	if strings.Contains(n.Entry.Text, "Content Security Policy") {
		e.Type = "csp"
	}
	return e
}

func (e *Event) from(s stack) {
	if len(s.Frames) > 0 {
		f := s.Frames[0]
		e.Source, e.Line, e.Column = f.URL, f.Line+1, f.Column+1
	}
}

// text shows a value as a console does, in one line.
func (o object) text() string {
	switch {
	case o.Type == "string":
		var s string
		if jsonv2.Unmarshal(o.Value, &s) == nil {
			return cut(s)
		}
	case o.Type == "undefined":
		return "undefined"
	case o.Unserializable != "":
		return o.Unserializable
	case o.Preview != nil && o.Subtype != "error":
		return cut(o.Preview.text())
	case len(o.Value) > 0:
		return cut(string(o.Value))
	}
	return cut(o.Description)
}

func (p preview) text() string {
	var b strings.Builder
	array := p.Subtype == "array"
	if array {
		b.WriteByte('[')
	} else {
		b.WriteByte('{')
	}
	for i, prop := range p.Properties {
		if i > 0 {
			b.WriteString(", ")
		}
		if !array {
			b.WriteString(prop.Name + ": ")
		}
		if prop.Type == "string" {
			b.WriteString(`"` + prop.Value + `"`)
		} else {
			b.WriteString(prop.Value)
		}
	}
	if p.Overflow {
		b.WriteString(", …")
	}
	if array {
		b.WriteByte(']')
	} else {
		b.WriteByte('}')
	}
	return b.String()
}

// cut shortens a text that is shown.
func cut(s string) string { return wire.Shorten(s, maxText) }
