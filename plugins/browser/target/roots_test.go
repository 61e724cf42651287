package target

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is a command that a browser was sent.
type told struct {
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Params struct {
		Object    string           `json:"objectId"`
		Node      int              `json:"backendNodeId"`
		Group     string           `json:"objectGroup"`
		Arguments []map[string]any `json:"arguments"`
	} `json:"params"`
}

// speaking is a browser whose commands come out of a channel; say answers one.
func speaking(t *testing.T) (b *Browser, commands <-chan told, say func(id int64, result string)) {
	t.Helper()
	r, out := io.Pipe()
	in, w := io.Pipe()
	all := make(chan told, 1000)
	go func() {
		defer close(all)
		for lines := bufio.NewReader(in); ; {
			line, err := lines.ReadBytes(0)
			if err != nil {
				return
			}
			var c told
			if json.Unmarshal(line[:len(line)-1], &c) == nil {
				all <- c
			}
		}
	}()
	b = New(r, w, Options{IDs: openIDs(t, filepath.Join(t.TempDir(), "ids.json"))})
	t.Cleanup(func() {
		out.Close()
		b.Close()
	})
	return b, all, func(id int64, result string) {
		_, _ = fmt.Fprintf(out, `{"id":%d,"sessionId":"sA","result":%s}`+"\x00", id, result) // fails when the test is over
	}
}

func TestClosedRootsAreAskedForTogether(t *testing.T) {
	b, commands, say := speaking(t)
	f := announce(b, "A").Main()
	b.mu.Lock()
	f.world, f.context, f.installed = "w1", 5, true
	b.mu.Unlock()
	const hosts = 64
	type opening struct {
		asked, opened int
		err           error
	}
	done := make(chan opening, 1)
	go func() {
		asked, opened, err := f.OpenRoots(t.Context(), "w1", "closedHosts", "openRoots")
		done <- opening{asked, opened, err}
	}()
	// next gives the commands of a method: none is answered before all are there.
	next := func(method string, n int) (all []told) {
		for c := range commands {
			if c.Method == method {
				if all = append(all, c); len(all) == n {
					return all
				}
			}
		}
		t.Fatalf("%d commands %s came; want %d", len(all), method, n)
		return nil
	}
	list := next("Runtime.evaluate", 1)[0]
	say(list.ID, `{"result":{"objectId":"list"}}`)
	items := ""
	for i := range hosts {
		items += fmt.Sprintf(`{"name":"%d","value":{"objectId":"host%d"}},`, i, i)
	}
	say(next("Runtime.getProperties", 1)[0].ID, `{"result":[`+items+`{"name":"length","value":{"value":64}}]}`)
	for i, c := range next("DOM.describeNode", hosts) {
		switch i % 4 {
		case 0:
			say(c.ID, fmt.Sprintf(`{"node":{"shadowRoots":[{"backendNodeId":%d,"shadowRootType":"closed"}]}}`, 100+i))
		case 1:
			say(c.ID, fmt.Sprintf(`{"node":{"shadowRoots":[{"backendNodeId":%d,"shadowRootType":"user-agent"}]}}`, 100+i))
		default:
			say(c.ID, `{"node":{}}`)
		}
	}
	for _, c := range next("DOM.resolveNode", hosts/4) {
		say(c.ID, fmt.Sprintf(`{"object":{"objectId":"root%d"}}`, c.Params.Node-100))
	}
	give := next("Runtime.callFunctionOn", 1)[0]
	want := []map[string]any{{"value": "openRoots"}, {"value": 16.0}}
	for _, kind := range []string{"host", "root"} {
		for i := 0; i < hosts; i += 4 {
			want = append(want, map[string]any{"objectId": fmt.Sprint(kind, i)})
		}
	}
	if diff := cmp.Diff(want, give.Params.Arguments); diff != "" {
		t.Errorf("the arguments (-want +got):\n%s", diff)
	}
	say(give.ID, `{"result":{"type":"undefined"}}`)
	if got := <-done; got.asked != hosts || got.opened != hosts/4 || got.err != nil {
		t.Errorf("it asked for %d and opened %d, %v", got.asked, got.opened, got.err)
	}
	if released := next("Runtime.releaseObjectGroup", 1)[0]; released.Params.Group == "" {
		t.Error("what was held is not let go of")
	}
}
