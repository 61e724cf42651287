package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile([]byte(schema), nil)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

// say puts a report on one line: "type" or "rule", pointer, message.
func say(rep Report) string {
	if rep.Violation == nil {
		return ""
	}
	kind := "rule "
	if rep.Violation.Type {
		kind = "type "
	}
	return kind + rep.Violation.Error()
}

func TestSchemaCheckReportsTheFirstViolation(t *testing.T) {
	const object = `{"type":"object","required":["url"],"properties":{"url":{"type":"string"},"n":{"type":"integer"},
		"deep":{"type":"object","properties":{"list":{"type":"array","items":{"type":"boolean"}}}}}}`
	for _, tt := range []struct{ schema, value, want string }{
		{`true`, `{"a":1}`, ""},
		{`{}`, `null`, ""},
		{`false`, `1`, "rule expected no value"},
		{`{"type":"integer"}`, `1`, ""},
		{`{"type":"integer"}`, `1.0`, ""},
		{`{"type":"integer"}`, `1.5e1`, ""},
		{`{"type":"integer"}`, `100000000000000000000000`, ""},
		{`{"type":"integer"}`, `1.5`, "type expected integer"},
		{`{"type":"integer"}`, `"secret"`, "type expected integer"},
		{`{"type":"number"}`, `true`, "type expected number"},
		{`{"type":["string","null"]}`, `null`, ""},
		{`{"type":["null","string"]}`, `{"a":{}}`, "type expected string or null"},
		{`{"type":["integer","string","object"]}`, `[]`, "type expected string, integer or object"},
		{`{"type":"number","minimum":1}`, `0.999999999999999999999`, "rule expected at least 1"},
		{`{"minimum":9007199254740993}`, `9007199254740992`, "rule expected at least 9007199254740993"},
		{`{"minimum":9007199254740993}`, `9007199254740993`, ""},
		{`{"maximum":3}`, `3.0`, ""},
		{`{"maximum":3}`, `31e-1`, "rule expected at most 3"},
		{`{"exclusiveMinimum":0}`, `0`, "rule expected more than 0"},
		{`{"exclusiveMaximum":0}`, `-0.0`, "rule expected less than 0"},
		{`{"minimum":1}`, `"a"`, ""},
		{`{"minLength":2}`, `"é"`, "rule expected at least 2 characters"},
		{`{"minLength":2}`, `"éé"`, ""},
		{`{"maxLength":1}`, `"\ud83d\ude00"`, ""},
		{`{"maxLength":1}`, `"\ud83d\ud83d"`, "rule expected at most 1 character"},
		{`{"maxLength":0}`, `""`, ""},
		{`{"minLength":3e0}`, `"ab"`, "rule expected at least 3 characters"},
		{`{"maxLength":1e30}`, `"ab"`, ""},
		{`{"minLength":1e30}`, `"ab"`, "rule expected at least 2147483647 characters"},
		{`{"pattern":"^a+$"}`, `"a\u0061"`, ""},
		{`{"pattern":"^a+$"}`, `"secret"`, "rule expected a match of the pattern ^a+$"},
		{`{"enum":["a","b"]}`, `"b"`, ""},
		{`{"enum":["a","b"]}`, `"\u0062"`, ""},
		{`{"enum":["a","b"]}`, `"secret"`, `rule expected one of "a", "b"`},
		{`{"enum":[1,null,"x"]}`, `1.0`, ""},
		{`{"enum":[1,null,"x"]}`, `null`, ""},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, "rule expected 9007199254740993"},
		{`{"enum":[{"a":[1,{}]}]}`, ` { "\u0061" : [ 1e0 , { } ] } `, ""},
		{`{"enum":[{"a":1,"b":true}]}`, `{"b":true,"a":1}`, ""},
		{`{"enum":[{"a":1,"b":true}]}`, `{"b":true}`, `rule expected {"a":1,"b":true}`},
		{`{"enum":[{"a":1}]}`, `{"a":1,"b":2}`, `rule expected {"a":1}`},
		{`{"enum":[[1,2]]}`, `[1]`, "rule expected [1,2]"},
		{`{"enum":[[1,2]]}`, `[1,2,3]`, "rule expected [1,2]"},
		{`{"enum":[[],[1]]}`, `[1]`, ""},
		{`{"enum":[]}`, `1`, "rule expected no value"},
		{`{"const":false}`, `true`, "rule expected false"},
		{`{"const":"a","enum":["a","b"]}`, `"b"`, `rule expected "a"`},
		{`{"type":"array","minItems":1}`, `[]`, "rule expected at least 1 element"},
		{`{"maxItems":1}`, `[1,2]`, "rule expected at most 1 element"},
		{`{"minProperties":2}`, `{"a":1}`, "rule expected at least 2 members"},
		{`{"maxProperties":1}`, `{"a":1,"b":1}`, "rule expected at most 1 member"},
		{`{"maxProperties":1,"properties":{"a":{}}}`, `{"a":null,"b":1}`, ""},
		{object, `{"url":"x","n":7}`, ""},
		{object, `{"n":7}`, `rule missing required "url"`},
		{object, `{"url":null}`, "type /url: expected string"},
		{object, `{"url":"x","n":null}`, ""},
		{object, `{"url":"x","n":"7","deep":1}`, "type /n: expected integer"},
		{object, `{"url":"x","deep":{"list":[true,false,1]}}`, "type /deep/list/2: expected boolean"},
		{object, `{"url":"x","deep":{"list":null}}`, ""},
		{object, `[]`, "type expected object"},
		{object, `null`, "type expected object"},
		{object, `[{"url":[[{}]]}]`, "type expected object"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"aa":2}`, `rule unknown parameter "aa"`},
		{`{"properties":{"tab_id":{}},"additionalProperties":false}`, `{"tabId":2}`, `rule unknown parameter "tabId"; nearest: "tab_id"`},
		{`{"properties":{"tab_id":{}},"additionalProperties":false}`, `{"x":null}`, `rule unknown parameter "x"`},
		{`{"properties":{"a":{"additionalProperties":false}}}`, `{"a":{"b":1}}`, `rule /a: unknown parameter "b"`},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":"x","b":1}`, "type /b: expected string"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a/b~c":1}`, "type /a~1b~0c: expected string"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":null}`, "type /a: expected string"},
		{`{"required":["a"],"additionalProperties":false}`, `{"a":1}`, `rule unknown parameter "a"`},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `1`, ""},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `[]`, "type expected string or integer"},
		{`{"anyOf":[{"type":"string"},{"type":"integer","minimum":1}]}`, `0`, "rule expected at least 1"},
		{`{"anyOf":[{"minimum":3},{"maximum":1}]}`, `2`, "rule matches none of the allowed forms"},
		{`{"anyOf":[true,{"type":"integer"}]}`, `"a"`, ""},
		{`{"anyOf":[false]}`, `"a"`, "rule matches none of the allowed forms"},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1.5`, ""},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, "rule matches more than one of the allowed forms"},
		{`{"properties":{"p":{"anyOf":[{"type":"null"},{"properties":{"k":{"type":"string"}},"required":["k"]}]}}}`,
			`{"p":{"k":1}}`, "type /p/k: expected string"},
		{`{"anyOf":[{"anyOf":[{"type":"string"},{"type":"null"}]},{"type":"array","items":{"type":"integer"}}]}`,
			`[1,"x"]`, "type /1: expected integer"},
		{`{"properties":{"ref":{"type":"string"},"sel":{"type":"string"}},"anyOf":[{"required":["ref"]},{"required":["sel"]}]}`,
			`{"ref":null,"sel":null}`, "rule matches none of the allowed forms"},
		{`{"properties":{"ref":{"type":"string"},"sel":{"type":"string"}},"anyOf":[{"required":["ref"]},{"required":["sel"]}]}`,
			`{"ref":null,"sel":"a"}`, ""},
		{`{"anyOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{"type":"integer"}},"additionalProperties":false}]}`,
			`{"b":1}`, ""},
		{`{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"items":{"type":"null"}}}]}`,
			`[[null,null],[null,1]]`, "rule matches none of the allowed forms"},
		{`{"enum":[[1],{"a":1}]}`, `{"a":[1]}`, `rule expected one of [1], {"a":1}`},
		{`{"enum":[true,[[2]]]}`, `[[false]]`, "rule expected one of true, [[2]]"},
		{`{"enum":[{"a":{"b":1}}]}`, `{"a":[1]}`, `rule expected {"a":{"b":1}}`},
		{`{"additionalProperties":{"additionalProperties":{"type":"null"}}}`, `{"a\u0007":{"~":1}}`, `type /a\a/~0: expected null`},
		{`{"title":"t","description":"d","default":1,"examples":[],"$schema":"s","$id":"i","$comment":"c",
			"deprecated":true,"format":"uri","x-vant-clamp":[0,1]}`, `7`, ""},
	} {
		s := mustCompile(t, tt.schema)
		rep, err := s.Check([]byte(tt.value))
		if err != nil {
			t.Errorf("%s\n%s: %v", tt.schema, tt.value, err)
		}
		if got := say(rep); got != tt.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", tt.schema, tt.value, got, tt.want)
		}
	}
}

