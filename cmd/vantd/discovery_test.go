package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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

// soon bounds what follows from a change of a file, on a machine that has more
// to do.
const soon = 15 * time.Second

// variant gives the n-th build of the faulty plugin: each has another checksum.
func variant(t *testing.T, n byte) []byte {
	t.Helper()
	b, err := os.ReadFile(built.faulty)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, n)
}

func writeTo(t *testing.T, path string, b []byte, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, b, mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// moveTo puts a whole file in place by a rename.
func moveTo(t *testing.T, path string, b []byte) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), ".new")
	writeTo(t, temp, b, 0o755)
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits for a plugin's state, and gives its row.
func becomes(t *testing.T, h *plugintest.RunningHost, name, what string, ok func(status) bool) status {
	t.Helper()
	var row status
	eventually(t, soon, fmt.Sprintf("%s: %s", name, what), func() bool {
		row = plugins(t, h)[name]
		return ok(row)
	})
	return row
}

func serves(t *testing.T, h *plugintest.RunningHost, name string, generation uint64) status {
	t.Helper()
	return becomes(t, h, name, fmt.Sprintf("serving as generation %d", generation), func(s status) bool {
		return s.State == "ready" && s.Generation == generation
	})
}

func gone(t *testing.T, h *plugintest.RunningHost, name string) {
	t.Helper()
	becomes(t, h, name, "gone", func(s status) bool { return s.State == "" })
}

// cli runs vant against a host.
func cli(t *testing.T, h *plugintest.RunningHost, args ...string) (status int, output string) {
	t.Helper()
	cmd := exec.CommandContext(within(t, time.Minute), built.vant, args...)
	cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket(), "VANT_PLUGIN_PATH="+h.Plugins)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

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

// tree lists all that a host has on disk, so that a test sees what is left.
func tree(t *testing.T, dir string) (paths []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && !strings.Contains(path, "/log/") {
			paths = append(paths, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	return paths
}

func TestVerifySaysWhatTheHostWouldDoAndLeavesNothing(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{built.faulty},
		Config:   "plugins:\n  net:\n    no_such_key: 1\n",
	})
	serves(t, h, "faulty", 1)
	elsewhere := t.TempDir()
	at := func(name string, b []byte, mode fs.FileMode) string {
		path := filepath.Join(elsewhere, name)
		writeTo(t, path, b, mode)
		return path
	}
	rival := filepath.Join(elsewhere, "vant-plugin-rival")
	must(t, os.Mkdir(rival, 0o755))
	writeTo(t, filepath.Join(rival, "real"), variant(t, 0), 0o755)
	writeTo(t, filepath.Join(rival, "vant-plugin-rival"), []byte("#!/bin/sh\n"+
		"VANT_FAULTY_NAME=rival VANT_FAULTY_CLAIM=faulty.echo exec \"$(dirname \"$0\")/real\"\n"), 0o755)
	first := filepath.Join(elsewhere, "vant-plugin-an-early")
	must(t, os.CopyFS(first, os.DirFS(rival)))
	must(t, os.Remove(filepath.Join(first, "vant-plugin-rival")))
	writeTo(t, filepath.Join(first, "vant-plugin-an-early"), []byte("#!/bin/sh\n"+
		"VANT_FAULTY_NAME=an-early VANT_FAULTY_CLAIM=faulty.echo exec \"$(dirname \"$0\")/real\"\n"), 0o755)
	net, err := os.ReadFile(built.net)
	must(t, err)
	before := tree(t, h.Dir)
	list := plugins(t, h)
	for _, tt := range []struct {
		what, path string
		status     int
		says       []string
	}{
		{"what runs", filepath.Join(h.Plugins, "vant-plugin-faulty"), 0, []string{"nothing to do: faulty 1.0.0", "this very plugin"}},
		{"another build of it", at("vant-plugin-faulty", variant(t, 1), 0o755), 0, []string{"would replace what runs: faulty 1.0.0", "faulty.echo"}},
		{"not executable", at("vant-plugin-mode", variant(t, 1), 0o644), 1, []string{"refused: " + elsewhere + "/vant-plugin-mode is not executable", "chmod +x"}},
		{"no plugin's name", at("weather", variant(t, 1), 0o755), 1, []string{"vant-plugin-<name>"}},
		{"nothing, and no plugin's name", filepath.Join(elsewhere, "none"), 1, []string{"not_found", "there is no file " + elsewhere + "/none"}},
		{"below a file", filepath.Join(elsewhere, "weather", "x"), 1, []string{"not_found", "there is no file"}},
		{"a key's name", at("vant-plugin-lock", variant(t, 1), 0o755), 1, []string{"has the name lock", "rename"}},
		{"no plugin", at("vant-plugin-sh", []byte("#!/bin/sh\necho hello\n"), 0o755), 1, []string{"would not start", "hello"}},
		{"no plugin, and silent", at("vant-plugin-quiet", []byte("#!/bin/sh\nexit 7\n"), 0o755), 1, []string{"would not start", "7"}},
		{"another's name", at("vant-plugin-wrong", variant(t, 1), 0o755), 1, []string{`calls itself "faulty"`}},
		{"another's method", rival, 1, []string{"faulty.echo", `already claimed by plugin "faulty"`}},
		{"what would take another's method", first, 0, []string{"would start: an-early", "note: plugin faulty would be refused"}},
		{"a configuration that it does not take", at("vant-plugin-net", net, 0o755), 1, []string{"would not start: configure", "no_such_key"}},
		{"nothing", filepath.Join(elsewhere, "vant-plugin-none"), 1, []string{"not_found", "vant-plugin-none"}},
	} {
		status, out := cli(t, h, "plugin", "verify", tt.path)
		if status != tt.status {
			t.Errorf("%s: status %d: %s", tt.what, status, out)
		}
		for _, want := range tt.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: does not say %q: %s", tt.what, want, out)
			}
		}
	}
	if got := code(h.Call(within(t, soon), "plugins.verify", map[string]any{"path": "vant-plugin-faulty"}, nil)); got != "invalid_params" {
		t.Errorf("a relative path: %s", got)
	}
	if diff := cmp.Diff(before, tree(t, h.Dir)); diff != "" {
		t.Errorf("something is left: %s", diff)
	}
	if diff := cmp.Diff(list, plugins(t, h)); diff != "" {
		t.Errorf("what runs has changed: %s", diff)
	}
}

