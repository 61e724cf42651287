package docs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/proto/envelope"
	"github.com/vant-run/vant/sdk/plugintest"
)

const guide = "docs/browser.md"

// browser is what the browser plugin offers. Asking starts no Chromium.
func browser(t *testing.T) map[string]described {
	t.Helper()
	all := describe(t, host(t, filepath.Join(bin, "vant-plugin-browser")))
	maps.DeleteFunc(all, func(name string, _ described) bool {
		return !strings.HasPrefix(name, "browser.") && !strings.HasPrefix(name, "page.")
	})
	return all
}

// first gives the first code span of each row's first cell.
func first(t *testing.T, rows [][]string) []string {
	t.Helper()
	var out []string
	for _, r := range rows {
		names := spans(r[0])
		if len(names) != 1 {
			t.Fatalf("%q is no single name", r[0])
		}
		out = append(out, names[0])
	}
	return out
}

func TestMethodsTableIsTheBrowsers(t *testing.T) {
	rows := read(t, guide).table(t, "browser methods")
	got, want := map[string]map[string]string{}, map[string]map[string]string{}
	for i, name := range first(t, rows) {
		params := map[string]string{}
		for _, m := range param.FindAllStringSubmatch(rows[i][1], -1) {
			params[m[1]] = m[2]
		}
		got[name] = params
		if i >= 5 { // as the text above the table says
			params["tab_id"] = "integer?"
		}
	}
	for name, m := range browser(t) {
		want[name] = m.Params
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the methods of %s are not the plugin's (-want +got):\n%s", guide, diff)
	}
}

func TestActionsAndLimitsAreTheBrowsers(t *testing.T) {
	var limits [][]string
	var actions []string
	for _, name := range slices.Sorted(maps.Keys(browser(t))) {
		var schema struct {
			Properties map[string]struct {
				Enum    []string
				Default json.RawMessage
				Clamp   []int `json:"x-vant-clamp"`
			}
		}
		if err := json.Unmarshal(browser(t)[name].ParamsSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for _, p := range slices.Sorted(maps.Keys(schema.Properties)) {
			s := schema.Properties[p]
			if len(s.Clamp) == 2 {
				var usual int
				if err := json.Unmarshal(s.Default, &usual); err != nil {
					t.Fatalf("%s %s: %v", name, p, err)
				}
				limits = append(limits, []string{"`" + name + "`", "`" + p + "`", thousands(usual), thousands(s.Clamp[0]) + "–" + thousands(s.Clamp[1])})
			}
			if name == "page.interact" && p == "action" {
				actions = s.Enum
			}
		}
	}
	sorted := func(rows [][]string) [][]string {
		slices.SortFunc(rows, slices.Compare)
		return rows
	}
	if diff := cmp.Diff(sorted(limits), sorted(read(t, guide).table(t, "browser limits"))); diff != "" {
		t.Errorf("the limits of %s are not the plugin's (-want +got):\n%s", guide, diff)
	}
	slices.Sort(actions)
	if diff := cmp.Diff(actions, slices.Sorted(slices.Values(first(t, read(t, guide).table(t, "actions"))))); diff != "" {
		t.Errorf("the actions of %s are not the plugin's (-want +got):\n%s", guide, diff)
	}
	card := strings.Join(strings.Fields(read(t, "docs/browser-card.md").text()), " ")
	for _, a := range actions {
		if !strings.Contains(card, "`"+a+"`") {
			t.Errorf("the card does not name the action %s", a)
		}
	}
}

func TestErrorsOfTheBrowserAreDocumented(t *testing.T) {
	got := first(t, read(t, guide).table(t, "browser errors"))
	declared := map[string]bool{} // a plugin may have codes of its own
	seen := 0
	for name, m := range browser(t) {
		for _, code := range m.Errors {
			declared[code] = true
			seen++
			if !slices.Contains(got, code) {
				t.Errorf("%s does not document %s of %s", guide, code, name)
			}
		}
	}
	for _, code := range got {
		if !declared[code] && !slices.Contains(envelope.Codes(), envelope.Code(code)) {
			t.Errorf("%s is no code", code)
		}
	}
	if seen < 20 {
		t.Errorf("only %d errors were looked at", seen)
	}
}

// failure finds the failures in our code in pages and in the plugin.
var failure = regexp.MustCompile(`(?:fail\('|error: '|Error: "|Code: ")([a-z_]+)['"]`)

func TestFailuresOfActionsAreDocumented(t *testing.T) {
	// What never leaves page.interact.
	inner := []string{"moving", "timeout", "stopped", "unknown_token", "unknown_kind", "invalid_selector", "no_value", "closed"}
	want := map[string]bool{}
	for _, pattern := range []string{"inject/js/*.js", "page/*.go"} {
		files, err := filepath.Glob("../plugins/browser/" + pattern)
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range failure.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(inner, m[1]) {
					want[m[1]] = true
				}
			}
		}
	}
	for _, path := range []string{guide, "docs/browser-card.md"} {
		got := map[string]bool{}
		for _, name := range first(t, read(t, path).table(t, "failures")) {
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the failures of %s are not those of the code (-want +got):\n%s", path, diff)
		}
	}
}

