package inject_test

import (
	"testing"

	"github.com/vant-run/vant/plugins/browser/browsertest"
)

// refState says what became of a ref: "ok", or the reason.
func refState(t *testing.T, w *browsertest.World, ref string) string {
	t.Helper()
	h := snapshot(t, w, options{"gen": 99, "from": 1, "scope": options{"ref": ref}}).Head
	if h.Error == "" {
		return "ok"
	}
	if h.Error != "stale_or_missing" {
		t.Errorf("%s: %+v", ref, h)
	}
	return h.Reason
}

func refsOf(t *testing.T, s snap) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, line := range s.Visible {
		e := parse(t, line)
		out[e.Name] = e.Ref
	}
	return out
}

const rows = `<div id=app><button>Delete A</button><button>Delete B</button></div>`

func TestAnElementKeepsItsRef(t *testing.T) {
	t.Parallel()
	p, w := open(t, rows)
	first := refsOf(t, snapshot(t, w, nil))
	p.Main(`(app.insertAdjacentHTML('afterbegin', '<button>New</button>'), app.append(app.children[1]), 1)`)
	second := refsOf(t, snapshot(t, w, options{"gen": 2}))
	diff(t, "refs", map[string]string{"New": "@e2_1", "Delete A": first["Delete A"], "Delete B": first["Delete B"]}, second)
}

func TestARefNeverMeansAnotherElement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"nothing happened", `1`, "ok"},
		{"moved", `app.append(app.firstChild)`, "ok"},
		{"rendered again", `app.innerHTML = app.innerHTML`, "detached"},
		{"removed", `app.firstChild.remove()`, "detached"},
		{"the row is used for another", `app.firstChild.textContent = 'Delete B'`, "changed"},
		{"another role", `app.firstChild.setAttribute('role', 'tab')`, "changed"},
		{"into another document", `document.implementation.createHTMLDocument('').body.append(app.firstChild)`, "detached"},
		{"into a template", `(() => { const x = document.createElement('template'); document.body.append(x); x.content.append(app.firstChild); })()`, "detached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, w := open(t, rows)
			ref := refsOf(t, snapshot(t, w, nil))["Delete A"]
			p.Main(`(` + c.script + `, 1)`)
			if got := refState(t, w, ref); got != c.want {
				t.Errorf("before the next snapshot: %s, want %s", got, c.want)
			}
			snapshot(t, w, options{"gen": 2})
			if got := refState(t, w, ref); got != c.want {
				t.Errorf("after the next snapshot: %s, want %s", got, c.want)
			}
		})
	}
}

func TestANewNameIsANewRefAndTheOldNameTheOld(t *testing.T) {
	t.Parallel()
	p, w := open(t, rows)
	a := refsOf(t, snapshot(t, w, nil))["Delete A"]
	p.Main(`(app.firstChild.textContent = 'Delete C', 1)`)
	c := refsOf(t, snapshot(t, w, options{"gen": 2}))["Delete C"]
	if c == a || refState(t, w, c) != "ok" || refState(t, w, a) != "changed" {
		t.Errorf("%s %s, %s %s", a, refState(t, w, a), c, refState(t, w, c))
	}
	p.Main(`(app.firstChild.textContent = 'Delete A', 1)`)
	if refState(t, w, a) != "ok" || refState(t, w, c) != "changed" {
		t.Errorf("back: %s %s, %s %s", a, refState(t, w, a), c, refState(t, w, c))
	}
}

func TestRefsThatWereNeverGivenAreUnknown(t *testing.T) {
	t.Parallel()
	_, w := open(t, rows)
	snapshot(t, w, options{"gen": 7, "from": 10})
	for _, ref := range []string{"@e7_9", "@e7_12", "@e8_10", "@e7_", "e7_10", "", "__proto__"} {
		if got := refState(t, w, ref); got != "unknown" {
			t.Errorf("%q is %s", ref, got)
		}
	}
	if got := refState(t, w, "@e7_11"); got != "ok" {
		t.Errorf("the last one given is %s", got)
	}
}

func TestRefsKeepNothingAlive(t *testing.T) {
	t.Parallel()
	p, w := open(t, rows)
	refs := refsOf(t, snapshot(t, w, nil))
	p.Main(`(globalThis.gone = new WeakRef(app.firstChild), app.firstChild.remove(), 1)`)
	snapshot(t, w, options{"gen": 2})
	p.Call("HeapProfiler.collectGarbage", `{}`)
	if got := p.Main(`gone.deref() === undefined`); got != "true" {
		t.Error("a removed element is kept alive")
	}
	if got := refState(t, w, refs["Delete A"]); got != "detached" {
		t.Errorf("the ref of a collected element is %s", got)
	}
	if got := refState(t, w, refs["Delete B"]); got != "ok" {
		t.Errorf("the ref of the one that stayed is %s", got)
	}
}
