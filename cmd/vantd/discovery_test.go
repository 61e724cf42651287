package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk/plugintest"
)

func TestPluginsFollowTheirFiles(t *testing.T) {
	h := start(t, plugintest.HostOptions{})
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")

	writeTo(t, file, variant(t, 1), 0o755)
	pid := serves(t, h, "faulty", 1).Pid
	must(t, h.Call(within(t, soon), "faulty.echo", nil, nil))

	// As cp does: the file that runs is written over. It runs from a copy.
	writeTo(t, file, variant(t, 2), 0o755)
	row := serves(t, h, "faulty", 2)
	if row.Pid == pid {
		t.Error("the same process serves as another generation")
	}
	eventually(t, soon, "the old process gone", func() bool { return !alive(pid) })

	// As mv and editors do.
	moveTo(t, file, variant(t, 3))
	serves(t, h, "faulty", 3)
	other := filepath.Join(h.Dir, "moved")
	writeTo(t, other, variant(t, 4), 0o755)
	must(t, os.Rename(other, file))
	serves(t, h, "faulty", 4)

	// The same content again is no change.
	moveTo(t, file, variant(t, 4))
	if status, out := cli(t, h, "plugin", "rescan"); status != 0 || !strings.HasPrefix(out, "nothing has changed since the host last looked") {
		t.Errorf("rescan after a file was replaced by itself: %d %s", status, out)
	}

	pid = plugins(t, h)["faulty"].Pid
	must(t, os.Remove(file))
	gone(t, h, "faulty")
	eventually(t, soon, "the process gone", func() bool { return !alive(pid) })
	if got := code(h.Call(within(t, soon), "faulty.echo", nil, nil)); got != "method_not_found" {
		t.Errorf("a method of a plugin that is gone: %s", got)
	}

	// The directory itself goes and comes back.
	writeTo(t, file, variant(t, 5), 0o755)
	serves(t, h, "faulty", 5)
	must(t, os.RemoveAll(h.Plugins))
	gone(t, h, "faulty")
	must(t, os.Mkdir(h.Plugins, 0o700))
	moveTo(t, file, variant(t, 6))
	serves(t, h, "faulty", 6)

	eventually(t, soon, "the copies of what is gone removed", func() bool {
		_, _ = cli(t, h, "plugin", "rescan") // a look after which nothing changes
		copies, err := filepath.Glob(filepath.Join(h.Dir, "state", "vant", "hosts", "*", "bin", "*"))
		return err == nil && len(copies) == 1
	})
}

func TestDroppedPluginServesWithinTwoSeconds(t *testing.T) {
	h := start(t, plugintest.HostOptions{})
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	best := time.Hour
	for n := byte(1); n <= 3; n++ {
		b := variant(t, n)
		out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o755)
		must(t, err)
		for piece := range slices.Chunk(b, len(b)/10) { // longer than any wait for more of it
			_, err := out.Write(piece)
			must(t, err)
			time.Sleep(50 * time.Millisecond)
		}
		must(t, out.Close())
		complete := time.Now()
		serves(t, h, "faulty", uint64(n))
		best = min(best, time.Since(complete))
		must(t, os.Remove(file))
		gone(t, h, "faulty")
	}
	t.Logf("the fastest was %v", best)
	if best > 2*time.Second {
		t.Errorf("the fastest of three served after %v", best)
	}
}

