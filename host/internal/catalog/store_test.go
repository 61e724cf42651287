package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestCopySurvivesReplacement(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	first := b.accepted()
	write(t, b.path("vant-plugin-x"), script+"# two", 0o755)
	second := b.accepted()
	if first.Exec == second.Exec {
		t.Fatal("both have the same copy")
	}
	checkContent(t, first.Exec, script)
	checkContent(t, second.Exec, script+"# two")
}

// What is hashed is what the copy holds, however the original is swapped.
func TestCopyHasItsHashWhileTheOriginalIsSwapped(t *testing.T) {
	b := newBench(t)
	contents := []string{script + strings.Repeat("# a\n", 100_000), script + strings.Repeat("# b\n", 100_000)}
	write(t, b.path("vant-plugin-x"), contents[0], 0o755)
	done := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			part := b.path(".next")
			if err := os.WriteFile(part, []byte(contents[i%2]), 0o755); err != nil {
				t.Error(err)
				return
			}
			if i%3 == 0 { // in place
				if err := os.WriteFile(b.path("vant-plugin-x"), []byte(contents[i%2]), 0o755); err != nil {
					t.Error(err)
				}
			} else if err := os.Rename(part, b.path("vant-plugin-x")); err != nil {
				t.Error(err)
			}
		}
	})
	for range 60 {
		for _, c := range b.scan().Accepted {
			data, err := os.ReadFile(c.Exec)
			if err != nil {
				t.Fatal(err)
			}
			if sha(string(data)) != c.SHA256 || filepath.Base(filepath.Dir(c.Exec)) != c.SHA256 {
				t.Fatal("the copy is not what was hashed")
			}
		}
	}
	close(done)
	swaps.Wait()
}

func inode(t *testing.T, path string) identity {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return metaOf(info).id
}

func TestUnchangedFileIsNotCopiedAgain(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	folder(t, b.path("vant-plugin-y"))
	first := b.scan()
	// A store opened anew knows it from the index file.
	again, err := OpenStore(b.store.dir)
	if err != nil {
		t.Fatal(err)
	}
	again.now = b.store.now
	b.store = again
	if diff := cmp.Diff(first, b.scan()); diff != "" {
		t.Error(diff)
	}
	if b.store.dirty || len(b.store.index.Sources) != 2 {
		t.Errorf("the second scan hashed again: %+v", b.store.index)
	}
}

func TestRecentlyChangedFileIsNotRemembered(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	changed := time.Unix(0, inode(t, b.path("vant-plugin-x")).CTime)
	b.store.now = func() time.Time { return changed.Add(racyWindow - 1) }
	b.accepted()
	if n := len(b.store.index.Sources); n != 0 {
		t.Errorf("%d sources remembered", n)
	}
}

func TestRestoredTimeDoesNotHideAChange(t *testing.T) {
	b := newBench(t)
	path := b.path("vant-plugin-x")
	write(t, path, script+"# 1", 0o755)
	b.accepted()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, script+"# 2", 0o755)
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := b.accepted(); got.SHA256 != sha(script+"# 2") {
		t.Error("the old checksum was kept")
	}
}

func TestDamagedCopyIsMadeAnew(t *testing.T) {
	damage := map[string]func(string) error{
		"emptied": func(p string) error {
			return errors.Join(os.Chmod(p, 0o700), os.Truncate(p, 0), os.Chmod(p, 0o500))
		},
		"removed":  os.Remove,
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, []byte(script), 0o500)) },
		"mode":     func(p string) error { return os.Chmod(p, 0o755) },
	}
	for name, f := range damage {
		for _, isFolder := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s folder=%v", name, isFolder), func(t *testing.T) {
				b := newBench(t)
				if isFolder {
					folder(t, b.path("vant-plugin-x"))
				} else {
					write(t, b.path("vant-plugin-x"), script, 0o755)
				}
				c := b.accepted()
				if err := f(c.Exec); err != nil {
					t.Fatal(err)
				}
				before, err := os.Lstat(c.Exec)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if again := b.accepted(); again != c {
					t.Errorf("got %+v, want %+v", again, c)
				}
				checkContent(t, c.Exec, script)
				checkMode(t, c.Exec, 0o500)
				if before != nil && inode(t, c.Exec) == metaOf(before).id {
					t.Error("the damaged copy is still there")
				}
			})
		}
	}
}

func TestDamagedIndexCostsOnlyHashing(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	want := b.accepted()
	for _, text := range []string{"", "{", `{"version":9}`, `{"version":1,"sources":{"a":{"sha256":"../../x"}},"copies":{}}`, strings.Repeat("x", maxIndexBytes+1)} {
		write(t, b.store.indexFile(), text, 0o600)
		again, err := OpenStore(b.store.dir)
		if err != nil {
			t.Fatal(err)
		}
		again.now, b.store = b.store.now, again
		if got := b.accepted(); got != want {
			t.Errorf("got %+v", got)
		}
	}
}

func TestSameContentUnderTwoNames(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	write(t, b.path("vant-plugin-y"), script, 0o755)
	b.scan()
	first := b.scan()
	if len(first.Accepted) != 2 || first.Accepted[0].SHA256 != first.Accepted[1].SHA256 {
		t.Fatalf("got %+v", first)
	}
	if b.store.dirty {
		t.Error("copied again and again")
	}
}

