package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vant-run/vant/sdk/plugintest"
)

// only gives the one block with this info.
func only(t *testing.T, path, info string) block {
	t.Helper()
	blocks := read(t, path).withInfo(t, info)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d blocks fenced as %q, not one", path, len(blocks), info)
	}
	return blocks[0]
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// program runs a program in the repository's root and gives its output.
func program(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// asWritten runs a block in dir, with this repository as the checkout, and gives
// what its last command prints.
func asWritten(t *testing.T, dir, path, info string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text := only(t, path, info).text()
	cmd := exec.CommandContext(within(t), "sh", "-ec", strings.ReplaceAll(text, "$HOME/src/vant", root))
	cmd.Dir = dir
	// -e: what only tests of others need may be out of reach, and so may the
	// database of checksums; those of this repository have been compared.
	cmd.Env = append(os.Environ(), "GOFLAGS=-e", "GONOSUMDB=*")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", path, text, err, said.String())
	}
	return string(out)
}

// weather builds the plugin of docs/plugins.md.
func weather(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := write(t, dir, "main.go", only(t, "docs/plugins.md", "go plugin weather").text())
	file := filepath.Join(dir, "vant-plugin-weather")
	program(t, nil, "go", "build", "-o", file, source)
	return file
}

func TestDocumentedPluginServesOnceTheHostLooks(t *testing.T) {
	h := host(t)
	if err := h.Install(weather(t)); err != nil {
		t.Fatal(err)
	}
	looked(t, h, "weather")
	var got struct {
		Text string
		Days int
	}
	if err := h.Call(within(t), "weather.forecast", map[string]any{"place": "Paris"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Text != "Paris: sunny, metric" || got.Days != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestDocumentedTranscriptReplays(t *testing.T) {
	file := write(t, t.TempDir(), "calls.txtar", only(t, "docs/plugins.md", "text transcript").text())
	plugintest.Transcript(t, host(t, weather(t)), file)
}

func TestDocumentedPluginSaysWhatItIs(t *testing.T) {
	file := weather(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, file).CombinedOutput()
	if err == nil {
		t.Error("run by hand it ends with 0")
	}
	var shown block
	for _, b := range read(t, "docs/plugins.md").withInfo(t, "console") {
		if strings.Contains(b.text(), "$ ./vant-plugin-weather\n") {
			shown = b
		}
	}
	_, want, _ := strings.Cut(shown.text(), "\n")
	want, _, cut := strings.Cut(want, "…")
	if !cut || !strings.HasPrefix(string(out), want) {
		t.Errorf("it says\n%s\nand docs/plugins.md\n%s", out, want)
	}
	var catalogue struct{ Name string }
	if err := json.Unmarshal([]byte(program(t, nil, file, "--describe")), &catalogue); err != nil || catalogue.Name != "weather" {
		t.Errorf("--describe gives %+v, %v", catalogue, err)
	}
}

func TestDocumentedPluginTestPasses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", only(t, "docs/plugins.md", "go plugin weather").text())
	asWritten(t, dir, "docs/plugins.md", "sh build")
	write(t, dir, "main_test.go", only(t, "docs/plugins.md", "go test weather").text())
	out := asWritten(t, dir, "docs/plugins.md", "sh test")
	if n := strings.Count(out, "--- PASS"); n != 2 {
		t.Errorf("%d tests passed, not 2:\n%s", n, out)
	}
}

func TestPythonPluginServesOnceTheHostLooks(t *testing.T) {
	h := host(t)
	if err := h.Install("../sdk/python/examples/vant-plugin-pyecho"); err != nil {
		t.Fatal(err)
	}
	looked(t, h, "pyecho")
	var got int
	if err := h.Call(within(t), "pyecho.add", map[string]int{"a": 1, "b": 2}, &got); err != nil {
		t.Fatal(err)
	}
	if got != 3 {
		t.Errorf("1 + 2 is %d", got)
	}
}

// looked waits until the plugin serves that was put into the host's folder.
func looked(t *testing.T, h *plugintest.RunningHost, name string) {
	t.Helper()
	ctx := within(t)
	if err := h.Call(ctx, "plugins.rescan", nil, nil); err != nil {
		t.Fatal(err)
	}
	var info struct{ State, Reason string }
	if err := h.Call(ctx, "plugins.info", map[string]string{"name": name}, &info); err != nil {
		t.Fatal(err)
	}
	if info.State != "ready" && info.State != "starting" { // a slow machine starts it later, and calls wait
		t.Fatalf("the plugin is %s: %s", info.State, info.Reason)
	}
}

func TestDocumentedGoClientWorks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", only(t, "docs/integrating.md", "go client").text())
	t.Setenv("VANT_SOCKET", host(t).Socket())
	out := asWritten(t, dir, "docs/integrating.md", "sh build")
	for _, want := range []string{"plugins 0\n", "code method_not_found\n", "event host.started\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

func TestDocumentedPythonClientWorks(t *testing.T) {
	script := write(t, t.TempDir(), "client.py", only(t, "docs/integrating.md", "python run").text())
	out := program(t, []string{"VANT_SOCKET=" + host(t).Socket()}, "python3", script)
	if !strings.Contains(out, "'events.since'") {
		t.Errorf("the output has no methods: %s", out)
	}
}

func TestDocumentedOneLinerWorks(t *testing.T) {
	line := only(t, "docs/integrating.md", "sh run").text()
	socket, dir := host(t).Socket(), t.TempDir()
	// Where the host is when nothing names another place.
	if err := os.Symlink(socket, filepath.Join(dir, fmt.Sprintf("vantage-agent-%d.sock", os.Getuid()))); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{"VANT_SOCKET=" + socket}, {"VANT_SOCKET=", "XDG_RUNTIME_DIR=" + dir}} {
		out := program(t, env, "sh", "-c", line)
		var reply struct{ OK bool }
		if err := json.Unmarshal([]byte(out), &reply); err != nil || !reply.OK {
			t.Errorf("%q: it prints %q", env, out)
		}
	}
}

func TestDocumentedConfigurationsAreValid(t *testing.T) {
	seen := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if kind, _, _ := strings.Cut(b.info, " "); kind != "yaml" {
				continue
			}
			seen++
			dir := t.TempDir()
			file := write(t, dir, "vant.yaml", b.text())
			args := []string{"check", "--config", file}
			says := "can be read"
			if b.info == "yaml" {
				args, says = append(args, "--config-only"), "valid"
			}
			plugins := filepath.Join(dir, "plugins")
			if err := os.Mkdir(plugins, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"vant-plugin-net", "vant-plugin-browser"} {
				program, err := os.ReadFile(filepath.Join(bin, name))
				if err == nil {
					err = os.WriteFile(filepath.Join(plugins, name), program, 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			out := program(t, []string{"VANT_PLUGIN_PATH=" + plugins}, filepath.Join(bin, "vantd"), args...)
			if !strings.HasPrefix(out, file+": "+says+"\n") {
				t.Errorf("%s:%d: vantd check says %s", d.path, b.line, out)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d configurations were looked at", seen)
	}
}

// What the settings of agents allow must be commands that there are.
func TestDocumentedSettingsAllowCommandsThatExist(t *testing.T) {
	var settings struct {
		Permissions struct{ Allow []string }
	}
	b := only(t, "docs/integrating.md", "json")
	if err := json.Unmarshal([]byte(b.text()), &settings); err != nil {
		t.Fatalf("docs/integrating.md:%d: %v", b.line, err)
	}
	if len(settings.Permissions.Allow) == 0 {
		t.Error("nothing is allowed")
	}
	tree := newScene(t).tree(t)
	for _, rule := range settings.Permissions.Allow {
		text, ok := strings.CutPrefix(rule, "Bash(vant ")
		text, closed := strings.CutSuffix(text, ")")
		if !ok || !closed {
			t.Errorf("%s is no rule for a command of vant", rule)
			continue
		}
		if _, ok := tree.find(strings.Fields(strings.TrimSuffix(text, ":*"))); !ok {
			t.Errorf("%s allows a command that vant does not have", rule)
		}
	}
}
