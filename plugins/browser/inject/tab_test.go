package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vant-run/vant/plugins/browser/browsertest"
	"github.com/vant-run/vant/plugins/browser/inject"
)

// arg is a JSON object.
type arg map[string]any

// tab is a page with the script in its isolated world. The page notes what
// happens to it in window.log.
type tab struct {
	*browsertest.Page
	world *browsertest.World
	t     testing.TB
}

// recording begins each page: log holds what happened, in order, as "event id".
const recording = `<!doctype html><html lang="en"><meta charset="utf-8"><title>T</title><script>
var log = [];
for (const type of ['pointerdown', 'mousedown', 'mouseup', 'click', 'dblclick', 'focusin', 'input', 'change', 'submit', 'drop'])
	document.addEventListener(type, (e) => log.push(type + ' ' + (e.composedPath()[0].id || e.composedPath()[0].localName)));
</script><style>body { margin: 0 } button { font: 16px sans-serif }</style>`

func openTab(t testing.TB, html string) *tab {
	t.Helper()
	p := browsertest.Open(t, recording+html)
	return &tab{p, p.World(inject.Source()), t}
}

// call calls a function of the script, and gives its answer.
func (p *tab) call(name string, a arg) arg {
	p.t.Helper()
	expression, err := inject.Call(name, a)
	if err != nil {
		p.t.Fatal(err)
	}
	text := p.world.Eval(expression)
	var answer arg
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		p.t.Fatalf("%s answered %.200q: %v", name, text, err)
	}
	return answer
}

// find is a target, with what else there is to say.
func find(selector string, more ...any) arg {
	a := arg{"target": arg{"selector": selector}}
	for i := 0; i+1 < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}

// check checks an action on a selector, without patience.
func (p *tab) check(selector, action string, more ...any) arg {
	p.t.Helper()
	return p.call("check", find(selector, append([]any{"action", action}, more...)...))
}

// good is check, of which the test needs that it succeeds.
func (p *tab) good(selector, action string, more ...any) arg {
	p.t.Helper()
	a := p.check(selector, action, more...)
	if a["ok"] != true {
		p.t.Fatalf("%s on %s: %v", action, selector, a)
	}
	return a
}

// press clicks where a check said, and gives what became of it.
func (p *tab) press(checked arg) arg {
	p.t.Helper()
	p.Click(checked["x"].(float64), checked["y"].(float64))
	return p.call("outcome", arg{"token": checked["token"]})
}

// click is check, the click, and its outcome.
func (p *tab) click(selector string) arg {
	p.t.Helper()
	return p.press(p.good(selector, "click"))
}

// log is what the page noted, one space between its entries.
func (p *tab) log() string {
	p.t.Helper()
	return strings.Trim(p.Main("log.join(', ')"), `"`)
}

// insert sends text as the browser's input method does.
func (p *tab) insert(text string) {
	p.t.Helper()
	params, _ := json.Marshal(arg{"text": text})
	p.Call("Input.insertText", string(params))
}

// at is a part of an answer: at(a, "hit", "id").
func at(a arg, path ...string) any {
	var v any = map[string]any(a)
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func (p *tab) want(what string, got, want any) {
	p.t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		p.t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func parseArg(t testing.TB, text string) arg {
	t.Helper()
	var a arg
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	return a
}

// num is the number of an expression in the page's own world.
func (p *tab) num(expression string) float64 {
	p.t.Helper()
	var n float64
	if err := json.Unmarshal([]byte(p.Main(expression)), &n); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return n
}

// frame is the id of the page's first child frame.
func (p *tab) frame() string {
	p.t.Helper()
	var answer struct {
		FrameTree struct {
			ChildFrames []struct {
				Frame struct {
					ID string `json:"id"`
				} `json:"frame"`
			} `json:"childFrames"`
		} `json:"frameTree"`
	}
	if err := json.Unmarshal([]byte(p.Call("Page.getFrameTree", `{}`)), &answer); err != nil {
		p.t.Fatal(err)
	}
	if len(answer.FrameTree.ChildFrames) == 0 {
		p.t.Fatal("the page has no child frame")
	}
	return answer.FrameTree.ChildFrames[0].Frame.ID
}
