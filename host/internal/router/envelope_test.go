package router

import (
	"strings"
	"testing"

	"github.com/vant-run/vant/proto/envelope"
)

// failed is the reply of a failure, as far as it does not depend on wording.
func failed(id, code string) string {
	return `{"version":1,"id":` + id + `,"ok":false,"error":{"code":"` + code + `","message":"`
}

func TestEnvelopeRules(t *testing.T) {
	r := newDemo(t, options())
	long := strings.Repeat("i", envelope.MaxIDBytes)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	ok := func(id string) string { return `{"version":1,"id":` + id + `,"ok":true,"result":null}` }
	const bad = "invalid_request"
	for _, tt := range []struct{ name, line, want string }{
		{"string id", `{"version":1,"id":"a","method":"demo.null"}`, ok(`"a"`)},
		{"escaped id", `{"version":1,"id":"\u0061\ud83d","method":"demo.null"}`, ok(`"\u0061\ud83d"`)},
		{"empty id", `{"version":1,"id":"","method":"demo.null"}`, ok(`""`)},
		{"large number id", `{"version":1,"id":9007199254740993,"method":"demo.null"}`, ok("9007199254740993")},
		{"odd number id", `{"version":1,"id":-1.50e+400,"method":"demo.null"}`, ok("-1.50e+400")},
		{"longest id", `{"version":1,"id":"` + long + `","method":"demo.null"}`, ok(`"` + long + `"`)},
		{"too long id", `{"version":1,"id":"` + long + `i","method":"demo.null"}`, failed(`""`, bad)},
		{"missing id", `{"version":1,"method":"demo.null"}`, failed(`""`, bad)},
		{"null id", `{"version":1,"id":null,"method":"demo.null"}`, failed(`""`, bad)},
		{"boolean id", `{"version":1,"id":true,"method":"demo.null"}`, failed(`""`, bad)},
		{"array id", `{"version":1,"id":[1],"method":"demo.null"}`, failed(`""`, bad)},
		{"object id", `{"version":1,"id":{},"method":"demo.null"}`, failed(`""`, bad)},

		{"missing version", `{"id":1,"method":"demo.null"}`, failed("1", bad)},
		{"later version", `{"version":2,"id":1,"method":"demo.null"}`, failed("1", bad)},
		{"text version", `{"version":"1","id":1,"method":"demo.null"}`, failed("1", bad)},

		{"missing method", `{"version":1,"id":1}`, failed("1", bad)},
		{"empty method", `{"version":1,"id":1,"method":""}`, failed("1", bad)},
		{"number method", `{"version":1,"id":1,"method":5}`, failed("1", bad)},
		{"escaped method", `{"version":1,"id":1,"method":"demo.n\u0075ll"}`, ok("1")},

		{"no params", `{"version":1,"id":1,"method":"demo.null"}`, ok("1")},
		{"null params", `{"version":1,"id":1,"method":"demo.null","params":null}`, ok("1")},
		{"array params", `{"version":1,"id":1,"method":"demo.null","params":[]}`, failed("1", bad)},
		{"text params", `{"version":1,"id":1,"method":"demo.null","params":"{}"}`, failed("1", bad)},

		{"unknown members", `{"trace":{"a":[1]},"version":1,"id":1,"method":"demo.null","zone":null}`, ok("1")},
		{"whitespace", "\t { \"version\" : 1 , \"id\" : 1 , \"method\" : \"demo.null\" } \r", ok("1")},
		{"duplicate member", `{"version":1,"id":1,"id":1,"method":"demo.null"}`, failed("1", bad)},
		{"duplicate parameter", `{"version":1,"id":1,"method":"demo.null","params":{"a":1,"\u0061":2}}`, failed("1", bad)},
		{"trailing data", `{"version":1,"id":1,"method":"demo.null"} {}`, failed("1", bad)},
		{"invalid UTF-8", "{\"version\":1,\"id\":1,\"method\":\"demo.null\",\"params\":{\"a\":\"\xff\"}}", failed("1", bad)},
		{"deepest params", `{"version":1,"id":1,"method":"demo.null","params":{"a":` + deep(envelope.MaxDepth-2) + `}}`, ok("1")},
		{"too deep params", `{"version":1,"id":1,"method":"demo.null","params":{"a":` + deep(envelope.MaxDepth) + `}}`, failed("1", bad)},
		{"not an object", `[1]`, failed(`""`, bad)},
		{"not JSON", `hello`, failed(`""`, bad)},
		{"torn", `{"version":1,"id":7,"met`, failed("7", bad)},
		{"empty line", ``, failed(`""`, bad)},
		{"blank line", "  \r", failed(`""`, bad)},
		{"HTTP", "GET /status HTTP/1.1\r", failed(`""`, bad) + "this is not HTTP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := serve(t, r, tt.line)
			if got != tt.want && (strings.HasSuffix(tt.want, "}") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("reply to %q\n got %s\nwant %s", tt.line, got, tt.want)
			}
		})
	}
}

func TestReplyIsAppended(t *testing.T) {
	r := newDemo(t, options())
	got := r.Serve(t.Context(), 1, []byte(`{"version":1,"id":1,"method":"demo.null"}`), []byte("before "))
	if want := "before {\"version\":1,\"id\":1,\"ok\":true,\"result\":null}\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReplySizeLimit(t *testing.T) {
	const frame = len(`{"version":1,"id":1,"ok":true,"result":""}`)
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	largest := envelope.MaxResultBytes - frame
	r := New(options())
	d := demo(t)
	fake := d.invoke.(fakePlugin)
	fake["demo.null"], fake["demo.none"] = result(text(largest)), result(text(largest+1))
	// Whitespace that is not sent does not count.
	fake["demo.wide"] = result(strings.Repeat(" ", 100) + text(largest))
	// An error can be too large too.
	fake["demo.own"] = pluginFails("demo_broken", "m", text(maxErrorData-2))
	fake["demo.proto"] = pluginFails("not_found", "m", text(maxErrorData-1))
	r.set([]source{d})

	for _, tt := range []struct {
		method string
		size   int // of the reply line, 0: refused
	}{
		{"demo.null", envelope.MaxResultBytes},
		{"demo.wide", envelope.MaxResultBytes},
		{"demo.none", 0},
	} {
		reply := serve(t, r, `{"version":1,"id":1,"method":"`+tt.method+`"}`)
		if tt.size == 0 {
			if !strings.HasPrefix(reply, failed("1", "result_too_large")) {
				t.Errorf("%s: %.200s, want result_too_large", tt.method, reply)
			}
		} else if len(reply) != tt.size {
			t.Errorf("%s: %d bytes, want %d: %.200s", tt.method, len(reply), tt.size, reply)
		}
	}
	if reply := serve(t, r, `{"version":1,"id":1,"method":"demo.own"}`); len(reply) < maxErrorData {
		t.Errorf("the largest error data was dropped: %.200s", reply)
	}
	if reply := serve(t, r, `{"version":1,"id":1,"method":"demo.proto"}`); strings.Contains(reply, "data") {
		t.Errorf("error data beyond the limit was passed on: %.200s", reply)
	}
	// The plugin lives on, and so does the next reply.
	if got, want := serve(t, r, `{"version":1,"id":1,"method":"demo.exact"}`), `"ok":true`; !strings.Contains(got, want) {
		t.Errorf("after a large reply: %s", got)
	}
}
