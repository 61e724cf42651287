package inject_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/plugins/browser/inject"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// call calls a function of the script in a world.
func call(t testing.TB, w *browsertest.World, name string, arg any) string {
	t.Helper()
	expression, err := inject.Call(name, arg)
	if err != nil {
		t.Fatal(err)
	}
	return w.Eval(expression)
}

// options are the argument of snapshot.
type options map[string]any

// snap is an answer of snapshot.
type snap struct {
	Head    head
	Visible []string
	Hidden  []string
}

type head struct {
	Title   string
	URL     string
	Total   int
	Left    int
	Next    int
	Closed  int
	Unasked bool
	Unread  bool
	Error   string
	Reason  string
	Message string
}

type element struct {
	Ref      string
	Role     string
	Name     string
	Visible  bool
	Disabled bool
	Checked  any
	Value    string
	Expanded *bool
	Selected *bool
	Required bool
	Href     string
	Level    int
	Focused  bool
	Bounds   *struct{ X, Y, Width, Height int }
}

func snapshot(t testing.TB, w *browsertest.World, more options) snap {
	t.Helper()
	arg := options{"gen": 1, "from": 1, "limit": 500, "maxBytes": 64 << 10, "format": "list"}
	for k, v := range more {
		arg[k] = v
	}
	raw, err := json.Marshal(call(t, w, "snapshot", arg))
	if err != nil {
		t.Fatal(err)
	}
	outline := arg["format"] == "outline"
	l, err := inject.ParseListing(raw, outline)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	texts := func(lines []inject.Line) []string {
		list := make([]string, 0, len(lines))
		for _, line := range lines {
			id, isFrame := line.Frame()
			switch indent, text := line.Text(); {
			case isFrame:
				list = append(list, indent+">"+id)
			case outline:
				list = append(list, indent+text)
			default:
				list = append(list, string(l.AppendElement(nil, line, "")))
			}
		}
		return list
	}
	return snap{
		head{l.Title, l.URL, l.Total, l.Left, int(l.Next), l.Closed, l.Unasked, l.Unread, l.Error, l.Reason, l.Message},
		texts(l.Visible), texts(l.Hidden),
	}
}

func parse(t testing.TB, line string) element {
	t.Helper()
	var e element
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("the line is %q: %v", line, err)
	}
	return e
}

// short is a line as "role name" for comparing.
func short(t *testing.T, lines []string) []string {
	t.Helper()
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		if strings.HasPrefix(line, ">") {
			out = append(out, line)
			continue
		}
		e := parse(t, line)
		out = append(out, strings.TrimSpace(e.Role+" "+e.Name))
	}
	return out
}

func open(t *testing.T, html string) (*browsertest.Page, *browsertest.World) {
	t.Helper()
	p := browsertest.Open(t, "<!doctype html><title>T</title>"+html)
	return p, p.World(inject.Source())
}

func TestCallRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	if got, err := inject.Call("snapshot", func() {}); err == nil {
		t.Errorf("a function became %s", got)
	}
	got, err := inject.Call("snapshot", map[string]string{"text": "</script>\u2028 \"'`"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `__vant.snapshot({"text":"\u003c/script\u003e\u2028 \"'` + "`" + `"})`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestASecondEvaluationKeepsTheFirst(t *testing.T) {
	t.Parallel()
	_, w := open(t, `<button>A</button>`)
	first := parse(t, snapshot(t, w, nil).Visible[0]).Ref
	w.Eval(inject.Source())
	if again := parse(t, snapshot(t, w, options{"gen": 2}).Visible[0]).Ref; again != first {
		t.Errorf("the ref was %s and is %s", first, again)
	}
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
