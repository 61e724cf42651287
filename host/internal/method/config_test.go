package method

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckConfigSaysWhere(t *testing.T) {
	const (
		open  = `{"type":"object","properties":{"n":{"type":"integer"},"in":{"type":"object","properties":{"deep":{}}}},"required":["n"]}`
		lists = `{"type":"object","properties":{"k":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`
		// What only a full validator knows.
		full   = `{"type":"object","patternProperties":{"^x":{"type":"integer"}},"properties":{"n":{"type":"integer"},"in":{"type":"object","properties":{"a":{}},"additionalProperties":false}},"additionalProperties":false}`
		closed = `{"type":"object","properties":{"n":{"type":"integer"},"in":{"type":"object","additionalProperties":false}},"additionalProperties":false}`
	)
	for _, tt := range []struct{ schema, config, want string }{
		{open, `{"n":1,"in":{"deep":2}}`, ""},
		{open, `{}`, `[]: missing required "n"`},
		{open, `{"n":"x"}`, `[/n]: /n: expected integer`},
		{open, `{"n":1,"m":1,"in":{"deeep":2}}`, `[/m]: unknown key "m" ignored; [/in/deeep]: unknown key "/in/deeep" ignored; nearest: "deep"`},
		{closed, `{"inn":1}`, `[/inn]: unknown key "inn"; nearest: "in"`},
		{closed, `{"in":{"a/b":1}}`, `[/in/a~1b]: /in: unknown key "a/b"`},
		{closed, `{"in":{"a/b":1},"n":"x","m":9007199254740993}`, `[/in/a~1b]: /in: unknown key "a/b"; [/m]: unknown key "m"; [/n]: /n: expected integer`},
		{full, `{"y":1}`, `[/y]: unknown key "y"`},
		{full, `{"n":"x","in":{"b":1},"y":1}`, `[/y]: unknown key "y"; [/in/b]: /in: unknown key "b"; [/n]: /n: expected integer`},
		// What is missing is told only when nobody had written it.
		{open, `{"n":"x","in":5,"m":1}`, `[/n]: /n: expected integer; [/in]: /in: expected object`},
		{open, `{"in":5}`, `[/in]: /in: expected object; []: missing required "n"`},
		{lists, `{"l":[1,"x",true],"k":5,"o":[{"n":"x"}]}`, `[/l/1]: /l/1: expected integer; [/k]: /k: expected string; [/o/0/n]: /o/0/n: expected integer`},
		{lists, `{"k":1,"z":1}`, `[/k]: /k: expected string; [/z]: unknown key "z" ignored`},
	} {
		got := ""
		if err := CheckConfig([]byte(tt.schema), []byte(tt.config), func(p string) string { return "[" + p + "]" }); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.config, got, tt.want)
		}
	}
	err := CheckConfig([]byte(open), []byte(`{}`), func(string) string { return "" })
	if want := `missing required "n"`; err == nil || err.Error() != want {
		t.Errorf("without a file: got %v, want %s", err, want)
	}
}

func TestCheckConfigNamesABoundedNumberOfMistakes(t *testing.T) {
	var members []string
	for i := range 3 * maxConfigFaults {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	for _, closed := range []string{"true", "false"} {
		schema := `{"type":"object","additionalProperties":` + closed + `,"patternProperties":{}}`
		if closed == "true" {
			schema = `{"type":"object","properties":{"a":{}}}`
		}
		err := CheckConfig([]byte(schema), []byte("{"+strings.Join(members, ",")+"}"), func(p string) string { return p })
		var faults ConfigFaults
		if !errors.As(err, &faults) || len(faults) == 0 || len(faults) > maxConfigFaults {
			t.Errorf("%s: %d mistakes are told: %v", schema, len(faults), err)
		}
	}
}
