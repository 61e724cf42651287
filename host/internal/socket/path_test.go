package socket

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPathsThatCannotServeAreRefused(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 104-len(dir))) // with the slash one too many
	for _, c := range []struct {
		name, path string
		wants      []string
	}{
		{"none", "", []string{"--socket"}},
		{"too long", long, []string{long, "105 bytes", "104", "--socket"}},
		{"zero byte", "/tmp/a\x00b", []string{"zero byte"}},
		{"no folder", filepath.Join(dir, "absent", "s"), []string{"does not exist", "--socket"}},
		{"not a folder", filepath.Join(file, "s"), []string{file}},
		{"folder that all may write to", filepath.Join(open, "s"), []string{open, "0777", "chmod go-w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Listen(t.Context(), Options{Path: c.path})
			wantError(t, err, c.wants...)
		})
	}
	t.Run("sticky folder is fine", func(t *testing.T) {
		if err := os.Chmod(open, 0o777|fs.ModeSticky); err != nil {
			t.Fatal(err)
		}
		mustListen(t, filepath.Join(open, "s"))
	})
	t.Run("longest path is fine", func(t *testing.T) {
		mustListen(t, long[:104])
	})
}

func TestARelativePathIsNeverAbstract(t *testing.T) {
	t.Chdir(t.TempDir())
	l := mustListen(t, "@name")
	if !filepath.IsAbs(l.Path()) {
		t.Errorf("path is %s", l.Path())
	}
	if info, err := os.Lstat("@name"); err != nil || info.Mode()&fs.ModeSocket == 0 {
		t.Errorf("no socket file: %v", err)
	}
}

func TestPrivateDir(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mkdir := func(name string, mode fs.FileMode) {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("private", 0o700)
	mkdir("readable", 0o750)
	mkdir("sticky", 0o700|fs.ModeSticky)
	if err := os.Symlink(at("private"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{"private", ""},
		{"sticky", ""},
		{"new", ""},
		{"readable", "chmod 700"},
		{"link", "symbolic link"},
		{"file", "not a folder"},
		{"absent/new", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := PrivateDir(at(c.name))
			if c.want != "" {
				wantError(t, err, c.want, at(c.name))
				return
			}
			info, statErr := os.Lstat(at(c.name))
			if err != nil || statErr != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", err, statErr)
			}
		})
	}
	t.Run("under a strict umask", func(t *testing.T) {
		before := unix.Umask(0o277)
		err := PrivateDir(at("masked"))
		unix.Umask(before)
		info, statErr := os.Lstat(at("masked"))
		if err != nil || statErr != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v, %v", err, statErr, info)
		}
	})
	if info, err := os.Lstat(at("readable")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("a refused folder was changed: %v, %v", info.Mode(), err)
	}
}
