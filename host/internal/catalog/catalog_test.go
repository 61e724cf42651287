package catalog

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is the smallest acceptable program.
const script = "#!/bin/sh\nexit 0\n"

// bench is a plugin directory and a store on a clock that runs ahead, so that
// files just written count as old.
type bench struct {
	t     *testing.T
	dir   string
	store *Store
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "plugins")
	mkdir(t, dir, 0o755)
	store, err := OpenStore(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	store.now = func() time.Time { return time.Now().Add(10 * time.Second) }
	return &bench{t: t, dir: dir, store: store}
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) path(base string) string { return filepath.Join(b.dir, base) }

func (b *bench) scan(change ...func(*Options)) Result {
	b.t.Helper()
	opts := Options{Dirs: []string{b.dir}, Store: b.store}
	for _, f := range change {
		f(&opts)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	res, err := Scan(ctx, opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

// accepted is the only candidate of a scan that refuses nothing.
func (b *bench) accepted(change ...func(*Options)) Candidate {
	b.t.Helper()
	res := b.scan(change...)
	if len(res.Accepted) != 1 || len(res.Refused) != 0 || len(res.Pending) != 0 {
		b.t.Fatalf("want one accepted plugin, got %+v", res)
	}
	return res.Accepted[0]
}

// elfFile makes a program header of its own machine with one segment of n
// bytes, all in the file.
func elfFile(machine elf.Machine, typ elf.Type, n int) []byte {
	var b bytes.Buffer
	ident := [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1}
	h := elf.Header64{
		Ident: ident, Type: uint16(typ), Machine: uint16(machine), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Filesz: uint64(120 + n), Memsz: uint64(120 + n)}
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		panic(err)
	}
	if err := binary.Write(&b, binary.LittleEndian, p); err != nil {
		panic(err)
	}
	b.Write(make([]byte, n))
	return b.Bytes()
}

func TestScanRefusesWithReason(t *testing.T) {
	foreign := elf.EM_AARCH64
	if hostTarget.arch == "arm64" {
		foreign = elf.EM_X86_64
	}
	own := machines[hostTarget.arch].elf
	for _, tc := range []struct {
		name string
		base string // vant-plugin-x when empty
		make func(t *testing.T, path string)
		code Code
		says []string // each must be in the reason
	}{
		{name: "not executable", code: CodeNotExecutable, says: []string{"chmod +x ", "vant-plugin-x"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o644) }},
		{name: "world-writable", code: CodeWritable, says: []string{"every user", "0757", "chmod o-w "},
			make: func(t *testing.T, p string) { write(t, p, script, 0o757) }},
		{name: "empty", code: CodeNotProgram, says: []string{"empty"},
			make: func(t *testing.T, p string) { write(t, p, "", 0o755) }},
		{name: "text without shebang", code: CodeNotProgram, says: []string{"#!"},
			make: func(t *testing.T, p string) { write(t, p, "hello\n", 0o755) }},
		{name: "unknown format", code: CodeNotProgram, says: []string{"format is unknown"},
			make: func(t *testing.T, p string) { write(t, p, "\x00\x01\x02", 0o755) }},
		{name: "interpreter missing", code: CodeNotProgram, says: []string{"/no/such/sh", "not installed"},
			make: func(t *testing.T, p string) { write(t, p, "#!/no/such/sh -e\n", 0o755) }},
		{name: "windows line ends", code: CodeNotProgram, says: []string{"Windows line ends", "sed -i"},
			make: func(t *testing.T, p string) { write(t, p, "#!/bin/sh\r\nexit\r\n", 0o755) }},
		{name: "relative interpreter", code: CodeNotProgram, says: []string{"absolute path"},
			make: func(t *testing.T, p string) { write(t, p, "#!sh\n", 0o755) }},
		{name: "foreign ELF", code: CodeArchitecture, says: []string{"built for", "this host is " + hostTarget.arch},
			make: func(t *testing.T, p string) { write(t, p, string(elfFile(foreign, elf.ET_EXEC, 10)), 0o755) }},
		{name: "object file", code: CodeNotProgram, says: []string{"object file"},
			make: func(t *testing.T, p string) { write(t, p, string(elfFile(own, elf.ET_REL, 10)), 0o755) }},
		{name: "cut off", code: CodeNotProgram, says: []string{"cut off", "copy it again"},
			make: func(t *testing.T, p string) { write(t, p, string(elfFile(own, elf.ET_EXEC, 100)[:180]), 0o755) }},
		{name: "cut off in the header", code: CodeNotProgram, says: []string{"cut off inside its header"},
			make: func(t *testing.T, p string) { write(t, p, string(elfFile(own, elf.ET_EXEC, 0)[:30]), 0o755) }},
		{name: "macOS program", code: CodeArchitecture, says: []string{"macOS"},
			make: func(t *testing.T, p string) { write(t, p, "\xcf\xfa\xed\xfe\x07\x00\x00\x01", 0o755) }},
		{name: "windows program", code: CodeArchitecture, says: []string{"Windows"},
			make: func(t *testing.T, p string) { write(t, p, "MZ\x90\x00", 0o755) }},
		{name: "wasm", code: CodeNotProgram, says: []string{"WebAssembly"},
			make: func(t *testing.T, p string) { write(t, p, "\x00asm\x01\x00\x00\x00", 0o755) }},
		{name: "fifo", code: CodeFileType, says: []string{"named pipe", "rm "},
			make: func(t *testing.T, p string) {
				if err := unix.Mkfifo(p, 0o755); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "socket", code: CodeFileType, says: []string{"socket"},
			make: func(t *testing.T, p string) {
				// Bound below a short name: socket paths are short.
				short := fmt.Sprintf("/proc/self/fd/%d/vant-plugin-x", dirFD(t, filepath.Dir(p)))
				l, err := net.Listen("unix", short)
				if err != nil {
					t.Fatal(err)
				}
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "dangling link", code: CodeDangling, says: []string{"gone-target", "does not exist"},
			make: func(t *testing.T, p string) { symlink(t, "gone-target", p) }},
		{name: "loop of links", code: CodeDangling, says: []string{"vant-plugin-x", "a loop"},
			make: func(t *testing.T, p string) { symlink(t, filepath.Base(p), p) }},
		{name: "escaping link", code: CodeEscape, says: []string{"/bin/sh", "leads out"},
			make: func(t *testing.T, p string) { symlink(t, "/bin/sh", p) }},
		{name: "relative escaping link", code: CodeEscape, says: []string{"leads out"},
			make: func(t *testing.T, p string) {
				write(t, filepath.Join(filepath.Dir(p), "..", "outside"), script, 0o755)
				symlink(t, "../outside", p)
			}},
		{name: "link through a writable folder", code: CodeWritable, says: []string{"leads through", "o-w"},
			make: func(t *testing.T, p string) {
				sub := filepath.Join(filepath.Dir(p), "sub")
				mkdir(t, sub, 0o777)
				write(t, filepath.Join(sub, "prog"), script, 0o755)
				symlink(t, "sub/prog", p)
			}},
		{name: "name with capitals", base: "vant-plugin-Bad", code: CodeName, says: []string{"rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "name too long", base: "vant-plugin-" + strings.Repeat("a", 33), code: CodeName, says: []string{"32"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "name of the key dirs", base: "vant-plugin-dirs", code: CodeName, says: []string{"the name dirs", "key of the configuration", "rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "name of the key order", base: "vant-plugin-order", code: CodeName, says: []string{"the name order", "rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "name of the key verify", base: "vant-plugin-verify", code: CodeName, says: []string{"the name verify", "rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "name of the key lock", base: "vant-plugin-lock", code: CodeName, says: []string{"the name lock", "rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "folder with the name of the key defaults", base: "vant-plugin-defaults", code: CodeName, says: []string{"the name defaults", "rename"},
			make: func(t *testing.T, p string) { folder(t, p) }},
		{name: "no name", base: "vant-plugin-", code: CodeName, says: []string{"rename"},
			make: func(t *testing.T, p string) { write(t, p, script, 0o755) }},
		{name: "too large", code: CodeLimit, says: []string{"larger than"},
			make: func(t *testing.T, p string) {
				write(t, p, script, 0o755)
				if err := os.Truncate(p, maxFileBytes+1); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "folder without program", code: CodeNotProgram, says: []string{"no program named vant-plugin-x"},
			make: func(t *testing.T, p string) { mkdir(t, p, 0o755) }},
		{name: "folder with writable file", code: CodeWritable, says: []string{"holds lib.py", "o-w"},
			make: func(t *testing.T, p string) { folder(t, p); write(t, filepath.Join(p, "lib.py"), "x", 0o666) }},
		{name: "folder with writable folder", code: CodeWritable, says: []string{"holds sub", "o-w"},
			make: func(t *testing.T, p string) { folder(t, p); mkdir(t, filepath.Join(p, "sub"), 0o777) }},
		{name: "writable folder", code: CodeWritable, says: []string{"can be changed by every user"},
			make: func(t *testing.T, p string) { folder(t, p); mkdir(t, p, 0o777) }},
		{name: "folder with fifo", code: CodeFileType, says: []string{"holds pipe", "named pipe"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				if err := unix.Mkfifo(filepath.Join(p, "pipe"), 0o644); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "folder with absolute link", code: CodeEscape, says: []string{"absolute"},
			make: func(t *testing.T, p string) { folder(t, p); symlink(t, "/etc/passwd", filepath.Join(p, "l")) }},
		{name: "folder with escaping link", code: CodeEscape, says: []string{"out of the folder"},
			make: func(t *testing.T, p string) { folder(t, p); symlink(t, "../..", filepath.Join(p, "l")) }},
		{name: "folder with a link from below out of it", code: CodeEscape, says: []string{"holds the link s/esc to ../../x", "out of the folder"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				mkdir(t, filepath.Join(p, "s"), 0o755)
				write(t, filepath.Join(filepath.Dir(p), "x"), "x", 0o644)
				symlink(t, "../../x", filepath.Join(p, "s", "esc"))
			}},
		{name: "folder with a link out of it to nothing", code: CodeEscape, says: []string{"out of the folder"},
			make: func(t *testing.T, p string) { folder(t, p); symlink(t, "../nothing/at/all", filepath.Join(p, "l")) }},
		{name: "folder with a link out of it and back", code: CodeEscape, says: []string{"out of the folder"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				symlink(t, "../vant-plugin-x/vant-plugin-x", filepath.Join(p, "l"))
			}},
		{name: "folder with a link by another one out of it", code: CodeEscape, says: []string{"holds the link a to b/../x", "out of the folder"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				symlink(t, "b/../x", filepath.Join(p, "a"))
				symlink(t, ".", filepath.Join(p, "b"))
			}},
		{name: "folder with a link to itself", code: CodeDangling, says: []string{"holds the link l to l", "a loop"},
			make: func(t *testing.T, p string) { folder(t, p); symlink(t, "l", filepath.Join(p, "l")) }},
		{name: "folder with links to each other", code: CodeDangling, says: []string{"holds the link a to s/b", "a loop"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				mkdir(t, filepath.Join(p, "s"), 0o755)
				symlink(t, "s/b", filepath.Join(p, "a"))
				symlink(t, "../a", filepath.Join(p, "s", "b"))
			}},
		{name: "folder with a link through a file", code: CodeDangling, says: []string{"does not exist"},
			make: func(t *testing.T, p string) {
				folder(t, p)
				symlink(t, "vant-plugin-x/../vant-plugin-x", filepath.Join(p, "l"))
			}},
		{name: "folder with dangling link", code: CodeDangling, says: []string{"holds the link l"},
			make: func(t *testing.T, p string) { folder(t, p); symlink(t, "nothing", filepath.Join(p, "l")) }},
		{name: "folder whose program is not executable", code: CodeNotExecutable, says: []string{"chmod +x"},
			make: func(t *testing.T, p string) { folder(t, p); write(t, filepath.Join(p, "vant-plugin-x"), script, 0o644) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			base := tc.base
			if base == "" {
				base = "vant-plugin-x"
			}
			tc.make(t, b.path(base))
			res := b.scan()
			if len(res.Accepted) != 0 || len(res.Pending) != 0 || len(res.Refused) != 1 {
				t.Fatalf("want one refusal, got %+v", res)
			}
			r := res.Refused[0]
			if r.Code != tc.code || r.File != b.path(base) || r.Name != strings.TrimPrefix(base, Prefix) {
				t.Errorf("got %+v, want code %s of %s", r, tc.code, base)
			}
			for _, word := range tc.says {
				if !strings.Contains(r.Reason, word) {
					t.Errorf("reason %q does not say %q", r.Reason, word)
				}
			}
		})
	}
}

func dirFD(t *testing.T, dir string) uintptr {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f.Fd()
}

// folder makes a folder plugin of the smallest kind.
func folder(t *testing.T, path string) {
	t.Helper()
	mkdir(t, path, 0o755)
	write(t, filepath.Join(path, filepath.Base(path)), script, 0o755)
}

func TestLinksInsideAFolderAreKept(t *testing.T) {
	b := newBench(t)
	p := b.path("vant-plugin-x")
	folder(t, p)
	mkdir(t, filepath.Join(p, "s", "deep"), 0o755)
	write(t, filepath.Join(p, "lib"), "x", 0o644)
	for link, target := range map[string]string{
		"up": ".", "s/lib": "../lib", "s/deep/lib": "../../lib", "s/deep/top": "../..", "d": "s/deep/",
		"by": "d/../lib", // s/lib, by way of d
		"to": "s/deep/top/s/deep/lib",
	} {
		symlink(t, target, filepath.Join(p, filepath.FromSlash(link)))
	}
	c := b.accepted()
	for _, link := range []string{"up/lib", "s/deep/lib", "by", "to"} {
		if got, err := os.ReadFile(filepath.Join(filepath.Dir(c.Exec), link)); err != nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", link, got, err)
		}
	}
}

func TestScanRefusesAWholeDirectory(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-a"), script, 0o755)
	write(t, b.path("vant-plugin-b"), script, 0o755)
	mkdir(t, b.dir, 0o777)
	res := b.scan()
	if len(res.Accepted) != 0 || len(res.Refused) != 2 {
		t.Fatalf("want both refused, got %+v", res)
	}
	for _, r := range res.Refused {
		if r.Code != CodeWritable || !strings.Contains(r.Reason, "chmod o-w "+b.dir) {
			t.Errorf("got %+v", r)
		}
	}
}

func TestScanRefusesAFileAsDirectory(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(filepath.Dir(b.dir), "file")
	write(t, file, "x", 0o644)
	res := b.scan(func(o *Options) { o.Dirs = []string{file} })
	if len(res.Refused) != 1 || res.Refused[0].Code != CodeDirectory || res.Refused[0].File != file {
		t.Fatalf("got %+v", res)
	}
}

func TestScanIgnores(t *testing.T) {
	b := newBench(t)
	for _, base := range []string{"readme", ".vant-plugin-x", "vant-plugin-x.part", "plugin-vant-x", "vant-pluginx"} {
		write(t, b.path(base), script, 0o755)
	}
	missing := filepath.Join(b.dir, "missing")
	if diff := cmp.Diff(Result{}, b.scan(func(o *Options) { o.Dirs = append(o.Dirs, missing) })); diff != "" {
		t.Error(diff)
	}
}

func TestScanAcceptsAPrivateCopy(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	got := b.accepted()
	want := Candidate{
		Name: "x", File: b.path("vant-plugin-x"), SHA256: sha(script),
		Exec: filepath.Join(b.store.dir, "bin", sha(script), "vant-plugin-x"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	checkMode(t, got.Exec, 0o500)
	checkMode(t, filepath.Dir(got.Exec), fs.ModeDir|0o700)
	checkContent(t, got.Exec, script)
}

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
}

func checkContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestScanAcceptsOwnProgram(t *testing.T) {
	b := newBench(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.path("vant-plugin-x"), string(data), 0o755)
	if got := b.accepted(); got.SHA256 != sha(string(data)) {
		t.Errorf("got %s", got.SHA256)
	}
}

func TestScanAcceptsALinkInsideTheDirectory(t *testing.T) {
	for _, absolute := range []bool{false, true} {
		b := newBench(t)
		mkdir(t, b.path("v2"), 0o755)
		write(t, b.path("v2/prog"), script, 0o755)
		target := "v2/prog"
		if absolute {
			target = b.path(target)
		}
		symlink(t, target, b.path("vant-plugin-x"))
		checkContent(t, b.accepted().Exec, script)
	}
}

func TestScanAcceptsADirectoryThatIsALink(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	link := filepath.Join(filepath.Dir(b.dir), "link")
	symlink(t, b.dir, link)
	got := b.accepted(func(o *Options) { o.Dirs = []string{link, b.dir} }) // the same one twice
	if got.File != filepath.Join(link, "vant-plugin-x") {
		t.Errorf("got %s", got.File)
	}
}

func TestScanEarlierDirectoryWins(t *testing.T) {
	b := newBench(t)
	later := filepath.Join(filepath.Dir(b.dir), "later")
	mkdir(t, later, 0o755)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	write(t, filepath.Join(later, "vant-plugin-x"), script+"# later\n", 0o755)
	res := b.scan(func(o *Options) { o.Dirs = []string{b.dir, later} })
	if len(res.Accepted) != 1 || res.Accepted[0].File != b.path("vant-plugin-x") {
		t.Fatalf("accepted %+v", res.Accepted)
	}
	if len(res.Refused) != 1 || res.Refused[0].Code != CodeShadowed || !strings.Contains(res.Refused[0].Reason, b.path("vant-plugin-x")) {
		t.Fatalf("refused %+v", res.Refused)
	}
}

func TestScanRefusedFileDoesNotShadow(t *testing.T) {
	b := newBench(t)
	later := filepath.Join(filepath.Dir(b.dir), "later")
	mkdir(t, later, 0o755)
	write(t, b.path("vant-plugin-x"), script, 0o644)
	write(t, filepath.Join(later, "vant-plugin-x"), script, 0o755)
	res := b.scan(func(o *Options) { o.Dirs = []string{b.dir, later} })
	if len(res.Accepted) != 1 || res.Accepted[0].File != filepath.Join(later, "vant-plugin-x") || len(res.Refused) != 1 {
		t.Fatalf("got %+v", res)
	}
}

func TestScanOrdersByConfigThenName(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"a", "b", "c", "d"} {
		write(t, b.path(Prefix+n), script+"# "+n, 0o755)
	}
	var got []string
	for _, c := range b.scan(func(o *Options) { o.Order = []string{"d", "b"} }).Accepted {
		got = append(got, c.Name)
	}
	if diff := cmp.Diff([]string{"d", "b", "a", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanBoundsADirectory(t *testing.T) {
	b := newBench(t)
	for i := range maxEntries + 5 {
		symlink(t, "nothing", b.path(fmt.Sprintf("vant-plugin-p%d", i)))
	}
	res := b.scan()
	if len(res.Refused) != maxEntries+1 {
		t.Errorf("%d refusals", len(res.Refused))
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := Scan(ctx, Options{Dirs: []string{b.dir}, Store: b.store}); err == nil {
		t.Errorf("got %+v", res)
	}
}

func TestScanPins(t *testing.T) {
	good, other := sha(script), sha("other")
	for _, tc := range []struct {
		name   string
		lock   *Lock
		strict bool
		code   Code // "" when accepted
		says   string
		file   string
		err    error
	}{
		{name: "pinned", lock: &Lock{File: "l", Pins: map[string]string{"x": good}}, strict: true},
		{name: "other content", lock: &Lock{File: "l", Pins: map[string]string{"x": other}}, code: CodeChecksum, says: other},
		{name: "other content, strict", lock: &Lock{File: "l", Pins: map[string]string{"x": other}}, strict: true, code: CodeChecksum, says: good},
		{name: "not pinned", lock: &Lock{File: "l", Pins: map[string]string{"y": good}}},
		{name: "not pinned, strict", lock: &Lock{File: "l", Pins: map[string]string{"y": good}}, strict: true, code: CodeUnpinned, says: "vant plugin lock"},
		{name: "no lock file, strict", strict: true, file: "/c/l", err: fs.ErrNotExist, code: CodeUnpinned, says: "/c/l does not exist; make it, or if you trust what is there, run: vant plugin lock"},
		{name: "bad lock file, strict", strict: true, file: "/c/l", err: errors.New("/c/l:3: no name"), code: CodeUnpinned, says: "(/c/l:3: no name); mend that, or if you trust what is there, run: vant plugin lock"},
		{name: "no lock file named, strict", strict: true, code: CodeUnpinned, says: "set plugins.lock"},
	} {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s cached=%v", tc.name, cached), func(t *testing.T) {
				b := newBench(t)
				write(t, b.path("vant-plugin-x"), script, 0o755)
				if cached {
					b.accepted()
				}
				res := b.scan(func(o *Options) { o.Lock, o.Strict, o.LockFile, o.LockErr = tc.lock, tc.strict, tc.file, tc.err })
				if tc.code == "" {
					if len(res.Accepted) != 1 {
						t.Fatalf("got %+v", res)
					}
					return
				}
				if len(res.Refused) != 1 || res.Refused[0].Code != tc.code || !strings.Contains(res.Refused[0].Reason, tc.says) {
					t.Fatalf("got %+v", res)
				}
				if !cached {
					if _, err := os.Stat(b.store.path(good, "x")); err == nil {
						t.Error("the refused program is in the store")
					}
				}
			})
		}
	}
}

func TestInspectJudgesAFileInAnyDirectory(t *testing.T) {
	b := newBench(t)
	mkdir(t, b.dir, 0o777) // as a download folder may be
	write(t, b.path("vant-plugin-x"), script, 0o755)
	write(t, b.path("vant-plugin-y"), script, 0o644)
	opts := Options{Store: b.store}
	c, r, err := Inspect(t.Context(), b.path("vant-plugin-x"), opts)
	if err != nil || r != nil || c == nil || c.SHA256 != sha(script) {
		t.Errorf("got %v, %v, %v", c, r, err)
	}
	c, r, err = Inspect(t.Context(), b.path("vant-plugin-y"), opts)
	if err != nil || c != nil || r == nil || r.Code != CodeNotExecutable {
		t.Errorf("got %v, %v, %v", c, r, err)
	}
	write(t, b.path("other"), script, 0o755)
	c, r, err = Inspect(t.Context(), b.path("other"), opts)
	if err != nil || c != nil || r == nil || r.Code != CodeName {
		t.Errorf("got %v, %v, %v", c, r, err)
	}
	for _, base := range []string{"vant-plugin-none", "none", "no/folder", "no/vant-plugin-x"} {
		if _, _, err = Inspect(t.Context(), b.path(base), opts); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, which is not there: %v", base, err)
		}
	}
}

// A host that is short of descriptors must not take its plugins for gone.
func TestScanTakesNothingForGoneThatItCannotOpenNow(t *testing.T) {
	b := newBench(t)
	write(t, b.path("vant-plugin-x"), script, 0o755)
	b.accepted()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	for free := range uint64(4) {
		// The lowest free descriptors are free of them.
		f, err := os.Open(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		next := uint64(f.Fd())
		f.Close()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: next + free, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		res, err := Scan(t.Context(), Options{Dirs: []string{b.dir}, Store: b.store})
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		if len(res.Accepted)+len(res.Pending)+len(res.Unread) != 1 || len(res.Refused) != 0 {
			t.Errorf("with %d free descriptors: %+v, %v", free, res, err)
		}
	}
}
