package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/host/internal/catalog"
	"github.com/vant-run/vant/sdk"

	"github.com/vant-run/vant/internal/wire"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

var home = env(map[string]string{"HOME": "/home/me"})

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("/etc/vant/vant.yaml", []byte(text), home)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// values are what a configuration says, without where it says it.
func values(c *Config) *Config {
	v := *c
	v.root = nil
	return &v
}

func TestParseWholeConfig(t *testing.T) {
	c := parse(t, `
log: {level: debug, calls: true, dir: logs, max_size_mb: 1, max_files: 2}
plugins:
  dirs: [/a, ~/b, c]
  order: [net, browser]
  verify: strict
  lock: my.lock
  defaults: {log_level: warn, memory_max: 1GiB, queue: 3}
  net:
    allow: [example.com]
    host:
      env: {TOKEN: s3cret, PORT: 8080, ON: true, ZERO: 0x10}
      env_from: [KEY]
      log_level: trace
      max_in_flight: 2
      memory_max: 64MiB
      cpu_weight: 10
      nofile: 100
      disabled: true
  browser:
supervise: {start_timeout: 3s, backoff_min: 100ms, max_failures: 4}
`)
	want := &Config{
		File: "/etc/vant/vant.yaml",
		Log:  Log{Level: "debug", Calls: true, Dir: "/etc/vant/logs", MaxSizeMB: 1, MaxFiles: 2},
		Plugins: Plugins{
			Dirs: []string{"/a", "/home/me/b", "/etc/vant/c"}, Order: []string{"net", "browser"},
			Verify: "strict", Lock: "/etc/vant/my.lock",
			Defaults: Limits{LogLevel: "warn", MemoryMax: 1 << 30, Queue: 3},
			Sections: map[string]Plugin{
				"net": {
					Config: Section(`{"allow":["example.com"]}`),
					Host: Host{
						Env:     Secrets{"TOKEN": "s3cret", "PORT": "8080", "ON": "true", "ZERO": "0x10"},
						EnvFrom: []string{"KEY"}, Disabled: true,
						Limits: Limits{LogLevel: "trace", MaxInFlight: 2, MemoryMax: 64 << 20, CPUWeight: 10, NoFile: 100},
					},
				},
				"browser": {Config: Section(`{}`)},
			},
		},
		Supervise: Supervise{StartTimeout: 3 * time.Second, BackoffMin: 100 * time.Millisecond, MaxFailures: 4},
	}
	if !reflect.DeepEqual(want, values(c)) {
		t.Errorf("got %s\nwant %s", c.Redacted(), want.Redacted())
	}

	net := c.Plugins.For("net").Host.Limits
	if diff := cmp.Diff(Limits{LogLevel: "trace", MaxInFlight: 2, Queue: 3, MemoryMax: 64 << 20, CPUWeight: 10, NoFile: 100}, net); diff != "" {
		t.Error(diff)
	}
	other := c.Plugins.For("other")
	if other.Host.LogLevel != "warn" || string(other.Config) != "{}" {
		t.Errorf("got %+v", other.Host.Limits)
	}
}

