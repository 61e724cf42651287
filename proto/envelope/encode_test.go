package envelope

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReplies(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"result", string(AppendResult(nil, []byte(`"a"`), []byte(`[]`), nil)),
			`{"version":1,"id":"a","ok":true,"result":[]}`},
		{"result behind other bytes", string(AppendResult([]byte("x"), []byte(`7`), []byte(`{"a":1}`), nil)),
			`x{"version":1,"id":7,"ok":true,"result":{"a":1}}`},
		{"nothing", string(AppendResult(nil, nil, nil, nil)), `{"version":1,"id":"","ok":true,"result":null}`},
		{"warnings", string(AppendResult(nil, []byte(`1`), []byte(`1`), []string{"a \"b\"", "c\n"})),
			`{"version":1,"id":1,"ok":true,"result":1,"warnings":["a \"b\"","c\n"]}`},
		{"error", string(AppendError(nil, []byte(`"a"`), &Error{Code: NotFound, Message: "tab 7 is closed\n\xff", Data: json.RawMessage(`{}`)}, nil)),
			`{"version":1,"id":"a","ok":false,"error":{"code":"not_found","message":"tab 7 is closed\n` + "\ufffd" + `","data":{}}}`},
		{"error without data", string(AppendError(nil, nil, &Error{Code: Busy, Message: "m"}, []string{"w"})),
			`{"version":1,"id":"","ok":false,"error":{"code":"busy","message":"m"},"warnings":["w"]}`},
		{"data on several lines", string(AppendError(nil, nil, &Error{Code: Busy, Message: "m", Data: json.RawMessage("{\n \"a\": 1}")}, nil)),
			`{"version":1,"id":"","ok":false,"error":{"code":"busy","message":"m","data":{"a":1}}}`},
		{"data that is no JSON", string(AppendError(nil, nil, &Error{Code: Busy, Message: "m", Data: json.RawMessage("{")}, nil)),
			`{"version":1,"id":"","ok":false,"error":{"code":"busy","message":"m"}}`},
		{"request", string(AppendRequest(nil, []byte(`"a"`), "x.y", []byte("{\n\"a\" : \" b\"}\n"))),
			`{"version":1,"id":"a","method":"x.y","params":{"a":" b"}}`},
		{"request without params", string(AppendRequest(nil, []byte(`1`), "a\"b", nil)),
			`{"version":1,"id":1,"method":"a\"b","params":{}}`},
	} {
		if diff := cmp.Diff(tt.want+"\n", tt.got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestParseReply(t *testing.T) {
	for _, tt := range []struct {
		line string
		want Reply
		err  string
	}{
		{`{"version":1,"id":"a","ok":true,"result":[1, 2]}` + "\n", Reply{ID: []byte(`"a"`), OK: true, Result: json.RawMessage(`[1, 2]`)}, ""},
		{`{"ok":true}`, Reply{ID: []byte(`""`), OK: true, Result: json.RawMessage(`null`)}, ""},
		{`{"version":1,"id":7,"ok":true,"result":1,"warnings":["w"],"new":{}}`, Reply{ID: []byte(`7`), OK: true, Result: json.RawMessage(`1`), Warnings: []string{"w"}}, ""},
		{`{"version":1,"id":7,"ok":true,"result":1,"warnings":[1]}`, Reply{ID: []byte(`7`), OK: true, Result: json.RawMessage(`1`), Warnings: []string{""}}, ""},
		{`{"version":1,"id":7,"ok":false,"error":{"code":"not_found","message":"m\u00e9","data":{"a":1},"new":1}}`,
			Reply{ID: []byte(`7`), Error: &Error{Code: NotFound, Message: "mé", Data: json.RawMessage(`{"a":1}`)}}, ""},
		{`{"version":2,"ok":true}`, Reply{}, "the reply has another protocol version than 1"},
		{``, Reply{}, "not a reply: unexpected end at byte 0"},
		{`{"version":1,"ok":true,"result":`, Reply{}, "not a reply: unexpected end at byte 32"},
		{`{"version":1,"result":1}`, Reply{}, `not a reply: "ok" is missing or no boolean`},
		{`{"version":1,"ok":1}`, Reply{}, `not a reply: "ok" is missing or no boolean`},
		{`{"version":1,"ok":false}`, Reply{}, `not a reply: "ok" is false and there is no "error" object`},
		{`{"version":1,"ok":false,"error":{"message":"m"}}`, Reply{}, `not a reply: the error has no "code"`},
	} {
		got, err := ParseReply([]byte(tt.line))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(tt.err, text); diff != "" {
			t.Errorf("%s: %s", tt.line, diff)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.line, diff)
		}
	}
}

func TestLooksLikeHTTP(t *testing.T) {
	for text, want := range map[string]bool{
		"GET / HTTP/1.1": true, "POST /x": true, "HEAD ": true, "OPTIONS *": true, "PRI * HTTP/2.0": true, "get / HTTP/1.1": true,
		"": false, "GET": false, `{"version":1}`: false, "GETTING": false, "PRI": false,
	} {
		if got := LooksLikeHTTP([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSocketPath(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"VANT_SOCKET": "x.sock", "XDG_RUNTIME_DIR": "/run/user/7"}, "x.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/vantage-agent-7.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "run"}, "/tmp/vantage-agent-7.sock"},
		{nil, "/tmp/vantage-agent-7.sock"},
	} {
		if got := SocketPath(func(k string) string { return tt.env[k] }, 7); got != tt.want {
			t.Errorf("%v: %s", tt.env, got)
		}
	}
}

// The list is what documentation and reserved codes come from: a constant that
// it lacks would be documented nowhere.
func TestEveryCodeConstantIsListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants []Code
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			for _, v := range spec.Values {
				s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				constants = append(constants, Code(s))
			}
		}
		return true
	})
	if diff := cmp.Diff(constants, Codes()); diff != "" {
		t.Error(diff)
	}
	for _, c := range Codes() {
		if c.Doc() == "" || !c.Known() {
			t.Errorf("%s is not documented", c)
		}
	}
	if Code("mine").Known() || Code("mine").Doc() != "" {
		t.Error("an unknown code is known")
	}
}