func TestPruneKeepsWhatIsNamed(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	folder(t, b.path("vant-plugin-y"))
	res := b.scan()
	keep, drop := res.Accepted[0], res.Accepted[1]
	n, err := b.store.Prune(map[Copy]bool{keep.Copy(): true})
	if err != nil || n != 1 {
		t.Fatalf("pruned %d: %v", n, err)
	}
	if _, err := os.Stat(keep.Exec); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(drop.Exec); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other is still there: %v", err)
	}
	if diff := cmp.Diff(res, b.scan()); diff != "" {
		t.Errorf("after pruning: %s", diff)
	}
}

func TestPruneTellsPluginsOfTheSameContentApart(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	write(t, b.path("vant-plugin-y"), script, 0o755)
	b.scan()
	res := b.scan()
	keep, drop := res.Accepted[0], res.Accepted[1]
	if keep.SHA256 != drop.SHA256 {
		t.Fatalf("got %+v", res)
	}
	for i, removed := range []int{1, 0} {
		if n, err := b.store.Prune(map[Copy]bool{keep.Copy(): true}); err != nil || n != removed {
			t.Fatalf("time %d: pruned %d: %v", i+1, n, err)
		}
		if _, err := os.Stat(keep.Exec); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(drop.Exec); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the other's is still there: %v", err)
		}
		if n := len(b.store.index.Sources) + len(b.store.index.Copies); n != 2 {
			t.Errorf("%d entries of the index are left, want those of the one kept: %+v", n, b.store.index)
		}
	}
	if diff := cmp.Diff(res, b.scan()); diff != "" {
		t.Errorf("after pruning: %s", diff)
	}
	if n, err := b.store.Prune(nil); err != nil || n != 1 {
		t.Errorf("the folder of both: pruned %d: %v", n, err)
	}
	if left, err := os.ReadDir(b.store.binDir()); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOpenStoreRefusesWhatOthersCanChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	mkdir(t, dir, 0o777)
	if _, err := OpenStore(dir); err == nil || !strings.Contains(err.Error(), "rm -r") {
		t.Errorf("got %v", err)
	}
	mkdir(t, dir, 0o755)
	if _, err := OpenStore(dir); err != nil {
		t.Fatal(err)
	}
	checkMode(t, dir, fs.ModeDir|0o700)

	link := filepath.Join(t.TempDir(), "link")
	symlink(t, dir, link)
	if _, err := OpenStore(link); err == nil {
		t.Error("a link was taken for the store")
	}
}

func TestOpenStoreClearsWhatTheDeadLeft(t *testing.T) {
	b := newBench(t)
	old, fresh := filepath.Join(b.store.tmpDir(), "old"), filepath.Join(b.store.tmpDir(), "fresh")
	mkdir(t, old, 0o700)
	write(t, filepath.Join(old, "x"), "x", 0o400)
	write(t, fresh, "x", 0o600)
	then := time.Now().Add(-2 * staleTemp)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(b.store.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old copy: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("fresh copy: %v", err)
	}
}

func TestScanLeavesNoTemporaryFiles(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	folder(t, b.path("vant-plugin-y"))
	folder(t, b.path("vant-plugin-z"))
	symlink(t, "/etc/passwd", b.path("vant-plugin-z/link"))
	b.scan(func(o *Options) { o.Lock = &Lock{File: "l", Pins: map[string]string{"x": sha("other")}} })
	entries, err := os.ReadDir(b.store.tmpDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

// A full disk keeps the plugin's state as it is and is reported.
func TestStoreFailureMakesPending(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	write(t, b.path("vant-plugin-y"), script, 0o644)
	if err := os.RemoveAll(b.store.tmpDir()); err != nil {
		t.Fatal(err)
	}
	res, err := Scan(t.Context(), Options{Dirs: []string{b.dir}, Store: b.store})
	if err == nil || len(res.Pending) != 1 || len(res.Refused) != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
}

func BenchmarkScan(b *testing.B) {
	root := b.TempDir()
	dir := filepath.Join(root, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	filler := []byte(script + strings.Repeat("# some text that is not all zeros\n", 18<<20/34))
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("vant-plugin-p%d", i)), fmt.Appendf(filler, "%d", i), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	run := func(b *testing.B, store *Store) {
		res, err := Scan(b.Context(), Options{Dirs: []string{dir}, Store: store})
		if err != nil || len(res.Accepted) != 4 {
			b.Fatal(res, err)
		}
	}
	open := func(b *testing.B, dir string) *Store {
		store, err := OpenStore(dir)
		if err != nil {
			b.Fatal(err)
		}
		store.now = func() time.Time { return time.Now().Add(time.Hour) }
		return store
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			d := b.TempDir()
			b.StartTimer()
			run(b, open(b, filepath.Join(d, "store")))
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		d := filepath.Join(root, "store")
		run(b, open(b, d))
		b.ResetTimer()
		for b.Loop() {
			run(b, open(b, d))
		}
	})
}
