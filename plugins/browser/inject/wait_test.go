package inject_test

import (
	"testing"
	"time"
)

func TestWaitSeesWhatComesLater(t *testing.T) {
	t.Parallel()
	const soon = `<script>const later = (f) => setTimeout(f, 150)</script>`
	for name, c := range map[string]struct {
		html string
		arg  arg
	}{
		"an element":               {`<script>later(() => document.body.insertAdjacentHTML('beforeend', '<p id="x">X</p>'))</script>`, arg{"selector": "#x"}},
		"an element by a class":    {`<style>.off #x { display: none }</style><div class="off" id="w"><p id="x">X</p></div><script>later(() => w.className = '')</script>`, arg{"selector": "#x"}},
		"an element by a sheet":    {`<style id="s">#x { display: none }</style><p id="x">X</p><script>later(() => s.sheet.deleteRule(0))</script>`, arg{"selector": "#x"}},
		"an element in shadow":     {`<div id="h"></div><script>const r = h.attachShadow({mode: 'open'}); later(() => r.innerHTML = '<p id="x">X</p>')</script>`, arg{"selector": "#x"}},
		"an element in new shadow": {`<div id="h"></div><script>later(() => h.attachShadow({mode: 'open'}).innerHTML = '<p id="x">X</p>')</script>`, arg{"selector": "#x"}},
		"a state of an element":    {`<input id="x" type="checkbox"><script>later(() => x.checked = true)</script>`, arg{"selector": "#x:checked"}},
		"an element gone":          {`<p id="x">X</p><script>later(() => x.remove())</script>`, arg{"selector": "#x", "gone": true}},
		"an element hidden":        {`<p id="x">X</p><script>later(() => x.hidden = true)</script>`, arg{"selector": "#x", "gone": true}},
		"a text":                   {`<p id="x"></p><script>later(() => x.innerHTML = 'Came \n <b>late</b>r')</script>`, arg{"text": "Came later"}},
		"a text in shadow":         {`<div id="h"></div><script>later(() => h.attachShadow({mode: 'open'}).innerHTML = '<p>Came <slot></slot></p>'); h.textContent = 'later'</script>`, arg{"text": "Came later"}},
		"a text as it is drawn":    {`<p id="x" style="text-transform:uppercase"></p><script>later(() => x.textContent = 'Came later')</script>`, arg{"text": "CAME LATER"}},
		"a text as it is written":  {`<p id="x" style="text-transform:uppercase"></p><script>later(() => x.textContent = 'Came later')</script>`, arg{"text": "Came later"}},
		"a text gone":              {`<p id="x">Loading…</p><script>later(() => x.textContent = 'Done')</script>`, arg{"text": "Loading…", "gone": true}},
		"a text that was hidden":   {`<p id="x" style="visibility:hidden">Was here</p><script>later(() => x.style.visibility = '')</script>`, arg{"text": "Was here"}},
		"an element that is there": {`<script>later(() => document.body.insertAdjacentHTML('beforeend', '<p id="x" hidden>X</p>'))</script>`, arg{"there": "#x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, soon+c.html)
			c.arg["timeout"] = 25000
			p.want("the answer", p.call("wait", c.arg), arg{"ok": true})
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
		{arg{"there": "#y"}, arg{"ok": true}},
		{arg{"there": "#z"}, arg{"ok": false, "error": "timeout"}},
		{arg{"frame": "F"}, arg{"ok": false, "error": "timeout"}},
		{arg{"ref": "@e1_1"}, arg{"ok": false, "error": "stale_or_missing", "reason": "unknown"}},
	} {
		p.want("the answer", p.call("wait", c.arg), c.want)
	}
	p.want("a bad selector", p.call("wait", arg{"selector": "p[", "timeout": 5000})["error"], "invalid_selector")
}

func TestAWaitEndsAtItsTime(t *testing.T) {
	t.Parallel()
	p := openTab(t, `<script>setInterval(() => document.body.append('.'), 1)</script>`)
	began := time.Now()
	p.want("in time", p.call("wait", arg{"text": "never", "timeout": 300})["error"], "timeout")
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestAFrameIsWaitedForAsItIsSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"its display":      {`f.style.display = 'none'`, `f.style.display = ''`},
		"its visibility":   {`f.style.visibility = 'hidden'`, `f.style.visibility = ''`},
		"its size":         {`f.height = 0`, `f.height = 50`},
		"what is around":   {`around.hidden = true`, `around.hidden = false`},
		"it is in the DOM": {`0`, `0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTab(t, `<div id="around"><iframe id="f" width="50" height="50"></iframe></div>`)
			p.world.Eval(`__vant.bindFrame(document.querySelector('iframe'), 'F')`)
			wait := func(gone bool, timeout int) any {
				return p.call("wait", arg{"frame": "F", "gone": gone, "timeout": timeout})["ok"]
			}
			p.want("seen", []any{wait(false, 0), wait(true, 0)}, []any{true, false})
			if c.before == "0" {
				p.Main(`(setTimeout(() => f.remove(), 100), 1)`)
				p.want("gone", wait(true, 25000), true)
				return
			}
			p.Main(`(setTimeout(() => { ` + c.before + ` }, 100), 1)`)
			p.want("gone", []any{wait(true, 25000), wait(false, 0)}, []any{true, false})
			p.Main(`(setTimeout(() => { ` + c.after + ` }, 100), 1)`)
			p.want("seen again", wait(false, 25000), true)
		})
	}
}