func TestSchemaCheckFindsSyntaxFaultsBehindAViolation(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"anyOf":[{"type":"array"},{"type":"null"}]}}}`)
	for _, text := range []string{
		`{"a":"x","b":}`, `{"a":"x"} x`, `["x",{"a":1,"a":2}]`, `{"a":{"c":1,"c":2}}`, `{"b":{"c":1,"c":2}}`,
		`{"b":[{"c":1,"c":2}]}`, "\"\xff\"", `{"a":nul}`,
	} {
		_, err := s.Check([]byte(text))
		var syn *SyntaxError
		if !errors.As(err, &syn) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSchemaCheckWarnsOfUnknownNames(t *testing.T) {
	const plain = `{"type":"object","properties":{"timeout_ms":{"type":"integer"},"uri":{},
		"options":{"properties":{"depth":{}}},"list":{"items":{"properties":{"a":{}}}},"free":{"type":"object"}}}`
	for _, tt := range []struct {
		schema, value string
		want          []string
	}{
		{plain, `{"timeout_ms":1,"free":{"x":1}}`, nil},
		{plain, `{"timeout":5}`, []string{`unknown parameter "timeout" ignored; nearest: "timeout_ms"`}},
		{plain, `{"URI":5,"zzzzzz":null}`, []string{
			`unknown parameter "URI" ignored; nearest: "uri"`, `unknown parameter "zzzzzz" ignored`}},
		{plain, `{"options":{"dpeth":1}}`, []string{`unknown parameter "/options/dpeth" ignored; nearest: "depth"`}},
		{plain, `{"list":[{"a":1},{"a/b":2}]}`, []string{`unknown parameter "/list/1/a/b" ignored`}},
		{plain, `{"a\u0000\n\u001b[31m\"\u202e":1}`, []string{`unknown parameter "a\x00\n\x1b[31m\"\u202e" ignored`}},
		{`{"properties":{"a":{}},"additionalProperties":true}`, `{"b":1}`, nil},
		{`{"properties":{"a":{}},"additionalProperties":{}}`, `{"b":1}`, nil},
		{`{"properties":{"a":{}},"required":["b"]}`, `{"b":1}`, nil},
		{`{"properties":{"a":{}},"anyOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"c":{}}}]}`,
			`{"a":1,"b":"x","c":2,"d":3}`, []string{`unknown parameter "d" ignored`}},
		{`{"anyOf":[{"properties":{"kind":{"const":"x"},"foo":{}}},{"properties":{"kind":{"const":"y"},"bar":{}}}]}`,
			`{"kind":"y","baz":1}`, []string{`unknown parameter "baz" ignored; nearest: "bar"`}},
		{`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `{"b":1}`, nil},
		{`{"anyOf":[{"type":"null"},{"anyOf":[{"type":"string"},{"properties":{"size":{}}}]}]}`, `{"Size":1}`,
			[]string{`unknown parameter "Size" ignored; nearest: "size"`}},
		{`{"items":{"properties":{"a":{}}}}`, "[" + strings.Repeat(`{"b":1},`, 20) + "1]", func() (w []string) {
			for i := range MaxWarnings {
				w = append(w, fmt.Sprintf(`unknown parameter "/%d/b" ignored`, i))
			}
			return w
		}()},
	} {
		rep, err := mustCompile(t, tt.schema).Check([]byte(tt.value))
		if err != nil || rep.Violation != nil {
			t.Errorf("%s: %v %v", tt.value, rep.Violation, err)
		}
		if diff := cmp.Diff(tt.want, rep.Warnings); diff != "" {
			t.Errorf("%s\n%s\n%s", tt.schema, tt.value, diff)
		}
	}
}

func TestMessagesBoundWhatTheyShow(t *testing.T) {
	long := strings.Repeat("é", 5000)
	s := mustCompile(t, `{"properties":{"a":{}},"additionalProperties":{"additionalProperties":{"type":"null"}}}`)
	rep, err := s.Check([]byte(`{"` + long + `":{"` + long + `":1}}`))
	if err != nil || rep.Violation == nil || len(rep.Violation.Pointer) > 2*maxPointer {
		t.Errorf("%v %v", rep, err)
	}
	rep, _ = mustCompile(t, `{"properties":{"a":{}}}`).Check([]byte(`{"` + long + `":1}`))
	if len(rep.Warnings) != 1 || len(rep.Warnings[0]) > 200 {
		t.Errorf("%v", rep.Warnings)
	}
	rep, _ = mustCompile(t, `{"pattern":"^`+long+`$","enum":["`+long+`"]}`).Check([]byte(`"x"`))
	if len(rep.Violation.Message) > 200 {
		t.Errorf("%v", rep.Violation)
	}
}

func TestNoMessageHoldsAValue(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, schema := range []string{
		`{"type":"integer"}`, `{"enum":["a"]}`, `{"const":1}`, `{"pattern":"^x"}`, `{"maxLength":1}`, `{"minLength":99}`,
		`{"anyOf":[{"pattern":"^x"},{"enum":[1]}]}`, `{"oneOf":[{"type":"string"},{"minLength":1}]}`, `false`,
		`{"anyOf":[{"type":"object"}]}`,
	} {
		for _, form := range []string{`%s`, `{"k":%s}`, `[%s]`} {
			schema := schema
			switch form {
			case `{"k":%s}`:
				schema = `{"properties":{"k":` + schema + `}}`
			case `[%s]`:
				schema = `{"items":` + schema + `}`
			}
			rep, err := mustCompile(t, schema).Check(fmt.Appendf(nil, form, `"`+secret+`"`))
			if err != nil || rep.Violation == nil {
				t.Fatalf("%s: %v %v", schema, rep, err)
			}
			if strings.Contains(rep.Violation.Error(), secret) {
				t.Errorf("%s: %v", schema, rep.Violation)
			}
		}
	}
}

// manyParts are the properties of a schema that has more parts than allowed.
func manyParts() string {
	parts := make([]string, maxNodes)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"%d":{}`, i)
	}
	return strings.Join(parts, ",")
}

