package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type schemaParams struct {
	URI    string          `json:"uri" doc:"The address." pattern:"^https?://" min:"1" max:"2000"`
	Kind   string          `json:"kind" enum:"text,html" default:"text"`
	Wait   int             `json:"wait_ms" clamp:"0,25000" default:"0"`
	TabID  *int            `json:"tab_id" min:"1"`
	Level  int8            `json:"level,omitempty" clamp:"1,5"`
	Mode   int             `json:"mode,omitzero" enum:"1,2"`
	Tags   []string        `json:"tags,omitempty" max:"3"`
	Extra  json.RawMessage `json:"extra,omitempty"`
	AnyPtr *any            `json:"any_ptr"`
	Sub    struct {
		A int `json:"a"`
	} `json:"sub"`
}

const wantParams = `{"type":"object","properties":{
 "uri":{"type":"string","description":"The address.","minLength":1,"maxLength":2000,"pattern":"^https?://"},
 "kind":{"type":"string","default":"text","enum":["text","html"]},
 "wait_ms":{"type":"integer","default":0,"x-vant-clamp":[0,25000]},
 "tab_id":{"type":"integer","minimum":1},
 "level":{"type":"integer","x-vant-clamp":[1,5]},
 "mode":{"type":"integer","enum":[1,2]},
 "tags":{"type":"array","items":{"type":"string"},"maxItems":3},
 "extra":true,
 "any_ptr":true,
 "sub":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}
},"required":["uri","sub"]}`

func TestParamsSchemaFollowsTypesAndTags(t *testing.T) {
	got, err := inferParams(reflect.TypeFor[schemaParams](), false)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, wantParams, got)
}

func TestClosedSchemaRefusesUnknownNames(t *testing.T) {
	type p struct {
		Sub struct {
			A int `json:"a"`
		} `json:"sub"`
	}
	got, err := inferParams(reflect.TypeFor[p](), true)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"type":"object","properties":{"sub":{"type":"object","properties":{"a":{"type":"integer"}},
		"required":["a"],"additionalProperties":false}},"required":["sub"],"additionalProperties":false}`, got)
}

func TestResultSchemaAllowsNullOnlyForPointers(t *testing.T) {
	type item struct {
		Name string  `json:"name"`
		Note *string `json:"note"`
	}
	got, err := inferResult(reflect.TypeFor[[]item]())
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"type":"array","items":{"type":"object","properties":{
		"name":{"type":"string"},"note":{"type":["string","null"]}},"required":["name","note"]}}`, got)
}

func TestSchemasOfPlainTypes(t *testing.T) {
	for _, tc := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[bool](), `{"type":"boolean"}`},
		{reflect.TypeFor[struct{}](), `{"type":"object"}`},
		{reflect.TypeFor[map[string]int](), `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{reflect.TypeFor[any](), ``},
		{reflect.TypeFor[json.RawMessage](), ``},
	} {
		got, err := inferResult(tc.typ)
		if err != nil {
			t.Fatal(err)
		}
		if tc.want == "" {
			if len(got) != 0 {
				t.Errorf("%v: schema %s, want none", tc.typ, got)
			}
			continue
		}
		sameJSON(t, tc.want, got)
	}
}

func TestParamsMustBeAnObject(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[[]int](), reflect.TypeFor[map[int]int]()} {
		if _, err := inferParams(typ, false); err == nil {
			t.Errorf("%v was taken as parameters", typ)
		}
	}
}

func TestEncodeRules(t *testing.T) {
	type result struct {
		List []string       `json:"list"`
		Map  map[string]int `json:"map"`
		N    json.Number    `json:"n"`
		Text string         `json:"text"`
		Raw  json.RawMessage
		Any  any `json:"any"`
	}
	got, err := encode(result{N: "9007199254740993", Text: "<a>&\u2028", Raw: json.RawMessage(`{ "a":1}`), Any: []int(nil)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"list":[],"map":{},"n":9007199254740993,"text":"<a>&` + "\u2028" + `","Raw":{"a":1},"any":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := encode("bad \xff utf-8"); err != nil || string(got) != "\"bad \uFFFD utf-8\"" {
		t.Errorf("invalid UTF-8: %s, %v", got, err)
	}
	if _, err := encode(json.RawMessage(`{"a"`)); err == nil {
		t.Error("malformed raw JSON was taken")
	}
	if _, err := encode(make(chan int)); err == nil {
		t.Error("a channel was taken")
	}
}

func sameJSON(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(got))
	if err := d.Decode(&b); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("wrong JSON (-want +got):\n%s", diff)
	}
}
