package sdk

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Level int    `json:"level" default:"3" clamp:"1,5"`
	Name  string `json:"name"`
}

type embedded struct {
	Shared string `json:"shared,omitempty"`
}

type everything struct {
	embedded
	Text    string            `json:"text"`
	Wait    int64             `json:"wait_ms" default:"15000" clamp:"1000,25000"`
	Big     int64             `json:"big"`
	Huge    uint64            `json:"huge"`
	Small   int8              `json:"small"`
	Ratio   float64           `json:"ratio" clamp:"0,1"`
	On      bool              `json:"on" default:"true"`
	Words   []string          `json:"words" default:"[\"a\",\"b\"]"`
	Nested  inner             `json:"nested,omitzero"`
	List    []inner           `json:"list,omitempty"`
	ByName  map[string]inner  `json:"by_name,omitempty"`
	Maybe   *int              `json:"maybe"`
	MaybeD  *int              `json:"maybe_d" default:"7"`
	Any     any               `json:"any,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Number  json.Number       `json:"number,omitempty"`
	Bytes   []byte            `json:"bytes,omitempty"`
	When    time.Time         `json:"when,omitzero"`
	Free    map[string]any    `json:"free,omitempty"`
	Strings map[string]string `json:"strings,omitempty"`
	hidden  int               //nolint:unused // shows that unexported fields are left alone
}

func ptr[T any](v T) *T { return &v }

// defaults is what an empty object decodes to.
func defaults() everything {
	return everything{
		Wait: 15000, On: true, Words: []string{"a", "b"},
		Nested: inner{Level: 3}, MaybeD: ptr(7),
	}
}

func TestDecode(t *testing.T) {
	with := func(change func(*everything)) everything {
		e := defaults()
		change(&e)
		return e
	}
	for name, tc := range map[string]struct {
		text string
		want everything
	}{
		"empty object has defaults": {`{}`, defaults()},
		"empty text is absent":      {``, defaults()},
		"null is absent":            {`null`, defaults()},
		"null members are absent": {
			`{"wait_ms":null,"on":null,"words":null,"nested":null,"maybe":null,"maybe_d":null,"any":null,"text":null}`,
			defaults(),
		},
		"unknown members are ignored":   {`{"other":{"a":[1,{"b":null}]},"text":"x"}`, with(func(e *everything) { e.Text = "x" })},
		"names match exactly":           {`{"TEXT":"x","Text":"y"}`, defaults()},
		"given values replace defaults": {`{"on":false,"words":["c"],"maybe_d":1}`, with(func(e *everything) { e.On, e.Words, e.MaybeD = false, []string{"c"}, ptr(1) })},
		"an empty list stays empty":     {`{"words":[]}`, with(func(e *everything) { e.Words = []string{} })},
		"below the clamp":               {`{"wait_ms":5}`, with(func(e *everything) { e.Wait = 1000 })},
		"above the clamp":               {`{"wait_ms":1e30,"ratio":7}`, with(func(e *everything) { e.Wait, e.Ratio = 25000, 1 })},
		"far below the clamp":           {`{"wait_ms":-1e30,"ratio":-1e999}`, with(func(e *everything) { e.Wait, e.Ratio = 1000, 0 })},
		"inside the clamp":              {`{"wait_ms":2000,"ratio":0.5}`, with(func(e *everything) { e.Wait, e.Ratio = 2000, 0.5 })},
		"integers beyond 2^53 are exact": {
			`{"big":9007199254740993,"huge":18446744073709551615}`,
			with(func(e *everything) { e.Big, e.Huge = 9007199254740993, 18446744073709551615 }),
		},
		"a whole number is an integer however written": {
			`{"big":-12.0e1,"huge":1.5e1,"small":100e-2}`,
			with(func(e *everything) { e.Big, e.Huge, e.Small = -120, 15, 1 }),
		},
		"minus zero":                 {`{"big":-0,"huge":-0.0,"ratio":-0}`, defaults()},
		"numbers in any stay exact":  {`{"any":[9007199254740993]}`, with(func(e *everything) { e.Any = []any{json.Number("9007199254740993")} })},
		"numbers in maps stay exact": {`{"free":{"n":1e400}}`, with(func(e *everything) { e.Free = map[string]any{"n": json.Number("1e400")} })},
		"json.Number":                {`{"number":12345678901234567890.5}`, with(func(e *everything) { e.Number = "12345678901234567890.5" })},
		"raw is kept as it came":     {`{"raw":{"a": 1.0}}`, with(func(e *everything) { e.Raw = json.RawMessage(`{"a": 1.0}`) })},
		"bytes are base64":           {`{"bytes":"aGk="}`, with(func(e *everything) { e.Bytes = []byte("hi") })},
		"types that read themselves": {`{"when":"2001-02-03T04:05:06Z"}`, with(func(e *everything) { e.When = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) })},
		"embedded fields":            {`{"shared":"s"}`, with(func(e *everything) { e.Shared = "s" })},
		"defaults and clamps hold in nested objects": {
			`{"nested":{"name":"n"},"list":[{},{"level":9},{"level":null}],"by_name":{"x":{"level":-1}}}`,
			with(func(e *everything) {
				e.Nested.Name = "n"
				e.List = []inner{{Level: 3}, {Level: 5}, {Level: 3}}
				e.ByName = map[string]inner{"x": {Level: 1}}
			}),
		},
		"unpaired surrogates become U+FFFD": {`{"text":"\ud83d"}`, with(func(e *everything) { e.Text = "\uFFFD" })},
		"escapes in names":                  {`{"te\u0078t":"x"}`, with(func(e *everything) { e.Text = "x" })},
		"whitespace around":                 {" \r\n{ \"text\" :\t\"x\" } \r\n", with(func(e *everything) { e.Text = "x" })},
	} {
		t.Run(name, func(t *testing.T) {
			var got everything
			if err := decodeInto([]byte(tc.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(everything{}, embedded{})); diff != "" {
				t.Error("wrong value (-want +got):\n" + diff)
			}
		})
	}
}

func TestDecodeErrorsSayWhereAndNeverQuoteTheValue(t *testing.T) {
	const secret = "s3cret"
	for text, want := range map[string]string{
		`{"text":17}`:                      "invalid_param_type: /text: expected string",
		`{"wait_ms":"s3cret"}`:             "invalid_param_type: /wait_ms: expected integer",
		`{"wait_ms":1500.5}`:               "invalid_param_type: /wait_ms: expected integer",
		`{"big":1e-1}`:                     "invalid_param_type: /big: expected integer",
		`{"big":1e-999999999999999999999}`: "invalid_param_type: /big: expected integer",
		`{"big":1e999999999999999999999}`:  "invalid_params: /big: number out of range",
		`{"big":9223372036854775808}`:      "invalid_params: /big: number out of range",
		`{"small":128}`:                    "invalid_params: /small: number out of range",
		`{"huge":-1}`:                      "invalid_params: /huge: number out of range",
		`{"on":"s3cret"}`:                  "invalid_param_type: /on: expected boolean",
		`{"words":["a",1]}`:                "invalid_param_type: /words/1: expected string",
		`{"words":["a",null]}`:             "invalid_param_type: /words/1: expected string",
		`{"words":{"a":1}}`:                "invalid_param_type: /words: expected array",
		`{"nested":["s3cret"]}`:            "invalid_param_type: /nested: expected object",
		`{"by_name":{"a/b~c":{"name":1}}}`: "invalid_param_type: /by_name/a~1b~0c/name: expected string",
		`{"when":"s3cret"}`:                "invalid_params: /when: not a valid time",
		`{"bytes":"s3cret!"}`:              "invalid_params: /bytes: not a valid ",
		`["s3cret"]`:                       "invalid_param_type: expected object",
		`{"text":"s3cret`:                  "invalid_params: malformed JSON",
		`{"text":"a"} {}`:                  "invalid_params: more than one JSON value",
		`{"text" "s3cret"}`:                "invalid_params: malformed JSON",
	} {
		t.Run(text, func(t *testing.T) {
			var got everything
			err := decodeInto([]byte(text), &got)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v is no *Error", err)
			}
			if !strings.HasPrefix(e.Error(), want) {
				t.Errorf("error %q, want %q", e, want)
			}
			if strings.Contains(e.Error(), secret) {
				t.Errorf("error %q quotes the value", e)
			}
		})
	}
}

