package transport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestRepairTouchesOnlyWhatIsBroken(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"plain"`:                 `"plain"`,
		`"\ud83d\ude00"`:          `"\ud83d\ude00"`,
		`"\uD83D\uDE00"`:          `"\uD83D\uDE00"`,
		`"\ud83d"`:                `"\ufffd"`,
		`"\ude00"`:                `"\ufffd"`,
		`"\ude00\ud83d"`:          `"\ufffd\ufffd"`,
		`"\ud83d\ud83d\ude00"`:    `"\ufffd\ud83d\ude00"`,
		`"\ud83d\ude00\ude00"`:    `"\ud83d\ude00\ufffd"`,
		`"\ud83dx\ude00"`:         `"\ufffdx\ufffd"`,
		`"\ud83d\\ude00"`:         `"\ufffd\\ude00"`,
		`"\\ud83d"`:               `"\\ud83d"`,
		`"\\\ud83d"`:              `"\\\ufffd"`,
		`"\\\\ud83d \\\\\ude00"`:  `"\\\\ud83d \\\\\ufffd"`,
		`"\ud83d\n\ude00"`:        `"\ufffd\n\ufffd"`,
		`"\ud7ff\ue000"`:          `"\ud7ff\ue000"`,
		`{"\udfff":["\uDBFF",1]}`: `{"\ufffd":["\ufffd",1]}`,
		"\"a\xffb\"":              "\"a\uFFFDb\"",
		"\"\xed\xa0\x80\"":        "\"\uFFFD\"", // a surrogate as bytes
		`\ud83`:                   `\ud83`,
		`\u`:                      `\u`,
	} {
		if got := string(repair([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte(`{"t":"\ud83d \ude00 \\ud83d \ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := repair(bytes.Clone(text))
		strict := jsontext.AllowDuplicateNames(true)
		if jsontext.Value(text).IsValid(strict) && !bytes.Equal(got, text) {
			t.Fatalf("%q was not broken and became %q", text, got)
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
		if !json.Valid(text) || deep(text) {
			return
		}
		if !jsontext.Value(got).IsValid(strict) {
			t.Fatalf("%q became %q, which is refused", text, got)
		}
		if !utf8.Valid(text) {
			return // the two decoders count broken bytes otherwise
		}
		var want, have any // encoding/json makes of halves what repair does
		if err := json.Unmarshal(text, &want); err != nil {
			return // a number that is out of range
		}
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("%q became %q (-want +got):\n%s", text, got, diff)
		}
	})
}

// deep says whether a text has more levels than decoders take.
func deep(text []byte) bool {
	return bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 9000
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{"a":[1,{"b":"}\""}]},"sessionId":"S"}`))
	f.Add([]byte(` { "method" : "A.b" , "params" : { } , "sessionId" : "S" } `))
	f.Add([]byte(`{"error":{"code":-1,"message":"\\"},"id":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, ok := split(text) // never panics
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil || escapedNames(text) {
			return
		}
		str := func(name string) (s string, plain bool) {
			raw := want[name]
			plain = len(raw) >= 2 && raw[0] == '"' && !bytes.ContainsRune(raw, '\\')
			if plain {
				s = string(raw[1 : len(raw)-1])
			}
			return s, plain || raw == nil
		}
		var id int64
		if raw, has := want["id"]; has && json.Unmarshal(raw, &id) != nil || string(raw) == "null" {
			if ok {
				t.Fatalf("%q was taken with the id %s", text, raw)
			}
			return
		}
		method, plainMethod := str("method")
		session, plainSession := str("sessionId")
		if !plainMethod || !plainSession {
			return // names and ids have no escapes, and are texts
		}
		if wantOK := id != 0 || method != ""; ok != wantOK {
			t.Fatalf("%q: ok %v, want %v", text, ok, wantOK)
		}
		if !ok {
			return
		}
		got := map[string]string{"method": string(m.method), "session": string(m.session), "params": string(m.params), "result": string(m.result), "error": string(m.failure)}
		expect := map[string]string{"method": method, "session": session, "params": string(want["params"]), "result": string(want["result"]), "error": string(want["error"])}
		if diff := cmp.Diff(expect, got); diff != "" || m.id != id {
			t.Fatalf("%q: id %d, want %d (-want +got):\n%s", text, m.id, id, diff)
		}
	})
}

// escapedNames says whether a name of the outer object may be written with
// escapes or broken bytes, which the browser does not do.
func escapedNames(text []byte) bool { return bytes.Contains(text, []byte(`\u`)) || !utf8.Valid(text) }

func TestTheIDOfALongAnswerIsRead(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]int64{
		`{"id":17,"result":{"da`: 17, `{"id":9223372036854775807,`: 9223372036854775807,
		`{"method":"E.e"`: 0, `{"id":`: 0, `{"id":x`: 0, `{"id":99999999999999999999,`: 0, ``: 0,
	} {
		got, ok := answerID([]byte(head))
		if got = map[bool]int64{true: got}[ok]; got != want {
			t.Errorf("%s gave %d, want %d", head, got, want)
		}
	}
}

// evaluated is an answer as a snapshot gives it: a text with escapes.
func evaluated(size int) []byte {
	line := `{"ref":"@e1_1","role":"button","name":"Save \ud83d\ude00","visible":true,"disabled":false}` + "\n"
	value, err := jsonv2.Marshal(strings.Repeat(line, size/len(line)))
	if err != nil {
		panic(err)
	}
	return append(append([]byte(`{"id":123,"result":{"result":{"type":"string","value":`), value...), `}},"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`...)
}

func BenchmarkSplit(b *testing.B) {
	for name, size := range map[string]int{"1KB": 1000, "1MB": 1000_000} {
		text := evaluated(size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := split(text); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkRepair(b *testing.B) {
	text := evaluated(1000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		repair(text)
	}
}