func TestCompileRefuses(t *testing.T) {
	deep := strings.Repeat(`{"items":`, maxSchemaDepth) + "{}" + strings.Repeat("}", maxSchemaDepth)
	for _, tt := range []struct{ schema, want string }{
		{``, "the schema is not JSON: unexpected end at byte 0"},
		{`{"type":"string","type":"null"}`, "the schema is not JSON: duplicate member name at byte 17"},
		{strings.Repeat(" ", MaxSchemaBytes) + "{}", "the schema is longer than 262144 bytes"},
		{`1`, "schema: a schema must be an object or a boolean"},
		{`{"properties":{"a/b":7}}`, "schema at /properties/a~1b: a schema must be an object or a boolean"},
		{`{"type":"strng"}`, `schema: type "strng" is none of JSON Schema's`},
		{`{"type":[]}`, "schema: type must not be empty"},
		{`{"type":[1]}`, "schema: type must be a string or a list of strings"},
		{`{"properties":[]}`, "schema: properties must be an object"},
		{`{"required":"a"}`, "schema: required must be a list of strings"},
		{`{"required":[1]}`, "schema: required must be a list of strings"},
		{`{"items":[{}]}`, "schema at /items: a schema must be an object or a boolean"},
		{`{"enum":1}`, "schema: enum must be a list"},
		{`{"pattern":1}`, "schema: pattern must be a string"},
		{`{"pattern":"(?=a)"}`, "schema: pattern is not RE2 syntax: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{"minLength":-1}`, "schema: minLength must be an integer that is not negative"},
		{`{"maxItems":1.5}`, "schema: maxItems must be an integer that is not negative"},
		{`{"minimum":"1"}`, "schema: minimum must be a number"},
		{`{"maximum":1e99999999999}`, "schema: maximum: the number's exponent is too large"},
		{`{"enum":[1e99999999999]}`, "schema: the number's exponent is too large"},
		{`{"anyOf":[]}`, "schema: anyOf must be a list of schemas that is not empty"},
		{`{"oneOf":{}}`, "schema: oneOf must be a list of schemas that is not empty"},
		{`{"$ref":"#"}`, `schema: keyword "$ref" is not supported`},
		{`{"items":{"allOf":[]}}`, `schema at /items: keyword "allOf" is not supported`},
		{deep, "schema at " + strings.Repeat("/items", 42) + "/ite…: schemas are nested too deep"},
		{`{"enum":[` + strings.Repeat("[", 3) + "1e99999999999" + strings.Repeat("]", 3) + `]}`, "schema: the number's exponent is too large"},
		{`{"const":{"a":1e99999999999}}`, "schema: the number's exponent is too large"},
		{`{"properties":{` + manyParts() + `}}`, "the schema has more than 16384 parts"},
		{`{"additionalProperties":7}`, "schema at /additionalProperties: a schema must be an object or a boolean"},
		{`{"oneOf":[7]}`, "schema at /oneOf: a schema must be an object or a boolean"},
		{`{"anyOf":[` + strings.Repeat("{},", maxAlternatives) + `{}]}`, "schema: the schema has more than 512 alternatives"},
	} {
		_, err := Compile([]byte(tt.schema), nil)
		if got := errText(err); got != tt.want {
			t.Errorf("%.80s\ngot  %s\nwant %s", tt.schema, got, tt.want)
		}
	}
}

func TestOtherKeywordsGoToTheFullValidator(t *testing.T) {
	var given string
	full := func(schema []byte) (func([]byte) *Violation, error) {
		given = string(schema)
		return func(value []byte) *Violation {
			if string(value) == "[1]" {
				return nil
			}
			return &Violation{Message: "refused"}
		}, nil
	}
	const schema = `{"properties":{"a":{"not":{}}}}`
	s, err := Compile([]byte(schema), full)
	if err != nil || given != schema {
		t.Fatalf("%v, given %s", err, given)
	}
	for value, want := range map[string]string{"[1]": "", "[2]": "rule refused"} {
		if rep, err := s.Check([]byte(value)); err != nil || say(rep) != want {
			t.Errorf("%s: %v %v", value, say(rep), err)
		}
	}
	if _, err := s.Check([]byte(`[1,{"a":1,"a":1}]`)); err == nil {
		t.Error("a duplicate passed")
	}
	if _, err := Compile([]byte(`{"type":"string"}`), func([]byte) (func([]byte) *Violation, error) {
		return nil, errors.New("must not be asked")
	}); err != nil {
		t.Error(err)
	}
	if _, err := Compile([]byte(schema), func([]byte) (func([]byte) *Violation, error) {
		return nil, errors.New("cannot")
	}); errText(err) != "cannot" {
		t.Error(err)
	}
}

func TestManyPropertiesAndRequiredNames(t *testing.T) {
	const n = 200
	var props, required, value []string
	for i := range n {
		name := fmt.Sprintf("property_%d", i)
		props = append(props, `"`+name+`":{"type":"integer"}`)
		required = append(required, `"`+name+`"`)
		value = append(value, `"`+name+`":1`)
	}
	s := mustCompile(t, `{"properties":{`+strings.Join(props, ",")+`},"required":[`+strings.Join(required, ",")+`]}`)
	rep, err := s.Check([]byte("{" + strings.Join(value, ",") + "}"))
	if err != nil || rep.Violation != nil || rep.Warnings != nil {
		t.Error(rep, err)
	}
	for i := range n {
		less := append(append([]string{}, value[:i]...), value[i+1:]...)
		rep, _ := s.Check([]byte("{" + strings.Join(less, ",") + "}"))
		if want := fmt.Sprintf(`rule missing required "property_%d"`, i); say(rep) != want {
			t.Errorf("got %s", say(rep))
		}
	}
}

func TestScanObjectReportsMembersInOrder(t *testing.T) {
	schema := mustCompile(t, `{"type":"object","properties":{"a":{"type":"integer"}}}`)
	text := ` { "x\u0079" : [1, 2] ,"params":{"a":"s","b":1}, "n":-1.5 , "s":"t","t":true,"z":null } `
	var got []string
	err := ScanObject([]byte(text), func(name []byte) *Schema {
		if string(name) == "params" {
			return schema
		}
		return nil
	}, func(m Member) error {
		got = append(got, fmt.Sprintf("%s=%s %v %s %v", m.Name, m.Value, m.Kind, say(m.Report), m.Report.Warnings))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"xy=[1, 2] array  []",
		`params={"a":"s","b":1} object type /a: expected integer [unknown parameter "b" ignored]`,
		"n=-1.5 number  []", `s="t" string  []`, "t=true boolean  []", "z=null null  []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanObjectGivesTheMembersBeforeAFault(t *testing.T) {
	for _, tt := range []struct{ text, names, err string }{
		{`{}`, "", ""},
		{` { } `, "", ""},
		{``, "", "unexpected end at byte 0"},
		{`[1]`, "", "expected an object at byte 0"},
		{`[1`, "", "unexpected end at byte 2"},
		{`"x" y`, "", "unexpected text after the value at byte 4"},
		{`{"a":1,"b":2`, "ab", "unexpected end at byte 12"},
		{`{"a":1,"b":2,}`, "ab", "expected a member name at byte 13"},
		{`{"a":1,"b":[}`, "a", "expected a value at byte 12"},
		{`{"a":1,"a":2}`, "a", "duplicate member name at byte 7"},
		{`{"a":1,"b":{"c":0,"c":0}}`, "a", "duplicate member name at byte 18"},
		{`{"a":1} {}`, "a", "unexpected text after the value at byte 8"},
		{`{"a":1 "b":2}`, "a", "expected , or } at byte 7"},
		{`{"a":` + nested(MaxDepth-1) + `}`, "a", ""},
		{`{"a":` + nested(MaxDepth) + `}`, "", "nesting is too deep at byte 516"},
	} {
		names := ""
		err := ScanObject([]byte(tt.text), nil, func(m Member) error {
			names += string(m.Name)
			return nil
		})
		if names != tt.names || errText(err) != tt.err {
			t.Errorf("%.40s: %q, %v", tt.text, names, err)
		}
	}
}

func TestScanObjectStopsWhenTheCallbackSaysSo(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	err := ScanObject([]byte(`{"a":1,"b":2,]`), nil, func(Member) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d members, %v", n, err)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"tab_id", "timeout_ms", "uri", "wait_ms", "selector", "x"}
	for s, want := range map[string]string{
		"tabId": "tab_id", "TAB-ID": "tab_id", "timeout": "timeout_ms", "timeot_ms": "timeout_ms", "url": "uri",
		"wait": "wait_ms", "slector": "selector", "seelctor": "selector", "y": "", "": "", "colour": "", "ms": "",
		strings.Repeat("u", 500): "", "X": "x",
	} {
		if got := Nearest(s, known); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}

func TestDistance(t *testing.T) {
	long := strings.Repeat("a", maxCompared)
	for _, tt := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 0, 0},
		{"", "abc", 3, 3},
		{"abc", "abc", 0, 0},
		{"abc", "abd", 1, 1},
		{"abc", "bac", 1, 1},
		{"abc", "acb", 1, 1},
		{"abc", "bca", 2, 2},
		{"kitten", "sitting", 5, 3},
		{"tabs", "tab", 1, 1},
		{"é", "e", 2, 2},
		{long, long, 0, 0},
		{long, "b" + long[1:], 1, 1},
	} {
		for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := Distance(pair[0], pair[1], tt.limit); got != tt.want {
				t.Errorf("%.40q to %.40q: %d, want %d", pair[0], pair[1], got, tt.want)
			}
			if got := Distance(pair[0], pair[1], tt.want-1); got < tt.want {
				t.Errorf("%.40q to %.40q beyond the limit: %d, want %d or more", pair[0], pair[1], got, tt.want)
			}
		}
	}
	if got := Distance(long+"a", long+"a", 5); got <= 5 {
		t.Errorf("names that are too long to compare: %d", got)
	}
}

func TestPointerIsSafeToShow(t *testing.T) {
	for _, tt := range []struct {
		steps []string
		want  string
	}{
		{nil, ""},
		{[]string{"a", "0", "b/c~d"}, "/a/0/b~1c~0d"},
		{[]string{"\x1b[31m", "\xff"}, `/\x1b[31m/` + "\ufffd"},
		{[]string{strings.Repeat("x", 300)}, "/" + strings.Repeat("x", maxShown) + "…"},
	} {
		if got := Pointer(tt.steps...); got != tt.want {
			t.Errorf("%q: %s", tt.steps, got)
		}
	}
	for _, steps := range [][]string{nil, {""}, {"a"}, {"a", "0", "b/c~d"}, {"~1", "~0~", "", "/"}} {
		if diff := cmp.Diff(steps, PointerSteps(Pointer(steps...))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", steps, diff)
		}
	}
	if got := Pointer(strings.Split(strings.Repeat("step ", 500), " ")...); len(got) > maxPointer+2*maxShown {
		t.Errorf("%d bytes", len(got))
	}
}