func TestEmptyFilesGiveDefaults(t *testing.T) {
	want := defaults()
	want.File, want.Plugins.Lock = "/etc/vant/vant.yaml", "/etc/vant/plugins.lock"
	for _, text := range []string{"", "# nothing\n", "---\n", "\ufeff", "~\n", "{}\n", "log:\nplugins:\nsupervise:\n"} {
		if got := parse(t, text); !reflect.DeepEqual(values(got), &want) {
			t.Errorf("%q: got %s", text, got.Redacted())
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       string // of the errors, without the file's name
	}{
		{"unknown key", "plugin: {}\n", `1:1: unknown key "plugin"; did you mean "plugins"?`},
		{"unknown nested key", "log:\n  levl: info\n", `2:3: unknown key "levl"; did you mean "level"?`},
		{"unlike any key", "xyzzy: 1\n", `1:1: unknown key "xyzzy"; known here: log, plugins, supervise`},
		{"socket, which clients could not know", "socket: /s\n", `1:1: unknown key "socket"; known here: log, plugins, supervise`},
		{"key of the host's part", "plugins:\n  net:\n    host: {envv: {}, env_form: []}\n",
			"3:12: unknown key \"envv\"; did you mean \"env\"?\n3:22: unknown key \"env_form\"; did you mean \"env_from\"?"},
		{"plugins key with a typo", "plugins:\n  oder: [a]\n", `2:3: unknown key "oder"; did you mean "order"? (a plugin's section takes a mapping)`},
		{"section of the wrong type", "plugins:\n  browser: 5\n", `2:12: plugins.browser takes a mapping, found a number`},
		{"bad plugin name", "plugins:\n  My_Net: {}\n", `2:3: "My_Net" is no plugin name: a letter a-z, then letters, digits and -, at most 32 in all`},
		{"number for a text", "log: {level: 3}\n", `1:14: log.level takes a text, found a number; quote it`},
		{"old truth value", "log:\n  calls: yes\n", `2:10: log.calls takes true or false, found a text; write true or false`},
		{"text for a list", "plugins: {dirs: /a}\n", `1:17: plugins.dirs takes a list, found a text; write it in [ ]`},
		{"list item", "plugins: {order: [net, 5]}\n", `1:24: an item of plugins.order takes a text, found a number; quote it`},
		{"list for a mapping", "log: [a]\n", `1:6: log takes a mapping, found a list`},
		{"nothing for a text", "log:\n  dir:\n", `2:8: log.dir takes a text, found nothing`},
		{"word", "log: {level: debgu}\n", `1:14: log.level cannot be "debgu"; did you mean "debug"?`},
		{"word unlike any", "plugins: {verify: 'please'}\n", `1:19: plugins.verify cannot be "please"; use one of: off, strict`},
		{"too small", "log: {max_files: 1}\n", `1:18: log.max_files must be between 2 and 100`},
		{"too long", "supervise: {start_timeout: 1h}\n", `1:28: supervise.start_timeout must be between 100ms and 5m`},
		{"hours", "supervise: {backoff_reset: 48h}\n", `1:28: supervise.backoff_reset must be between 1s and 24h`},
		{"no unit", "supervise: {drain: 5}\n", `1:20: supervise.drain takes a duration with its unit, such as "500ms", "5s" or "10m"`},
		{"fraction", "log: {max_files: 2.5}\n", `1:18: log.max_files takes a whole number`},
		{"larger than any number", "log: {max_files: 99999999999999999999}\n", `1:18: log.max_files takes a whole number`},
		{"size", "plugins: {defaults: {memory_max: 5XB}}\n", `1:34: plugins.defaults.memory_max takes a size, such as "512MiB" or "2GiB", or a number of bytes`},
		{"size too small", "plugins: {defaults: {memory_max: 1K}}\n", `1:34: plugins.defaults.memory_max must be between 16MiB and 16TiB`},
		{"size beyond all", "plugins: {defaults: {memory_max: 9999999999TiB}}\n", `1:34: plugins.defaults.memory_max takes a size, such as "512MiB" or "2GiB", or a number of bytes`},
		{"secrets for all", "plugins: {defaults: {env: {A: b}}}\n", `1:22: unknown key "env"; known here: log_level, max_in_flight, queue, memory_max, cpu_weight, nofile`},
		{"order name", "plugins: {order: [Net]}\n", `1:19: plugins.order names "Net", which is no plugin name`},
		{"order twice", "plugins: {order: [a, a]}\n", `1:11: plugins.order names a twice; remove one`},
		{"backoff", "supervise:\n  backoff_max: 1s\n  backoff_min: 2s\n", `3:3: supervise.backoff_min is longer than supervise.backoff_max; make it shorter`},
		{"health", "supervise:\n  health_every: 1s\n  health_timeout: 2s\n", `3:3: supervise.health_timeout is longer than supervise.health_every; make it shorter`},
		{"empty path", "log: {dir: ''}\n", `1:12: log.dir must not be empty; leave the key out for the default`},
		{"other home", "log: {dir: ~you/s}\n", `1:12: log.dir may use ~/ for your own home directory only; write the path out`},
		{"variable name", "plugins: {net: {host: {env: {A-B: x}}}}\n", `1:30: "A-B" is no name of a variable`},
		{"variable list", "plugins: {net: {host: {env_from: [A=x]}}}\n", `1:35: plugins.net.host.env_from takes names of variables, such as ANTHROPIC_API_KEY`},
		{"variables of the host alone", "plugins: {net: {host: {env_from: [NOTIFY_SOCKET, LISTEN_FDS, HOME]}}}\n",
			"1:35: plugins.net.host.env_from names NOTIFY_SOCKET, by which the service manager speaks to the host alone; leave it out\n" +
				"1:50: plugins.net.host.env_from names LISTEN_FDS, by which the service manager speaks to the host alone; leave it out"},
		{"variables that the host sets", "plugins: {net: {host: {env_from: [PLUGIN_MIN_PORT, VANT_HOST], env: {VANT_INSTANCE: x, VANT_PLUGIN: y, VANT_PLUGIN_PATH: z, PLUGIN_CLIENT_CERT: c, VANT_OTHER: o}}}}\n",
			"1:35: plugins.net.host.env_from names PLUGIN_MIN_PORT, which the host itself sets for every plugin; leave it out\n" +
				"1:52: plugins.net.host.env_from names VANT_HOST, which the host itself sets for every plugin; leave it out\n" +
				"1:70: plugins.net.host.env names VANT_INSTANCE, which the host itself sets for every plugin; leave it out\n" +
				"1:88: plugins.net.host.env names VANT_PLUGIN, which the host itself sets for every plugin; leave it out\n" +
				"1:104: plugins.net.host.env names VANT_PLUGIN_PATH, which the host itself sets for every plugin; leave it out\n" +
				"1:125: plugins.net.host.env names PLUGIN_CLIENT_CERT, which the host itself sets for every plugin; leave it out"},
		{"variable of a wrong type", "plugins: {net: {host: {env: {A: [x]}}}}\n", `1:33: plugins.net.host.env.A takes a text, found a list`},
		{"duplicate key", "log: {}\nlog: {}\n", `2:1: key "log" is here twice, first in line 1; remove one`},
		{"duplicate in a section", "plugins:\n  net:\n    a: 1\n    a: 2\n", `4:5: key "a" is here twice, first in line 3; remove one`},
		{"not a mapping", "- a\n", `1:1: the file must be a mapping of keys to values, found a list`},
		{"leading zero", "plugins: {net: {zip: 01234}}\n", `1:22: a number with a leading zero may be octal or not; quote it if it is a text, write 0o… for octal`},
		{"underscore", "plugins: {net: {n: 1_000}}\n", `1:20: a number with _ is not read everywhere; leave the _ out, or quote it if it is a text`},
		{"binary", "plugins: {net: {n: 0b11}}\n", `1:20: binary numbers are not read everywhere; write it in decimal, or quote it if it is a text`},
		{"infinity", "plugins: {net: {n: -.inf}}\n", `1:20: infinity and not-a-number cannot be given to plugins`},
		{"unknown alias", "plugins: {net: {n: *x}}\n", `1:20: alias *x has no anchor &x before it`},
		{"alias within its anchor", "plugins:\n  net: &x\n    a: *x\n", `3:8: alias *x cannot be used: its anchor is not complete`},
		{"anchor twice", "plugins: {net: {a: &x 1, b: &x 2}}\n", `1:29: anchor &x is set twice; rename one`},
		{"tag", "plugins: {net: {a: !secret x}}\n", `1:20: tag !secret is not known; leave it out`},
		{"tag that does not fit", "plugins: {net: {a: !!int x}}\n", `1:20: tag !!int does not fit a text`},
		{"merge of a scalar", "plugins: {net: {<<: 5}}\n", `1:21: << takes a mapping or a list of mappings, found a number`},
		{"two documents", "log: {}\n---\nlog: {}\n", `2:1: holds more than one document; keep one`},
		{"second document after an empty one", "---\n---\nlog: {}\n", `2:1: holds more than one document; keep one`},
		{"after the end", "log: {}\n...\nlog: {}\n", `3:1: holds more than one document; keep one`},
		{"directive", "%YAML 1.1\n---\nlog: {}\n", `1:1: has a % directive; leave it out`},
		{"syntax", "log: [a\n", `1:6: is not YAML: sequence end token ']' not found`},
		{"not UTF-8", "plugins:\nlog: \xff\n", `2:6: is not UTF-8 text`},
		{"zero byte", "plugins: \x00\n", `1:10: is not UTF-8 text`},
		{"several", "a: 1\nlog: {calls: 5, level: x, b: 1}\n",
			"1:1: unknown key \"a\"; known here: log, plugins, supervise\n" +
				"2:14: log.calls takes true or false, found a number\n" +
				"2:24: log.level cannot be \"x\"; use one of: trace, debug, info, warn, error, off\n" +
				"2:27: unknown key \"b\"; known here: level, calls, dir, max_size_mb, max_files"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("/c.yaml", []byte(tc.text), home)
			var all *Errors
			if !errors.As(err, &all) {
				t.Fatalf("got %v", err)
			}
			got := strings.ReplaceAll(err.Error(), "/c.yaml:", "")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A plugin named like a key could not have a section: the catalog and the SDK
// refuse exactly these names.
func TestNoPluginHasTheNameOfAKey(t *testing.T) {
	keys := fieldsOf(reflect.TypeFor[Plugins]()).keys
	if len(keys) < 5 {
		t.Fatalf("keys %v", keys)
	}
	declares := func(name string) (ok bool) {
		defer func() { ok = recover() == nil }()
		sdk.New(name, "1", "")
		return
	}
	for _, key := range keys {
		if catalog.ValidName(key) {
			t.Errorf("the catalog takes a plugin %s", key)
		}
		if declares(key) {
			t.Errorf("the SDK takes a plugin %s", key)
		}
	}
	for _, name := range []string{"host", "log", "plugins", "lock-er", "orders"} {
		if !catalog.ValidName(name) || !declares(name) {
			t.Errorf("a plugin %s is refused", name)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "unknown%d: 1\n", i)
	}
	_, err := Parse("/c.yaml", []byte(b.String()), home)
	var all *Errors
	if !errors.As(err, &all) || len(all.List) != maxErrors || all.More != 30 {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "\nand 30 more") || all.List[0].Line != 1 {
		t.Errorf("got %v", err)
	}
}

func TestPlaceLeadsToTheKey(t *testing.T) {
	c := parse(t, `
plugins:
  net:
    allow: [a, b]
    deep: {er: {key: 1}}
    alias: &x {k: 1}
  other:
    same: *x
`)
	for _, tc := range []struct{ path, want string }{
		{"plugins net", ":3:3"},
		{"plugins net allow", ":4:5"},
		{"plugins net allow 1", ":4:16"},
		{"plugins net allow 2", ":4:5"},
		{"plugins net deep er key", ":5:17"},
		{"plugins net deep er none", ":5:12"},
		{"plugins other same k", ":6:16"},
		{"plugins none", ":2:1"},
		{"log dir", ""},
		{"", ""},
	} {
		if got := c.Place(strings.Fields(tc.path)...); got != c.File+tc.want {
			t.Errorf("%s: got %s, want %s%s", tc.path, got, c.File, tc.want)
		}
	}
	for _, text := range []string{"", "log: {}\n"} {
		c, err := Parse("", []byte(text), home)
		if err != nil || text == "" && c.Place("plugins") != "" {
			t.Errorf("%q: %v, %s", text, err, c.Place("plugins"))
		}
	}
}

func TestSectionIsExactJSON(t *testing.T) {
	c := parse(t, `
plugins:
  net:
    big: 123456789012345678901234567890
    negative: -7
    plus: +7
    decimal: 0.1000
    short: .5
    long: 1.
    exponent: 1e400
    octal: 0o17
    hex: 0xFFFFFFFFFFFFFFFFFF
    date: 2024-02-30
    time: 12:30:45
    version: 1.2.3
    yes: no
    true: false
    1: one
    none: ~
    empty:
    quoted: "0123"
    single: 'it''s'
    escapes: "tab\t\"\u00e9\U0001F600</script>\u2028"
    html: <a&b>
    block: |
      one
      two
    folded: >-
      one
      two
    flow: {a: [1, "2", {b: null}], c: []}
    tagged: !!str 12
    z: last
    a: first
`)
	want := `{"big":123456789012345678901234567890,"negative":-7,"plus":7,"decimal":0.1000,"short":0.5,"long":1,` +
		`"exponent":1e400,"octal":15,"hex":4722366482869645213695,"date":"2024-02-30","time":"12:30:45","version":"1.2.3",` +
		`"yes":"no","true":false,"1":"one","none":null,"empty":null,"quoted":"0123","single":"it's",` +
		"\"escapes\":\"tab\\t\\\"é😀</script>\\u2028\",\"html\":\"<a&b>\"," +
		`"block":"one\ntwo\n","folded":"one two","flow":{"a":[1,"2",{"b":null}],"c":[]},"tagged":"12","z":"last","a":"first"}`
	if diff := cmp.Diff(want, string(c.Plugins.Sections["net"].Config)); diff != "" {
		t.Error(diff)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	c := parse(t, `
plugins:
  one: &one
    a: 1
    b: [&x {c: 2}, *x]
  two:
    <<: *one
    a: 3
  three:
    <<: [{d: 4, a: 5}, *one]
  four: *one
`)
	for name, want := range map[string]string{
		"one":   `{"a":1,"b":[{"c":2},{"c":2}]}`,
		"two":   `{"a":3,"b":[{"c":2},{"c":2}]}`,
		"three": `{"d":4,"a":5,"b":[{"c":2},{"c":2}]}`,
		"four":  `{"a":1,"b":[{"c":2},{"c":2}]}`,
	} {
		if diff := cmp.Diff(want, string(c.Plugins.Sections[name].Config)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// processorTime is what this process has used: others that run beside it are no
// part of it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestBombsAreRefusedQuickly(t *testing.T) {
	laughs := "plugins:\n  net:\n    a0: &a0 lol\n"
	for i := 1; i < 30; i++ {
		laughs += fmt.Sprintf("    a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var merges strings.Builder
	merges.WriteString("plugins:\n  net:\n    m: &m\n")
	for i := range 3000 {
		fmt.Fprintf(&merges, "      k%d: 1\n", i)
	}
	for i := range 3000 {
		fmt.Fprintf(&merges, "    n%d: {<<: *m}\n", i)
	}
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, text := range map[string]string{
		"aliases":         laughs,
		"merges":          merges.String(),
		"flow":            "plugins: " + many("[", 500_000),
		"flow mappings":   "plugins: " + many("{a: ", 200_000),
		"entries":         "plugins: " + many("- ", 500_000) + "a",
		"explicit keys":   many("? ", 500_000) + "a",
		"tags":            "plugins: " + many("!a ", 300_000) + "x",
		"tags, lines":     "plugins:\n" + many(" !a\n", 200_000) + " x",
		"anchors":         "plugins: " + many("&a ", 300_000) + "x",
		"aliases of tags": "plugins: " + many("!a &b ", 150_000) + "x",
		"indentation": func() string {
			var b strings.Builder
			for i := range 1000 {
				b.WriteString(many(" ", i) + "a:\n")
			}
			return b.String()
		}(),
		"keys":      "a: 1\n" + many("a: b\r\n", 150_000),
		"items":     many("-\n", 500_000),
		"most keys": many("a: b\r\n", maxEntries),
		"too large": "# " + many("x", MaxBytes),
	} {
		t.Run(name, func(t *testing.T) {
			begin := processorTime(t)
			_, err := Parse("/c.yaml", []byte(text), home)
			if err == nil {
				t.Fatal("accepted")
			}
			took := processorTime(t) - begin
			if took > 20*time.Second { // one or two without the race detector
				t.Errorf("took %v", took)
			}
			if len(err.Error()) > 4096 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			t.Log(took, err)
		})
	}
}

func TestSecretsStayHidden(t *testing.T) {
	const secret = "hunter2-s3cret"
	c := parse(t, `
plugins:
  net:
    token: `+secret+`
    deep: {a: [`+secret+`]}
    host: {env: {TOKEN: `+secret+`}}
`)
	marshalled, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	host := c.Plugins.For("net").Host
	for name, text := range map[string]string{
		"Redacted": string(c.Redacted()), "json": string(marshalled),
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", c), "%s": fmt.Sprintf("%s", c),
		"part %v": fmt.Sprintf("%v", c.Plugins), "part %#v": fmt.Sprintf("%#v", host), "env %s": fmt.Sprintf("%s", host.Env),
	} {
		if strings.Contains(text, secret) || strings.Contains(text, "104 117 110") {
			t.Errorf("%s shows it: %s", name, text)
		}
	}
	want := `{"TOKEN":"***"}`
	if got, err := json.Marshal(host.Env); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if got := string(c.Redacted()); !strings.Contains(got, `"token": "***"`) || !strings.Contains(got, `"verify": "off"`) {
		t.Errorf("got %s", got)
	}
}

func TestFaultsDoNotQuoteSecrets(t *testing.T) {
	const secret = "hunter2-s3cret"
	for _, text := range []string{
		"plugins: {net: {host: {env: {A: [" + secret + "]}}}}\n",
		"plugins: {net: {host: {env_from: [A=" + secret + "]}}}\n",
		"plugins: {net: {host: {env: " + secret + "}}}\n",
		"plugins:\n  net:\n    token: " + secret + ": x\n",
		"plugins:\n  net:\n    token: '" + secret + "\n",
		"plugins:\n  net:\n    token: \"" + secret + "\" x\n",
		"plugins:\n  net:\n    token: " + secret + "\n   bad: x\n",
		"plugins:\n  net: {token: " + secret + "\n",
		"plugins:\n  net:\n    token: !!int " + secret + "\n",
	} {
		_, err := Parse("/c.yaml", []byte(text), home)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFind(t *testing.T) {
	for _, tc := range []struct {
		name, path string
		env        map[string]string
		want       string
		named      bool
	}{
		{"flag", "/f", map[string]string{"VANT_CONFIG": "/v", "HOME": "/h"}, "/f", true},
		{"variable", "", map[string]string{"VANT_CONFIG": "/v", "HOME": "/h"}, "/v", true},
		{"config folder", "", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/vant/vant.yaml", false},
		{"relative config folder", "", map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"}, "/h/.config/vant/vant.yaml", false},
		{"home", "", map[string]string{"HOME": "/h"}, "/h/.config/vant/vant.yaml", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if file, named := Find(tc.path, env(tc.env)); file != tc.want || named != tc.named {
				t.Errorf("got %s, %v", file, named)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	vars := env(map[string]string{"XDG_CONFIG_HOME": dir, "HOME": dir})
	c, err := Load("", vars)
	if err != nil || c.File != "" || c.Plugins.Lock != filepath.Join(dir, "vant", "plugins.lock") {
		t.Fatalf("without a file: %v, %v", c, err)
	}
	if _, err := Load(filepath.Join(dir, "none"), vars); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a named file that is missing: %v", err)
	}
	file := filepath.Join(dir, "vant", "vant.yaml")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
	}
	put("log: {dir: /s}\n", 0o644)
	if c, err := Load("", vars); err != nil || c.File != file || c.Log.Dir != "/s" {
		t.Errorf("got %v, %v", c, err)
	}
	put("logg: {dir: /s}\n", 0o644)
	if _, err := Load("", vars); err == nil || !strings.HasPrefix(err.Error(), file+`:1:1: unknown key "logg"`) {
		t.Errorf("got %v", err)
	}
	put("log: {dir: /s}\n", 0o646)
	if _, err := Load("", vars); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("world-writable: %v", err)
	}
	put(strings.Repeat("# x\n", MaxBytes/4+1), 0o644)
	if _, err := Load("", vars); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("too large: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe, vars); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := Load(dir, vars); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// commented finds the settings that the example has commented out.
var commented = regexp.MustCompile(`(?m)^(\s*)#(\S)`)

func TestExample(t *testing.T) {
	data, err := os.ReadFile("../../../configs/vant.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.File, want.Plugins.Lock = "/etc/vant/vant.yaml", "/etc/vant/plugins.lock"
	if got := parse(t, string(data)); !reflect.DeepEqual(values(got), &want) {
		t.Errorf("what it sets are not the defaults: %s", got.Redacted())
	}

	full := commented.ReplaceAllString(string(data), "$1$2")
	got := parse(t, full)
	checkAllSet(t, "", reflect.ValueOf(*got))
	section := got.Plugins.Sections["agent"]
	checkAllSet(t, "plugins.agent.host", reflect.ValueOf(section.Host))
	if len(got.Plugins.Sections["browser"].Config) < 10 {
		t.Error("no section of a plugin's own")
	}
}

// checkAllSet fails for every key of a struct that the full example leaves at
// its zero value. log.calls alone is false there, and its line is not
// commented out.
func checkAllSet(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	f := fieldsOf(v.Type())
	for _, key := range f.keys {
		field, at := v.FieldByIndex(f.byKey[key].Index), join(path, key)
		switch {
		case field.Kind() == reflect.Struct:
			checkAllSet(t, at, field)
		case field.IsZero() && at != "log.calls":
			t.Errorf("%s is missing in the example", at)
		}
	}
}

func FuzzParse(f *testing.F) {
	if data, err := os.ReadFile("../../../configs/vant.yaml"); err == nil {
		f.Add(string(data))
		f.Add(commented.ReplaceAllString(string(data), "$1$2"))
	}
	for _, s := range []string{
		"plugins: {net: {a: &x [1], b: *x, <<: {c: 1}}}", "? a\n: b\n", "a: |\n  x\n", "plugins:\n  n:\n    - - - a\n    ? b\n",
		"plugins: {net: {a: .5, b: 1e3, c: 0x1f, d: !!str 1}}", "- &a [*a]", "%YAML 1.2\n---\n", "a: \"\\u0000\"", "plugins: {a: {? [b] : c}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("/c.yaml", []byte(text), home)
		if err != nil {
			if len(err.Error()) > 1<<16 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		for name, s := range c.Plugins.Sections {
			if compact, err := wire.Valid(s.Config); err != nil || !compact {
				t.Errorf("section %s is not JSON: %v: %s", name, err, []byte(s.Config))
			}
		}
	})
}
