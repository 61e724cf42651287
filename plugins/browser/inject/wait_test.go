package inject_test

import (
	"testing"
	"time"

	"github.com/vant-run/vant/plugins/browser/inject"
)

func TestWaitSeesWhatComesLater(t *testing.T) {
	t.Parallel()
	const soon = `<script>const later = (f) => setTimeout(f, 150)</script>`
	for name, c := range map[string]struct {
		html string
		arg  arg
	}{
		"an element":                {`<script>later(() => document.body.insertAdjacentHTML('beforeend', '<p id="x">X</p>'))</script>`, arg{"selector": "#x"}},
		"an element by a class":     {`<style>.off #x { display: none }</style><div class="off" id="w"><p id="x">X</p></div><script>later(() => w.className = '')</script>`, arg{"selector": "#x"}},
		"an element by a sheet":     {`<style id="s">#x { display: none }</style><p id="x">X</p><script>later(() => s.sheet.deleteRule(0))</script>`, arg{"selector": "#x"}},
		"an element in shadow":      {`<div id="h"></div><script>const r = h.attachShadow({mode: 'open'}); later(() => r.innerHTML = '<p id="x">X</p>')</script>`, arg{"selector": "#x"}},
		"an element in new shadow":  {`<div id="h"></div><script>later(() => h.attachShadow({mode: 'open'}).innerHTML = '<p id="x">X</p>')</script>`, arg{"selector": "#x"}},
		"a state of an element":     {`<input id="x" type="checkbox"><script>later(() => x.checked = true)</script>`, arg{"selector": "#x:checked"}},
		"an element gone":           {`<p id="x">X</p><script>later(() => x.remove())</script>`, arg{"selector": "#x", "gone": true}},
		"an element hidden":         {`<p id="x">X</p><script>later(() => x.hidden = true)</script>`, arg{"selector": "#x", "gone": true}},
		"a text":                    {`<p id="x"></p><script>later(() => x.innerHTML = 'Came \n <b>late</b>r')</script>`, arg{"text": "Came later"}},
		"a text in shadow":          {`<div id="h"></div><script>later(() => h.attachShadow({mode: 'open'}).innerHTML = '<p>Came <slot></slot></p>'); h.textContent = 'later'</script>`, arg{"text": "Came later"}},
		"a text as it is drawn":     {`<p id="x" style="text-transform:uppercase"></p><script>later(() => x.textContent = 'Came later')</script>`, arg{"text": "CAME LATER"}},
		"a text as it is written":   {`<p id="x" style="text-transform:uppercase"></p><script>later(() => x.textContent = 'Came later')</script>`, arg{"text": "Came later"}},
		"a text gone":               {`<p id="x">Loading…</p><script>later(() => x.textContent = 'Done')</script>`, arg{"text": "Loading…", "gone": true}},
		"a text that was hidden":    {`<p id="x" style="visibility:hidden">Was here</p><script>later(() => x.style.visibility = '')</script>`, arg{"text": "Was here"}},
		"an address":                {`<script>later(() => history.pushState(0, '', '#/done/5'))</script>`, arg{"url": "#/done"}},
		"an address by its pattern": {`<script>later(() => history.pushState(0, '', '#/done/5'))</script>`, arg{"url": "http://*/*#/done/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, soon+c.html)
			c.arg["timeout"] = 5000
			began := time.Now()
			p.want("the answer", p.call("wait", c.arg), arg{"ok": true})
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestWaitWithoutTimeLooksOnce(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<p id="x">Here</p><p id="y" hidden>Hidden</p>`)
	for _, c := range []struct {
		arg  arg
		want arg
	}{
		{arg{"selector": "#x"}, arg{"ok": true}},
		{arg{"selector": "#y"}, arg{"ok": false, "error": "timeout"}},
		{arg{"selector": "#y", "gone": true}, arg{"ok": true}},
		{arg{"text": "Here"}, arg{"ok": true}},
		{arg{"text": "Hidden"}, arg{"ok": false, "error": "timeout"}},
		{arg{"url": "http://*.html"}, arg{"ok": true}},
		{arg{"url": "http://*.htm"}, arg{"ok": false, "error": "timeout"}},
		{arg{"ref": "@e1_1"}, arg{"ok": false, "error": "stale_or_missing", "reason": "unknown"}},
	} {
		p.want("the answer", p.call("wait", c.arg), c.want)
	}
	p.want("a bad selector", p.call("wait", arg{"selector": "p[", "timeout": 5000})["error"], "invalid_selector")
}

func TestAWaitEndsAtItsTimeAndWhenStopped(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<script>setInterval(() => document.body.append('.'), 1)</script>`)
	began := time.Now()
	p.want("in time", p.call("wait", arg{"text": "never", "timeout": 300})["error"], "timeout")
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	wait, _ := inject.Call("wait", arg{"text": "never", "timeout": 20000, "id": 7})
	stop, _ := inject.Call("stopWait", arg{"id": 7})
	p.want("stopped", p.world.Eval(`(() => { const w = `+wait+`; `+stop+`; return w; })()`), `{"ok":false,"error":"stopped"}`)
}

func TestATickIsTheNextChange(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<p id="x"></p>`)
	p.want("quiet", p.world.Eval("__vant.tick()"), "time")
	p.want("changed", p.world.Eval("(() => { const t = __vant.tick(); document.querySelector('#x').textContent = 'x'; return t; })()"), "changed")
}
