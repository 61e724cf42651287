package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checked runs vantd check with a configuration and these plugins, and gives
// what it prints, with the folder's name as DIR, and its status.
func checked(t *testing.T, config string, plugins []string, env []string, args ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "p"), filepath.Join(dir, "c.yaml")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(file, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins {
		b, err := os.ReadFile(p)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(p)), b, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(built.vantd, append([]string{"check", "--config", file}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "VANT_PLUGIN_PATH=" + folder}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), dir, "DIR"), cmd.ProcessState.ExitCode()
}

func TestCheckWarnsOfPluginsThatAreNotThere(t *testing.T) {
	config := "plugins:\n  order: [net, faulti]\n  net: {}\n  nett: {deny_private: true}\n  weather:\n    host: {disabled: true}\n"
	want := `DIR/c.yaml: %s
DIR/c.yaml:2:3: warning: no plugin "faulti" is installed; nearest: "faulty"
DIR/c.yaml:4:3: warning: no plugin "nett" is installed; nearest: "net"
DIR/c.yaml:5:3: warning: no plugin "weather" is installed
`
	for what, args := range map[string][]string{"valid": {"--config-only"}, "can be read": nil} {
		want := fmt.Sprintf(want, what)
		out, status := checked(t, config, []string{built.net, built.faulty}, nil, args...)
		rest, ok := strings.CutPrefix(out, want)
		if !ok || status != 0 {
			t.Errorf("%v: status %d (-want +got):\n%s", args, status, cmp.Diff(want, out))
		}
		if strings.Contains(rest, "warning") || args != nil && rest != "" {
			t.Errorf("%v: then it says %s", args, rest)
		}
	}
	if out, status := checked(t, config, nil, nil, "--config-only"); status != 0 || strings.Count(out, "warning") != 5 || strings.Contains(out, "nearest") {
		t.Errorf("without any plugin: status %d, %s", status, out)
	}
}

func TestCheckTellsWhereASectionIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, section, want string }{
		{"unknown key", "    deny_privat: true\n", `DIR/c.yaml:3:5: unknown key "deny_privat"; nearest: "deny_private"`},
		{"unknown nested key", "    files:\n      dirr: []\n", `DIR/c.yaml:4:7: /files: unknown key "dirr"; nearest: "dirs"`},
		{"wrong type", "    deny_private: 5\n", "DIR/c.yaml:3:5: /deny_private: expected boolean"},
		{"wrong item", "    allow_hosts:\n      - a\n      - 5\n", "DIR/c.yaml:5:9: /allow_hosts/1: expected string"},
		{"nested", "    files:\n      max_bytes: -1\n", "DIR/c.yaml:4:7: /files/max_bytes: "},
		{"several", "    deny_private: 5\n    allow_hosts: a\n    denyhosts: []\n", `DIR/c.yaml:3:5: /deny_private: expected boolean; ` +
			`DIR/c.yaml:4:5: /allow_hosts: expected array; DIR/c.yaml:5:5: unknown key "denyhosts"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, status := checked(t, "plugins:\n  net:\n"+tt.section, []string{built.net}, nil)
			if status != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("status %d, want %s in:\n%s", status, tt.want, out)
			}
			if strings.Contains(out, "valid") || !strings.Contains(out, "net  failed") {
				t.Errorf("it says of one section that it is right and wrong:\n%s", out)
			}
			out, status = checked(t, "plugins:\n  net:\n"+tt.section, []string{built.net}, nil, "--config-only")
			if want := strings.ReplaceAll(tt.want, "; DIR", "\nDIR"); status != 1 || !strings.HasPrefix(out, want) {
				t.Errorf("--config-only: status %d, want %s in:\n%s", status, want, out)
			}
		})
	}
}

// A section that nobody can judge is not called right without a word.
func TestCheckSaysWhichSectionsItCouldNotCheck(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "vant-plugin-broken")
	writeTo(t, broken, []byte("#!/bin/sh\necho hello\n"), 0o700)
	text := filepath.Join(t.TempDir(), "vant-plugin-text")
	writeTo(t, text, []byte("hello\n"), 0o700)
	out, status := checked(t, "plugins:\n  broken: {a: 1}\n  text: {a: 1}\n", []string{broken, text}, nil, "--config-only")
	for _, want := range []string{
		"DIR/c.yaml: valid\n",
		"DIR/c.yaml:2:3: warning: plugin broken could not be asked what it allows: handshake: ",
		"DIR/c.yaml:3:3: warning: plugin text could not be asked what it allows: is not a program",
	} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, want %q in:\n%s", status, want, out)
		}
	}
}

// Who mends one section learns at once what else there is.
func TestCheckTellsFaultsAndWhatItCouldNotCheck(t *testing.T) {
	text := filepath.Join(t.TempDir(), "vant-plugin-text")
	writeTo(t, text, []byte("hello\n"), 0o700)
	out, status := checked(t, "plugins:\n  net: {a: 1}\n  text: {a: 1}\n  nett: {a: 1}\n", []string{built.net, text}, nil, "--config-only")
	for _, want := range []string{
		`DIR/c.yaml:2:9: unknown key "a"`, "DIR/c.yaml:3:3: warning: plugin text could not be asked", `nearest: "net"`,
	} {
		if status != 1 || !strings.Contains(out, want) || strings.Contains(out, "valid\n") {
			t.Errorf("status %d, want %q in:\n%s", status, want, out)
		}
	}
}

func TestCheckSaysThatAPluginIsStillBeingWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vant-plugin-new")
	writeTo(t, file, []byte("#!/bin/sh\n"), 0o700)
	writer, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer writer.Close()
	out, status := checked(t, "plugins:\n  new: {a: 1}\n", nil, []string{"VANT_PLUGIN_PATH=" + filepath.Dir(file)}, "--config-only")
	if want := "DIR/c.yaml:2:3: warning: plugin new could not be asked what it allows: is still being written"; status != 0 || !strings.Contains(out, want) {
		t.Errorf("status %d, want %q in:\n%s", status, want, out)
	}
}

func TestCheckOfASectionTakesNoOtherWish(t *testing.T) {
	for _, args := range [][]string{{"--section", ""}, {"--section", "net", "--config-only"}} {
		if out, status := checked(t, "", nil, nil, args...); status != 2 || !strings.Contains(out, "--section") {
			t.Errorf("%q: status %d: %s", args, status, out)
		}
	}
}

func TestCheckPrintsASection(t *testing.T) {
	for config, want := range map[string]string{
		"plugins:\n  net:\n    deny_private: true\n    host:\n      queue: 3\n": `{"deny_private":true}` + "\n",
		"": "{}\n",
	} {
		if out, status := checked(t, config, nil, nil, "--section", "net"); status != 0 || out != want {
			t.Errorf("%q: status %d: %s", config, status, out)
		}
	}
	if out, status := checked(t, "plugin: 1\n", nil, nil, "--section", "net"); status != 1 || !strings.Contains(out, `unknown key "plugin"`) {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestCheckNeedsNoShortTemporaryFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("t", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, status := checked(t, "", []string{built.net}, []string{"TMPDIR=" + long}); status != 0 || !strings.Contains(out, "net  ok") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What vantd would refuse about its socket is found beforehand.
func TestCheckRefusesASocketPathThatCannotServe(t *testing.T) {
	long := "/tmp/" + strings.Repeat("p", 120)
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"too long by variable", []string{"VANT_SOCKET=" + long}, nil, "socket path " + long + " is 125 bytes long, the limit is 104"},
		{"too long by flag", nil, []string{"--socket", long}, "socket path " + long + " is 125 bytes long, the limit is 104"},
		{"too long by folder", []string{"XDG_RUNTIME_DIR=" + long}, nil, "the limit is 104"},
		{"no folder", []string{"VANT_SOCKET=/tmp/no-such-folder-of-vant/s"}, nil, "folder /tmp/no-such-folder-of-vant of the socket does not exist"},
		{"no socket", []string{"VANT_SOCKET=" + built.net}, nil, "not a socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, status := checked(t, "", []string{built.net}, tt.env, tt.args...)
			if status != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("status %d, want %q in:\n%s", status, tt.want, out)
			}
			if !strings.Contains(out, "net  ok") {
				t.Errorf("the plugins were not looked at:\n%s", out)
			}
		})
	}
	if out, status := checked(t, "", []string{built.net}, []string{"VANT_SOCKET=/tmp/vant-check-test.sock"}); status != 0 {
		t.Errorf("a path that can serve: status %d\n%s", status, out)
	}
}