func TestReservedCodesAreTheHosts(t *testing.T) {
	var got []string
	for _, c := range Codes() {
		if Reserved(string(c)) {
			got = append(got, string(c))
		}
	}
	want := strings.Fields("method_not_found invalid_request request_too_large busy plugin_unavailable plugin_busy result_too_large")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if Reserved("mine") {
		t.Error("a plugin's own code is reserved")
	}
}

func TestSharedErrors(t *testing.T) {
	for _, tt := range []struct {
		err  *Error
		want string
	}{
		{ErrTooLarge(), "request_too_large: the request is longer than 1048576 bytes; pass large data by file"},
		{ErrResultTooLarge(), "result_too_large: the reply would be longer than 16777216 bytes; ask for less"},
		{ErrBusy(), "busy: the host serves 256 connections already; try again"},
		{ErrHTTP(), "invalid_request: this is not HTTP: send one JSON object on one line"},
		{ErrTimeout("a.b", 1500*time.Millisecond), "timeout: a.b took longer than its bound of 1500 ms; whether it had an effect is unknown"},
		{ErrMethodNotFound("a.b", nil), `method_not_found: no method "a.b"`},
		{ErrMethodNotFound("a.b\n", []string{"a.c", "a.d"}), `method_not_found: no method "a.b\n"; near: a.c, a.d`},
		{ErrMethodNotFound(strings.Repeat("é", 300), nil), `method_not_found: no method "` + strings.Repeat("é", 32) + `…"`},
		{ErrInternal("m"), "internal_error: m"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// FuzzDecode: nothing that a client sends panics; an id is echoed as it came,
// and what was decoded is the same after it was written and read again.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"version":1,"id":"req-42","method":"browser.tabs","params":{"a":[1,"é",{"b":null}]}}`,
		`{"params":{"n":1e5},"method":"a\u002eb","id":-1.5E3,"version":1.0}`, `{"version":1,"id":"\ud83d","method":"m"}` + "\r\n",
		`{"version":1,"id":"a","id":"b"}`, `GET / HTTP/1.1`, ``, `{"id":`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		req, derr := Decode(line)
		reply := AppendError(nil, req.ID, ErrInternal("m"), nil)
		if bytes.IndexByte(reply, '\n') != len(reply)-1 {
			t.Fatalf("reply %q is not one line", reply)
		}
		r, err := ParseReply(reply)
		if err != nil || !bytes.Equal(r.ID, req.ID) {
			t.Fatalf("reply %q: %v", reply, err)
		}
		if string(req.ID) != `""` && !bytes.Contains(line, req.ID) {
			t.Fatalf("id %q did not come", req.ID)
		}
		if derr != nil {
			if derr.Code != InvalidRequest || derr.Message == "" {
				t.Fatal(derr)
			}
			return
		}
		again := AppendRequest(nil, req.ID, req.Method, req.Params)
		if bytes.IndexByte(again, '\n') != len(again)-1 {
			t.Fatalf("request %q is not one line", again)
		}
		second, derr := Decode(again)
		if derr != nil {
			t.Fatalf("%q: %v", again, derr)
		}
		if !bytes.Equal(second.ID, req.ID) || second.Method != req.Method {
			t.Fatalf("%q became %q", line, again)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, req.Params); err != nil || !bytes.Equal(b.Bytes(), second.Params) {
			t.Fatalf("params %q became %q: %v", req.Params, second.Params, err)
		}
	})
}
