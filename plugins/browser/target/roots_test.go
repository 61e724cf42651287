package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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

// receive gives so many commands of a method, which none is answered before.
func receive(t *testing.T, commands <-chan told, method string, n int) (all []told) {
	t.Helper()
	for c := range commands {
		if c.Method == method {
			if all = append(all, c); len(all) == n {
				return all
			}
		}
		if c.Method == "Runtime.releaseObjectGroup" {
			break // the last
		}
	}
	t.Fatalf("%d commands %s came; want %d", len(all), method, n)
	return nil
}

// offering is the main frame of a tab, with our code in its document.
func offering(b *Browser) *Frame {
	f := announce(b, "A").Main()
	b.mu.Lock()
	defer b.mu.Unlock()
	f.world, f.context, f.installed = "w1", 5, true
	return f
}

// offer gives a list of hosts to who asks for it.
func offer(t *testing.T, commands <-chan told, say func(id int64, result string), hosts int) {
	t.Helper()
	say(receive(t, commands, "Runtime.evaluate", 1)[0].ID, `{"result":{"objectId":"list"}}`)
	items := ""
	for i := range hosts {
		items += fmt.Sprintf(`{"name":"%d","value":{"objectId":"host%d"}},`, i, i)
	}
	say(receive(t, commands, "Runtime.getProperties", 1)[0].ID, fmt.Sprintf(`{"result":[%s{"name":"length","value":{"value":%d}}]}`, items, hosts))
}

func TestClosedRootsAreAskedForTogether(t *testing.T) {
	b, commands, say := speaking(t)
	f := offering(b)
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
	offer(t, commands, say, hosts)
	for i, c := range receive(t, commands, "DOM.describeNode", hosts) {
		switch i % 4 {
		case 0:
			say(c.ID, fmt.Sprintf(`{"node":{"shadowRoots":[{"backendNodeId":%d,"shadowRootType":"closed"}]}}`, 100+i))
		case 1:
			say(c.ID, fmt.Sprintf(`{"node":{"shadowRoots":[{"backendNodeId":%d,"shadowRootType":"user-agent"}]}}`, 100+i))
		default:
			say(c.ID, `{"node":{}}`)
		}
	}
	for _, c := range receive(t, commands, "DOM.resolveNode", hosts/4) {
		say(c.ID, fmt.Sprintf(`{"object":{"objectId":"root%d"}}`, c.Params.Node-100))
	}
	give := receive(t, commands, "Runtime.callFunctionOn", 1)[0]
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
	if released := receive(t, commands, "Runtime.releaseObjectGroup", 1)[0]; released.Params.Group == "" {
		t.Error("what was held is not let go of")
	}
}

func TestHostsWithoutAClosedRootAreHandedOverAsAnswered(t *testing.T) {
	b, commands, say := speaking(t)
	f := offering(b)
	type opening struct {
		asked, opened int
		err           error
	}
	done := make(chan opening, 1)
	go func() {
		asked, opened, err := f.OpenRoots(t.Context(), "w1", "closedHosts", "openRoots")
		done <- opening{asked, opened, err}
	}()
	offer(t, commands, say, 2)
	hosts := receive(t, commands, "DOM.describeNode", 2)
	say(hosts[0].ID, `{"node":{}}`)
	say(hosts[1].ID, `null,"error":{"code":-32000,"message":"No node with given id found"}`)
	if got := <-done; got != (opening{asked: 2}) {
		t.Errorf("it ends with %+v", got)
	}
	give := receive(t, commands, "Runtime.callFunctionOn", 1)[0]
	want := []map[string]any{{"value": "openRoots"}, {"value": 0.0}}
	if diff := cmp.Diff(want, give.Params.Arguments); diff != "" || give.Params.Object != "list" {
		t.Errorf("of the list %q, the arguments (-want +got):\n%s", give.Params.Object, diff)
	}
}

func TestASearchForClosedRootsThatIsCutShortFails(t *testing.T) {
	late := errors.New("it is too late")
	for _, unanswered := range []string{"DOM.describeNode", "DOM.resolveNode"} {
		t.Run(unanswered, func(t *testing.T) {
			b, commands, say := speaking(t)
			f := offering(b)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() {
				asked, opened, err := f.OpenRoots(ctx, "w1", "closedHosts", "openRoots")
				if asked != 0 || opened != 0 {
					t.Errorf("it asked for %d and opened %d", asked, opened)
				}
				done <- err
			}()
			const hosts = 4
			offer(t, commands, say, hosts)
			described := receive(t, commands, "DOM.describeNode", hosts)
			if unanswered == "DOM.describeNode" {
				described = described[1:]
			}
			for _, c := range described {
				say(c.ID, `{"node":{"shadowRoots":[{"backendNodeId":7,"shadowRootType":"closed"}]}}`)
			}
			if unanswered == "DOM.resolveNode" {
				for _, c := range receive(t, commands, "DOM.resolveNode", hosts)[1:] {
					say(c.ID, `{"object":{"objectId":"root"}}`)
				}
			}
			cancel(late)
			if err := <-done; !errors.Is(err, late) {
				t.Errorf("it ends with %v", err)
			}
			for c := range commands {
				if c.Method == "Runtime.callFunctionOn" {
					t.Error("something is handed over")
				}
				if c.Method == "Runtime.releaseObjectGroup" {
					break
				}
			}
		})
	}
}
