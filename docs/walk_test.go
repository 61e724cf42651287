package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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
// that varies. Empty lines at the end are not compared.
func shows(want []string, got string) bool {
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if got = strings.TrimRight(got, "\n"); got != "" {
		got += "\n"
	}
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

// atSite puts the address of a demo site into steps that are written for its
// usual one.
func atSite(t *testing.T, steps []typed) []typed {
	t.Helper()
	site, named := demosite(t), 0
	put := func(text string) string {
		named += strings.Count(text, usualSite)
		return strings.ReplaceAll(text, usualSite, site)
	}
	for i := range steps {
		s := &steps[i]
		s.command = put(s.command)
		for j := range s.output {
			s.output[j] = put(s.output[j])
		}
	}
	if named == 0 {
		t.Errorf("no step names %s", usualSite)
	}
	return steps
}

// usualSite is where the documents have the demo's site serve.
const usualSite = "http://127.0.0.1:8000"

func TestFirstStepsHappen(t *testing.T) {
	steps := atSite(t, walk(t, read(t, "docs/getting-started.md"), "site"))
	if len(steps) < 6 {
		t.Fatalf("only %d steps were found", len(steps))
	}
	h := host(t, filepath.Join(bin, "vant-plugin-browser"), filepath.Join(bin, "vant-plugin-net"))
	follow(t, read(t, "docs/getting-started.md"), steps, h, t.TempDir())
	closeBrowser(t, h)
}

// The tour is shown without stars, so what is different each time is not
// compared.
func TestTourOfTheReadmeHappens(t *testing.T) {
	d := read(t, "README.md")
	var steps []typed
	for _, s := range walk(t, d, "tour") {
		switch s.command {
		case "vant up", "vant down":
			continue
		case "vant agent status", "vant plugin list":
			s.checked = false
		}
		steps = append(steps, s)
	}
	if len(steps) < 12 {
		t.Fatalf("only %d steps were found", len(steps))
	}
	h := host(t, filepath.Join(bin, "vant-plugin-browser"), filepath.Join(bin, "vant-plugin-net"))
	follow(t, d, atSite(t, steps), h, t.TempDir())
	closeBrowser(t, h)
}

// An uninstall takes what an install puts there and nothing else.
func TestUninstallSaysWhatItDid(t *testing.T) {
	prefix := t.TempDir()
	none := program(t, nil, "tools/install.sh", "--remove", prefix)
	if !strings.Contains(none, "nothing of vant is below "+prefix) || !strings.Contains(none, "PREFIX=") {
		t.Errorf("without an install it says %s", none)
	}
	plugins := filepath.Join(prefix, "lib", "vant", "plugins")
	if err := errors.Join(os.MkdirAll(plugins, 0o755), os.Mkdir(filepath.Join(prefix, "bin"), 0o755)); err != nil {
		t.Fatal(err)
	}
	ours := []string{"bin/vant", "bin/vantd", "lib/vant/plugins/vant-plugin-net", "lib/vant/plugins/vant-plugin-browser"}
	for _, name := range append(slices.Clone(ours), "lib/vant/plugins/vant-plugin-mine") {
		write(t, prefix, name, "")
	}
	out := program(t, nil, "tools/install.sh", "--remove", prefix)
	for _, name := range ours {
		if _, err := os.Stat(filepath.Join(prefix, name)); !errors.Is(err, os.ErrNotExist) || !strings.Contains(out, filepath.Join(prefix, name)) {
			t.Errorf("%s: %v; it says %s", name, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(plugins, "vant-plugin-mine")); err != nil || strings.Contains(out, "nothing") {
		t.Errorf("a plugin of the user: %v; it says %s", err, out)
	}
	if err := os.Remove(filepath.Join(plugins, "vant-plugin-mine")); err != nil {
		t.Fatal(err)
	}
}

// The table of short commands has all of them, as their helps have them.
func TestShortCommandsAreDocumented(t *testing.T) {
	s := newScene(t)
	want := map[string]string{}
	for name := range s.tree(t)["agent"] {
		_, out := s.vant(t, "agent", name, "--help")
		_, usage, _ := strings.Cut(out, "\nUsage:\n  vant agent ")
		usage, _, _ = strings.Cut(usage, "\n")
		want[name] = strings.Join(strings.Fields(strings.Replace(usage, "[FLAG]...", "", 1)), " ")
	}
	got := map[string]string{}
	for _, row := range read(t, "docs/cli.md").table(t, "short commands") {
		usage := spans(row[0])[0]
		name, _, _ := strings.Cut(usage, " ")
		got[name] = usage
	}
	want["js"] = "js [--tab TAB] [--file FILE] [SCRIPT]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the short commands of docs/cli.md are not those of vant (-want +got):\n%s", diff)
	}
}