func TestHalfACopyIsNeverStarted(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	serves(t, h, "faulty", 1)
	whole := faulty(t, "other")
	b, err := os.ReadFile(whole)
	must(t, err)
	for _, name := range []string{"other", "faulty"} {
		out, err := os.OpenFile(filepath.Join(h.Plugins, "vant-plugin-"+name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
		must(t, err)
		// Half of it has a whole header, and stays so for some looks.
		_, err = out.Write(b[:len(b)/2])
		must(t, err)
		if name == "other" {
			row := becomes(t, h, name, "being written", func(s status) bool { return s.State != "" })
			if row.State != "refused" || !strings.Contains(row.Reason, "still being written") {
				t.Errorf("got %+v", row)
			}
		}
		for range 5 {
			if status, out := cli(t, h, "plugin", "rescan"); status != 0 {
				t.Error(out)
			}
			if row := plugins(t, h)["faulty"]; row.State != "ready" || row.Generation != 1 {
				t.Fatalf("while its file is written over: %+v", row)
			}
			must(t, h.Call(within(t, soon), "faulty.echo", nil, nil))
			if name == "other" {
				break // a rescan waits for the writer
			}
		}
		_, err = out.Write(append(b[len(b)/2:], 1))
		must(t, errors.Join(err, out.Close()))
	}
	serves(t, h, "faulty", 2)
	// Its name is not that of its file: but what was started is the whole.
	becomes(t, h, "other", "started", func(s status) bool {
		return s.State == "refused" && strings.Contains(s.Reason, `calls itself "faulty"`)
	})
	if strings.Contains(h.Log(), "exec format") {
		t.Error("half of a file was started")
	}
}

func TestFolderPluginIsReplacedWhenAFileInItChanges(t *testing.T) {
	h := start(t, plugintest.HostOptions{})
	dir := filepath.Join(h.Plugins, "vant-plugin-faulty")
	must(t, os.MkdirAll(filepath.Join(dir, "lib"), 0o755))
	version := func(v string) { writeTo(t, filepath.Join(dir, "lib", "version"), []byte(v), 0o644) }
	version("1.2.3")
	writeTo(t, filepath.Join(dir, "real"), variant(t, 0), 0o755)
	writeTo(t, filepath.Join(dir, "vant-plugin-faulty"),
		[]byte("#!/bin/sh\nhere=$(dirname \"$0\")\nVANT_FAULTY_VERSION=$(cat \"$here/lib/version\") exec \"$here/real\"\n"), 0o755)
	serves(t, h, "faulty", 1)
	version("1.3.0")
	serves(t, h, "faulty", 2)
	var list []struct{ Version string }
	must(t, h.Call(within(t, soon), "plugins.list", nil, &list))
	if len(list) != 1 || list[0].Version != "1.3.0" {
		t.Errorf("got %+v", list)
	}
	// Without its program it is none; it comes back with it.
	must(t, os.Rename(filepath.Join(dir, "vant-plugin-faulty"), filepath.Join(dir, "off")))
	becomes(t, h, "faulty", "refused", func(s status) bool {
		return s.State == "refused" && strings.Contains(s.Reason, "holds no program named vant-plugin-faulty")
	})
	must(t, os.Rename(filepath.Join(dir, "off"), filepath.Join(dir, "vant-plugin-faulty")))
	serves(t, h, "faulty", 3)
}

func TestReplacementUnderLoadFailsNoCall(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	serves(t, h, "faulty", 1)
	var calls, failed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := h.Call(within(t, soon), "faulty.echo", map[string]any{"n": 1}, nil); err != nil {
					failed.Add(1)
					t.Errorf("a call: %v", err)
				}
				calls.Add(1)
			}
		})
	}
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	generation := uint64(1)
	for n := byte(1); n <= 4; n++ {
		if n%2 == 0 {
			writeTo(t, file, variant(t, n), 0o755)
		} else {
			moveTo(t, file, variant(t, n))
		}
		generation++
		serves(t, h, "faulty", generation)
	}
	before := calls.Load()
	eventually(t, soon, "calling on", func() bool { return calls.Load() > before+20 })
	close(stop)
	wg.Wait()
	if failed.Load() != 0 || calls.Load() < 100 {
		t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
	}
}

