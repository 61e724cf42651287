package router

import (
	"bytes"
	"testing"

	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
)

// Whatever a client sends, the answer is one line of strict JSON in the
// envelope, and nothing panics.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `GET / HTTP/1.1`, `{"version":1,"id":"a","method":"status","params":{}}`,
		`{"version":1,"id":1e9,"method":"describe","params":{"name":"demo.echo"}}`,
		`{"version":1,"id":1,"method":"demo.echo","params":{"text":"\ud83d","tabs":[1,2,"x"],"timeout":0}}`,
		`{"params":{"text":"a"},"id":"\u0000","method":"demo.\u0065cho","version":1}`,
		`{"version":1,"id":1,"method":"events.since","params":{"after":1e3,"limit":-1,"types":["a","\""]}}`,
		`{"version":1,"id":1,"method":"plugins.list","params":{"all":true,"a":null}}`,
		`{"version":1,"id":1,"method":"plugins.info","params":{"name":"\n\u2028"}}`,
		`{"version":1,"id":1,"method":"plugins.logs","params":{"name":"demo","after":99999999999999999999}}`,
		`{"version":1,"id":1,"method":"host.stop","params":{"drain_ms":1}}`,
		`{"version":1,"id":1,"method":"demo.own"}`, `{"version":1,"id":1,"method":"no\u0000\n.such"}`,
		"{\"version\":1,\"id\":\"\xff\",\"method\":\"status\"}",
	} {
		f.Add([]byte(seed))
	}
	r := newDemo(f, options())
	f.Fuzz(func(t *testing.T, line []byte) {
		// Waiting is tested elsewhere; here it would only slow the search down.
		if bytes.Contains(line, []byte("wait")) || bytes.Contains(line, []byte("slow")) {
			return
		}
		before := bytes.Clone(line)
		reply := r.Serve(t.Context(), 1, line, nil)
		if !bytes.Equal(before, line) {
			t.Fatal("the line was written to")
		}
		body, ok := bytes.CutSuffix(reply, []byte("\n"))
		if !ok || bytes.IndexByte(body, '\n') >= 0 || !bytes.HasPrefix(body, []byte(`{"version":1,"id":`)) {
			t.Fatalf("not one reply line: %q", reply)
		}
		if err := wire.Check(body); err != nil {
			t.Fatalf("reply is not strict JSON: %v: %q", err, reply)
		}
		parsed, err := envelope.ParseReply(reply)
		if err != nil {
			t.Fatalf("a client cannot read the reply: %v: %q", err, reply)
		}
		if !parsed.OK && !parsed.Error.Code.Known() && parsed.Error.Code != "demo_broken" {
			t.Fatalf("a code that no document has: %q", reply)
		}
	})
}
