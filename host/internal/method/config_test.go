package method

import "testing"

func TestCheckConfigSaysWhere(t *testing.T) {
	const (
		open   = `{"type":"object","properties":{"n":{"type":"integer"},"in":{"type":"object","properties":{"deep":{}}}},"required":["n"]}`
		closed = `{"type":"object","properties":{"n":{"type":"integer"},"in":{"type":"object","additionalProperties":false}},"additionalProperties":false}`
	)
	for _, tt := range []struct{ schema, config, want string }{
		{open, `{"n":1,"in":{"deep":2}}`, ""},
		{open, `{}`, `[]: missing required "n"`},
		{open, `{"n":"x"}`, `[/n]: /n: expected integer`},
		{open, `{"n":1,"m":1,"in":{"deeep":2}}`, `[/m]: unknown key "m" ignored; [/in/deeep]: unknown key "/in/deeep" ignored; nearest: "deep"`},
		{closed, `{"inn":1}`, `[/inn]: unknown key "inn"; nearest: "in"`},
		{closed, `{"in":{"a/b":1}}`, `[/in/a~1b]: /in: unknown key "a/b"`},
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