func TestRefusalsAreShownUntilTheFileChanges(t *testing.T) {
	good := variant(t, 0)
	foreign := bytes.Clone(good)
	foreign[18], foreign[19] = 0x08, 0 // MIPS
	tests := map[string]struct {
		make   func(path string)
		reason string
	}{
		"mode":    {func(p string) { writeTo(t, p, good, 0o644) }, "chmod +x"},
		"foreign": {func(p string) { writeTo(t, p, foreign, 0o755) }, "EM_MIPS"},
		"empty":   {func(p string) { writeTo(t, p, nil, 0o755) }, "is empty"},
		"text":    {func(p string) { writeTo(t, p, []byte("hello\n"), 0o755) }, "#!"},
		"script":  {func(p string) { writeTo(t, p, []byte("#!/no/such/interpreter\n"), 0o755) }, "/no/such/interpreter"},
		"world":   {func(p string) { writeTo(t, p, good, 0o757) }, "chmod o-w"},
		"fifo":    {func(p string) { must(t, syscall.Mkfifo(p, 0o644)) }, "named pipe"},
		"nothing": {func(p string) { must(t, os.Symlink("/no/such/file", p)) }, "does not exist"},
		"outside": {func(p string) { must(t, os.Symlink(built.faulty, p)) }, "leads out of"},
		"Upper":   {func(p string) { writeTo(t, p, good, 0o755) }, "no valid name"},
		"folder":  {func(p string) { must(t, os.Mkdir(p, 0o755)) }, "holds no program"},
	}
	if os.Geteuid() == 0 {
		tests["owner"] = struct {
			make   func(string)
			reason string
		}{func(p string) { writeTo(t, p, good, 0o755); must(t, os.Chown(p, 54321, -1)) }, "belongs to user 54321"}
		tests["group"] = struct {
			make   func(string)
			reason string
		}{func(p string) { writeTo(t, p, good, 0o775); must(t, os.Chown(p, -1, 54321)) }, "chmod g-w"}
	}
	config := "plugins:\n"
	for name := range tests {
		if name != "Upper" {
			config += section(name, "normal")
		}
	}
	h := start(t, plugintest.HostOptions{Config: config})
	for name, tt := range tests {
		tt.make(filepath.Join(h.Plugins, "vant-plugin-"+name))
	}
	for name, tt := range tests {
		row := becomes(t, h, name, "refused", func(s status) bool { return s.State == "refused" && !strings.Contains(s.Reason, "being written") })
		if !strings.Contains(row.Reason, tt.reason) {
			t.Errorf("%s: the reason %q does not say %q", name, row.Reason, tt.reason)
		}
	}
	var counts struct{ Plugins struct{ Total int } }
	must(t, h.Call(within(t, soon), "status", nil, &counts))
	if counts.Plugins.Total != 0 {
		t.Errorf("refused files count: %d", counts.Plugins.Total)
	}
	if status, out := cli(t, h, "doctor"); status != 1 || !strings.Contains(out, "chmod +x") {
		t.Errorf("doctor: %d %s", status, out)
	}
	must(t, os.Chmod(filepath.Join(h.Plugins, "vant-plugin-mode"), 0o755))
	serves(t, h, "mode", 1)
	must(t, os.RemoveAll(filepath.Join(h.Plugins, "vant-plugin-folder")))
	gone(t, h, "folder")
	moveTo(t, filepath.Join(h.Plugins, "vant-plugin-foreign"), good)
	serves(t, h, "foreign", 1)
}

func TestOneOfTwoPluginsKeepsAMethod(t *testing.T) {
	claim := "VANT_FAULTY_CLAIM=shared.method"
	h := start(t, plugintest.HostOptions{
		Binaries: []string{faulty(t, "b")},
		Config:   "plugins:\n" + section("a", "normal", claim) + section("b", "normal", claim),
	})
	serves(t, h, "b", 1)
	must(t, h.Install(faulty(t, "a")))
	serves(t, h, "a", 1)
	row := becomes(t, h, "b", "refused", func(s status) bool { return s.State == "refused" })
	for _, want := range []string{"shared.method", `"a"`, `"b"`} {
		if !strings.Contains(row.Reason, want) {
			t.Errorf("the reason %q does not name %s", row.Reason, want)
		}
	}
	must(t, os.Remove(filepath.Join(h.Plugins, "vant-plugin-a")))
	becomes(t, h, "b", "serving again", func(s status) bool { return s.State == "ready" })
}

