package envelope

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/internal/wire"
)

func schemaOf(t testing.TB, text string) *wire.Schema {
	t.Helper()
	s, err := wire.Compile([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecodeTakesWhatTheProtocolAllows(t *testing.T) {
	long := strings.Repeat("i", MaxIDBytes)
	for _, tt := range []struct{ name, line, id, method, params string }{
		{"usual", `{"version":1,"id":"req-42","method":"browser.tabs","params":{}}` + "\n", `"req-42"`, "browser.tabs", `{}`},
		{"half-close in place of a newline", `{"version":1,"id":"a","method":"m","params":{"x":1}}`, `"a"`, "m", `{"x":1}`},
		{"carriage return", `{"version":1,"id":"a","method":"m"}` + "\r\n", `"a"`, "m", `{}`},
		{"whitespace everywhere", "\t { \"version\" : 1 , \"id\" : \"a\" , \"method\" : \"m\" , \"params\" : { \"x\" : 1 } } ", `"a"`, "m", `{ "x" : 1 }`},
		{"another order", `{"params":{"x":1},"method":"m","id":"a","version":1}`, `"a"`, "m", `{"x":1}`},
		{"params absent", `{"version":1,"id":"a","method":"m"}`, `"a"`, "m", `{}`},
		{"params null", `{"version":1,"id":"a","method":"m","params":null}`, `"a"`, "m", `{}`},
		{"unknown members", `{"version":1,"id":"a","method":"m","jsonrpc":"2.0","trace":[{"a":{}}]}`, `"a"`, "m", `{}`},
		{"empty string as id", `{"version":1,"id":"","method":"m"}`, `""`, "m", `{}`},
		{"number beyond 2^53 as id", `{"version":1,"id":9007199254740993,"method":"m"}`, `9007199254740993`, "m", `{}`},
		{"fraction as id", `{"version":1,"id":-1.50E+2,"method":"m"}`, `-1.50E+2`, "m", `{}`},
		{"escapes in the id", `{"version":1,"id":"\u0061\/\ud83d","method":"m"}`, `"\u0061\/\ud83d"`, "m", `{}`},
		{"id of the largest size", `{"version":1,"id":"` + long + `","method":"m"}`, `"` + long + `"`, "m", `{}`},
		{"id of the largest size in escapes", `{"version":1,"id":"` + strings.Repeat(`\u00e9`, MaxIDBytes/2) + `","method":"m"}`, `"` + strings.Repeat(`\u00e9`, MaxIDBytes/2) + `"`, "m", `{}`},
		{"escapes in method and names", `{"\u0076ersion":1,"\u0069d":"a","method":"a\u002eb","params":{}}`, `"a"`, "a.b", `{}`},
		{"version written otherwise", `{"version":1.0,"id":"a","method":"m"}`, `"a"`, "m", `{}`},
		{"unpaired surrogate in params", `{"version":1,"id":"a","method":"m","params":{"s":"\ud83d"}}`, `"a"`, "m", `{"s":"\ud83d"}`},
		{"numbers as they are", `{"version":1,"id":"a","method":"m","params":{"n":123456789012345678901234567890.10}}`, `"a"`, "m", `{"n":123456789012345678901234567890.10}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := Decode([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			got := []string{string(req.ID), req.Method, string(req.Params)}
			if diff := cmp.Diff([]string{tt.id, tt.method, tt.params}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	const notRequest = "not a request: "
	for _, tt := range []struct{ name, line, id, message string }{
		{"nothing", "", `""`, "empty line: a request is one JSON object on one line"},
		{"empty line", "\r\n", `""`, "empty line: a request is one JSON object on one line"},
		{"not JSON", "hello", `""`, notRequest + "expected a value at byte 0"},
		{"byte order mark", "\ufeff{}", `""`, notRequest + "expected a value at byte 0"},
		{"HTTP", "GET / HTTP/1.1\r\n", `""`, "this is not HTTP: send one JSON object on one line"},
		{"array", `[{"version":1,"id":"a","method":"m"}]`, `""`, notRequest + "expected an object at byte 0"},
		{"string", `"x"`, `""`, notRequest + "expected an object at byte 0"},
		{"cut", `{"version":1,"id":"a","met`, `"a"`, notRequest + "string without end at byte 26"},
		{"cut before the id", `{"version":1,"id":"a`, `""`, notRequest + "string without end at byte 20"},
		{"trailing data", `{"version":1,"id":"a","method":"m"} {}`, `"a"`, notRequest + "unexpected text after the value at byte 36"},
		{"duplicate in the envelope", `{"version":1,"id":"a","version":1,"method":"m"}`, `"a"`, notRequest + "duplicate member name at byte 22"},
		{"duplicate id", `{"version":1,"id":"a","id":"b","method":"m"}`, `"a"`, notRequest + "duplicate member name at byte 22"},
		{"duplicate id in escapes", `{"version":1,"id":"a","\u0069d":"b","method":"m"}`, `"a"`, notRequest + "duplicate member name at byte 22"},
		{"duplicate in params", `{"version":1,"id":"a","method":"m","params":{"x":[{"y":1,"y":1}]}}`, `"a"`, notRequest + "duplicate member name at byte 57"},
		{"invalid UTF-8 behind the id", "{\"version\":1,\"id\":\"a\",\"method\":\"\xff\"}", `"a"`, notRequest + "invalid UTF-8 at byte 32"},
		{"invalid UTF-8 in the id", "{\"version\":1,\"id\":\"\xff\",\"method\":\"m\"}", `""`, notRequest + "invalid UTF-8 at byte 19"},
		{"nested too deep", `{"version":1,"id":"a","method":"m","params":{"x":` + strings.Repeat("[", 511), `"a"`, notRequest + "nesting is too deep at byte 559"},
		{"no id", `{"version":1,"method":"m"}`, `""`, `missing "id": a string or a number`},
		{"null id", `{"version":1,"id":null,"method":"m"}`, `""`, `"id" must be a string or a number`},
		{"boolean id", `{"version":1,"id":true,"method":"m"}`, `""`, `"id" must be a string or a number`},
		{"array id", `{"version":1,"id":["a"],"method":"m"}`, `""`, `"id" must be a string or a number`},
		{"object id", `{"version":1,"id":{},"method":"m"}`, `""`, `"id" must be a string or a number`},
		{"long id", `{"version":1,"id":"` + strings.Repeat("i", MaxIDBytes+1) + `","method":"m"}`, `""`, `"id" is longer than 256 bytes`},
		{"long number as id", `{"version":1,"id":` + strings.Repeat("1", MaxIDBytes+1) + `,"method":"m"}`, `""`, `"id" is longer than 256 bytes`},
		{"no version", `{"id":"a","method":"m"}`, `"a"`, `missing "version"; this host speaks version 1`},
		{"another version", `{"version":2,"id":"a","method":"m"}`, `"a"`, `"version" is not one that this host speaks; it speaks version 1`},
		{"fraction as version", `{"version":1.5,"id":"a","method":"m"}`, `"a"`, `"version" is not one that this host speaks; it speaks version 1`},
		{"string as version", `{"version":"1","id":"a","method":"m"}`, `"a"`, `"version" is not one that this host speaks; it speaks version 1`},
		{"boolean as version", `{"version":true,"id":"a","method":"m"}`, `"a"`, `"version" is not one that this host speaks; it speaks version 1`},
		{"null as version", `{"version":null,"id":"a","method":"m"}`, `"a"`, `"version" is not one that this host speaks; it speaks version 1`},
		{"no method", `{"version":1,"id":"a"}`, `"a"`, `missing "method": a string`},
		{"empty method", `{"version":1,"id":"a","method":""}`, `"a"`, `"method" must be a string that is not empty`},
		{"number as method", `{"version":1,"id":7,"method":7}`, `7`, `"method" must be a string that is not empty`},
		{"array as params", `{"version":1,"id":"a","method":"m","params":[]}`, `"a"`, `"params" must be an object`},
		{"string as params", `{"version":1,"id":"a","method":"m","params":"secret"}`, `"a"`, `"params" must be an object`},
		{"false as params", `{"version":1,"id":"a","method":"m","params":false}`, `"a"`, `"params" must be an object`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := Decode([]byte(tt.line))
			if err == nil {
				t.Fatalf("taken: %+v", req)
			}
			got := []string{string(req.ID), string(err.Code), err.Message}
			if diff := cmp.Diff([]string{tt.id, string(InvalidRequest), tt.message}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeTakesTheDeepestNestingAllowed(t *testing.T) {
	line := func(n int) []byte {
		return fmt.Appendf(nil, `{"version":1,"id":"a","method":"m","params":{"x":%s}}`, strings.Repeat("[", n)+strings.Repeat("]", n))
	}
	if _, err := Decode(line(MaxDepth - 2)); err != nil {
		t.Error(err)
	}
	if _, err := Decode(line(MaxDepth - 1)); err == nil {
		t.Error("taken")
	}
}

func TestDecodeCheckedReportsTheParams(t *testing.T) {
	schema := schemaOf(t, `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	for _, tt := range []struct{ name, line, want string }{
		{"good", `{"version":1,"id":"a","method":"m","params":{"n":1}}`, ""},
		{"params first", `{"params":{"n":1},"version":1,"id":"a","method":"m"}`, ""},
		{"wrong", `{"version":1,"id":"a","method":"m","params":{"n":"x"}}`, "/n: expected integer"},
		{"wrong and first", `{"params":{"n":"x"},"version":1,"id":"a","method":"m"}`, "/n: expected integer"},
		{"absent", `{"version":1,"id":"a","method":"m"}`, `missing required "n"`},
		{"null", `{"version":1,"id":"a","method":"m","params":null}`, `missing required "n"`},
		{"null and first", `{"params":null,"version":1,"id":"a","method":"m"}`, `missing required "n"`},
		{"unknown name", `{"version":1,"id":"a","method":"m","params":{"n":1,"N":2}}`, `unknown parameter "N" ignored; nearest: "n"`},
		{"unknown name first", `{"params":{"n":1,"N":2},"version":1,"id":"a","method":"m"}`, `unknown parameter "N" ignored; nearest: "n"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			req, err := DecodeChecked([]byte(tt.line), func(m []byte) (string, *wire.Schema) {
				calls++
				if string(m) != "m" {
					t.Errorf("asked for %q", m)
				}
				return "m", schema
			})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(req.Report.Warnings, "")
			if req.Report.Violation != nil {
				got = req.Report.Violation.Error()
			}
			if got != tt.want || calls != 1 {
				t.Errorf("%d lookups, %q", calls, got)
			}
		})
	}
}

func TestDecodeCheckedWithoutASchemaChecksSyntaxAlone(t *testing.T) {
	req, err := DecodeChecked([]byte(`{"version":1,"id":"a","method":"unknown.m","params":{"n":"x"}}`),
		func([]byte) (string, *wire.Schema) { return "", nil })
	if err != nil || req.Method != "unknown.m" || req.Report.Violation != nil {
		t.Errorf("%+v %v", req, err)
	}
}

func TestDecodeGivesTheIDOfALineThatIsCut(t *testing.T) {
	line := append([]byte(`{"version":1,"id":7,"method":"m","params":{"x":"`), make([]byte, 1000)...)
	for i := 48; i < len(line); i++ {
		line[i] = 'x'
	}
	req, err := Decode(line)
	if err == nil || string(req.ID) != "7" {
		t.Errorf("%s %v", req.ID, err)
	}
}

func BenchmarkDecodeChecked(b *testing.B) {
	schema := schemaOf(b, `{"type":"object","properties":{"tab_id":{"type":"integer"},"uri":{"type":"string"}}}`)
	line := []byte(`{"version":1,"id":"req-42","method":"browser.navigate","params":{"tab_id":7,"uri":"https://example.org/"}}`)
	lookup := func([]byte) (string, *wire.Schema) { return "browser.navigate", schema }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeChecked(line, lookup); err != nil {
			b.Fatal(err)
		}
	}
}
