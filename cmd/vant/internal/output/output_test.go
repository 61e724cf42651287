package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableLinesUpItsColumns(t *testing.T) {
	var b bytes.Buffer
	err := Stream{W: &b}.Table([]string{"A", "LONG"}, [][]string{{"äää", ""}, {"x", "y\x1b"}})
	if want := "A    LONG\näää\nx    y\\u001b\n"; err != nil || b.String() != want {
		t.Errorf("got %q, error %v, want %q", b.String(), err, want)
	}
}

func TestEscapeKeepsLinesAndOneLineDoesNot(t *testing.T) {
	const text = "a\tb\nc\r\x7f\u202e\xffé"
	if got, want := Escape(text), "a\tb\nc\\u000d\\u007f\\u202e\ufffdé"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := OneLine(text), `a\u0009b\u000ac\u000d\u007f\u202e`+"\ufffdé"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsOfTheWriterComeThrough(t *testing.T) {
	failing := Stream{W: broken{}}
	for name, err := range map[string]error{
		"JSON": failing.JSON([]byte("1")), "Line": failing.Line([]byte("1")), "Text": failing.Text("1"), "Table": failing.Table(nil, nil),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// FuzzJSON: what a terminal gets is the same value, on one line or indented,
// and holds nothing that a terminal acts on.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{}],"b":"x\u001b\"","c":null}`, `[]`, ` [ 1 , true ] `, `"\\"`, "\"\u009b\x7f\"", `{"":{"":[[]]}}`, `1e999`, `{`, `"`, `"\`, `}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		indented := appendJSON(nil, raw, true, false)
		line := appendJSON(nil, raw, false, false)
		appendJSON(nil, raw, true, true)
		if !json.Valid(raw) {
			return
		}
		if got := Escape(string(indented)); got != string(indented) {
			t.Fatalf("%q holds control characters", indented)
		}
		var want, compact bytes.Buffer
		if err := json.Compact(&want, raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&compact, indented); err != nil {
			t.Fatalf("%q: %v", indented, err)
		}
		if compact.String() != string(line) {
			t.Fatalf("indented %q is another value than %q", compact.String(), line)
		}
		if utf8.Valid(raw) && !strings.ContainsFunc(string(raw), unsafe) && want.String() != string(line) {
			t.Fatalf("%q became %q", want.String(), line)
		}
	})
}