func TestStrictHostStartsWhatIsPinned(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}, Config: "plugins:\n  verify: strict\n"})
	lock := filepath.Join(h.Dir, "config", "plugins.lock")
	refused := func(what string, says ...string) {
		t.Helper()
		row := becomes(t, h, "faulty", what, func(s status) bool { return s.State == "refused" && strings.Contains(s.Reason, says[0]) })
		for _, want := range says {
			if !strings.Contains(row.Reason, want) {
				t.Errorf("%s: %q does not say %q", what, row.Reason, want)
			}
		}
	}
	refused("without a lock file", lock+" does not exist", "vant plugin lock")
	if status, out := cli(t, h, "doctor"); status != 1 || !strings.Contains(out, "vant plugin lock") {
		t.Errorf("doctor: %d %s", status, out)
	}
	exit, out := cli(t, h, "plugin", "lock")
	if exit != 0 || !strings.HasPrefix(out, "faulty ") || !strings.HasSuffix(out, "written to "+lock+"\n") {
		t.Fatalf("lock: %d %s", exit, out)
	}
	serves(t, h, "faulty", 1)
	text, err := os.ReadFile(lock)
	must(t, err)
	if pin, _, _ := strings.Cut(out, "\n"); !strings.Contains(string(text), pin+"\n") {
		t.Errorf("the lock file has\n%s\nnot %s", text, pin)
	}
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	moveTo(t, file, variant(t, 1))
	refused("another content", "pins", lock)
	other := filepath.Join(t.TempDir(), "vant-plugin-faulty")
	writeTo(t, other, variant(t, 2), 0o755)
	if status, out := cli(t, h, "plugin", "install", other); status != 1 || !strings.Contains(out, lock) {
		t.Errorf("install of what is not pinned: %d %s", status, out)
	}
	moveTo(t, file, variant(t, 0)[:len(variant(t, 0))-1])
	becomes(t, h, "faulty", "serving again", func(s status) bool { return s.State == "ready" })
	// The pins themselves are watched.
	moveTo(t, lock, []byte("faulty nonsense\n"))
	must(t, os.Chmod(lock, 0o600))
	refused("a lock file that cannot be read", "cannot be read", lock+":1")
	moveTo(t, lock, text)
	becomes(t, h, "faulty", "serving again", func(s status) bool { return s.State == "ready" })
	moveTo(t, lock, []byte("# nothing\n"))
	refused("no pin", "is not in "+lock, "vant plugin lock")
}

func TestPluginThatIsSwitchedOffIsStopped(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{built.faulty, faulty(t, "off")},
		Config:   "plugins:\n  off:\n    host:\n      disabled: true\n",
	})
	var list []status
	must(t, h.Call(within(t, soon), "plugins.list", nil, &list))
	var got []string
	for _, s := range list {
		got = append(got, s.Name+" "+s.State)
	}
	if diff := cmp.Diff([]string{"faulty ready", "off stopped"}, got); diff != "" {
		t.Error(diff)
	}
	if reason := plugins(t, h)["off"].Reason; !strings.Contains(reason, "plugins.off.host.disabled") {
		t.Errorf("the reason is %q", reason)
	}
	var counts struct{ Plugins struct{ Ready, Total int } }
	must(t, h.Call(within(t, soon), "status", nil, &counts))
	if counts.Plugins.Total != 1 || counts.Plugins.Ready != 1 {
		t.Errorf("got %+v", counts)
	}
	if status, out := cli(t, h, "doctor"); status != 0 && strings.Contains(out, "WRONG  plugin") {
		t.Errorf("doctor: %s", out)
	}
	if status, out := cli(t, h, "plugin", "restart", "off"); status != 1 || !strings.Contains(out, "switched off") {
		t.Errorf("restart: %d %s", status, out)
	}
}