func TestDefaultsAreNotSharedBetweenCalls(t *testing.T) {
	var first, second everything
	for _, e := range []*everything{&first, &second} {
		if err := decodeInto([]byte(`{}`), e); err != nil {
			t.Fatal(err)
		}
	}
	first.Words[0] = "changed"
	*first.MaybeD = 1
	if second.Words[0] != "a" || *second.MaybeD != 7 {
		t.Error("a default of one call changed another's")
	}
}

func TestRecursiveTypesDecode(t *testing.T) {
	type tree struct {
		Name string `json:"name"`
		Kids []tree `json:"kids"`
	}
	type list struct {
		V    int   `json:"v" default:"1"`
		Next *list `json:"next"`
	}
	var tr tree
	if err := decodeInto([]byte(`{"name":"a","kids":[{"name":"b","kids":[]}]}`), &tr); err != nil {
		t.Fatal(err)
	}
	if tr.Kids[0].Name != "b" {
		t.Errorf("tree is %+v", tr)
	}
	var l list
	if err := decodeInto([]byte(`{"next":{"next":{"v":5}}}`), &l); err != nil {
		t.Fatal(err)
	}
	if l.V != 1 || l.Next.V != 1 || l.Next.Next.V != 5 || l.Next.Next.Next != nil {
		t.Errorf("list is %+v", l)
	}
}

func TestUnusableTypesAreRefused(t *testing.T) {
	type channel struct {
		C chan int `json:"c"`
	}
	type quoted struct {
		N int `json:"n,string"`
	}
	type badDefault struct {
		N int `json:"n" default:"x"`
	}
	type badClamp struct {
		N int `json:"n" clamp:"5,1"`
	}
	type fractionClamp struct {
		N int `json:"n" clamp:"0.5,1"`
	}
	type structDefault struct {
		S inner `json:"s" default:"{}"`
	}
	for _, v := range []any{channel{}, quoted{}, badDefault{}, badClamp{}, fractionClamp{}, structDefault{}} {
		if _, err := planFor(reflect.TypeOf(v)); err == nil {
			t.Errorf("%T has a plan", v)
		}
	}
}

// FuzzDecode compares with encoding/json where the rules are the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"text":"a","big":12,"list":[{"level":1}]}`, `{"any":[1,{"a":null}]}`, `{"ratio":1e999}`,
		`{"big":1e999999999}`, `{"words":[`, `null`, `{"maybe":1.0}`, `{"nested":{"level":1e2}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got everything
		err := decodeInto([]byte(text), &got)
		if err == nil && strings.TrimSpace(text) != "" && !json.Valid([]byte(text)) {
			t.Errorf("malformed text %q was taken", text)
		}
		if err == nil && (got.Wait < 1000 || got.Wait > 25000 || got.Ratio < 0 || got.Ratio > 1) {
			t.Errorf("clamp does not hold: %d %v", got.Wait, got.Ratio)
		}
	})
}
