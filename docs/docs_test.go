package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/proto/envelope"
	"github.com/vant-run/vant/sdk/plugintest"
)

// bin is the folder of the programs that the documents are about, made once.
var bin string

// limit bounds a program of a test.
const limit = 2 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "vantdocs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	bin = dir
	for name, pkg := range map[string]string{
		"vant": "./cmd/vant", "vantd": "./cmd/vantd", "vant-plugin-net": "./plugins/net",
		"vant-plugin-browser": "./plugins/browser", "demosite": "./tools/demosite",
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	status := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

// host starts a host with private folders and these plugins alone.
func host(t *testing.T, binaries ...string) *plugintest.RunningHost {
	t.Helper()
	return plugintest.HostWith(t, plugintest.HostOptions{Program: filepath.Join(bin, "vantd"), Binaries: binaries})
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestCodesTableIsTheProtocols(t *testing.T) {
	var got, want [][]string
	got = read(t, "docs/protocol.md").table(t, "codes")
	for _, c := range envelope.Codes() {
		from := "host or plugin"
		if envelope.Reserved(string(c)) {
			from = "host"
		}
		want = append(want, []string{"`" + string(c) + "`", from, c.Doc()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the codes of docs/protocol.md are not envelope.Codes() (-want +got):\n%s", diff)
	}
}

func TestLimitsTableHasTheProtocolsNumbers(t *testing.T) {
	rows := read(t, "docs/protocol.md").section(t, "## Limits")
	for what, want := range map[string]string{
		"request line, without its newline":        thousands(envelope.MaxRequestBytes) + " bytes",
		"reply line, without its newline":          thousands(envelope.MaxResultBytes) + " bytes",
		"`id`":                                     thousands(envelope.MaxIDBytes) + " bytes",
		"nesting of JSON":                          thousands(envelope.MaxDepth) + " levels",
		"connections at once":                      thousands(envelope.MaxConnections),
		"silence before the first byte":            seconds(envelope.FirstByteTimeout),
		"sending the whole request":                seconds(envelope.RequestTimeout),
		"a client that does not read its reply":    seconds(envelope.WriteTimeout) + " without progress, 5 min in all",
		"calls that plugins make through the host": "8 deep",
		"calls at once to one plugin":              "64, then 64 waiting; the plugin or the configuration may say otherwise",
	} {
		i := slices.IndexFunc(rows, func(r []string) bool { return r[0] == what })
		if i < 0 || rows[i][1] != want {
			t.Errorf("the limits do not say of %q: %s", what, want)
		}
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }

// thousands writes 16777216 as 16,777,216.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// described is a method as describe gives it, as far as documents tell.
type described struct {
	Params       map[string]string `json:"params"`
	ParamsSchema json.RawMessage   `json:"params_schema"`
	ResultSchema json.RawMessage   `json:"result_schema"`
	Errors       []string          `json:"errors"`
}

func describe(t *testing.T, h *plugintest.RunningHost) map[string]described {
	t.Helper()
	var methods map[string]described
	if err := h.Call(within(t), "describe", nil, &methods); err != nil {
		t.Fatal(err)
	}
	return methods
}

var param = regexp.MustCompile("`([a-z_]+): ([a-z\\[\\]]+\\??)`")

func TestBuiltinsTableIsTheHosts(t *testing.T) {
	want := map[string]map[string]string{}
	for name, m := range describe(t, host(t)) {
		want[name] = m.Params
	}
	got := map[string]map[string]string{}
	for _, row := range read(t, "docs/protocol.md").table(t, "builtins") {
		params := map[string]string{}
		for _, m := range param.FindAllStringSubmatch(row[1], -1) {
			params[m[1]] = m[2]
		}
		got[strings.Trim(row[0], "`")] = params
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the built-ins of docs/protocol.md are not those of a host (-want +got):\n%s", diff)
	}
}

func TestStatesTableIsTheHosts(t *testing.T) {
	var schema struct {
		Items struct {
			Properties struct {
				State struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(describe(t, host(t))["plugins.list"].ResultSchema, &schema); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range read(t, "docs/operations.md").section(t, "## States") {
		got = append(got, strings.Trim(row[0], "`"))
	}
	if diff := cmp.Diff(schema.Items.Properties.State.Enum, got); diff != "" {
		t.Errorf("the states of docs/operations.md are not those of plugins.list (-want +got):\n%s", diff)
	}
}

func TestParametersTableIsThePlugins(t *testing.T) {
	net := describe(t, host(t, filepath.Join(bin, "vant-plugin-net")))["net.fetch"]
	got := map[string]string{}
	for _, row := range read(t, "docs/net.md").section(t, "## Parameters") {
		typ := row[1]
		if typ == "object of strings" {
			typ = "object"
		}
		if row[2] != "required" {
			typ += "?"
		}
		got[strings.Trim(row[0], "`")] = typ
	}
	if diff := cmp.Diff(net.Params, got); diff != "" {
		t.Errorf("the parameters of docs/net.md are not those of net.fetch (-want +got):\n%s", diff)
	}
	var result struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(net.ResultSchema, &result); err != nil {
		t.Fatal(err)
	}
	members := map[string]bool{}
	for _, row := range read(t, "docs/net.md").section(t, "## Result") {
		for _, name := range spans(row[0]) {
			members[name] = true
		}
	}
	for name := range result.Properties {
		if !members[name] {
			t.Errorf("docs/net.md does not document %s of the result", name)
		}
		delete(members, name)
	}
	for name := range members {
		t.Errorf("docs/net.md documents %s, which net.fetch does not give", name)
	}
}

func TestDocumentedExchangesHappen(t *testing.T) {
	for path, binaries := range map[string][]string{
		"docs/protocol.md": nil,
		"docs/net.md":      {filepath.Join(bin, "vant-plugin-net")},
	} {
		t.Run(path, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "exchanges.txtar")
			if err := os.WriteFile(file, []byte(transcript(t, read(t, path))), 0o600); err != nil {
				t.Fatal(err)
			}
			plugintest.Transcript(t, host(t, binaries...), file)
		})
	}
}

// transcript makes a txtar of a document's requests and replies. A reply may be
// broken into lines where JSON is.
func transcript(t *testing.T, d document) string {
	t.Helper()
	var out strings.Builder
	waiting := false // for the reply of a request
	for _, b := range d.blocks {
		what, ok := strings.CutPrefix(b.info, "json ")
		if !ok {
			continue
		}
		if what != "request" && what != "reply" || waiting != (what == "reply") {
			t.Fatalf("%s:%d: a request and its reply follow each other", d.path, b.line)
		}
		waiting = what == "request"
		var one strings.Builder
		for _, l := range b.lines {
			one.WriteString(strings.TrimSpace(l.text))
		}
		fmt.Fprintf(&out, "-- %s --\n%s\n", what, one.String())
	}
	return out.String()
}