func TestVerifyGoesByTheFolderThatAFileLiesIn(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	serves(t, h, "faulty", 1)
	file := filepath.Join(h.Plugins, "vant-plugin-faulty")
	must(t, os.Chmod(h.Plugins, 0o777))
	if status, out := cli(t, h, "plugin", "verify", file); status != 1 || !strings.Contains(out, "lies in "+h.Plugins+", which can be changed by every user") {
		t.Errorf("in a folder that everybody can write to: %d %s", status, out)
	}
	must(t, os.Chmod(h.Plugins, 0o755))
	if status, out := cli(t, h, "plugin", "verify", file); status != 0 {
		t.Errorf("once that is mended: %d %s", status, out)
	}
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o777))
	writeTo(t, filepath.Join(open, "vant-plugin-faulty"), variant(t, 1), 0o755)
	if status, out := cli(t, h, "plugin", "verify", filepath.Join(open, "vant-plugin-faulty")); status != 0 {
		t.Errorf("in another folder, out of which it would be installed: %d %s", status, out)
	}
}

func TestAVerifyThatAStopCutsOffIsNoVerdict(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}})
	begun := filepath.Join(h.Dir, "begun")
	slow := filepath.Join(t.TempDir(), "vant-plugin-slow")
	writeTo(t, slow, []byte("#!/bin/sh\n: >"+begun+"\nexec sleep 60\n"), 0o755)
	type outcome struct {
		verdict struct {
			OK     bool
			Action string
		}
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = h.Call(within(t, 10*time.Second), "plugins.verify", map[string]any{"path": slow}, &o.verdict)
		done <- o
	}()
	eventually(t, 10*time.Second, "the plugin being tried", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	must(t, h.Call(within(t, soon), "host.stop", nil, nil))
	o := <-done
	if o.err == nil || code(o.err) == "invalid_params" || !strings.Contains(o.err.Error(), "stopping") {
		t.Errorf("verdict %+v, error %v", o.verdict, o.err)
	}
}

