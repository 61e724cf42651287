package target

import (
	"io"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	cdptarget "github.com/chromedp/cdproto/target"
)

func TestRefsHaveOneForm(t *testing.T) {
	tests := []struct {
		ref           string
		generation, n int64
		ok            bool
	}{
		{"@e1_1", 1, 1, true},
		{"@e7_12", 7, 12, true},
		{"@e9223372036854775807_9223372036854775807", math.MaxInt64, math.MaxInt64, true},
		{"@e9223372036854775808_1", 0, 0, false},
		{"@e1_99999999999999999999999", 0, 0, false},
		{"", 0, 0, false}, {"@", 0, 0, false}, {"@e", 0, 0, false}, {"@e_", 0, 0, false}, {"@e1", 0, 0, false}, {"@e1_", 0, 0, false},
		{"@e_1", 0, 0, false}, {"@e12345", 0, 0, false}, {"e1_1", 0, 0, false}, {"@E1_1", 0, 0, false}, {"@f1_1", 0, 0, false},
		{"@e0_1", 0, 0, false}, {"@e1_0", 0, 0, false}, {"@e01_1", 0, 0, false}, {"@e1_01", 0, 0, false}, {"@e-1_1", 0, 0, false},
		{"@e1_-1", 0, 0, false}, {"@e+1_1", 0, 0, false}, {"@e1_+1", 0, 0, false}, {"@e1__1", 0, 0, false}, {"@e1_1_1", 0, 0, false},
		{"@e1_1 ", 0, 0, false}, {" @e1_1", 0, 0, false}, {"@e1 _1", 0, 0, false}, {"@e1_1\n", 0, 0, false}, {"@e1_1x", 0, 0, false},
		{"@e1.5_1", 0, 0, false}, {"@e1e3_1", 0, 0, false}, {"@e0x1_1", 0, 0, false}, {"@e١_١", 0, 0, false}, {"@e1_1\x00", 0, 0, false},
		{"button", 0, 0, false}, {"#id", 0, 0, false},
	}
	for _, test := range tests {
		generation, n, ok := parseRef(test.ref)
		if ok != test.ok || ok && (generation != test.generation || n != test.n) {
			t.Errorf("%q is %d, %d, %v", test.ref, generation, n, ok)
		}
	}
}

func FuzzRefsAreReadAsTheyAreWritten(f *testing.F) {
	f.Add("@e1_1")
	f.Add("@e10_0")
	f.Fuzz(func(t *testing.T, ref string) {
		if generation, n, ok := parseRef(ref); ok && ref != "@e"+strconv.FormatInt(generation, 10)+"_"+strconv.FormatInt(n, 10) {
			t.Errorf("%q is read as generation %d, number %d", ref, generation, n)
		}
	})
}

// silent is a browser that says nothing.
func silent(t *testing.T) *Browser {
	t.Helper()
	r, out := io.Pipe()
	in, w := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, in) }() // ends with the browser
	b := New(r, w, Options{IDs: openIDs(t, filepath.Join(t.TempDir(), "ids.json"))})
	t.Cleanup(func() {
		out.Close()
		b.Close()
	})
	return b
}

// announce puts a tab into the model as the browser's events do.
func announce(b *Browser, id string) *Tab {
	b.rootEvent("Target.attachedToTarget", []byte(`{"sessionId":"s`+id+`","targetInfo":{"targetId":"`+id+`","type":"page"}}`))
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byTarget[cdptarget.ID(id)]
}

func TestRefsNameTheDocumentThatGaveThem(t *testing.T) {
	b := silent(t)
	one, two := announce(b, "A"), announce(b, "B")
	f := one.Main()
	f.world = "w1"
	f.Issued(5, 1, 10, "w1")
	f.Issued(5, 100, 101, "w1")
	f.Issued(6, 1, 1, "w1") // an empty page
	check := func(tab *Tab, ref, want string) {
		t.Helper()
		got, world, reason := tab.Ref(ref)
		if reason != want || (reason == "") != (got == f && world == "w1") {
			t.Errorf("%s in tab %d: frame %v, document %q, reason %q; want reason %q", ref, tab.ID, got, world, reason, want)
		}
	}
	check(one, "@e5_1", "")
	check(one, "@e5_9", "")
	check(one, "@e5_100", "")
	check(one, "@e5_10", Unknown)
	check(one, "@e5_99", Unknown)
	check(one, "@e5_101", Unknown)
	check(one, "@e6_1", Unknown)
	check(one, "@e4_1", Unknown)
	check(two, "@e5_1", Unknown)
	check(one, "button", Unknown)
	f.world = "w2"
	check(one, "@e5_1", Navigated)
	f.world = "w1"
	f.gone = true
	check(one, "@e5_1", Navigated)
}

func TestRefsOfOneTabAreBounded(t *testing.T) {
	b := silent(t)
	tab, other := announce(b, "A"), announce(b, "B")
	tab.Main().world, other.Main().world = "w", "w"
	other.Main().Issued(1, 1, 2, "w")
	for g := int64(2); g < 2+maxIssues+10; g++ {
		tab.Main().Issued(g, 1, 2, "w")
	}
	if n := len(b.refs); n != maxIssues+1 {
		t.Errorf("%d generations are known", n)
	}
	if _, _, reason := tab.Ref("@e2_1"); reason != Unknown {
		t.Errorf("the oldest one is %q", reason)
	}
	if _, _, reason := tab.Ref("@e5000_1"); reason != Unknown {
		t.Errorf("one that never was is %q", reason)
	}
	if _, _, reason := tab.Ref("@e4000_1"); reason != "" {
		t.Errorf("a late one is %q", reason)
	}
	if _, _, reason := other.Ref("@e1_1"); reason != "" {
		t.Errorf("the other tab's is %q", reason)
	}
	b.rootEvent("Target.detachedFromTarget", []byte(`{"sessionId":"sA"}`))
	if n := len(b.refs); n != 1 {
		t.Errorf("after the tab's end %d generations are known", n)
	}
}
