package target

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func openIDs(t *testing.T, path string) *IDs {
	t.Helper()
	ids, err := OpenIDs(path, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestIDsGoOnWhereTheyStoodAfterAnOrderlyEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.json")
	for want := 1; want < 7; want += 2 {
		ids := openIDs(t, path)
		for i := range 2 {
			if w, tab, g := ids.Window(), ids.Tab(), ids.Generation(); w != want+i || tab != want+i || g != int64(want+i) {
				t.Errorf("window %d, tab %d, generation %d; want %d of each", w, tab, g, want+i)
			}
		}
		if err := ids.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoIDComesTwiceWhereverACrashHits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.json")
	windows, tabs, generations := map[int]bool{}, map[int]bool{}, map[int64]bool{}
	for _, n := range []int{0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 500} {
		ids := openIDs(t, path)
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range n {
					w, tab, g := ids.Window(), ids.Tab(), ids.Generation()
					mu.Lock()
					if windows[w] || tabs[tab] || generations[g] || w < 1 || tab < 1 || g < 1 {
						t.Errorf("window %d, tab %d or generation %d comes again", w, tab, g)
					}
					windows[w], tabs[tab], generations[g] = true, true, true
					mu.Unlock()
				}
			})
		}
		all.Wait()
		// The crash: nothing is closed. What is being written is let finish, for
		// the next round writes the same file.
		ids.ends.Wait()
	}
}

func TestReservedIDsAreOnDiskBeforeTheyAreGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.json")
	ids := openIDs(t, path)
	for n := range 10_000 {
		id := ids.Tab()
		if n%100 != 0 {
			continue
		}
		ids.ends.Wait()
		after := openIDs(t, filepath.Join(t.TempDir(), "none"))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(after.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if next := openIDs(t, after.path).Tab(); next <= id {
			t.Fatalf("after a crash when %d was given, %d is next", id, next)
		}
	}
}

func TestABrokenFileOfIDsIsNamedAndLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "x", "{}", "null", "[]", `{"window":0,"tab":1,"generation":1}`, `{"window":1,"tab":-4,"generation":1}`,
		`{"window":1,"tab":1}`, `{"window":"1","tab":1,"generation":1}`, `{"window":1,"tab":1,"generation":1e99}`,
		`{"window":1,"tab":1,"generation":1`, "\x00\x00\x00\x00",
	} {
		path := filepath.Join(t.TempDir(), "ids.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenIDs(path, hclog.NewNullLogger())
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%q: error is %v", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q became %q, %v", text, now, err)
		}
	}
}

func TestIDsThatCannotBeKeptAreAnErrorAtTheStart(t *testing.T) {
	if _, err := OpenIDs(filepath.Join(t.TempDir(), "none", "ids.json"), hclog.NewNullLogger()); err == nil {
		t.Error("a folder that is not there gives no error")
	}
	if _, err := OpenIDs(t.TempDir(), hclog.NewNullLogger()); err == nil {
		t.Error("a folder in place of the file gives no error")
	}
}

func TestTheFolderOfIDsHoldsNothingElse(t *testing.T) {
	dir := t.TempDir()
	ids := openIDs(t, filepath.Join(dir, "ids.json"))
	for range 2000 {
		ids.Tab()
	}
	if err := ids.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "ids.json" {
		t.Errorf("the folder has %v, %v", list, err)
	}
}
