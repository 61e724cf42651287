package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

// TestCommandsSendTheirMethodAndParams: each form of a command makes exactly
// one request.
func TestCommandsSendTheirMethodAndParams(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	dir := tempDir(t)
	writeFile(t, dir, "params.json", "{\n  \"url\": \"http://h/\",\n  \"n\": 1.50\n}\n")
	writeFile(t, dir, "script.js", "1 +\n\"\t<b>\"\n")
	for _, c := range []struct {
		args   string // separated by |
		stdin  string
		method string
		params string
	}{
		{args: "status", method: "status", params: `{}`},
		{args: "--json|status", method: "status", params: `{}`},
		{args: "status|--json", method: "status", params: `{}`},
		{args: "version", method: "version", params: `{}`},
		{args: "capabilities", method: "capabilities", params: `{}`},
		{args: "tabs", method: "browser.tabs", params: `{}`},
		{args: "open|https://example.com", method: "browser.navigate", params: `{"uri":"https://example.com"}`},
		{args: "open|https://example.com|2", method: "browser.navigate", params: `{"uri":"https://example.com","tab_id":2}`},
		{args: "snapshot", method: "page.snapshot", params: `{}`},
		{args: "snapshot|12", method: "page.snapshot", params: `{"tab_id":12}`},
		{args: "click|@e2_5", method: "page.interact", params: `{"ref":"@e2_5","action":"click"}`},
		{args: "click|a.buy > b|3", method: "page.interact", params: `{"selector":"a.buy > b","action":"click","tab_id":3}`},
		{args: "fill|@e1|hello world|1", method: "page.interact", params: `{"ref":"@e1","action":"fill","value":"hello world","tab_id":1}`},
		{args: "fill|@e1|", method: "page.interact", params: `{"ref":"@e1","action":"fill","value":""}`},
		{args: "fill|@e1_2|-5", method: "page.interact", params: `{"ref":"@e1_2","action":"fill","value":"-5"}`},
		{args: "fill|@e1|--json", method: "page.interact", params: `{"ref":"@e1","action":"fill","value":"--json"}`},
		{args: "fill|@e1|--help", method: "page.interact", params: `{"ref":"@e1","action":"fill","value":"--help"}`},
		{args: "fill|@e1|--", method: "page.interact", params: `{"ref":"@e1","action":"fill","value":"--"}`},
		{args: "fill|--|--json|-h", method: "page.interact", params: `{"selector":"--json","action":"fill","value":"-h"}`},
		{args: "fetch|http://h/", method: "net.fetch", params: `{"url":"http://h/"}`},
		{args: `fetch|http://h/|{"url":"http://other/", "max_bytes":1.0e3,"headers":{"url":"x"}}`, method: "net.fetch", params: `{"url":"http://h/","max_bytes":1.0e3,"headers":{"url":"x"}}`},
		{args: "diagnostics", method: "page.diagnostics", params: `{}`},
		{args: "diagnostics|4", method: "page.diagnostics", params: `{"tab_id":4}`},
		{args: "events", method: "events.since", params: `{"after":0}`},
		{args: "call|describe", method: "describe", params: `{}`},
		{args: `call|a.b| { "n" : 12345678901234567890.10 } `, method: "a.b", params: `{"n":12345678901234567890.10}`},
		{args: `call|a.b|-`, stdin: "{\"x\":\n[1, 2]}\n", method: "a.b", params: `{"x":[1,2]}`},
		{args: "call|net.fetch|@params.json", method: "net.fetch", params: `{"url":"http://h/","n":1.50}`},
		{args: "call|weird", method: "weird", params: `{}`},
		{args: `page.inspect|{"kind":"text"}`, method: "page.inspect", params: `{"kind":"text"}`},
		{args: "browser.tab.new", method: "browser.tab.new", params: `{}`},
		{args: "browser.tab.new|-", stdin: `{"uri":"x"}`, method: "browser.tab.new", params: `{"uri":"x"}`},
		{args: "describe", method: "describe", params: `{}`},
		{args: `describe|{"name":"page.snapshot"}`, method: "describe", params: `{"name":"page.snapshot"}`},
		{args: "js|document.title", method: "page.javascript", params: `{"script":"document.title"}`},
		{args: "js|-5", method: "page.javascript", params: `{"script":"-5"}`},
		{args: "js|--|--x", method: "page.javascript", params: `{"script":"--x"}`},
		{args: "js|--tab|2|1+1", method: "page.javascript", params: `{"script":"1+1","tab_id":2}`},
		{args: "js|--tab=2|1+1", method: "page.javascript", params: `{"script":"1+1","tab_id":2}`},
		{args: "js|--file|script.js", method: "page.javascript", params: `{"script":"1 +\n\"\t<b>\"\n"}`},
		{args: "js|--file|-", stdin: "2", method: "page.javascript", params: `{"script":"2"}`},
		{args: "js|-", stdin: "3", method: "page.javascript", params: `{"script":"3"}`},
		{args: "js", stdin: "4\n", method: "page.javascript", params: `{"script":"4\n"}`},
		{args: "--socket|" + host.Socket + "|--timeout|9s|tabs", method: "browser.tabs", params: `{}`},
		{args: "tabs|--timeout=1m", method: "browser.tabs", params: `{}`},
	} {
		t.Run(c.args, func(t *testing.T) {
			host.Forget()
			got := run{args: append([]string{"agent"}, strings.Split(c.args, "|")...), stdin: c.stdin, socket: host.Socket, dir: dir}.do(t)
			if got.status != 0 || got.stderr != "" {
				t.Fatalf("status %d, stderr %q", got.status, got.stderr)
			}
			requests := host.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d requests, want one", len(requests))
			}
			want := `{"version":1,"id":` + string(requests[0].ID) + `,"method":"` + c.method + `","params":` + c.params + `}`
			if c.stdin == "" && strings.Contains(c.args, "script.js") {
				want = strings.ReplaceAll(want, "\t", `\t`)
			}
			if diff := cmp.Diff(want, requests[0].Line); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongUsageIsStatus2AndSendsNothing(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	dir := tempDir(t)
	writeFile(t, dir, "list.json", "[1]")
	writeFile(t, dir, "empty.js", " \n")
	for _, c := range []struct{ args, stdin, message string }{
		{args: "", message: "a command is missing"},
		{args: "tabz", message: `unknown command "tabz"`},
		{args: "page..x", message: `unknown command "page..x"`},
		{args: ".x", message: `unknown command ".x"`},
		{args: "--nope|tabs", message: `unknown flag "--nope"`},
		{args: "tabs|--nope", message: `unknown flag "--nope"`},
		{args: "tabs|-x", message: `unknown flag "-x"`},
		{args: "tabs|extra", message: "too many arguments"},
		{args: "--json=perhaps|tabs", message: "--json is on or off"},
		{args: "--socket", message: "--socket needs a value"},
		{args: "--socket=|tabs", message: "--socket: the value is empty"},
		{args: "--timeout|5|tabs", message: "no positive duration"},
		{args: "--timeout|-5s|tabs", message: "no positive duration"},
		{args: "open", message: "URI is missing"},
		{args: "open|http://h/|0", message: "TAB must be a positive integer"},
		{args: "open|http://h/|x", message: "TAB must be a positive integer"},
		{args: "snapshot|-1", message: "TAB must be a positive integer"},
		{args: "snapshot|1.5", message: "TAB must be a positive integer"},
		{args: "snapshot|+1", message: "TAB must be a positive integer"},
		{args: "snapshot|99999999999999999999", message: "TAB must be a positive integer"},
		{args: "diagnostics|", message: "TAB must be a positive integer"},
		{args: "click", message: "REF is missing"},
		{args: "click|@e1|two", message: "TAB must be a positive integer"},
		{args: "fill|@e1", message: "VALUE is missing"},
		{args: "fill|@e1|v|1|2", message: "too many arguments"},
		{args: "fill|@e1|\xff", message: "not valid UTF-8"},
		{args: "fetch", message: "URL is missing"},
		{args: "fetch|http://h/|[1]", message: "no object"},
		{args: "fetch|http://h/|{", message: "not valid"},
		{args: "call", message: "METHOD is missing"},
		{args: "call|", message: "METHOD is empty"},
		{args: "call|a.b|5", message: "no object"},
		{args: "call|a.b|null", message: "no object"},
		{args: "call|a.b|", message: "not valid"},
		{args: "call|a.b|{} {}", message: "not valid"},
		{args: "call|a.b|@list.json", message: "no object"},
		{args: "call|a.b|@none.json", message: `cannot read "none.json": no such file`},
		{args: "call|a.b|-", stdin: "", message: "not valid"},
		{args: "page.inspect|text", message: "not valid"},
		{args: "describe|{}|x", message: "too many arguments"},
		{args: "js|", message: "the script is empty"},
		{args: "js", stdin: "\n", message: "the script is empty"},
		{args: "js|--file|empty.js", message: "the script is empty"},
		{args: "js|--file|none.js", message: `cannot read "none.js"`},
		{args: "js|--file|.", message: `cannot read`},
		{args: "js|--file|empty.js|1", message: "not both"},
		{args: "js|1|2", message: "too many arguments"},
		{args: "js|--tab|0|1", message: "TAB must be a positive integer"},
		{args: "tabs|--tab|1", message: `unknown flag "--tab"`},
		{args: "watch|x", message: "too many arguments"},
		{args: "events|5", message: "too many arguments"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := []string{"agent"}
			if c.args != "" {
				args = append(args, strings.Split(c.args, "|")...)
			}
			got := run{args: args, stdin: c.stdin, socket: host.Socket, dir: dir}.do(t)
			if got.status != 2 || got.stdout != "" {
				t.Errorf("status %d, stdout %q; want 2 and nothing", got.status, got.stdout)
			}
			if !strings.HasPrefix(got.stderr, "vant agent: ") || !strings.Contains(got.stderr, c.message) {
				t.Errorf("stderr %q, want it to say %q", got.stderr, c.message)
			}
			if strings.Count(got.stderr, "\n") < 2 {
				t.Errorf("stderr %q has no hint", got.stderr)
			}
		})
	}
	if n := len(host.Requests()); n != 0 {
		t.Errorf("%d requests came, want none", n)
	}
}

func TestNearCommandIsSuggested(t *testing.T) {
	got := run{args: []string{"agent", "snapshto"}}.do(t)
	if !strings.Contains(got.stderr, `did you mean "vant agent snapshot"?`) {
		t.Errorf("stderr %q", got.stderr)
	}
}

// TestOutput: what stands on stdout and stderr for an answer, and the status.
func TestOutput(t *testing.T) {
	const covered = `{"ok":false,"error":"covered","hit":{"tag":"div"}}`
	failure := clienttest.Failure("not_found", "tab 7 is closed")
	for _, c := range []struct {
		name   string
		answer clienttest.Handler
		args   string
		env    []string
		stdout string // {id} stands for the request's id
		stderr string
		status int
	}{
		{name: "text is bare", answer: clienttest.Result(`"A \"title\"\u001b[1m\nline"`), args: "js|1", stdout: "A \"title\"\x1b[1m\nline\n"},
		{name: "empty text", answer: clienttest.Result(`""`), args: "js|1", stdout: "\n"},
		{name: "object is compact", answer: clienttest.Result(`{"a":[1,2],"b":null}`), args: "status", stdout: "{\"a\":[1,2],\"b\":null}\n"},
		{name: "numbers keep their bytes", answer: clienttest.Result(`[12345678901234567890,1.50,-0.0,1E400]`), args: "tabs", stdout: "[12345678901234567890,1.50,-0.0,1E400]\n"},
		{name: "null", answer: clienttest.Result(`null`), args: "js|1", stdout: "null\n"},
		{name: "whole envelope", answer: clienttest.Result(`"x"`), args: "--json|js|1", stdout: `{"version":1,"id":{id},"ok":true,"result":"x"}` + "\n"},
		{name: "failure", answer: failure, args: "tabs", stderr: "vant agent: not_found: tab 7 is closed\n", status: 1},
		{name: "failure with envelope", answer: failure, args: "tabs|--json", stdout: `{"version":1,"id":{id},"ok":false,"error":{"code":"not_found","message":"tab 7 is closed"}}` + "\n", status: 1},
		{name: "warnings", answer: clienttest.Warned(`1`, `["unknown parameter \"x\" ignored"]`), args: "tabs", stdout: "1\n", stderr: "vant agent: warning: unknown parameter \"x\" ignored\n"},
		{name: "warnings are one line each", answer: clienttest.Warned(`1`, `["a\nb","c"]`), args: "tabs", stdout: "1\n", stderr: "vant agent: warning: a\\u000ab\nvant agent: warning: c\n"},
		{name: "semantic failure", answer: clienttest.Result(covered), args: "click|@e1", stdout: covered + "\n", stderr: "vant agent: click: covered\n"},
		{name: "semantic failure, strict", answer: clienttest.Result(covered), args: "--strict|click|@e1", stdout: covered + "\n", stderr: "vant agent: click: covered\n", status: 1},
		{name: "semantic failure, strict by variable", answer: clienttest.Result(covered), args: "fill|@e1|x", env: []string{"VANT_STRICT=1"}, stdout: covered + "\n", stderr: "vant agent: fill: covered\n", status: 1},
		{name: "variable set to 0", answer: clienttest.Result(covered), args: "fill|@e1|x", env: []string{"VANT_STRICT=0"}, stdout: covered + "\n", stderr: "vant agent: fill: covered\n"},
		{name: "semantic failure of a dotted name", answer: clienttest.Result(covered), args: "--strict|page.interact|{}", stdout: covered + "\n", stderr: "vant agent: page.interact: covered\n", status: 1},
		{name: "success, strict", answer: clienttest.Result(`{"ok":true}`), args: "--strict|click|@e1", stdout: `{"ok":true}` + "\n"},
		{name: "a script's value is no failure", answer: clienttest.Result(`{"ok":false,"error":"mine"}`), args: "--strict|js|1", stdout: `{"ok":false,"error":"mine"}` + "\n"},
		{name: "HTTP 404 is no failure", answer: clienttest.Result(`{"status":404,"ok":false}`), args: "--strict|fetch|http://h/", stdout: `{"status":404,"ok":false}` + "\n"},
		{name: "no reply", answer: func(net.Conn, clienttest.Request) {}, args: "tabs", stderr: "vant agent: browser.tabs: the host closed the connection without a reply; whether the call took effect is unknown\n", status: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := clienttest.Start(t, c.answer)
			got := run{args: append([]string{"agent"}, strings.Split(c.args, "|")...), socket: host.Socket, env: c.env}.do(t)
			if r := host.Requests(); len(r) == 1 {
				c.stdout = strings.ReplaceAll(c.stdout, "{id}", string(r[0].ID))
			}
			want := outcome{c.stdout, c.stderr, c.status}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoHostSaysSocketAndWhatToDo(t *testing.T) {
	socket := tempDir(t) + "/none.sock"
	for _, args := range [][]string{{"agent", "tabs"}, {"agent", "--json", "tabs"}, {"agent", "watch"}} {
		got := run{args: args, socket: socket}.do(t)
		want := outcome{"", "vant agent: no host at " + socket + " (no such file or directory): start one with \"vant up\"\n", 1}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%v: %s", args, diff)
		}
	}
}

func TestSocketPathThatIsTooLong(t *testing.T) {
	got := run{args: []string{"agent", "--socket", "/tmp/" + strings.Repeat("x", 120), "tabs"}}.do(t)
	if got.status != 1 || !strings.Contains(got.stderr, "125 bytes, the limit is 104") {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
}

func TestTimeoutBoundsACall(t *testing.T) {
	release := make(chan struct{})
	host := clienttest.Start(t, func(net.Conn, clienttest.Request) { <-release })
	defer close(release)
	got := run{args: []string{"agent", "--timeout", "50ms", "tabs"}, socket: host.Socket}.do(t)
	if got.status != 1 || !strings.Contains(got.stderr, "no reply from "+host.Socket+" within 50ms") {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
}

func TestLargeScriptReachesTheHostWhole(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`1`))
	script := strings.Repeat("/* fill */\n", 90_000)
	got := run{args: []string{"agent", "js"}, stdin: script, socket: host.Socket}.do(t)
	if got.status != 0 {
		t.Fatalf("status %d, stderr %q", got.status, got.stderr)
	}
	want := fmt.Sprintf(`{"script":"%s"}`, strings.ReplaceAll(script, "\n", `\n`))
	if string(host.Requests()[0].Params) != want {
		t.Error("the script that came is another one")
	}
}

func TestFlagsBeforeTheWordAgent(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`"x"`))
	got := run{args: []string{"--socket", host.Socket, "--json", "agent", "fill", "@e1", "--json"}, socket: "/nowhere"}.do(t)
	if got.status != 0 || !strings.HasPrefix(got.stdout, `{"version":1`) {
		t.Errorf("status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
	}
	if want := `{"ref":"@e1","action":"fill","value":"--json"}`; string(host.Requests()[0].Params) != want {
		t.Errorf("params %s, want %s", host.Requests()[0].Params, want)
	}
}