func TestVerifyStartsInASandbox(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Env:    []string{"API_SECRET=s3cret"},
		Config: "plugins:\n  spy:\n    host:\n      env_from: [API_SECRET]\n      env:\n        OWN: mine\n",
	})
	out := filepath.Join(h.Dir, "seen")
	spy := filepath.Join(t.TempDir(), "vant-plugin-spy")
	writeTo(t, spy, []byte("#!/bin/sh\nenv >"+out+"\n"), 0o755)
	if status, text := cli(t, h, "plugin", "verify", spy); status != 1 {
		t.Errorf("status %d: %s", status, text)
	}
	seen, err := os.ReadFile(out)
	must(t, err)
	for _, secret := range []string{"s3cret", "OWN=", "VANT_CONFIG"} {
		if bytes.Contains(seen, []byte(secret)) {
			t.Errorf("it sees %s", secret)
		}
	}
	for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		_, rest, ok := strings.Cut(string(seen), name+"=")
		folder, _, _ := strings.Cut(rest, "\n")
		if !ok || !strings.Contains(folder, "/try-") {
			t.Errorf("%s is %s", name, folder)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", folder, err)
		}
	}
}

func TestInstallAndRemove(t *testing.T) {
	own, later := t.TempDir(), t.TempDir()
	h := start(t, plugintest.HostOptions{Env: []string{"VANT_PLUGIN_PATH=" + own + ":" + later}})
	source := filepath.Join(t.TempDir(), "vant-plugin-faulty")
	install := func(want int, says string) {
		t.Helper()
		if status, out := cli(t, h, "plugin", "install", source); status != want || !strings.Contains(out, says) {
			t.Fatalf("install: %d %s", status, out)
		}
	}
	writeTo(t, source, variant(t, 1), 0o755)
	install(0, "installed: faulty 1.0.0")
	// It serves when install has answered.
	must(t, h.Call(within(t, soon), "faulty.echo", nil, nil))
	if info, err := os.Stat(filepath.Join(own, "vant-plugin-faulty")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the installed file: %v, %v", info, err)
	}
	install(0, "installed: faulty 1.0.0")
	if row := plugins(t, h)["faulty"]; row.Generation != 1 {
		t.Errorf("installing it again started it again: %+v", row)
	}
	writeTo(t, source, variant(t, 2), 0o755)
	install(0, "in place of what ran")
	if row := plugins(t, h)["faulty"]; row.Generation != 2 || row.State != "ready" {
		t.Errorf("got %+v", row)
	}
	writeTo(t, source, []byte("#!/bin/sh\nexit 1\n"), 0o755)
	install(1, "refused: ")
	if row := plugins(t, h)["faulty"]; row.Generation != 2 || row.State != "ready" {
		t.Errorf("what was refused has done harm: %+v", row)
	}

	// A folder over the file, and a file over the folder.
	must(t, os.Remove(source))
	must(t, os.Mkdir(source, 0o755))
	writeTo(t, filepath.Join(source, "real"), variant(t, 3), 0o755)
	writeTo(t, filepath.Join(source, "vant-plugin-faulty"), []byte("#!/bin/sh\nexec \"$(dirname \"$0\")/real\"\n"), 0o755)
	install(0, "in place of what ran")
	if row := plugins(t, h)["faulty"]; row.Generation != 3 || row.State != "ready" {
		t.Errorf("got %+v", row)
	}
	must(t, os.RemoveAll(source))
	writeTo(t, source, variant(t, 4), 0o755)
	install(0, "in place of what ran")
	serves(t, h, "faulty", 4)

	remove := func(name string, want int, says string) {
		t.Helper()
		if status, out := cli(t, h, "plugin", "remove", name); status != want || !strings.Contains(out, says) {
			t.Errorf("remove %s: %d %s", name, status, out)
		}
	}
	remove("faulty", 0, "the plugin is removed")
	if got := code(h.Call(within(t, soon), "faulty.echo", nil, nil)); got != "method_not_found" {
		t.Errorf("a call after that: %s", got)
	}
	remove("faulty", 1, own+" has no plugin faulty")
	remove("../x", 1, "invalid_params")
	if left, err := os.ReadDir(own); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	moveTo(t, filepath.Join(later, "vant-plugin-faulty"), variant(t, 5))
	becomes(t, h, "faulty", "serving", func(s status) bool { return s.State == "ready" })
	remove("faulty", 1, "it lies at "+later+"/vant-plugin-faulty")
	install(0, "in place of what ran")
	var list []struct{ State, File string }
	must(t, h.Call(within(t, soon), "plugins.list", nil, &list))
	if len(list) != 1 || list[0].State != "ready" || list[0].File != filepath.Join(own, "vant-plugin-faulty") {
		t.Errorf("got %+v", list)
	}
	if status, out := cli(t, h, "plugin", "verify", filepath.Join(later, "vant-plugin-faulty")); status != 1 || !strings.Contains(out, "comes from "+own) {
		t.Errorf("verify of what is hidden: %d %s", status, out)
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
