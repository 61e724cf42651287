package browsertest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestPagesAreRealAndClicksAreTrusted(t *testing.T) {
	t.Parallel()
	p := Open(t, `<!doctype html><title>T</title><button style="position:fixed;left:10px;top:10px;width:90px;height:30px"
		onclick="document.title = 'trusted ' + event.isTrusted">B</button>`)
	p.Click(50, 20)
	if got := p.Main("document.title"); got != `"trusted true"` {
		t.Errorf("the title is %s", got)
	}
}

func TestTheIsolatedWorldIsNotThePages(t *testing.T) {
	t.Parallel()
	p := Open(t, `<!doctype html><p>x</p>`)
	w := p.World("globalThis.mine = 1")
	if got := w.Eval("mine"); got != "1" {
		t.Errorf("the world has %s", got)
	}
	if got := p.Main("typeof mine"); got != `"undefined"` {
		t.Errorf("the page has %s", got)
	}
}
