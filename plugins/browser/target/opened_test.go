package target

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cdptarget "github.com/chromedp/cdproto/target"
)

// TestTabsHaveTheOpenersThatWantedThem tells a browser what it has to tell, in words:
// "A wants u" of a tab A and an address, "u X" of a tab X that begins with it, "u X of
// A" when the browser itself names its opener, "u X in c" in another context.
func TestTabsHaveTheOpenersThatWantedThem(t *testing.T) {
	for steps, want := range map[string]string{
		"A wants u, u X":                              "X:A",
		"u X, A wants u":                              "X:A",
		"A wants u, v X":                              "X:-",
		"A wants u, u X, u Y":                         "X:A Y:-",
		"A wants u, A wants u, u X, u Y":              "X:A Y:A",
		"A wants u, B wants v, v X, u Y":              "X:B Y:A",
		"A wants u, u X of A, u Y":                    "X:A Y:-",
		"A wants u, u X of B, u Y":                    "X:B Y:A",
		"A wants u, B wants u, u X, u Y":              "X:- Y:-",
		"u X, u Y, A wants u":                         "X:- Y:-",
		"A wants u, u X in c":                         "X:-",
		"A wants u, later, u X":                       "X:-",
		"u X, later, A wants u":                       "X:-",
		"A wants u, A goes, u X":                      "X:-",
		"A wants about:blank, about:blank X":          "X:-",
		"about:blank X, A wants about:blank":          "X:-",
		"A wants u, A wants v, v X, u Y, v Z":         "X:A Y:A Z:-",
		"A frame wants u, u X":                        "X:A",
		"A goes itself to u, u X":                     "X:-",
		"A saves u, u X":                              "X:-",
		"u X of A, A wants u, u Y":                    "X:A Y:-",
		"A wants u, B wants u, u X of A, u Y":         "X:A Y:-",
		"A wants u, B wants u, later, A wants u, u X": "X:A",
		"u X, X wants u":                              "X:-",
		"u X, X wants u, u Y":                         "X:- Y:X",
		"u X, u Y, X wants u":                         "X:- Y:X",
		"A wants http://a:b@u/, http://u/ X":          "X:A",
		"http://a:b@u/ X, A wants http://u/":          "X:A",
	} {
		t.Run(steps, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := silent(t)
				tabs := map[string]*Tab{"A": announce(b, "A"), "B": announce(b, "B")}
				names := map[int]string{0: "-", tabs["A"].ID: "A", tabs["B"].ID: "B"}
				var come []string
				for _, step := range strings.Split(steps, ", ") {
					words := strings.Fields(step)
					switch {
					case step == "later":
						time.Sleep(wantBound + time.Second)
					case strings.HasSuffix(step, " goes"):
						b.rootEvent("Target.detachedFromTarget", fmt.Appendf(nil, `{"sessionId":"s%s"}`, words[0]))
					case tabs[words[0]] != nil:
						place := "newTab"
						switch words[1] {
						case "goes":
							place = "currentTab"
						case "saves":
							place = "download"
						}
						frame := words[0]
						if words[1] == "frame" {
							frame = "other"
						}
						tabs[words[0]].event(&sessionOf{tabs[words[0]].session}, "Page.frameRequestedNavigation",
							fmt.Appendf(nil, `{"frameId":%q,"url":%q,"disposition":%q}`, frame, words[len(words)-1], place))
					default:
						url, id, more := words[0], words[1], ""
						if len(words) > 2 {
							more = map[string]string{"of": `,"openerId":`, "in": `,"browserContextId":`}[words[2]] + fmt.Sprintf("%q", words[3])
						}
						b.mu.Lock()
						b.made["c"] = true
						b.mu.Unlock()
						b.rootEvent("Target.targetCreated", fmt.Appendf(nil, `{"targetInfo":{"targetId":%q,"type":"page","url":%q%s}}`, id, url, more))
						b.rootEvent("Target.attachedToTarget", fmt.Appendf(nil, `{"sessionId":"s%s","targetInfo":{"targetId":%q,"type":"page","url":""%s},"waitingForDebugger":true}`, id, id, more))
						come = append(come, id)
						b.mu.Lock()
						tabs[id] = b.byTarget[cdptarget.ID(id)]
						names[tabs[id].ID] = id
						b.mu.Unlock()
					}
				}
				var got []string
				b.mu.Lock()
				defer b.mu.Unlock()
				for _, id := range come {
					got = append(got, id+":"+names[b.byTarget[cdptarget.ID(id)].opener])
				}
				if text := strings.Join(got, " "); text != want {
					t.Errorf("the openers are %s; want %s", text, want)
				}
			})
		})
	}
}