func TestKeysOfTheBrowserAreThePlugins(t *testing.T) {
	var catalogue struct {
		Schema struct{ Properties map[string]any } `json:"config_schema"`
	}
	text := program(t, nil, filepath.Join(bin, "vant-plugin-browser"), "--describe")
	if err := json.Unmarshal([]byte(text), &catalogue); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(catalogue.Schema.Properties))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(first(t, read(t, guide).table(t, "browser keys"))))); diff != "" {
		t.Errorf("the keys of %s are not the plugin's (-want +got):\n%s", guide, diff)
	}
	example, err := os.ReadFile("../configs/vant.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(example), "\n  #browser:\n")
	section, _, _ = strings.Cut(section, "\n\n")
	for _, key := range want {
		if !strings.Contains(section, "\n    #"+key+":") && !strings.HasPrefix(section, "    #"+key+":") {
			t.Errorf("configs/vant.yaml does not show %s", key)
		}
	}
}

// demosite serves the demo's site until the test ends, and gives its address.
func demosite(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "demosite"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended with the test's context already
		_ = cmd.Wait()         // by a signal
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// The whole guide is followed in one browser, but for what needs another
// configuration, which comes last.
func TestRecipesOfTheBrowserHappen(t *testing.T) {
	d := read(t, guide)
	steps, hold := walk(t, d, "walk"), walk(t, d, "hold")
	if len(steps) < 50 || len(hold) < 5 {
		t.Fatalf("only %d and %d steps were found", len(steps), len(hold))
	}
	h := host(t, filepath.Join(bin, "vant-plugin-browser"))
	dir, site := t.TempDir(), "site="+demosite(t)
	follow(t, d, steps, h, dir, site)
	closeBrowser(t, h)
	config := filepath.Join(h.Dir, "config", "vant")
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, config, "vant.yaml", only(t, guide, "yaml hold").text())
	follow(t, d, hold, h, dir, site)
	closeBrowser(t, h)
	for _, name := range []string{"page.png", "whole.jpg"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("there is no picture %s: %v", name, err)
		}
	}
}

// closeBrowser has the host's browser end by itself, which takes a while on a busy
// machine, and waits until it has cleared up.
func closeBrowser(t *testing.T, h *plugintest.RunningHost) {
	t.Helper()
	link := filepath.Join(h.Dir, "data", "vant", "data", "browser", "profile", "SingletonSocket")
	socket, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	// The answer may come or be lost with the browser.
	said := h.Call(within(t), "browser.cdp", map[string]string{"method": "Browser.close"}, nil)
	for ctx := within(t); ; {
		_, linked := os.Lstat(link)
		_, there := os.Lstat(filepath.Dir(socket))
		if errors.Is(linked, fs.ErrNotExist) && errors.Is(there, fs.ErrNotExist) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the browser did not end: %v; its answer was %v", ctx.Err(), said)
		}
	}
}

// What README.md and the demo itself say that it does.
func TestDemoIsAsDescribed(t *testing.T) {
	script, err := os.ReadFile("../tools/demo.sh")
	if err != nil {
		t.Fatal(err)
	}
	readme := read(t, "README.md").text()
	for said, done := range map[string]string{
		"installs Chromium": "tools/install-chromium.sh\n", "builds": "make --no-print-directory build\n", "starts a private host": "run 'vant up'\n",
		"fills an order form": "vant agent fill", "follows a pop-up": "Receipt in a pop-up", "takes a picture": "page.screenshot",
		"reads what went wrong": "vant agent page.diagnostics", "calls an API": "vant agent fetch", "stops": "run 'vant down'\n",
	} {
		if !strings.Contains(readme, said) || !strings.Contains(string(script), done) {
			t.Errorf("README.md says %q: %t; the demo does %q: %t", said, strings.Contains(readme, said), done, strings.Contains(string(script), done))
		}
	}
}

// text is the document's prose.
func (d document) text() string {
	var s strings.Builder
	for _, l := range d.prose {
		fmt.Fprintln(&s, l.text)
	}
	return s.String()
}
