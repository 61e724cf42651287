package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

func TestCompletion(t *testing.T) {
	host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{
		"describe":     clienttest.Result(`{"status":{"summary":"The host"},"page.snapshot":{"summary":"Elements\nof a page"},"page.inspect":{"summary":"Read"},"net.fetch":{"summary":"HTTP"}}`),
		"plugins.list": clienttest.Result(`[{"name":"net","state":"ready"}]`),
	}))
	for _, c := range []struct {
		args, socket string
		want         []string
	}{
		{"agent|call|", host.Socket, []string{"net.fetch\tHTTP", "page.inspect\tRead", "page.snapshot\tElements of a page", "status\tThe host"}},
		{"agent|call|page.", host.Socket, []string{"page.inspect\tRead", "page.snapshot\tElements of a page"}},
		{"agent|--json|call|--timeout|5s|net", host.Socket, []string{"net.fetch\tHTTP"}},
		{"agent|call|page.inspect|", host.Socket, nil},
		{"agent|page.i", host.Socket, []string{"page.inspect\tRead"}},
		{"agent|descr", host.Socket, []string{"describe\tShow methods: parameters, results, errors, bounds"}},
		{"agent|sna", host.Socket, []string{"snapshot\tList a page's elements with their refs"}},
		{"agent|js|--", host.Socket, []string{"--json", "--socket", "--strict", "--timeout", "--file", "--tab"}},
		{"agent|fill|@e1|", host.Socket, nil},
		{"plugin|restart|", host.Socket, []string{"net\tready"}},
		{"plugin|restart|net|", host.Socket, nil},
		{"completion|", host.Socket, []string{"bash", "zsh", "fish"}},
		{"agent|call|", "/nonexistent/s", nil},
	} {
		t.Run(c.args, func(t *testing.T) {
			got := run{args: append([]string{"__complete"}, strings.Split(c.args, "|")...), socket: c.socket}.do(t)
			if got.status != 0 {
				t.Fatalf("status %d, stderr %q", got.status, got.stderr)
			}
			var lines []string
			for line := range strings.Lines(got.stdout) {
				if line = strings.TrimSpace(line); line != "" && line[0] != ':' {
					if strings.HasPrefix(line, "-") {
						line, _, _ = strings.Cut(line, "\t")
					}
					lines = append(lines, line)
				}
			}
			if diff := cmp.Diff(c.want, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the help says of files works in a home that has no folder for them.
func TestCompletionIsInstalledAsTheHelpSays(t *testing.T) {
	help := run{args: []string{"completion", "--help"}}.do(t).stdout
	home := tempDir(t)
	for shell, file := range map[string]string{"zsh": ".zfunc/_vant", "fish": ".config/fish/completions/vant.fish"} {
		var line string
		for l := range strings.Lines(help) {
			if strings.Contains(l, "vant completion "+shell) {
				line = strings.TrimSpace(l)
			}
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		if text, err := os.ReadFile(filepath.Join(home, file)); err != nil || !strings.Contains(string(text), "__complete") {
			t.Errorf("%s: %d bytes, %v", line, len(text), err)
		}
	}
}

func TestCompletionScriptsAreWellFormed(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := run{args: []string{"completion", shell}}.do(t)
		if got.status != 0 || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: status %d, %d bytes", shell, got.status, len(got.stdout))
		}
		if shell != "bash" {
			continue
		}
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(got.stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash: %v: %s", err, out)
		}
	}
}
