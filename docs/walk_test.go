package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vant-run/vant/sdk/plugintest"
)

// typed is a command of a walk-through and what it prints; checked is false when
// the document does not say.
type typed struct {
	line    int
	command string
	output  []string
	checked bool
}

// walk gives the commands of a document's walk-through of this name.
func walk(t *testing.T, d document, name string) (out []typed) {
	t.Helper()
	for _, b := range d.blocks {
		for _, l := range b.lines {
			switch command, isTyped := strings.CutPrefix(l.text, "$ "); {
			case b.info == "sh "+name:
				out = append(out, typed{line: l.number, command: l.text})
			case b.info == "console "+name && isTyped:
				out = append(out, typed{line: l.number, command: command, checked: true})
			case b.info == "console "+name:
				last := &out[len(out)-1]
				last.output = append(last.output, l.text)
			}
		}
	}
	return out
}

// shows says whether a program printed what a document shows; * stands for text
// that varies.
func shows(want []string, got string) bool {
	var pattern strings.Builder
	for _, l := range want {
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(l), `\*`, ".*") + "\n")
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(got)
}

// follow types the commands of a walk-through in dir and compares what they print.
func follow(t *testing.T, d document, steps []typed, h *plugintest.RunningHost, dir string, env ...string) {
	t.Helper()
	var background sync.WaitGroup
	defer background.Wait()
	for _, s := range steps {
		command, beside := strings.CutSuffix(s.command, " &")
		cmd := exec.CommandContext(within(t), "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append([]string{"HOME=" + h.Dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "VANT_SOCKET=" + h.Socket()}, env...)
		switch {
		case beside:
			background.Go(func() {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s:%d: %s: %v: %s", d.path, s.line, s.command, err, out)
				}
			})
			continue
		case command == "wait":
			background.Wait()
			continue
		}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		fails := len(s.output) > 0 && strings.HasPrefix(s.output[0], "vant agent: ")
		if err != nil && (!fails || !errors.As(err, &exit)) {
			t.Fatalf("%s:%d: %s: %v: %s", d.path, s.line, s.command, err, out)
		}
		if s.checked && !shows(s.output, string(out)) {
			t.Errorf("%s:%d: %s prints\n%s\nand not\n%s", d.path, s.line, s.command, out, strings.Join(s.output, "\n"))
		}
	}
}

func TestWalkThroughHappens(t *testing.T) {
	d := read(t, "docs/operations.md")
	steps := walk(t, d, "walk")
	if len(steps) < 10 {
		t.Fatalf("only %d steps were found", len(steps))
	}
	h := plugintest.HostWith(t, plugintest.HostOptions{
		// The usual plugin folders, below a home of its own.
		Program: filepath.Join(bin, "vantd"), Env: []string{"VANT_PLUGIN_PATH=", "XDG_DATA_HOME="},
	})
	dir := t.TempDir()
	write(t, dir, "main.go", only(t, "docs/plugins.md", "go plugin weather").text())
	asWritten(t, dir, "docs/plugins.md", "sh build")
	asWritten(t, dir, "docs/operations.md", "sh newer")
	write(t, dir, "load.sh", only(t, "docs/operations.md", "sh load").text())
	follow(t, d, steps, h, dir)
}
