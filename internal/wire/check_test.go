package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// texts are JSON texts and what Check and Valid say of them; "" is no fault.
var texts = []struct {
	name, text, check string
	dup               bool // Valid accepts what Check refuses
}{
	{"null", `null`, "", false},
	{"true", ` true `, "", false},
	{"false", "\t\r\nfalse", "", false},
	{"zero", `0`, "", false},
	{"negative zero", `-0`, "", false},
	{"fraction and exponent", `-12.50e+3`, "", false},
	{"number without limit", strings.Repeat("9", 5000) + "E-99999999999", "", false},
	{"empty string", `""`, "", false},
	{"escapes", `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, "", false},
	{"unpaired surrogate", `"\ud83d"`, "", false},
	{"reversed surrogates", `"\ude00\ud83d"`, "", false},
	{"characters of every length", `"aé€😀"`, "", false},
	{"delete character", "\"\x7f\"", "", false},
	{"empty containers", `[{}, [ ], { }]`, "", false},
	{"nested as deep as allowed", nested(MaxDepth), "", false},
	{"names that are prefixes", `{"a":1,"aa":2,"aaaaaaaa":3,"aaaaaaaaa":4,"aaaaaaaab":5,"":6}`, "", false},
	{"same name in two objects", `[{"a":1},{"a":{"a":2}}]`, "", false},
	{"name with a NUL behind it", `{"a":1,"a\u0000":2}`, "", false},
	{"unpaired surrogate names", `{"\ud83d":1,"\ud83e":2,"\ufffd":3}`, "", false},

	{"nothing", ``, "unexpected end at byte 0", false},
	{"space", "  ", "unexpected end at byte 2", false},
	{"two values", `1 2`, "unexpected text after the value at byte 2", false},
	{"byte order mark", "\ufeff1", "expected a value at byte 0", false},
	{"word", `nul`, "expected true, false or null at byte 0", false},
	{"longer word", `nullx`, "unexpected text after the value at byte 4", false},
	{"leading zero", `01`, "unexpected text after the value at byte 1", false},
	{"plus", `+1`, "expected a value at byte 0", false},
	{"minus alone", `-`, "malformed number at byte 0", false},
	{"no digit after the point", `[1.]`, "malformed number at byte 1", false},
	{"no digit in the exponent", `1e+`, "malformed number at byte 0", false},
	{"not a number", `NaN`, "expected a value at byte 0", false},
	{"string without end", `"abc`, "string without end at byte 4", false},
	{"long string without end", `"` + strings.Repeat("x", 40), "string without end at byte 41", false},
	{"escape without end", `"abc\`, "unknown escape in a string at byte 4", false},
	{"unknown escape", `"\x"`, "unknown escape in a string at byte 1", false},
	{"short unicode escape", `"\u12g4"`, "unknown escape in a string at byte 1", false},
	{"newline in a string", "\"a\nb\"", "control character in a string; write it as an escape at byte 2", false},
	{"NUL in a string", "\"\x00\"", "control character in a string; write it as an escape at byte 1", false},
	{"lone continuation byte", "\"\x80\"", "invalid UTF-8 at byte 1", false},
	{"overlong", "\"\xc0\xaf\"", "invalid UTF-8 at byte 1", false},
	{"overlong of three", "\"\xe0\x80\xaf\"", "invalid UTF-8 at byte 1", false},
	{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "invalid UTF-8 at byte 1", false},
	{"beyond Unicode", "\"\xf4\x90\x80\x80\"", "invalid UTF-8 at byte 1", false},
	{"cut character", "\"\xe2\x82\"", "invalid UTF-8 at byte 1", false},
	{"cut character at the end", "\"é\xc3", "invalid UTF-8 at byte 3", false},
	{"bad UTF-8 in a name", "{\"\xff\":1}", "invalid UTF-8 at byte 2", false},
	{"open array", `[1`, "unexpected end at byte 2", false},
	{"comma at the end of an array", `[1,]`, "expected a value at byte 3", false},
	{"comma alone", `[,]`, "expected a value at byte 1", false},
	{"no comma", `[1 2]`, "expected , or ] at byte 3", false},
	{"wrong bracket", `[1}`, "expected , or ] at byte 2", false},
	{"wrong brace", `{"a":1]`, "expected , or } at byte 6", false},
	{"comma at the end of an object", `{"a":1,}`, "expected a member name at byte 7", false},
	{"no colon", `{"a" 1}`, "expected : at byte 5", false},
	{"no value", `{"a":}`, "expected a value at byte 5", false},
	{"name without quotes", `{a:1}`, "expected a member name at byte 1", false},
	{"comment", `/**/1`, "expected a value at byte 0", false},
	{"no JSON whitespace", "\v1", "expected a value at byte 0", false},
	{"no JSON whitespace after a value", "[1\f]", "expected , or ] at byte 2", false},
	{"nested too deep", nested(MaxDepth + 1), "nesting is too deep at byte 512", false},
	{"objects nested too deep", strings.Repeat(`{"a":`, MaxDepth+1) + "1", "nesting is too deep at byte 2560", false},
	{"two names", `{"a":1,"b":2,"a":3}`, "duplicate member name at byte 13", true},
	{"two long names", `{"a long name":1,"a long name":2}`, "duplicate member name at byte 17", true},
	{"two empty names", `{"":1,"":2}`, "duplicate member name at byte 6", true},
	{"two names, one escaped", `{"id":1,"\u0069d":2}`, "duplicate member name at byte 8", true},
	{"two names, both escaped", `{"\u0069d":1,"\u0069\u0064":2}`, "duplicate member name at byte 13", true},
	{"two names within", `[{"a":{"b":1,"b":2}}]`, "duplicate member name at byte 13", true},
	{"two surrogate names", `{"\ud83d":1,"\uD83D":2}`, "duplicate member name at byte 12", true},
	{"two pairs of surrogates", `{"\ud83d\ude00":1,"😀":2}`, "duplicate member name at byte 18", true},
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckFindsTheFirstFault(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]byte(tt.text))
			if diff := cmp.Diff(tt.check, errText(err)); diff != "" {
				t.Error(diff)
			}
			var syn *SyntaxError
			if err != nil && !errors.As(err, &syn) {
				t.Errorf("error is a %T", err)
			}
		})
	}
}

func TestValidDiffersFromCheckInDuplicateNamesOnly(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.check
			if tt.dup {
				want = ""
			}
			_, err := Valid([]byte(tt.text))
			if diff := cmp.Diff(want, errText(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckFindsADuplicateAmongManyNames(t *testing.T) {
	for _, n := range []int{2, few, few + 1, few + 2, 1000} {
		for _, at := range []int{0, n / 2, n - 1} {
			var b []byte
			for i := range n {
				b = fmt.Appendf(b, `,"name %d":%d`, i, i)
			}
			b[0] = '{'
			if err := Check(append(bytes.Clone(b), '}')); err != nil {
				t.Fatalf("%d names: %v", n, err)
			}
			if err := Check(fmt.Appendf(bytes.Clone(b), `,"\u006eame %d":0}`, at)); err == nil {
				t.Errorf("%d names: number %d may stand twice", n, at)
			}
		}
	}
}

// Names with the same first eight bytes are the worst case of comparisons one
// by one.
func TestCheckTakesTimeInProportionToTheNumberOfNames(t *testing.T) {
	object := func(n int) []byte {
		var b []byte
		for i := range n {
			b = fmt.Appendf(b, `,"same beginning %07d":0`, i)
		}
		b[0] = '{'
		return append(b, '}')
	}
	took := func(text []byte) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			if err := Check(text); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	small, large := took(object(5_000)), took(object(100_000))
	// Twenty times the names: a quadratic search would take 400 times as long.
	if large > 120*small+20*time.Millisecond {
		t.Errorf("5,000 names take %v, 100,000 take %v", small, large)
	}
}

func TestValidSaysWhetherTheTextIsCompact(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a b":[1,"x y",{}],"c":[]}`: true,
		`1`:                           true,
		`"a\n b"`:                     true,
		` 1`:                          false,
		"1\n":                         false,
		`[1, 2]`:                      false,
		`[ ]`:                         false,
		`{ }`:                         false,
		`[1 ]`:                        false,
		`{ "a":1}`:                    false,
		`{"a" :1}`:                    false,
		`{"a": 1}`:                    false,
		`{"a":1 }`:                    false,
		`{"a":1, "b":2}`:              false,
		`{"a":1 ,"b":2}`:              false,
	} {
		got, err := Valid([]byte(text))
		if err != nil || got != want {
			t.Errorf("%q: compact is %v, %v", text, got, err)
		}
	}
}

// At every alignment and length the scan by eight bytes must find what the
// scan by one finds.
func TestStringsEndAtEveryAlignment(t *testing.T) {
	for n := range 40 {
		for at := range n {
			for _, bad := range []string{"\x00", "\x1f", "\x80", "\xff", `"`, "\\", " ", "!", "\x7f", "\u0080", "\uffff"} {
				text := []byte(`"` + strings.Repeat("y", at) + bad + strings.Repeat("z", n-at-1) + `"`)
				want := json.Valid(text) && bytes.Equal(bytes.ToValidUTF8(text, nil), text)
				if _, err := Valid(text); (err == nil) != want {
					t.Errorf("%q: %v", text, err)
				}
				if err := Check(text); (err == nil) != want {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
	}
}

func TestCheckerCanBeUsedAfterALargeText(t *testing.T) {
	var b []byte
	for i := range 20_000 {
		b = fmt.Appendf(b, `,"\u006e%d":[]`, i)
	}
	b[0] = '{'
	for range 3 {
		if err := Check(append(bytes.Clone(b), '}')); err != nil {
			t.Fatal(err)
		}
		if err := Check([]byte(`{"a":1,"a":2}`)); err == nil {
			t.Fatal("a duplicate passed")
		}
	}
}

func TestCompareNumbersIsExact(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"0", "-0.00e99", 0},
		{"1", "1.0", 0},
		{"100", "1e2", 0},
		{"0.001", "1E-3", 0},
		{"0.00120", "12e-4", 0},
		{"9007199254740993", "9007199254740992", 1},
		{"-9007199254740993", "-9007199254740992", -1},
		{"1e400", "1e401", -1},
		{"1e999999999", "1", 1},
		{"1e-999999999999999999999999", "0", 1},
		{"-1e999999999", "0", -1},
		{"0", "1e-400", -1},
		{"0", "-1", 1},
		{"-1", "1", -1},
		{"0.1", "0.10000000000000000000000000000000001", -1},
		{"123.456", "123.4559999", 1},
		{"10", "9", 1},
		{"-10", "-9", -1},
	} {
		if got := CompareNumbers([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%s against %s: %d", tt.a, tt.b, got)
		}
		if got := CompareNumbers([]byte(tt.b), []byte(tt.a)); got != -tt.want {
			t.Errorf("%s against %s: %d", tt.b, tt.a, got)
		}
	}
}

func TestAHugeExponentCostsNoTime(t *testing.T) {
	s := mustCompile(t, `{"type":"integer","maximum":10,"enum":[1,2.5]}`)
	start := time.Now()
	for _, v := range []string{"1e999999999", "-1e-999999999", "1e99999999999999999999", "12345e-999999999"} {
		if rep, err := s.Check([]byte(v)); err != nil || rep.Violation == nil {
			t.Errorf("%s: %v %v", v, rep, err)
		}
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestAppendStringIsReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
			if r.IntN(2) == 0 {
				b[i] &= 0x3f
			}
		}
		raw := AppendString(nil, string(b))
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if w := string([]rune(string(b))); w != want {
			t.Errorf("%q: read back as %q", b, want)
		}
		got, ok := Unquote(raw)
		if !ok || got != want {
			t.Errorf("%q: unquoted as %q", raw, got)
		}
		if UnquotedLen(raw) != len(want) {
			t.Errorf("%q: length %d", raw, UnquotedLen(raw))
		}
	}
}

func TestAppendStringEscapesNoMoreThanJSONAsks(t *testing.T) {
	got := string(AppendString(nil, "<&>\u2028/\x7f\x01\"\\\b\f\xff"))
	if want := "\"<&>\u2028/\x7f\\u0001\\\"\\\\\\b\\f\ufffd\""; got != want {
		t.Errorf("%q", got)
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a\u00e9\n"`: "aé\n", `"\ud83d\ude00"`: "😀", `"\ud83dx"`: "\ufffdx",
		`"\ud83d\ud83d\ude00"`: "\ufffd😀", `"\/\b\f\r\t\"\\"`: "/\b\f\r\t\"\\",
	} {
		if got, ok := Unquote([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %q %v", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `"a`, `"a"b`, `""a"`, `"\x"`, "\"\n\"", "\"\xff\"", `1`, `null`} {
		if got, ok := Unquote([]byte(raw)); ok {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

func TestAppendCompactKeepsStrings(t *testing.T) {
	text := " {\n\t\"a b\\\" \\\\\" : [ 1 , \" x \" ] ,\r\n\"c\":{ } } "
	want := `x{"a b\" \\":[1," x "],"c":{}}`
	if got := string(AppendCompact([]byte("x"), []byte(text))); got != want {
		t.Errorf("%q", got)
	}
	for _, text := range []string{``, `"`, `"\`, `  `, `"abc`, "{\"\xff"} {
		AppendCompact(nil, []byte(text)) // any answer, no panic
	}
}
