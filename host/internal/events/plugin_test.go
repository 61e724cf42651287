package events

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEventsOfPluginsAreChecked(t *testing.T) {
	large := `{"a":"` + strings.Repeat("x", maxDataBytes-8) + `"}`
	for _, tt := range []struct {
		name, typ, data string
		want            Entry
		ok              bool
	}{
		{"plain", "tab.created", `{"tab_id":1}`, Entry{Type: "tab.created", Data: []byte(`{"tab_id":1}`)}, true},
		{"no data", "tab.created", "", Entry{Type: "tab.created"}, true},
		{"whitespace", "a.b", "{ \"a\" :\n1 }", Entry{Type: "a.b", Data: []byte(`{"a":1}`)}, true},
		{"digits and underscores", "a_1.2_b.c", "", Entry{Type: "a_1.2_b.c"}, true},
		{"longest type", "a." + strings.Repeat("b", 126), "", Entry{Type: "a." + strings.Repeat("b", 126)}, true},
		{"largest data", "a.b", large, Entry{Type: "a.b", Data: []byte(large)}, true},

		{"data too large", "a.b", large + " ", Entry{Type: "a.b"}, false},
		{"array data", "a.b", "[]", Entry{Type: "a.b"}, false},
		{"torn data", "a.b", `{"a":`, Entry{Type: "a.b"}, false},
		{"data with invalid UTF-8", "a.b", "{\"a\":\"\xff\"}", Entry{Type: "a.b"}, false},

		{"empty type", "", "", Entry{}, false},
		{"one word", "tab", "", Entry{}, false},
		{"upper case", "Tab.created", "", Entry{}, false},
		{"leading digit", "1.a", "", Entry{}, false},
		{"leading dot", ".a", "", Entry{}, false},
		{"trailing dot", "a.", "", Entry{}, false},
		{"two dots", "a..b", "", Entry{}, false},
		{"space", "a.b c", "", Entry{}, false},
		{"newline", "a.b\n", "", Entry{}, false},
		{"too long type", "a." + strings.Repeat("b", 127), "", Entry{}, false},
		{"host's", "host.stopping", "", Entry{}, false},
		{"of plugins", "plugin.ready", "", Entry{}, false},
		{"of methods", "methods.changed", "", Entry{}, false},
		{"like the host's", "hosts.x", "", Entry{Type: "hosts.x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, fault := FromPlugin(tt.typ, []byte(tt.data))
			if diff := cmp.Diff(tt.want, got); diff != "" || (fault == "") != tt.ok {
				t.Errorf("fault %q; entry (-want +got):\n%s", fault, diff)
			}
		})
	}
}