func TestRescanTellsWhatDoesNotRun(t *testing.T) {
	claim := "VANT_FAULTY_CLAIM=shared.method"
	h := start(t, plugintest.HostOptions{Config: "plugins:\n" + section("bad", "garbage-handshake") +
		section("good", "normal", claim) + section("loser", "normal", claim)})
	for _, name := range []string{"good", "bad", "loser"} {
		must(t, h.Install(faulty(t, name)))
	}
	writeTo(t, filepath.Join(h.Plugins, "vant-plugin-text"), []byte("text\n"), 0o755)
	for range 2 { // whether it or the host was the first to look
		var out struct {
			Refused []struct{ Name, Reason string }
		}
		must(t, h.Call(within(t, soon), "plugins.rescan", nil, &out))
		must(t, h.Call(within(t, soon), "good.echo", nil, nil))
		want := map[string]string{"bad": "a|b|c|d", "loser": "shared.method", "text": "#!"}
		for _, r := range out.Refused {
			if !strings.Contains(r.Reason, want[r.Name]) || want[r.Name] == "" {
				t.Errorf("%s: %s", r.Name, r.Reason)
			}
			delete(want, r.Name)
		}
		if len(want) > 0 {
			t.Errorf("nothing is said of %v", want)
		}
	}
}

func TestReloadAndHangupLookAgain(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}, Config: "log:\n  level: info\n"})
	serves(t, h, "faulty", 1)
	config := filepath.Join(h.Dir, "config", "vant.yaml")
	off := "plugins:\n  faulty:\n    host:\n      disabled: true\n"
	writeTo(t, config, []byte(off), 0o600)
	if status, out := cli(t, h, "config", "reload"); status != 0 || !strings.Contains(out, "plugins.faulty") {
		t.Errorf("reload: %d %s", status, out)
	}
	becomes(t, h, "faulty", "stopped", func(s status) bool { return s.State == "stopped" })
	writeTo(t, config, []byte("log:\n  level: info\n"), 0o600)
	signal(t, h.Pid(), syscall.SIGHUP)
	becomes(t, h, "faulty", "serving again", func(s status) bool { return s.State == "ready" })
}

// An idle host must not be felt: a look at what has not changed is cheap.
func TestIdleHostUsesNoProcessor(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, built.net}})
	used := func() time.Duration {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.Pid()))
		must(t, err)
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		var user, system int64
		_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
		must(t, err)
		return time.Duration(user+system) * 10 * time.Millisecond
	}
	time.Sleep(time.Second) // what a start leaves behind
	before := used()
	const span = 10 * time.Second
	time.Sleep(span)
	if d := used() - before; d > span/200 {
		t.Errorf("in %v it used %v", span, d)
	}
}

// Whoever calls a method of a plugin whose file has just been refused is told so
// at once, also while the old process ends what it has.
func TestARefusedFileIsToldOfWhileTheOldProcessEnds(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	whole, err := os.ReadFile(built.faulty)
	must(t, err)
	for i := range 2 {
		serves(t, h, "faulty", uint64(i+1))
		held := make(chan error, 1)
		go func() { held <- h.Call(within(t, soon), "faulty.sleep", map[string]any{"ms": 3000}, nil) }()
		becomes(t, h, "faulty", "busy", func(s status) bool { return s.InFlight == 1 })
		moveTo(t, file, []byte("a text\n"))
		if status, out := cli(t, h, "plugin", "rescan"); status != 0 || !strings.Contains(out, "is not a program") {
			t.Fatalf("rescan: %d %s", status, out)
		}
		for range 3 {
			for name, near := range map[string]string{"faulty.echo": "", "faulty.ecko": "; near: faulty.echo"} {
				want := `no method "` + name + `"` + near + `; plugin faulty is refused: see "vant plugin list --all"`
				if err := h.Call(within(t, soon), name, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		}
		select {
		case err := <-held:
			t.Fatalf("the old process had ended before all was asked: %v", err)
		default:
		}
		if err := <-held; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		moveTo(t, file, whole)
		must(t, h.Call(within(t, soon), "plugins.rescan", nil, nil))
	}
}
