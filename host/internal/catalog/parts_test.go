package catalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func lookup(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestDirs(t *testing.T) {
	bin := t.TempDir()
	real := filepath.Join(bin, "opt", "bin", "vantd")
	mkdir(t, filepath.Dir(real), 0o755)
	write(t, real, script, 0o755)
	link := filepath.Join(bin, "vantd")
	symlink(t, real, link)
	opt := filepath.Join(bin, "opt")

	for _, tc := range []struct {
		name   string
		env    map[string]string
		config []string
		exe    string
		want   []string
	}{
		{name: "the variable stands alone", env: map[string]string{"VANT_PLUGIN_PATH": "/a::/b:/a/", "HOME": "/h"},
			config: []string{"/c"}, exe: link, want: []string{"/a", "/b"}},
		{name: "the config stands alone", env: map[string]string{"HOME": "/h"}, config: []string{"/c", "/d"}, exe: link, want: []string{"/c", "/d"}},
		{name: "usual places", env: map[string]string{"HOME": "/h"}, exe: link,
			want: []string{"/h/.local/share/vant/plugins", SystemDir, opt + "/bin/plugins", opt + "/lib/vant/plugins"}},
		{name: "data folder named", env: map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/data"},
			want: []string{"/data/vant/plugins", SystemDir}},
		{name: "relative data folder ignored", env: map[string]string{"HOME": "/h", "XDG_DATA_HOME": "data"},
			want: []string{"/h/.local/share/vant/plugins", SystemDir}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Dirs(lookup(tc.env), tc.config, tc.exe)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJudgeAccess(t *testing.T) {
	for _, tc := range []struct {
		name     string
		uid, gid uint32
		mode     fs.FileMode
		want     Code
	}{
		{"own", 1000, 1000, 0o755, ""},
		{"root's", 0, 0, 0o755, ""},
		{"root's in another group", 0, 5, 0o755, ""},
		{"another user's", 1001, 1001, 0o755, CodeOwner},
		{"world-writable", 1000, 1000, 0o757, CodeWritable},
		{"root's world-writable", 0, 0, 0o777, CodeWritable},
		{"group-writable by the own group", 1000, 1000, 0o775, ""},
		{"group-writable by another group", 1000, 100, 0o775, CodeWritable},
		{"root's, writable by another group", 0, 1000, 0o775, CodeWritable},
		{"sticky and world-writable", 1000, 1000, fs.ModeDir | fs.ModeSticky | 0o777, CodeWritable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got Code
			if r := judgeAccess(meta{mode: tc.mode, uid: tc.uid, gid: tc.gid}, 1000, "/p/it's"); r != nil {
				got = r.Code
				if !strings.Contains(r.Reason, `run: `) || !strings.Contains(r.Reason, `'/p/it'\''s'`) {
					t.Errorf("reason %q has no command", r.Reason)
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJudgeFormatOnMacOS(t *testing.T) {
	arm := target{"darwin", "arm64"}
	for _, tc := range []struct {
		name, head string
		want       Code
	}{
		{"own", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01", ""},
		{"intel", "\xcf\xfa\xed\xfe\x07\x00\x00\x01", CodeArchitecture},
		{"universal", "\xca\xfe\xba\xbe\x00\x00\x00\x01\x01\x00\x00\x0c", ""},
		{"universal without own", "\xca\xfe\xba\xbe\x00\x00\x00\x01\x01\x00\x00\x07", CodeArchitecture},
		{"java class", "\xca\xfe\xba\xbe\x00\x00\x00\x34\x01\x00\x00\x07", CodeNotProgram},
		{"linux program", "\x7fELF\x02\x01\x01", CodeArchitecture},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got Code
			if r := judgeFormat(strings.NewReader(tc.head), int64(len(tc.head)), "/p", arm); r != nil {
				got = r.Code
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A header may promise a table of gigabytes.
func TestAHugeSegmentTableCostsNoMemory(t *testing.T) {
	for name, sizes := range map[string][2]uint16{"entries": {0xffff, 1}, "many": {56, 0xffff}, "both": {0xffff, 0xffff}, "odd": {57, 1}} {
		t.Run(name, func(t *testing.T) {
			file := elfFile(machines["amd64"].elf, 2, 10)
			binary.LittleEndian.PutUint16(file[54:], sizes[0])
			binary.LittleEndian.PutUint16(file[56:], sizes[1])
			var r *Refusal
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r = judgeFormat(bytes.NewReader(file), int64(len(file)), "/p", target{"linux", "amd64"})
			runtime.ReadMemStats(&after)
			if r == nil || r.Code != CodeNotProgram {
				t.Errorf("it is judged %+v", r)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("%d bytes were set aside", n)
			}
		})
	}
}

func FuzzJudgeFormat(f *testing.F) {
	f.Add([]byte(script))
	f.Add(elfFile(machines["amd64"].elf, 2, 10))
	f.Add([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x1f\x01\x00\x00\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, tg := range []target{{"linux", "amd64"}, {"linux", "arm"}, {"linux", "s390x"}, {"darwin", "arm64"}} {
			if r := judgeFormat(bytes.NewReader(data), int64(len(data)), "/p", tg); r != nil && (r.Code == "" || r.Reason == "") {
				t.Errorf("empty refusal %+v", r)
			}
		}
	})
}

func TestFileBeingWrittenIsPending(t *testing.T) {
	b := newBench(t)
	path := b.path("vant-plugin-x")
	w, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString(script[:12]); err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(filepath.Dir(b.dir), "later")
	mkdir(t, later, 0o755)
	write(t, filepath.Join(later, "vant-plugin-x"), script, 0o755)
	res := b.scan(func(o *Options) { o.Dirs = append(o.Dirs, later) })
	if diff := cmp.Diff([]Pending{{Name: "x", File: path}}, res.Pending); diff != "" {
		t.Fatal(diff)
	}
	if len(res.Accepted) != 0 || len(res.Refused) != 1 || res.Refused[0].Code != CodeShadowed {
		t.Errorf("the unfinished file did not keep its name: %+v", res)
	}

	if _, err := w.WriteString(script[12:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.accepted(); got.SHA256 != sha(script) {
		t.Errorf("got %+v", got)
	}
}

func TestFolderBeingCopiedIsPending(t *testing.T) {
	b := newBench(t)
	folder(t, b.path("vant-plugin-x"))
	lib := b.path("vant-plugin-x/lib.py")
	w, err := os.OpenFile(lib, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if res := b.scan(); len(res.Pending) != 1 {
		t.Errorf("with an open file: %+v", res)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	fast := b.store.now
	// The change is fresh: another file may follow.
	b.store.now = func() time.Time { return time.Unix(0, inode(t, lib).CTime).Add(settleTime - 1) }
	if res := b.scan(); len(res.Pending) != 1 {
		t.Errorf("between two files: %+v", res)
	}
	b.store.now = fast
	b.accepted()
}

// While Complete asks, an opener for writing must not fail, and the lease's
// signal must not end the process.
func TestCompleteDoesNotDisturbWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, script, 0o755)
	done := make(chan error, 1)
	go func() {
		for range 500 {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
			if _, err := Complete(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSettledByChangeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, script, 0o755)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	changed := time.Unix(0, inode(t, path).CTime)
	for age, want := range map[time.Duration]bool{0: false, settleTime - 1: false, settleTime: true, time.Hour: true} {
		if ok, err := settled(f, changed.Add(age)); err != nil || ok != want {
			t.Errorf("after %v: %v, %v", age, ok, err)
		}
	}
}

// In the bubble the clock stands in 2000: every file is from the future.
func TestSettledWatchesWhenTheClockIsBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, script, 0o755)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if ok, err := settled(f, time.Now()); err != nil || !ok || time.Since(begin) != settleTime {
			t.Errorf("got %v, %v after %v", ok, err, time.Since(begin))
		}
		var ok bool
		var err error
		go func() { ok, err = settled(f, time.Now()) }()
		synctest.Wait()
		write(t, path, script+"# more", 0o755)
		time.Sleep(settleTime)
		synctest.Wait()
		if err != nil || ok {
			t.Errorf("while written: %v, %v", ok, err)
		}
	})
}

func TestFolderHashIsDeterministic(t *testing.T) {
	fill := func(b *bench) string {
		p := b.path("vant-plugin-x")
		folder(t, p)
		mkdir(t, filepath.Join(p, "lib", "deep"), 0o755)
		mkdir(t, filepath.Join(p, "lib"), 0o755)
		write(t, filepath.Join(p, "lib/deep/a.py"), "a", 0o644)
		symlink(t, "deep/a.py", filepath.Join(p, "lib/b.py"))
		return p
	}
	one, two := newBench(t), newBench(t)
	fill(one)
	p := fill(two)
	a := one.accepted()
	// What does not change the program does not change its hash.
	write(t, filepath.Join(p, "lib/deep/a.py"), "a", 0o600)
	mkdir(t, filepath.Join(p, "lib"), 0o700)
	if b := two.accepted(); a.SHA256 != b.SHA256 {
		t.Errorf("%s and %s", a.SHA256, b.SHA256)
	}
	if !a.Dir || a.Exec != filepath.Join(one.store.dir, "bin", a.SHA256, "vant-plugin-x", "vant-plugin-x") {
		t.Errorf("got %+v", a)
	}
	checkContent(t, filepath.Join(filepath.Dir(a.Exec), "lib", "b.py"), "a")
	checkMode(t, filepath.Join(filepath.Dir(a.Exec), "lib", "deep"), fs.ModeDir|0o700)
	checkMode(t, filepath.Join(filepath.Dir(a.Exec), "lib", "deep", "a.py"), 0o400)

	for name, change := range map[string]func(){
		"content":    func() { write(t, filepath.Join(p, "lib/deep/a.py"), "b", 0o644) },
		"mode":       func() { write(t, filepath.Join(p, "lib/deep/a.py"), "a", 0o755) },
		"more files": func() { write(t, filepath.Join(p, "c"), "", 0o644) },
		"link": func() {
			if err := os.Remove(filepath.Join(p, "lib/b.py")); err != nil {
				t.Fatal(err)
			}
			symlink(t, "./deep/a.py", filepath.Join(p, "lib/b.py"))
		},
	} {
		before := two.accepted().SHA256
		change()
		if two.accepted().SHA256 == before {
			t.Errorf("changed %s, same hash", name)
		}
	}
}

func TestFolderBoundsItsDepth(t *testing.T) {
	b := newBench(t)
	folder(t, b.path("vant-plugin-x"))
	mkdir(t, b.path("vant-plugin-x/"+strings.Repeat("d/", maxTreeDepth+1)), 0o755)
	res := b.scan()
	if len(res.Refused) != 1 || res.Refused[0].Code != CodeLimit {
		t.Errorf("got %+v", res)
	}
}

func TestLockRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf", "plugins.lock")
	l := &Lock{Pins: map[string]string{"net": sha("net"), "browser": sha("b")}}
	if err := l.Write(file); err != nil {
		t.Fatal(err)
	}
	checkMode(t, file, 0o600)
	got, err := ReadLock(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Lock{File: file, Pins: l.Pins}, got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestReadLockRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadLock(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	open := filepath.Join(dir, "open")
	write(t, open, "", 0o666)
	if _, err := ReadLock(open); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("world-writable file: %v", err)
	}
}

func TestParseLockNamesEveryFault(t *testing.T) {
	text := "# pins\n\nnet " + sha("a") + " # the net plugin\nnet " + sha("b") + "\nUpper " + sha("c") + "\nshort abc\nalone\na b c\n"
	_, err := ParseLock("plugins.lock", []byte(text))
	want := strings.Join([]string{
		"plugins.lock:4: net is pinned twice; keep one line",
		`plugins.lock:5: "Upper" is not a plugin name`,
		"plugins.lock:6: the checksum of short is not 64 lower-case hex digits",
		"plugins.lock:7: want a name and a sha256, found 1 words",
		"plugins.lock:8: want a name and a sha256, found 3 words",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("net " + sha("a") + "\n# x\n"))
	f.Add([]byte("a b c\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock("f", data)
		if err != nil {
			return
		}
		again, err := ParseLock("f", l.Format())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Error(diff)
		}
	})
}

// The list is the contract with plugins: what is passed to all of them.
func TestEnvPassesWhatTheContractNames(t *testing.T) {
	var base []string
	for _, name := range []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_TIME", "TZ", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "TMPDIR",
		"DISPLAY", "WAYLAND_DISPLAY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	} {
		base = append(base, name+"=v")
	}
	slices.Sort(base)
	env, _ := Env(base, nil, nil)
	if diff := cmp.Diff(base, env); diff != "" {
		t.Error(diff)
	}
	for _, name := range passed {
		if !slices.Contains(base, name+"=v") {
			t.Errorf("%s is passed, which the contract does not name", name)
		}
	}
}

func TestEnvIsAnAllowList(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_RUNTIME_DIR=/run", "https_proxy=p", "LANG=",
		"LOGNAME=me", "SSL_CERT_DIR=/c", "SSL_CERT_FILE=/f", "WATCHDOG_USEC=1", "INVOCATION_ID=1", "SSH_AUTH_SOCK=/a", "LCX=1",
		"AWS_SECRET_ACCESS_KEY=s", "LISTEN_FDS=1", "NOTIFY_SOCKET=/n", "VANT_SOCKET=/s", "LD_PRELOAD=x",
		"TOKEN=a=b", "SHARED=old", "=odd", "odd",
	}
	env, missing := Env(base, map[string]string{"SHARED": "new", "TZ": "UTC"}, []string{"TOKEN", "GONE", "SHARED"})
	want := []string{
		"HOME=/h", "LANG=", "LC_ALL=C", "PATH=/bin", "SHARED=new", "TOKEN=a=b", "TZ=UTC",
		"XDG_RUNTIME_DIR=/run", "https_proxy=p",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"GONE"}, missing); diff != "" {
		t.Error(diff)
	}
	if env, _ := Env(base, nil, []string{"VANT_SOCKET"}); !strings.Contains(strings.Join(env, " "), "VANT_SOCKET=/s") {
		t.Error("a named variable did not pass")
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "net": true, "a-1": true, strings.Repeat("a", 32): true,
		"": false, "A": false, "1a": false, "-a": false, "a_b": false, "a.b": false, "a\n": false, strings.Repeat("a", 33): false,
	} {
		if ValidName(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
}

func TestGoneSortsReadFailures(t *testing.T) {
	for _, tc := range []struct {
		err     error
		code    Code
		pending bool
	}{
		{err: fs.ErrNotExist},
		{err: fs.ErrPermission, code: CodeUnreadable},
		{err: errors.New("input/output error"), code: CodeUnreadable},
		{err: context.Canceled, pending: true},
	} {
		v, _ := gone(nil, tc.err)
		if v.pending != tc.pending || (v.refused != nil) != (tc.code != "") || v.refused != nil && v.refused.Code != tc.code {
			t.Errorf("%v: got %+v", tc.err, v)
		}
	}
}
