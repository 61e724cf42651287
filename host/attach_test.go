package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAttachedPluginsAreReadStrictly(t *testing.T) {
	got, err := parseAttached(`{"demo":{"addr":"/tmp/a.sock"},"b-2":{"addr":"/b"}}`)
	if d := cmp.Diff(map[string]string{"demo": "/tmp/a.sock", "b-2": "/b"}, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if got, err := parseAttached(""); err != nil || got != nil {
		t.Errorf("without the variable: %v, %v", got, err)
	}
	for text, want := range map[string]string{
		`{`:                                "EOF",
		`{}`:                               "names no plugin",
		`null`:                             "names no plugin",
		`[]`:                               "array",
		`{"demo":"/tmp/a.sock"}`:           "string",
		`{"demo":{"addr":1}}`:              "number",
		`{"demo":{}}`:                      `addr of "demo" is ""`,
		`{"demo":{"addr":"a.sock"}}`:       "not the absolute path",
		`{"demo":{"addr":"127.0.0.1:80"}}`: "not the absolute path",
		`{"demo":{"addr":"/a","pid":7}}`:   `"pid"`,
		`{"demo":{"addr":"/a"},"demo":{"addr":"/b"}}`:           "duplicate",
		`{"Demo":{"addr":"/a"}}`:                                `"Demo" is not a plugin's name`,
		`{"demo":{"addr":"/` + strings.Repeat("x", 104) + `"}}`: "at most 104",
		`{"demo":{"addr":"/a"}} x`:                              "after top-level value",
	} {
		_, err := parseAttached(text)
		if err == nil || !strings.HasPrefix(err.Error(), "VANT_REATTACH: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--debug") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
