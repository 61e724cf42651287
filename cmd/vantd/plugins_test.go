package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vant-run/vant/sdk/plugintest"
)

func TestFetchThroughARealPlugin(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, r.Method)
	}))
	defer web.Close()
	h := start(t, plugintest.HostOptions{Binaries: []string{built.net}})
	var res struct {
		Status int
		OK     bool
		Body   string
	}
	if err := h.Call(within(t, 10*time.Second), "net.fetch", map[string]any{"url": web.URL, "method": "REPORT"}, &res); err != nil {
		t.Fatal(err)
	}
	if res.Status != 404 || res.OK || res.Body != "REPORT" {
		t.Errorf("got %+v", res)
	}
	for params, want := range map[string]string{
		`{"url":"http://127.0.0.1:1/"}`:         "fetch_error",
		`{"url":"ftp://x/"}`:                    "invalid_params",
		`{"url":5}`:                             "invalid_param_type",
		`{}`:                                    "invalid_params",
		`{"url":"http://x/","headers":{"A":1}}`: "invalid_param_type",
		`{"url":"http://x/","headers":{"A":"b\r\nC: d"}}`:   "invalid_params",
		`{"url":"http://x/","path":"/no/such/folder/file"}`: "invalid_params",
		// An empty text is no absent parameter, and these cannot be empty.
		`{"url":""}`:                                "invalid_params",
		`{"url":"http://x/","method":""}`:           "invalid_params",
		`{"url":"http://x/","path":""}`:             "invalid_params",
		`{"url":"http://x/","headers":{"":"a"}}`:    "invalid_params",
		`{"url":"http://x/","headers":{"Host":""}}`: "invalid_params",
	} {
		if got := code(h.Call(within(t, 10*time.Second), "net.fetch", raw(params), nil)); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
	// Where an empty text says something it is sent, and null is absent.
	for _, params := range []string{
		`"method":"PUT","body":"","path":null`, `"method":"PUT","body_base64":"","headers":null`, `"headers":{"X-Empty":""},"method":null`,
	} {
		if err := h.Call(within(t, 10*time.Second), "net.fetch", raw(`{"url":"`+web.URL+`",`+params+`}`), &res); err != nil || res.Status != 404 {
			t.Errorf("%s: %v", params, err)
		}
	}
}

func TestFetchPolicyComesFromTheConfig(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	h := start(t, plugintest.HostOptions{Binaries: []string{built.net}, Config: "plugins:\n  net:\n    deny_private: true\n"})
	if got := code(h.Call(within(t, 10*time.Second), "net.fetch", map[string]any{"url": web.URL}, nil)); got != "fetch_error" {
		t.Errorf("got %s", got)
	}
}

func TestCrashIsToldAtOnceAndRepaired(t *testing.T) {
	h := faults(t)
	begun := time.Now()
	err := h.Call(within(t, 10*time.Second), "faulty.crash", nil, nil)
	if got := code(err); got != "plugin_unavailable" {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("the failure was told after %v", d)
	}
	eventually(t, 5*time.Second, "serving again", func() bool {
		return h.Call(within(t, 5*time.Second), "faulty.echo", nil, nil) == nil
	})
	if p := plugins(t, h)["faulty"]; p.Generation != 2 || p.State != "ready" {
		t.Errorf("got %+v", p)
	}
}

// A plugin that started by its section and has failed since does not serve by it.
func TestReloadNamesPluginsThatFailedSinceTheyStarted(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty}, Config: "plugins:\n" + section("faulty", "normal")})
	if status, out := cli(t, h, "config", "reload"); status != 0 {
		t.Errorf("while it serves: %d %s", status, out)
	}
	eventually(t, time.Minute, "quarantined", func() bool {
		_ = h.Call(within(t, 10*time.Second), "faulty.crash", nil, nil)
		return plugins(t, h)["faulty"].State == "quarantined"
	})
	if status, out := cli(t, h, "config", "reload"); status != 1 || !strings.Contains(out, "name: faulty") {
		t.Errorf("while it is quarantined: %d %s", status, out)
	}
}

