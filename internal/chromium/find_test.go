package chromium

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func program(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func path(dirs ...string) func(string) string {
	return func(name string) string {
		if name != "PATH" {
			return ""
		}
		return strings.Join(dirs, string(filepath.ListSeparator))
	}
}

func TestTheBestNameInPathIsFound(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	chrome := program(t, a, "google-chrome", 0o755)
	program(t, a, "chromium", 0o644)
	if err := os.Mkdir(filepath.Join(a, "chromium-browser"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Find("", path("relative", a, b)); err != nil || got != chrome {
		t.Errorf("found %q, %v; want %q", got, err, chrome)
	}
	chromium := program(t, b, "chromium", 0o755)
	if got, err := Find("", path(a, b)); err != nil || got != chromium {
		t.Errorf("found %q, %v; want %q", got, err, chromium)
	}
}

func TestThePlacesAreLookedAtAfterPath(t *testing.T) {
	dir := t.TempDir()
	defer func(old []string) { Places = old }(Places)
	Places = []string{filepath.Join(dir, "absent"), program(t, dir, "Some Browser", 0o755)}
	if got, err := Find("", path(t.TempDir())); err != nil || got != Places[1] {
		t.Errorf("found %q, %v", got, err)
	}
	Places = nil
	_, err := Find("", path(t.TempDir()))
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "browser.path") || !strings.Contains(err.Error(), "chromium-browser") {
		t.Errorf("error %v", err)
	}
}

func TestTheConfiguredPathIsTheOnlyOne(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "chromium", 0o755)
	mine := program(t, dir, "mine", 0o755)
	for _, p := range []string{mine, "mine"} {
		if got, err := Find(p, path(dir)); err != nil || got != mine {
			t.Errorf("%s: found %q, %v", p, got, err)
		}
	}
	for p, want := range map[string]string{
		filepath.Join(dir, "gone"):             "no such file",
		dir:                                    "is not a program",
		program(t, dir, "unexecutable", 0o600): "chmod +x",
		"absent":                               "in PATH",
		"." + string(filepath.Separator) + "mine": "absolute",
	} {
		if got, err := Find(p, path(dir)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "browser.path") {
			t.Errorf("%s: found %q, %v; want %q in the error", p, got, err, want)
		}
	}
}

func TestAdviceIsForTheDistribution(t *testing.T) {
	for _, tc := range []struct{ system, release, want string }{
		{"linux", "NAME=x\nID=debian\n", "(apt install chromium)"},
		{"linux", "ID=ubuntu\nID_LIKE=debian\n", "(apt install chromium-browser)"},
		{"linux", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "(apt install chromium-browser)"},
		{"linux", "ID=fedora\n", "(dnf install chromium)"},
		{"linux", "ID='manjaro'\nID_LIKE='arch'\n", "(pacman -S chromium)"},
		{"linux", "ID=alpine\n", "(apk add chromium)"},
		{"linux", "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", "(zypper install chromium)"},
		{"darwin", "", "(brew install --cask chromium)"},
		{"linux", "", "(the package of Chromium or Google Chrome)"},
	} {
		if got := advice(tc.system, tc.release); !strings.Contains(got, tc.want) || !strings.Contains(got, "plugins.browser.path") {
			t.Errorf("%q: %s, want %s", tc.release, got, tc.want)
		}
	}
}
