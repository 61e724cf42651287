package method

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// good is a description to which tests make changes.
func good() *pluginv1.DescribeResponse {
	return &pluginv1.DescribeResponse{
		Name: "browser", Version: "1.2.3", Summary: "Tabs and pages.",
		Methods: []*pluginv1.Method{
			{
				Name: "page.inspect", Summary: "Looks.",
				ParamsSchema: []byte(`{ "type": "object", "required": ["kind"],
					"properties": {"kind": {"enum": ["text","html"]}, "tab_id": {"type": "integer"}} }`),
				ResultSchema: []byte(`{"type": "string"}`),
				Examples:     [][]byte{[]byte(`{ "kind": "text" }`)},
				Errors:       []string{"no_page", "not_found"}, ReadOnly: true, Idempotent: true, TimeoutMs: 60_000, Since: "1.1",
			},
			{Name: "browser.tabs"},
		},
		Features: []string{"stable-ids", "live-session", "stable-ids"}, ErrorCodes: []string{"no_page"},
		ConfigSchema: []byte(`{"type": "object"}`), Exclusive: true, MaxInFlight: 7,
	}
}

func TestParseGivesWhatTheRouterNeeds(t *testing.T) {
	got, err := Parse(good())
	if err != nil {
		t.Fatal(err)
	}
	want := &Set{
		Name: "browser", Version: "1.2.3", Summary: "Tabs and pages.",
		Methods: []*Method{
			{
				Name: "browser.tabs", ParamsSchema: []byte(`{"type":"object"}`), ResultSchema: []byte(`{}`),
				ParamsShort: []byte(`{}`), ReturnsShort: "any", Timeout: envelope.DefaultTimeout,
			},
			{
				Name: "page.inspect", Summary: "Looks.",
				ParamsSchema: []byte(`{"type":"object","required":["kind"],"properties":{"kind":{"enum":["text","html"]},"tab_id":{"type":"integer"}}}`),
				ResultSchema: []byte(`{"type":"string"}`),
				ParamsShort:  []byte(`{"kind":"string","tab_id":"integer?"}`), ReturnsShort: "string",
				Errors: []string{"no_page", "not_found"}, ReadOnly: true, Idempotent: true,
				Timeout: time.Minute, Since: "1.1", Examples: [][]byte{[]byte(`{"kind":"text"}`)},
			},
		},
		Namespaces: []string{"browser", "page"}, Features: []string{"live-session", "stable-ids"},
		ConfigSchema: []byte(`{"type":"object"}`), Exclusive: true, MaxInFlight: 7, ErrorCodes: map[string]bool{"no_page": true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Method{}, "Params"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	rep, err := got.Methods[1].Params.Check([]byte(`{"kind":"pdf"}`))
	if err != nil || rep.Violation == nil {
		t.Errorf("the compiled schema takes everything: %v %v", rep, err)
	}
}

func TestParseKeepsNothingOfTheDescription(t *testing.T) {
	d := good()
	s, err := Parse(d)
	if err != nil {
		t.Fatal(err)
	}
	before := string(s.Methods[1].ParamsSchema) + string(s.Methods[1].Examples[0]) + string(s.ConfigSchema)
	for _, b := range [][]byte{d.Methods[0].ParamsSchema, d.Methods[0].Examples[0], d.ConfigSchema} {
		for i := range b {
			b[i] = 'x'
		}
	}
	if after := string(s.Methods[1].ParamsSchema) + string(s.Methods[1].Examples[0]) + string(s.ConfigSchema); after != before {
		t.Error(after)
	}
}

func TestParseRefuses(t *testing.T) {
	first := func(f func(m *pluginv1.Method)) func(d *pluginv1.DescribeResponse) {
		return func(d *pluginv1.DescribeResponse) { f(d.Methods[0]) }
	}
	named := func(name string) func(d *pluginv1.DescribeResponse) {
		return first(func(m *pluginv1.Method) { m.Name = name })
	}
	params := func(schema string) func(d *pluginv1.DescribeResponse) {
		return first(func(m *pluginv1.Method) { m.ParamsSchema, m.Examples = []byte(schema), nil })
	}
	example := func(e string) func(d *pluginv1.DescribeResponse) {
		return first(func(m *pluginv1.Method) { m.Examples = [][]byte{[]byte(e)} })
	}
	const dots = `^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`
	for _, tt := range []struct {
		name   string
		change func(d *pluginv1.DescribeResponse)
		want   string
	}{
		{"no name", func(d *pluginv1.DescribeResponse) { d.Name = "" }, `name "" does not match ^[a-z][a-z0-9-]{0,31}$`},
		{"name too long", func(d *pluginv1.DescribeResponse) { d.Name = strings.Repeat("a", 33) }, "name \"" + strings.Repeat("a", 33) + "\" does not match ^[a-z][a-z0-9-]{0,31}$"},
		{"name of other characters", func(d *pluginv1.DescribeResponse) { d.Name = "a/../b\n" }, `name "a/../b\n" does not match ^[a-z][a-z0-9-]{0,31}$`},
		{"no version", func(d *pluginv1.DescribeResponse) { d.Version = "" }, "version is empty"},
		{"version too long", func(d *pluginv1.DescribeResponse) { d.Version = strings.Repeat("1", 65) }, "version has 65 bytes; 64 are allowed"},
		{"version of bad UTF-8", func(d *pluginv1.DescribeResponse) { d.Version = "\xff" }, "version is not valid UTF-8"},
		{"summary with control characters", func(d *pluginv1.DescribeResponse) { d.Summary = "\x1b[31m" }, "summary has control characters"},
		{"summary too long", func(d *pluginv1.DescribeResponse) { d.Summary = strings.Repeat("x", 3000) }, "summary has 3000 bytes; 2048 are allowed"},
		{"too much at once", func(d *pluginv1.DescribeResponse) { d.MaxInFlight = 5000 }, "max_in_flight is 5000; at most 4096 are allowed"},
		{"ten megabytes", func(d *pluginv1.DescribeResponse) { d.ConfigSchema = make([]byte, 10<<20) }, "the description has 10486095 bytes; 8388608 are allowed"},
		{"code of other characters", func(d *pluginv1.DescribeResponse) { d.ErrorCodes = []string{"Bad-Code"} }, `error_codes: "Bad-Code" does not match ^[a-z][a-z0-9_]{1,63}$`},
		{"code of one letter", func(d *pluginv1.DescribeResponse) { d.ErrorCodes = []string{"a"} }, `error_codes: "a" does not match ^[a-z][a-z0-9_]{1,63}$`},
		{"reserved code", func(d *pluginv1.DescribeResponse) { d.ErrorCodes = []string{"plugin_busy"} }, `error_codes: "plugin_busy" is the host's own`},
		{"too many codes", func(d *pluginv1.DescribeResponse) { d.ErrorCodes = make([]string, 129) }, "error_codes has 129 entries; 128 are allowed"},
		{"feature", func(d *pluginv1.DescribeResponse) { d.Features = []string{"a b"} }, `features: "a b" does not match ^[a-z0-9][a-z0-9._-]{0,63}$`},
		{"namespace", func(d *pluginv1.DescribeResponse) { d.Namespaces = []string{"a.b"} }, `namespaces: "a.b" does not match ^[a-z][a-z0-9_]{0,63}$`},
		{"hosted namespace", func(d *pluginv1.DescribeResponse) { d.Namespaces = []string{"events"} }, `namespaces: "events" is the host's own`},
		{"config schema", func(d *pluginv1.DescribeResponse) { d.ConfigSchema = []byte(`{`) }, "config_schema: the schema is not JSON: unexpected end at byte 1"},
		{"config schema of a list", func(d *pluginv1.DescribeResponse) { d.ConfigSchema = []byte(`{"type":"array"}`) }, `config_schema: the schema must have "type":"object"`},
		{"nil method", func(d *pluginv1.DescribeResponse) { d.Methods = append(d.Methods, nil) }, "method 3 of the list is empty"},
		{"too many methods", func(d *pluginv1.DescribeResponse) { d.Methods = make([]*pluginv1.Method, 513) }, "the description has 513 methods; 512 are allowed"},
		{"method twice", func(d *pluginv1.DescribeResponse) { d.Methods = append(d.Methods, d.Methods[0]) }, `method "page.inspect" stands twice in the list`},
		{"method without a name", named(""), `method "": the name does not match ` + dots},
		{"method without a dot", named("inspect"), `method "inspect": the name does not match ` + dots},
		{"method of other characters", named("page.Inspect"), `method "page.Inspect": the name does not match ` + dots},
		{"method of bad UTF-8", named("page.\xff"), `method "page.` + "\ufffd" + `": the name does not match ` + dots},
		{"method name too long", named("a." + strings.Repeat("b", 127)), `method "a.` + strings.Repeat("b", 62) + `…": the name has 129 bytes; 128 are allowed`},
		{"built-in", named("describe"), `method "describe": the name is the host's own`},
		{"built-in namespace", named("plugins.list"), `method "plugins.list": the name is the host's own`},
		{"built-in namespace events", named("events.mine"), `method "events.mine": the name is the host's own`},
		{"built-in namespace host", named("host.x"), `method "host.x": the name is the host's own`},
		{"summary of a method", first(func(m *pluginv1.Method) { m.Summary = "\xff" }), `method "page.inspect": summary is not valid UTF-8`},
		{"since", first(func(m *pluginv1.Method) { m.Since = strings.Repeat("1", 257) }), `method "page.inspect": since has 257 bytes; 256 are allowed`},
		{"deprecated", first(func(m *pluginv1.Method) { m.Deprecated = "\x00" }), `method "page.inspect": deprecated has control characters`},
		{"error that nobody knows", first(func(m *pluginv1.Method) { m.Errors = []string{"oops"} }), `method "page.inspect": errors: "oops" is neither the protocol's nor in error_codes`},
		{"timeout", first(func(m *pluginv1.Method) { m.TimeoutMs = 305_001 }), `method "page.inspect": timeout_ms is 305001; at most 305000 are allowed`},
		{"params not JSON", params(`{"type":}`), `method "page.inspect": params_schema: the schema is not JSON: expected a value at byte 8`},
		{"params of bad UTF-8", params("{\"title\":\"\xff\"}"), `method "page.inspect": params_schema: the schema is not JSON: invalid UTF-8 at byte 10`},
		{"params too large", params(`{"title":"` + strings.Repeat("x", 256<<10) + `"}`), `method "page.inspect": params_schema: the schema is longer than 262144 bytes`},
		{"params no schema", params(`[]`), `method "page.inspect": params_schema: schema: a schema must be an object or a boolean`},
		{"params true", params(`true`), `method "page.inspect": params_schema: the schema must be an object that has "type":"object"`},
		{"params no object", params(`{"type":"string"}`), `method "page.inspect": params_schema: the schema must have "type":"object"`},
		{"params object or null", params(`{"type":["object","null"]}`), `method "page.inspect": params_schema: the schema must have "type":"object"`},
		{"params without type", params(`{"properties":{}}`), `method "page.inspect": params_schema: the schema must have "type":"object"`},
		{"params keyword", params(`{"type":"object","minProperties":"1"}`), `method "page.inspect": params_schema: schema: minProperties must be an integer that is not negative`},
		{"wait too long", params(`{"type":"object","properties":{"wait_ms":{"type":"integer","maximum":300001}}}`), ""},
		{"result not JSON", first(func(m *pluginv1.Method) { m.ResultSchema = []byte(`x`) }), `method "page.inspect": result_schema: the schema is not JSON: expected a value at byte 0`},
		{"example not JSON", example(`{`), `method "page.inspect": example 1 is not JSON: unexpected end at byte 1`},
		{"example no object", example(`[]`), `method "page.inspect": example 1 does not conform to params_schema: expected object`},
		{"example wrong", example(`{}`), `method "page.inspect": example 1 does not conform to params_schema: missing required "kind"`},
		{"example with an unknown name", example(`{"kind":"text","tab":1}`), `method "page.inspect": example 1 does not conform to params_schema: unknown parameter "tab" ignored; nearest: "tab_id"`},
		{"too many examples", first(func(m *pluginv1.Method) { m.Examples = make([][]byte, 17) }), `method "page.inspect": there are 17 examples; 16 are allowed`},
		{"example too large", example(strings.Repeat(" ", 65<<10)), `method "page.inspect": example 1 has 66560 bytes; 65536 are allowed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := good()
			tt.change(d)
			if tt.name == "wait too long" {
				d.Methods[0].TimeoutMs = 0
				tt.want = `method "page.inspect": params_schema: a wait of up to 300001 ms is longer than 300000, the most that a call can take`
			}
			s, err := Parse(d)
			if err == nil {
				t.Fatalf("taken: %+v", s)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Parse(nil); err == nil {
		t.Error("nil is taken")
	}
}

func TestParseTakesEachLimit(t *testing.T) {
	d := &pluginv1.DescribeResponse{Name: "a" + strings.Repeat("b", 31), Version: strings.Repeat("1", maxVersionBytes)}
	for i := range MaxMethods {
		d.Methods = append(d.Methods, &pluginv1.Method{Name: fmt.Sprintf("m.n%d", i), TimeoutMs: 305_000})
	}
	d.Methods[0].Name = "m." + strings.Repeat("n", MaxNameBytes-2)
	if _, err := Parse(d); err != nil {
		t.Error(err)
	}
}

func TestTimeouts(t *testing.T) {
	wait := func(name, rest string) string {
		return `{"type":"object","properties":{"` + name + `":{` + rest + `}}}`
	}
	for _, tt := range []struct {
		ms     uint32
		params string
		want   time.Duration
	}{
		{0, ``, 30 * time.Second},
		{1, ``, time.Millisecond},
		{305_000, ``, 305 * time.Second},
		{0, wait("timeout_ms", `"type":"integer","maximum":120000`), 125 * time.Second},
		{0, wait("wait_ms", `"type":"integer","x-vant-clamp":[0,25000]`), 30 * time.Second},
		{0, wait("deadline_ms", `"type":["integer","null"],"maximum":300000`), 305 * time.Second},
		{0, wait("timeout_ms", `"type":"integer","maximum":1000`), 6 * time.Second},
		{0, wait("timeout_ms", `"type":"integer","maximum":5,"x-vant-clamp":[0,60000]`), 65 * time.Second},
		{7_000, wait("timeout_ms", `"type":"integer","maximum":120000`), 7 * time.Second},
		{0, wait("timeout_ms", `"type":"integer"`), 30 * time.Second},
		{0, wait("timeout_ms", `"type":"string"`), 30 * time.Second},
		{0, wait("other_ms", `"type":"integer","maximum":120000`), 30 * time.Second},
		{0, `{"type":"object","properties":{"wait_ms":{"type":"integer","maximum":1000},"timeout_ms":{"type":"integer","maximum":2000}}}`, 7 * time.Second},
	} {
		s, err := Parse(&pluginv1.DescribeResponse{Name: "a", Version: "1", Methods: []*pluginv1.Method{
			{Name: "a.b", TimeoutMs: tt.ms, ParamsSchema: []byte(tt.params)}}})
		if err != nil {
			t.Errorf("%d %s: %v", tt.ms, tt.params, err)
			continue
		}
		if got := s.Methods[0].Timeout; got != tt.want {
			t.Errorf("%d %s: %v, want %v", tt.ms, tt.params, got, tt.want)
		}
	}
}

func TestShortForms(t *testing.T) {
	const defs = `"$defs":{"P":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}}`
	for _, tt := range []struct{ params, result, short, returns string }{
		{`{"type":"object","required":["z"],"properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`, `{"type":"boolean"}`,
			`{"z":"string","a":"integer?"}`, "boolean"},
		{`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}},"m":{"type":"array"},"o":{"type":"object","properties":{"x":{}}}}}`,
			`{"type":"array","items":{"type":"object","properties":{"id":{},"name":{}},"required":["id"]}}`,
			`{"l":"string[]?","m":"array?","o":"object?"}`, "{id, name?}[]"},
		{`{"type":"object","required":["u","e","c","n","any","t"],"properties":{"u":{"type":["string","number","null"]},"e":{"enum":["a","b"]},
			"c":{"const":1},"n":{"type":"null"},"any":{},"t":true}}`, `{"type":"object","properties":{"b":{},"a":{}},"required":["b"]}`,
			`{"u":"string|number","e":"string","c":"integer","n":"null","any":"any","t":"any"}`, "{b, a?}"},
		{`{"type":"object","required":["x"],"properties":{"x":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":["string","integer"]}},{"type":"null"}]},
			"y":{"oneOf":[{"type":"string"},{}]}}}`, `true`, `{"x":"string|string[]|integer[]","y":"any?"}`, "any"},
		{`{"$ref":"#/$defs/P",` + defs + `}`, `{"type":["array","null"],"items":{"type":"number"}}`, `{"a":"integer?","b":"string"}`, "number[]"},
		{`{"type":"object","properties":{"a\"\u0001":{"type":"string"}}}`, `{"type":"object"}`, `{"a\"\u0001":"string?"}`, "object"},
	} {
		s, err := Parse(&pluginv1.DescribeResponse{Name: "a", Version: "1", Methods: []*pluginv1.Method{
			{Name: "a.b", ParamsSchema: []byte(tt.params), ResultSchema: []byte(tt.result)}}})
		if err != nil {
			t.Errorf("%s: %v", tt.params, err)
			continue
		}
		m := s.Methods[0]
		if string(m.ParamsShort) != tt.short || m.ReturnsShort != tt.returns {
			t.Errorf("%s\n%s %s", tt.params, m.ParamsShort, m.ReturnsShort)
		}
		if !json.Valid(m.ParamsShort) {
			t.Errorf("%s is not JSON", m.ParamsShort)
		}
	}
}

func compileFull(t *testing.T, schema string) *wire.Schema {
	t.Helper()
	s, err := compileSchema([]byte(schema), false)
	if err != nil {
		t.Fatal(err)
	}
	return s.compiled
}

func TestFullSchemas(t *testing.T) {
	const person = `{"$ref":"#/$defs/P","$defs":{"P":{"type":"object","required":["name"],"additionalProperties":false,
		"properties":{"name":{"type":"string","pattern":"^[a-z]+$","maxLength":6},"age":{"type":"integer","minimum":0,"multipleOf":2},
		"friends":{"type":"array","items":{"$ref":"#/$defs/P"}},"kind":{"enum":["a","b"]}}}}}`
	for _, tt := range []struct{ schema, value, want string }{
		{person, `{"name":"ann","age":4,"friends":[{"name":"bob","age":null}],"kind":null}`, ""},
		{person, `{"name":null}`, "type /name: expected string"},
		{person, `{"name":7}`, "type /name: expected string"},
		{person, `{}`, `rule missing required "name"`},
		{person, `{"name":"SECRET"}`, `rule /name: breaks the schema's rule "pattern"`},
		{person, `{"name":"ann","kind":"SECRET"}`, `rule /kind: breaks the schema's rule "enum"`},
		{person, `{"name":"ann","age":3}`, "rule /age: expected a multiple of 2"},
		{person, `{"name":"ann","age":-2}`, "rule /age: expected at least 0"},
		{person, `{"name":"ann","SECRE":7}`, `rule unknown parameter "SECRE"`},
		{person, `{"name":"ann","friends":[{"name":"bob"},{"name":1}]}`, "type /friends/1/name: expected string"},
		{person, `{"name":"ann","age":1e999999999}`, "rule /age: expected a number of usual size"},
		{person, `{"name":"ann","age":` + strings.Repeat("2", 100_000) + `}`, "rule /age: expected a number of usual size"},
		{`{"not":{"type":"string"}}`, `"SECRET"`, "rule breaks the schema's rule"},
		{`{"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `{"a":null}`, "type /a: expected string"},
		{`{"allOf":[{"properties":{"a":{"type":"string"}}}]}`, `{"a":null}`, ""},
		{`{"anyOf":[{"not":{}},{"type":"integer"}]}`, `"SECRET"`, "rule matches none of the allowed forms, or more than it may"},
		{`{"prefixItems":[{"type":"integer"}]}`, `["x"]`, "type /0: expected integer"},
		{`{"allOf":[{"maximum":1.5}]}`, `2`, "rule expected at most 1.5"},
		{`{"allOf":[{"exclusiveMinimum":2}]}`, `2`, "rule expected more than 2"},
		{`{"allOf":[{"exclusiveMaximum":2}]}`, `2`, "rule expected less than 2"},
		{`{"allOf":[{"properties":{"l":{"items":{"$ref":"#/allOf/0/properties/x"}},"x":{"properties":{"a":{"type":"string"}}}}}]}`,
			`{"l":[{"a":null},{"a":"b"}]}`, ""},
		{`{"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"properties":{"c":{"type":"null"}}}}}`, `{"a":{"c":null}}`, ""},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `rule missing "b", which "a" needs`},
	} {
		rep, err := compileFull(t, tt.schema).Check([]byte(tt.value))
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
		}
		got := ""
		if v := rep.Violation; v != nil {
			got = "rule " + v.Error()
			if v.Type {
				got = "type " + v.Error()
			}
		}
		if got != tt.want {
			t.Errorf("%s\n%.100s\ngot  %s\nwant %s", tt.schema, tt.value, got, tt.want)
		}
	}
}

func TestFullSchemasReadNothingFromOutside(t *testing.T) {
	for _, ref := range []string{"file:///etc/passwd", "http://localhost/x", "https://example.org/schema", "other.json", "#/$defs/missing"} {
		_, err := compileSchema([]byte(`{"properties":{"a":{"$ref":"`+ref+`"}}}`), false)
		if err == nil {
			t.Errorf("%s was read", ref)
		}
	}
	for _, s := range []string{`{"$ref":7}`, `{"allOf":{}}`, `{"$schema":"http://localhost/meta","not":{}}`, `{"multipleOf":0}`, `{"multipleOf":1e999999999}`} {
		if _, err := compileSchema([]byte(s), false); err == nil {
			t.Errorf("%s was taken", s)
		}
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	s, err := compileSchema([]byte(`{"$ref":"#"}`), false)
	if err != nil {
		return // refusing it is fine too
	}
	if _, err := s.compiled.Check([]byte(`{"a":[1,{}]}`)); err != nil {
		t.Error(err)
	}
}

// Whatever bytes come as a description: an error or a set, never a panic.
func TestParseSurvivesHostileDescriptions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	raw, err := proto.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for range 3000 {
		b := append([]byte{}, raw...)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		var d pluginv1.DescribeResponse
		if proto.Unmarshal(b, &d) != nil {
			continue
		}
		if _, err := Parse(&d); err == nil {
			taken++
		}
	}
	if taken == 0 {
		t.Error("no description was whole enough to be taken: the test shows nothing")
	}
}