func TestCallsOfOthersSurviveACrash(t *testing.T) {
	other := faulty(t, "other")
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, other}, Config: "plugins:\n" + section("other", "normal")})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.Call(within(t, 10*time.Second), "other.sleep", map[string]any{"ms": 500}, nil); err != nil {
			t.Errorf("the other plugin's call: %v", err)
		}
	})
	if got := code(h.Call(within(t, 10*time.Second), "faulty.exit", map[string]any{"code": 3}, nil)); got != "plugin_unavailable" {
		t.Errorf("got %s", got)
	}
	wg.Wait()
}

func TestAnswersThatAreNone(t *testing.T) {
	h := faults(t)
	for method, want := range map[string]string{
		"faulty.badjson": "internal_error", "faulty.badutf8": "internal_error", "faulty.panic": "internal_error",
	} {
		if got := code(h.Call(within(t, 10*time.Second), method, nil, nil)); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
	if got := code(h.Call(within(t, 20*time.Second), "faulty.big", map[string]any{"bytes": 17 << 20}, nil)); got != "result_too_large" {
		t.Errorf("a result above the limit: got %s", got)
	}
	reply, err := h.Send(`{"version":1,"id":"1","method":"faulty.pretty"}`)
	if err != nil || strings.Contains(reply, "\n") || !strings.Contains(reply, `"ok":true`) {
		t.Errorf("a result of many lines: %.200q, %v", reply, err)
	}
	if p := plugins(t, h)["faulty"]; p.Generation != 1 {
		t.Errorf("the plugin did not live on: %+v", p)
	}
}

func TestPluginsCallEachOtherThroughTheHost(t *testing.T) {
	h := faults(t)
	var out json.RawMessage
	if err := h.Call(within(t, 10*time.Second), "faulty.call", raw(`{"method":"faulty.echo","params":{"deep":1}}`), &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"deep":1`)) {
		t.Errorf("got %s", out)
	}
	nested := `{"method":"faulty.echo","params":{}}`
	for range 9 {
		nested = `{"method":"faulty.call","params":` + nested + `}`
	}
	if err := h.Call(within(t, 20*time.Second), "faulty.call", raw(nested), nil); err == nil {
		t.Error("a chain deeper than eight calls was let through")
	}
}

// variables gives the names in a reply of faulty.env.
func variables(t *testing.T, reply string) []string {
	t.Helper()
	var r struct{ Result struct{ Env []string } }
	if err := json.Unmarshal([]byte(reply), &r); err != nil || len(r.Result.Env) == 0 {
		t.Fatalf("no environment: %v, %s", err, reply)
	}
	for i, kv := range r.Result.Env {
		r.Result.Env[i], _, _ = strings.Cut(kv, "=")
	}
	return r.Result.Env
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{built.faulty}, Env: []string{"API_SECRET=s3cret", "NAMED=value", "LISTEN_FDS=0", "LOGNAME=me", "SSL_CERT_DIR=/c"},
		Config: "plugins:\n  faulty:\n    host:\n      env_from: [NAMED]\n      env:\n        OWN: mine\n",
	})
	reply, err := h.Send(`{"version":1,"id":"1","method":"faulty.env"}`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(reply, "s3cret") || strings.Contains(reply, "LISTEN_") {
		t.Errorf("the plugin sees %s", reply)
	}
	for _, want := range []string{"NAMED", "value", "OWN", "mine", "PATH"} {
		if !strings.Contains(reply, want) {
			t.Errorf("the plugin lacks %s: %s", want, reply)
		}
	}
	for _, name := range variables(t, reply) {
		own := strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "VANT_") || strings.HasPrefix(name, "XDG_")
		if !own && !slices.Contains([]string{"NAMED", "OWN", "PATH", "HOME", "LANG", "TMPDIR"}, name) {
			t.Errorf("the plugin sees %s", name)
		}
	}
	if info, err := h.Send(`{"version":1,"id":"1","method":"plugins.info","params":{"name":"faulty"}}`); err != nil || strings.Contains(info, "mine") {
		t.Errorf("plugins.info shows a secret: %s, %v", info, err)
	}
}

// A section is checked by the schema of its plugin before anything changes.
func TestSectionsThatTheirPluginDoesNotAllowAreRefused(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.net}, Config: "plugins:\n  net:\n    deny_private: true\n"})
	file := filepath.Join(h.Dir, "config", "vant.yaml")
	denied := func() {
		t.Helper()
		if err := h.Call(within(t, 10*time.Second), "net.fetch", raw(`{"url":"http://127.0.0.1:9/"}`), nil); code(err) != "fetch_error" || !strings.Contains(err.Error(), "deny_private") {
			t.Errorf("the old section is not in force: %v", err)
		}
	}
	denied()
	for text, want := range map[string]string{
		"plugins:\n  net:\n    deny_privat: true\n": file + `:3:5`,
		"plugins:\n  net:\n    deny_private: 5\n":   file + `:3:`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := h.Call(within(t, 10*time.Second), "host.reload", nil, nil)
		if code(err) != "invalid_params" || !strings.Contains(err.Error(), want) {
			t.Errorf("a reload of %q gives %v, want %s", text, err, want)
		}
		denied()
		check := exec.Command(built.vant, "config", "check", "--config", file)
		check.Env = append(os.Environ(), "VANT_PLUGIN_PATH="+h.Plugins, "HOME="+h.Dir)
		out, err := check.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "valid\n") {
			t.Errorf("a check of %q gives %v: %s", text, err, out)
		}
	}
	// What Configure alone finds is told when it has been tried.
	if err := os.WriteFile(file, []byte("plugins:\n  net:\n    allow_hosts: [\"a b\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Failed []struct{ Name, Reason string }
	}
	if err := h.Call(within(t, 10*time.Second), "host.reload", nil, &out); err != nil || len(out.Failed) != 1 || out.Failed[0].Name != "net" || !strings.Contains(out.Failed[0].Reason, `"a b"`) {
		t.Errorf("a section that Configure refuses: %+v, %v", out, err)
	}
	denied()
	// It is not applied, however often it is tried, and the command fails.
	for range 2 {
		status, text := cli(t, h, "config", "reload")
		if status != 1 || !strings.Contains(text, "applied: none") || !strings.Contains(text, "name: net") || !strings.Contains(text, `"a b"`) {
			t.Errorf("status %d: %s", status, text)
		}
	}
	if status, text := cli(t, h, "config", "reload", "--json"); status != 1 || !strings.Contains(text, `"applied":[],`) {
		t.Errorf("with --json: status %d: %s", status, text)
	}
	// A good one is in force when the reload is answered.
	if err := os.WriteFile(file, []byte("plugins:\n  net:\n    deny_hosts: [\"127.0.0.1\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := cli(t, h, "config", "reload"); status != 0 || !strings.Contains(text, "- plugins.net") || !strings.Contains(text, "failed: none") {
		t.Errorf("status %d: %s", status, text)
	}
	if err := h.Call(within(t, 10*time.Second), "net.fetch", raw(`{"url":"http://127.0.0.1:9/"}`), nil); err == nil || !strings.Contains(err.Error(), "deny_hosts") {
		t.Errorf("the new section is not in force: %v", err)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	tests := []struct{ mode, state, reason string }{
		{"banner", "refused", "handshake"},
		{"garbage-handshake", "refused", "a|b|c|d"},
		{"exit-early", "", "exit status 3"},
		{"wrong-version", "refused", "99"},
		{"liar-tcp", "refused", "tcp"},
		{"liar-socket", "refused", "socket"},
		{"no-health", "", "health"},
		{"hang-describe", "", "describe"},
		{"big-describe", "refused", "describe"},
		{"bad-names", "refused", "describe"},
		{"claims-builtin", "refused", "status"},
		{"wrong-name", "refused", "name"},
		{"bad-schema", "refused", "schema"},
		{"fail-configure", "", "configure"},
	}
	var o plugintest.HostOptions
	o.Config = "supervise:\n  describe_timeout: 6s\nplugins:\n" // of 10 MB, on a busy machine
	for _, tt := range tests {
		name := "p-" + tt.mode
		o.Binaries = append(o.Binaries, faulty(t, name))
		o.Config += section(name, tt.mode)
	}
	o.Binaries = append(o.Binaries, built.faulty)
	h := start(t, o)
	if err := h.Call(within(t, 10*time.Second), "faulty.echo", nil, nil); err != nil {
		t.Errorf("the good plugin: %v", err)
	}
	accepted := 0
	for _, row := range plugins(t, h) {
		if row.State != "refused" {
			accepted++
		}
	}
	var status struct{ Plugins struct{ Total int } }
	if err := h.Call(within(t, 10*time.Second), "status", nil, &status); err != nil || status.Plugins.Total != accepted {
		t.Errorf("status counts %d plugins, %v; %d are accepted", status.Plugins.Total, err, accepted)
	}
	liars, err := filepath.Glob(filepath.Join(h.Dir, "tmp", "liar*"))
	if err != nil || len(liars) == 0 {
		t.Errorf("the liar's own folder: %v, %v", liars, err)
	}
	for _, dir := range liars { // its socket is not the host's to clear
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			row := plugins(t, h)["p-"+tt.mode]
			for row.State == "starting" { // again, after a failure that passes
				row = plugins(t, h)["p-"+tt.mode]
			}
			if row.State == "ready" || tt.state != "" && row.State != tt.state || !strings.Contains(row.Reason, tt.reason) {
				t.Errorf("state %s, reason %q; want %s and %q", row.State, row.Reason, tt.state, tt.reason)
			}
		})
	}
}

func TestLogsThatAreBombsHurtNobody(t *testing.T) {
	h := start(t, plugintest.HostOptions{
		Binaries: []string{faulty(t, "bomb"), faulty(t, "spout")},
		Config: "plugins:\n" + section("bomb", "logbomb", "VANT_FAULTY_BYTES=67108864") +
			section("spout", "stdout-flood", "VANT_FAULTY_BYTES=67108864"),
	})
	for _, method := range []string{"bomb.echo", "spout.echo"} {
		eventually(t, 20*time.Second, method+" answering", func() bool { return h.Call(within(t, 5*time.Second), method, nil, nil) == nil })
	}
	var logs struct {
		Lines   []struct{ Text string }
		Dropped uint64
	}
	eventually(t, 30*time.Second, "counting drops", func() bool {
		if err := h.Call(within(t, 5*time.Second), "plugins.logs", map[string]any{"name": "bomb"}, &logs); err != nil {
			t.Fatal(err)
		}
		return logs.Dropped > 0
	})
	for _, l := range logs.Lines {
		if len(l.Text) > 33<<10 || strings.ContainsAny(l.Text, "\n\x00") {
			t.Errorf("a line of %d bytes, %.40q", len(l.Text), l.Text)
		}
	}
}

func TestRestartByAnOperator(t *testing.T) {
	h := faults(t)
	before := plugins(t, h)["faulty"]
	cmd := exec.Command(built.vant, "plugin", "restart", "faulty")
	cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after := plugins(t, h)["faulty"]
	if after.Generation != before.Generation+1 || after.Pid == before.Pid || after.State != "ready" {
		t.Errorf("before %+v, after %+v", before, after)
	}
	eventually(t, 5*time.Second, "the old process gone", func() bool { return !alive(before.Pid) })
}

func TestKilledHostLeavesNoProcess(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, built.net, faulty(t, "other")}, Config: "plugins:\n" + section("other", "ignore-term")})
	pids := []int{h.Pid()}
	for _, p := range plugins(t, h) {
		pids = append(pids, p.Pid)
	}
	if len(pids) != 4 {
		t.Fatalf("pids %v", pids)
	}
	for _, pid := range pids {
		if !alive(pid) { // or the check below could not fail
			t.Fatalf("process %d does not live", pid)
		}
	}
	h.Kill()
	eventually(t, 3*time.Second, "every process gone", func() bool {
		for _, pid := range pids {
			if alive(pid) {
				return false
			}
		}
		return true
	})
}

func TestNextHostClearsWhatADeadOneLeft(t *testing.T) {
	h := faults(t)
	socket, dir := h.Socket(), h.Dir
	h.Kill()
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("the dead host's socket: %v", err)
	}
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(built.vantd, "--socket", socket)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+filepath.Dir(socket), "VANT_PLUGIN_PATH="+h.Plugins)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the next host serving", func() bool {
		reply, err := reference(socket, `{"version":1,"id":"1","method":"faulty.echo"}`+"\n")
		return err == nil && strings.Contains(reply, `"ok":true`)
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(log)
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestStopIsBoundedWhateverPluginsDo(t *testing.T) {
	for _, mode := range []string{"stop-self", "ignore-term", "hang-drain"} {
		t.Run(mode, func(t *testing.T) {
			h := start(t, plugintest.HostOptions{Binaries: []string{faulty(t, "bad")}, Config: "plugins:\n" + section("bad", mode)})
			pid := plugins(t, h)["bad"].Pid
			if mode == "stop-self" {
				signal(t, pid, syscall.SIGSTOP)
			}
			begun := time.Now()
			cmd := exec.Command(built.vant, "down")
			cmd.Env = append(os.Environ(), "VANT_SOCKET="+h.Socket())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("vant down: %v: %s", err, out)
			}
			if d := time.Since(begun); d > 10*time.Second {
				t.Errorf("vant down took %v", d)
			}
			if alive(pid) {
				t.Errorf("the plugin %d lives on", pid)
			}
		})
	}
}

func TestADrainCountsTowardsTheBoundOfTheStop(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{built.faulty, faulty(t, "bad")}, Config: "plugins:\n" + section("bad", "hang-drain")})
	call := make(chan error, 1)
	go func() {
		_, err := reference(h.Socket(), `{"version":1,"id":1,"method":"faulty.sleep","params":{"ms":60000,"ignore_cancel":true}}`+"\n")
		call <- err
	}()
	eventually(t, 10*time.Second, "the call running", func() bool {
		var info struct {
			InFlight int `json:"in_flight"`
		}
		return h.Call(within(t, 5*time.Second), "plugins.info", map[string]any{"name": "faulty"}, &info) == nil && info.InFlight == 1
	})
	begun := time.Now()
	if err := h.Call(within(t, 5*time.Second), "host.stop", map[string]any{"drain_ms": 5000}, nil); err != nil {
		t.Error(err)
	}
	eventually(t, 10*time.Second, "the host gone", func() bool { return !alive(h.Pid()) })
	if d := time.Since(begun); d < 4*time.Second {
		t.Errorf("it was gone after %v: the drain was not waited for", d)
	}
	if err := <-call; err != nil {
		t.Errorf("the call got no reply: %v", err)
	}
}

func TestGrandchildrenThatHoldPipesDoNotHoldTheHost(t *testing.T) {
	h := faults(t)
	var child struct{ Pid int }
	if err := h.Call(within(t, 5*time.Second), "faulty.spawn", nil, &child); err != nil {
		t.Fatal(err)
	}
	if !alive(child.Pid) {
		t.Fatalf("the grandchild %d does not live", child.Pid)
	}
	if _, err := h.Send(`{"version":1,"id":"1","method":"plugins.restart","params":{"name":"faulty"}}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, 8*time.Second, "the grandchild gone", func() bool { return !alive(child.Pid) })
}

func TestPluginInPython(t *testing.T) {
	h := start(t, plugintest.HostOptions{Binaries: []string{filepath.Join("..", "..", "sdk", "python", "examples", "vant-plugin-pyecho")}})
	reply, err := h.Send(`{"version":1,"id":"1","method":"pyecho.echo","params":{"a":9007199254740993}}`)
	if want := `{"version":1,"id":"1","ok":true,"result":{"a":9007199254740993}}`; err != nil || reply != want {
		t.Errorf("got %s, %v; want %s", reply, err, want)
	}
	if p := plugins(t, h)["pyecho"]; p.State != "ready" {
		t.Errorf("got %+v", p)
	}
}
