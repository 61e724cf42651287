package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vant-run/vant/plugins/browser/inject"
)

// quoted is a listing as a browser hands it over.
func quoted(t testing.TB, lines ...string) []byte {
	t.Helper()
	raw, err := json.Marshal(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const header = `{"title":"T","url":"https://a.test/p","next":4,"roles":["link","textbox"],"page":"https://a.test/p#","site":"https://a.test/"}`

func TestAListingSaysWhatItsLinesLeaveOut(t *testing.T) {
	t.Parallel()
	l, err := inject.ParseListing(quoted(t, header,
		"3_7\t0\t\tCaf~00e9 ~007e ~d83d~de00\t#top", "\t0\td\t\t/x?y", "9_1\t1\tmelsrf2\tName\t=\"a\\tb\"\t>mailto:a\t[1,-2,3,4", ">\tF1", "-", "\t1\thu\th"), false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range append(l.Visible, l.Hidden...) {
		if id, ok := line.Frame(); ok {
			got = append(got, "frame "+id)
			continue
		}
		got = append(got, string(l.AppendElement(nil, line, "")))
	}
	diff(t, "elements", []string{
		`{"ref":"@e3_7","role":"link","name":"Café ~ 😀","visible":true,"disabled":false,"href":"https://a.test/p#top"}`,
		`{"ref":"@e3_8","role":"link","name":"","visible":true,"disabled":true,"href":"https://a.test/x?y"}`,
		`{"ref":"@e9_1","role":"textbox","name":"Name","visible":true,"disabled":false,"checked":"mixed","value":"a\tb","expanded":true,` +
			`"selected":true,"required":true,"href":"mailto:a","level":2,"focused":true,"bounds":{"x":1,"y":-2,"width":3,"height":4}}`,
		"frame F1",
		`{"ref":"@e9_2","role":"textbox","name":"h","visible":false,"disabled":false,"checked":false}`,
	}, got)
	if got := string(l.AppendElement(nil, l.Visible[1].Hide(), "F2")); !strings.HasSuffix(got, `"visible":false,"disabled":true,"href":"https://a.test/x?y","frame":"F2"}`) {
		t.Errorf("hidden in a frame it is %s", got)
	}
}

func TestWhatIsNoListingIsRefused(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `null`, `{}`, `"`, `"x"`, string(quoted(t, header, "no ref")), string(quoted(t, header, "1_x\t0\t\tn")), string(quoted(t, header, "x_1\t0\t\tn"))} {
		if l, err := inject.ParseListing([]byte(raw), false); err == nil {
			t.Errorf("%s became %+v", raw, l)
		}
	}
}

// A page cannot write listings, but a fault of ours must not end the plugin, nor
// make JSON that is none.
func FuzzAListingIsJSONOrRefused(f *testing.F) {
	f.Add(string(quoted(f, header, "3_7\t0\t\tCaf~00e9\t#top", "\t1\tm2\tN\t=\"v\"\t[1,2,3,4", "-", ">\tF")))
	f.Add(string(quoted(f, header, "1_1\t99\t\t~d83d x ~zz ~")))
	f.Fuzz(func(t *testing.T, raw string) {
		l, err := inject.ParseListing([]byte(raw), false)
		if err != nil {
			return
		}
		for _, line := range append(l.Visible, l.Hidden...) {
			if _, ok := line.Frame(); ok {
				continue
			}
			if e := l.AppendElement(nil, line, "F"); !json.Valid(e) {
				t.Errorf("%q gave %s", raw, e)
			}
		}
	})
}
