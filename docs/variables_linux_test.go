package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vant-run/vant/sdk/plugintest"
)

// The one list of a plugin's variables is what a process of a plugin has.
func TestVariablesOfAPluginAreTheDocumentedOnes(t *testing.T) {
	documented := map[string]bool{}
	inside := false
	for _, l := range read(t, "docs/operations.md").prose {
		if strings.HasPrefix(l.text, "#") {
			inside = l.text == "### Variables of a plugin"
		}
		if !inside {
			continue
		}
		for _, name := range spans(l.text) {
			switch {
			case name == "env" || name == "env_from":
			case strings.HasSuffix(name, "_PROXY"):
				documented[strings.ToLower(name)] = true
				fallthrough
			default:
				documented[name] = true
			}
		}
	}
	env := []string{"SECRET=x", "VANT_SECRET=x", "SSL_CERT_FILE=/x", "EDITOR=x", "SHELL=x", "LOGNAME=x", "LANGUAGE=x"}
	for name := range documented {
		if name != "PATH" && name != "HOME" && name != "TMPDIR" && name != "XDG_*" {
			env = append(env, strings.ReplaceAll(name, "*", "TIME")+"=x")
		}
	}
	h := plugintest.HostWith(t, plugintest.HostOptions{
		Program: filepath.Join(bin, "vantd"), Binaries: []string{filepath.Join(bin, "vant-plugin-net")}, Env: env,
	})
	var info struct{ Pid int }
	if err := h.Call(within(t), "plugins.info", map[string]string{"name": "net"}, &info); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", info.Pid))
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for kv := range bytes.SplitSeq(raw, []byte{0}) {
		name, _, _ := strings.Cut(string(kv), "=")
		for _, prefix := range []string{"LC_", "XDG_"} {
			if strings.HasPrefix(name, prefix) {
				name = prefix + "*"
			}
		}
		// What the host says to the plugin is none of its own variables.
		if name != "" && !strings.HasPrefix(name, "PLUGIN_") && name != "VANT_PLUGIN" && name != "VANT_HOST" && name != "VANT_INSTANCE" {
			has[name] = true
		}
	}
	for name := range has {
		if !documented[name] {
			t.Errorf("the plugin has %s, which is not documented", name)
		}
	}
	for name := range documented {
		if !has[name] {
			t.Errorf("the plugin does not have %s", name)
		}
	}
}
