package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vant-run/vant/sdk/client"
	"github.com/vant-run/vant/sdk/client/clienttest"
)

// stage is a folder with a socket and a state folder in it. What vant up has
// started ends with the test.
type stage struct {
	dir, socket string
}

func newStage(t *testing.T) stage {
	t.Helper()
	dir := tempDir(t)
	s := stage{dir, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		c, err := client.Dial(client.Options{Socket: s.socket, Timeout: 5 * time.Second})
		if err != nil {
			t.Error(err)
			return
		}
		var status struct{ Pid int }
		err = c.Call(context.Background(), "status", nil, &status)
		if errors.Is(err, client.ErrNoHost) {
			return
		}
		if err != nil || status.Pid == 0 || status.Pid == os.Getpid() {
			t.Errorf("cannot end the host: pid %d, error %v", status.Pid, err)
			return
		}
		if err := syscall.Kill(status.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s stage) run(t *testing.T, mode string, args ...string) outcome {
	t.Helper()
	return run{args: args, socket: s.socket, dir: s.dir, env: []string{"XDG_STATE_HOME=" + s.dir, "FAKE_VANTD=" + mode}}.do(t)
}

func check(t *testing.T, want, got outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestUpStartsAHostThatOutlivesItAndDownEndsIt(t *testing.T) {
	s := newStage(t)
	check(t, outcome{s.socket + "\n", "", 0}, s.run(t, "", "up"))

	var status struct{ Pid int }
	c, err := client.Dial(client.Options{Socket: s.socket})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "status", nil, &status); err != nil {
		t.Fatal(err)
	}
	if session, err := getsid(status.Pid); err != nil || session != status.Pid {
		t.Errorf("the host is in session %d (%v), want its own, %d", session, err, status.Pid)
	}

	// A second one finds it and starts nothing.
	check(t, outcome{s.socket + "\n", "", 0}, s.run(t, "die", "up"))

	check(t, outcome{"", "", 0}, s.run(t, "", "down"))
	if err := c.Call(t.Context(), "status", nil, nil); !errors.Is(err, client.ErrNoHost) {
		t.Errorf("after down: %v, want no host", err)
	}
	check(t, outcome{"", "vant down: no host at " + s.socket + "\n", 0}, s.run(t, "", "down"))
}

func getsid(pid int) (int, error) {
	out, err := exec.Command("ps", "-o", "sid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

func TestUpGivesTheHostAbsolutePathsAndAPrivateOutputFile(t *testing.T) {
	s := newStage(t)
	got := run{args: []string{"up", "--config", "my.yaml"}, socket: "s", dir: s.dir,
		env: []string{"XDG_STATE_HOME=" + s.dir, "VANT_PLUGIN_PATH=p:/q"}}.do(t)
	if got.status != 0 {
		t.Fatalf("status %d, stderr %q", got.status, got.stderr)
	}
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, "vant", "vantd.out")
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "config=" + dir + "/my.yaml plugins=" + dir + "/p:/q dir=/\n"; string(out) != want {
		t.Errorf("output %q, want %q", out, want)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, error %v, want %v", p, info.Mode().Perm(), err, want)
		}
	}
}

func TestUpShowsWhyTheHostDidNotStart(t *testing.T) {
	s := newStage(t)
	check(t, outcome{"", "vant up: vantd did not start: vant.yaml:3: unknown key \"plugin\"; nearest: \"plugins\"\n", 1}, s.run(t, "refuse", "up"))
	check(t, outcome{"", "vant up: vantd ended before it was ready: see " + s.dir + "/vant/vantd.out\n", 1}, s.run(t, "die", "up"))
}

func TestUpThatLosesTheRaceIsContentWithTheWinner(t *testing.T) {
	s := newStage(t)
	check(t, outcome{s.socket + "\n", "", 0}, s.run(t, "lost", "up"))
}

func TestTwoUpsAtOnceBothSucceed(t *testing.T) {
	s := newStage(t)
	out := make(chan outcome, 2)
	for range 2 {
		go func() { out <- s.run(t, "", "up") }()
	}
	for range 2 {
		check(t, outcome{s.socket + "\n", "", 0}, <-out)
	}
}

func TestUpDoesNotWaitForEver(t *testing.T) {
	s := newStage(t)
	got := s.run(t, "mute", "up", "--wait", "200ms")
	if got.status != 1 || !strings.Contains(got.stderr, "it goes on starting, its output is in "+s.dir+"/vant/vantd.out") {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
}

func TestUpWaitsUntilPluginsHaveStarted(t *testing.T) {
	states := make(chan string, 3)
	states <- "starting"
	states <- "starting"
	states <- "ready"
	host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{
		"version": clienttest.Result(`{"vant":"1.2.3"}`),
		"plugins.list": func(conn net.Conn, r clienttest.Request) {
			clienttest.Result(`[{"name":"a","state":"`+<-states+`"}]`)(conn, r)
		},
	}))
	check(t, outcome{host.Socket + "\n", "", 0}, run{args: []string{"up"}, socket: host.Socket}.do(t))
	if len(states) != 0 {
		t.Errorf("up returned while the plugin was starting")
	}
}

func TestUpTellsOfAConfigurationThatTheHostDoesNotRead(t *testing.T) {
	s := newStage(t)
	mine, other := writeFile(t, s.dir, "mine.yaml", ""), writeFile(t, s.dir, "other.yaml", "")
	up := func(fault, file string) outcome {
		return run{args: []string{"up", "--config", file}, socket: s.socket, dir: s.dir,
			env: []string{"XDG_STATE_HOME=" + s.dir, "FAKE_CONFIG=" + fault}}.do(t)
	}
	served := s.socket + "\n"
	check(t, outcome{served, "", 0}, up("warn", mine))
	check(t, outcome{served, "vant up: warning: a host runs already and does not read " + other + ": run \"vant down\" first\n", 0}, up("warn", other))
	check(t, outcome{"", "vant up: other.yaml:1:1: unknown key\n", 1}, up("other.yaml:1:1: unknown key", other))
}

func TestUpWarnsOfAnotherVersion(t *testing.T) {
	host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{"version": clienttest.Result(`{"vant":"1.1.0"}`)}))
	got := run{args: []string{"up"}, socket: host.Socket}.do(t)
	want := outcome{host.Socket + "\n", "vant up: warning: the host has version 1.1.0, this command 1.2.3: \"vant down\" and \"vant up\" start the other one\n", 0}
	check(t, want, got)
}

func TestVantdIsFoundThroughASymbolicLinkToVant(t *testing.T) {
	s := newStage(t)
	link := filepath.Join(s.dir, "vant-link")
	if err := os.Symlink(filepath.Join(bin, "vant"), link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, "up")
	cmd.Env = []string{"VANT_SOCKET=" + s.socket, "XDG_STATE_HOME=" + s.dir, "PATH=/nonexistent"}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != s.socket+"\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestVantdThatIsNowhereIsSaidSo(t *testing.T) {
	s := newStage(t)
	alone := filepath.Join(s.dir, "vant")
	copyFile(t, filepath.Join(bin, "vant"), alone)
	cmd := exec.Command(alone, "up")
	cmd.Env = []string{"VANT_SOCKET=" + s.socket, "XDG_STATE_HOME=" + s.dir, "PATH=/nonexistent"}
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "vantd is neither beside vant") {
		t.Errorf("%v: %s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestDownSaysWhenTheHostStays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run(t, "stay", "up")
	began := time.Now()
	got := s.run(t, "stay", "down")
	if got.status != 1 || !strings.Contains(got.stderr, "has not stopped within 12s") {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
	if spent := time.Since(began); spent > 20*time.Second {
		t.Errorf("down took %v", spent)
	}
}

func TestDownShowsARefusal(t *testing.T) {
	host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{
		"status":    clienttest.Result(`{"pid":1}`),
		"host.stop": clienttest.Failure("permission_denied", "not by you"),
	}))
	check(t, outcome{"", "vant down: permission_denied: not by you\n", 1}, run{args: []string{"down"}, socket: host.Socket}.do(t))
}

func TestConfigCheckIsVantds(t *testing.T) {
	check(t, outcome{"checked --config-only --config my.yaml\n", "", 3}, run{args: []string{"config", "check", "--config", "my.yaml"}}.do(t))
	check(t, outcome{"checked --config-only\n", "", 3}, run{args: []string{"config", "check"}}.do(t))
}

func TestConfigCheckComplainsInItsOwnName(t *testing.T) {
	got := run{args: []string{"config", "check"}, env: []string{"FAKE_CONFIG=a.yaml:1:1: x\na.yaml:2:1: y"}}.do(t)
	check(t, outcome{"", "vant config check: a.yaml:1:1: x\na.yaml:2:1: y\n", 1}, got)
	got = run{args: []string{"config", "check", "--config", "b.yaml"}, env: []string{"FAKE_CONFIG=warn"}}.do(t)
	check(t, outcome{"b.yaml: valid\n", "", 0}, got)
}

func TestPluginCommands(t *testing.T) {
	const rows = `[{"name":"browser","version":"1.0.0","state":"ready","file":"/p/vant-plugin-browser","sha256":"ab","pid":42,"generation":3,"uptime_ms":3725000,"methods":40,"in_flight":0,"calls":10,"errors":1,"p50_us":850,"p99_us":12500,"restarts":2},` +
		`{"name":"bad","version":"","state":"refused","reason":"not executable: chmod +x","file":"/p/vant-plugin-bad","sha256":"","generation":0,"uptime_ms":0,"methods":0,"in_flight":0,"calls":0,"errors":0,"p50_us":0,"p99_us":0,"restarts":0}]`
	const table = "NAME     VERSION  STATE    PID  GEN  UPTIME  CALLS  ERRORS  P50    P99     REASON\n" +
		"browser  1.0.0    ready    42   3    1h2m    10     1       850us  12.5ms\n" +
		"bad      -        refused  -    -    -       0      0       -      -       /p/vant-plugin-bad: not executable: chmod +x\n"
	dir, err := filepath.EvalSymlinks(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args           string
		method, params string
		answer         clienttest.Handler
		want           outcome
	}{
		{"list", "plugins.list", `{}`, clienttest.Result(rows), outcome{table, "", 0}},
		{"list --all", "plugins.list", `{"all":true}`, clienttest.Result(rows), outcome{table, "", 0}},
		{"list", "plugins.list", `{}`, clienttest.Result(`[]`), outcome{"no plugins: \"vant doctor\" shows where the host looks for them\n", "", 0}},
		{"info browser", "plugins.info", `{"name":"browser"}`, clienttest.Result(`{"name":"browser","calls":12345678901234567890,"exits":[],"config":{"a":[1,"x"]}}`),
			outcome{"name: browser\ncalls: 12345678901234567890\nexits: none\nconfig:\n  a:\n    - 1\n    - x\n", "", 0}},
		{"info net", "plugins.info", `{"name":"net"}`, clienttest.Result(`{"name":"net","limits":{"max_in_flight":64,"memory_max":536870912,"memory_by":"cgroup","cpu_weight":0,"cpu_by":"","nofile":0,"rss_bytes":13107200},` +
			`"latency":[{"below_us":96,"count":1},{"below_us":352,"count":2},{"below_us":960,"count":3},{"below_us":1024,"count":4},{"below_us":536870912,"count":5}]}`),
			outcome{"name: net\nlimits:\n  max_in_flight: 64\n  memory_max: 512 MiB\n  memory_by: cgroup\n  cpu_weight: no limit\n  cpu_by: -\n  nofile: no limit\n  rss_bytes: 12.5 MiB\n" +
				"latency: 1 below 100µs, 5 below 1ms, 4 below 10ms, 5 below 16m40s\n", "", 0}},
		{"info net", "plugins.info", `{"name":"net"}`, clienttest.Result(`{"limits":{"memory_max":0,"rss_bytes":0},"latency":[]}`),
			outcome{"limits:\n  memory_max: no limit\n  rss_bytes: 0 MiB\nlatency: none\n", "", 0}},
		{"logs net", "plugins.logs", `{"after":0,"limit":1000,"name":"net"}`, clienttest.Result(`{"lines":[],"dropped":0}`),
			outcome{"", "vant plugin logs: net has logged nothing yet\n", 0}},
		{"info nope", "plugins.info", `{"name":"nope"}`, clienttest.Failure("not_found", "no plugin nope"), outcome{"", "vant plugin info: not_found: no plugin nope\n", 1}},
		{"restart browser", "plugins.restart", `{"name":"browser"}`, clienttest.Result(`{"generation":4}`), outcome{"browser serves as generation 4\n", "", 0}},
		{"restart browser --now", "plugins.restart", `{"name":"browser","now":true}`, clienttest.Result(`{"generation":5}`), outcome{"browser serves as generation 5\n", "", 0}},
		{"reset browser", "plugins.reset", `{"name":"browser"}`, clienttest.Result(`true`), outcome{"the plugin is reset: its failures are forgotten\n", "", 0}},
		{"rescan", "plugins.rescan", `{}`, clienttest.Result(`{"started":["net"],"replaced":[],"removed":[],"refused":[{"file":"/p/x","reason":"r"}]}`),
			outcome{"started: net\nnot running: /p/x: r\n", "", 0}},
		{"rescan", "plugins.rescan", `{}`, clienttest.Result(`{"started":[],"replaced":["a","b"],"removed":["c"],"refused":[]}`),
			outcome{"replaced: a\nreplaced: b\nremoved: c\n", "", 0}},
		{"rescan", "plugins.rescan", `{}`, clienttest.Result(`{"started":[],"replaced":[],"removed":[],"refused":[]}`), outcome{"nothing has changed since the host last looked by itself; \"vant plugin list\" shows what runs\n", "", 0}},
		{"lock", "plugins.lock", `{}`, clienttest.Result(`{"file":"/c/plugins.lock","plugins":[{"name":"a","sha256":"00"}]}`),
			outcome{"a 00\nwritten to /c/plugins.lock\n", "", 0}},
		{"verify vant-plugin-x", "plugins.verify", `{"path":"` + dir + `/vant-plugin-x"}`, clienttest.Result(`{"ok":true,"action":"start","file":"/f","name":"x","version":"1.0.0","sha256":"ab","methods":["x.a","x.b"],"notes":["plugin y would be refused"]}`),
			outcome{"would start: x 1.0.0\nfile: /f\nsha256: ab\nmethods: x.a x.b\nnote: plugin y would be refused\n", "", 0}},
		{"verify vant-plugin-x", "plugins.verify", `{"path":"` + dir + `/vant-plugin-x"}`, clienttest.Result(`{"ok":false,"action":"refuse","reason":"is not executable","file":"/f","methods":[]}`),
			outcome{"refused: /f is not executable\n", "", 1}},
		{"verify vant-plugin-x --json", "plugins.verify", `{"path":"` + dir + `/vant-plugin-x"}`, clienttest.Result(`{"ok":false}`),
			outcome{`{"version":1,"id":{id},"ok":true,"result":{"ok":false}}` + "\n", "", 1}},
		{"install /x", "plugins.install", `{"path":"/x"}`, clienttest.Result(`{"ok":true,"action":"none","reason":"switched off","name":"x","version":"1.0.0","file":"/p/x"}`),
			outcome{"installed: x 1.0.0\nnote: switched off\nfile: /p/x\n", "", 0}},
		{"install /x", "plugins.install", `{"path":"/x"}`, clienttest.Result(`{"ok":false,"action":"start","reason":"is installed, but does not serve: r","file":"/p/x"}`),
			outcome{"failed: /p/x is installed, but does not serve: r\n", "", 1}},
		{"remove x", "plugins.remove", `{"name":"x"}`, clienttest.Result(`true`), outcome{"the plugin is removed\n", "", 0}},
		{"reset x --json", "plugins.reset", `{"name":"x"}`, clienttest.Failure("not_found", "no plugin x"),
			outcome{`{"version":1,"id":{id},"ok":false,"error":{"code":"not_found","message":"no plugin x"}}` + "\n", "", 1}},
		{"list --json", "plugins.list", `{}`, clienttest.Result(`[]`), outcome{`{"version":1,"id":{id},"ok":true,"result":[]}` + "\n", "", 0}},
		{"logs net", "plugins.logs", `{"after":0,"limit":1000,"name":"net"}`, clienttest.Result(`{"lines":[{"seq":1,"time":"2026-01-02T03:04:05Z","level":"info","text":"a\u001bb"}],"dropped":0}`),
			outcome{"2026-01-02T03:04:05Z INFO a\\u001bb\n", "", 0}},
	} {
		t.Run(c.args, func(t *testing.T) {
			host := clienttest.Start(t, c.answer)
			got := run{args: append([]string{"plugin"}, strings.Fields(c.args)...), socket: host.Socket, dir: dir}.do(t)
			requests := host.Requests()
			if len(requests) != 1 || requests[0].Method != c.method || string(requests[0].Params) != c.params {
				t.Fatalf("requests %v, want %s %s", requests, c.method, c.params)
			}
			c.want.stdout = strings.ReplaceAll(c.want.stdout, "{id}", string(requests[0].ID))
			check(t, c.want, got)
		})
	}
}

func TestFollowedLogsComeLineByLineUntilASignal(t *testing.T) {
	polls := make(chan clienttest.Request, 8)
	more := make(chan struct{})
	host := clienttest.Start(t, func(conn net.Conn, r clienttest.Request) {
		polls <- r
		switch string(r.Params) {
		case `{"after":0,"limit":1000,"name":"net"}`:
			clienttest.Result(`{"lines":[{"seq":7,"time":"t","level":"warn","text":"one"}],"dropped":0}`)(conn, r)
		case `{"after":7,"limit":1000,"name":"net","wait_ms":25000}`:
			<-more
			clienttest.Result(`{"lines":[{"seq":8,"time":"t","level":"warn","text":"two"}],"dropped":0}`)(conn, r)
		default: // the poll that the signal ends
			var b [1]byte
			if _, err := conn.Read(b[:]); err == nil {
				t.Error("a second request on a connection")
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := run{args: []string{"plugin", "logs", "-f", "net"}, socket: host.Socket}.command(ctx)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"t WARN one", "t WARN two"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("line %q, want %q", lines.Text(), want)
		}
		if want == "t WARN one" {
			close(more)
		}
	}
	for range 3 {
		<-polls
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v, want status 0", err)
	}
}

func TestWrongUsageOfOtherCommandsIsStatus2(t *testing.T) {
	for _, args := range []string{
		"", "nope", "--nope", "plugin", "plugin nope", "plugin info", "plugin info a b", "plugin list x", "plugin list --nope",
		"up x", "up --wait soon", "down x", "config", "config nope", "doctor x", "completion", "completion tcsh", "version x", "help nope", "agents",
	} {
		t.Run(args, func(t *testing.T) {
			got := run{args: strings.Fields(args), socket: "/nonexistent"}.do(t)
			if got.status != 2 || got.stdout != "" || strings.Count(got.stderr, "\n") < 2 {
				t.Errorf("status %d, stdout %q, stderr %q; want 2, nothing, and a message with a hint", got.status, got.stdout, got.stderr)
			}
		})
	}
}

// doctor is an environment for vant doctor: a folder for plugins, one for
// programs, and a configuration that is warned of.
func doctor(t *testing.T) (plugins, programs string, env []string) {
	t.Helper()
	plugins, programs = tempDir(t), tempDir(t)
	return plugins, programs, []string{
		"VANT_PLUGIN_PATH=" + plugins + ":/nonexistent/p", "PATH=" + programs, "FAKE_CONFIG=warn", "XDG_STATE_HOME=" + tempDir(t),
	}
}

func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// sick is a host that has nothing but faults.
var sick = clienttest.Methods(map[string]clienttest.Handler{
	"version": clienttest.Result(`{"vant":"9.9.9","protocol":1}`),
	"plugins.list": clienttest.Result(`[{"name":"a","state":"quarantined","reason":"8 failures"},` +
		`{"name":"b","state":"refused","file":"/p/vant-plugin-b","reason":"not executable"},{"name":"c","state":"backoff"},` +
		`{"name":"d","state":"failed","reason":"no key"},{"name":"e","state":"ready","version":"1.0.0","reason":"the new one did not start","file":"reattach:/x"},` +
		`{"name":"f","state":"starting","reason":"it crashed"},{"name":"g","state":"starting"},{"name":"h","state":"stopped","reason":"switched off"},` +
		`{"name":"browser","state":"ready"}]`),
})

func TestDoctor(t *testing.T) {
	plugins, programs, env := doctor(t)
	host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{
		"version":      clienttest.Result(`{"vant":"1.2.3","protocol":1}`),
		"status":       clienttest.Result(`{"running":true,"pid":4194305}`), // more than any process has
		"plugins.list": clienttest.Result(`[{"name":"net","version":"1.0.0","state":"ready"}]`),
	}))
	want := "ok     socket folder: " + filepath.Dir(host.Socket) + "\nok     socket: " + host.Socket + "\nok     vantd: " + bin + "/vantd\n" +
		"ok     configuration: /c/vant.yaml: valid\n" +
		"ok     configuration: /c/vant.yaml:2:3: warning: no plugin \"nett\" is installed; nearest: \"net\"\n" +
		"       -> install the plugin, or take its name out of the configuration\n" +
		"ok     host: answers at " + host.Socket + ", process 4194305\nok     versions: 1.2.3\nok     plugin folder: " + plugins + "\n" +
		"ok     plugin folder: /nonexistent/p (not there)\nok     plugin net: ready 1.0.0\n"
	check(t, outcome{want + "ok     chromium: not installed; no plugin here needs it\n", "", 0},
		run{args: []string{"doctor"}, socket: host.Socket, env: env}.do(t))

	program(t, programs, "chromium", "echo Chromium 156.0.1")
	check(t, outcome{want + "ok     chromium: " + programs + "/chromium, Chromium 156.0.1\n", "", 0},
		run{args: []string{"doctor"}, socket: host.Socket, env: env}.do(t))
}

func TestDoctorSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	plugins, _, env := doctor(t)
	host := clienttest.Start(t, sick)
	state := filepath.Join(strings.TrimPrefix(env[3], "XDG_STATE_HOME="), "vant")
	err := errors.Join(os.Chmod(host.Socket, 0o666), os.Chmod(plugins, 0o777), os.Mkdir(state, 0o700), os.Chmod(state, 0o722))
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "FAKE_CONFIG=/c/vant.yaml:3:1: unknown key \"plugin\"", "FAKE_VERSION=1.2.2")
	got := run{args: []string{"doctor"}, socket: host.Socket, env: env}.do(t)
	if got.status != 1 {
		t.Errorf("status %d, want 1", got.status)
	}
	for _, want := range []string{
		"WRONG  socket: " + host.Socket + " has mode 0666, not 0600\n       -> run \"vant down\" and \"vant up\"\n",
		"WRONG  vantd: " + bin + "/vantd has version 1.2.2, this command 1.2.3\n       -> install vant and vantd of one version\n",
		"WRONG  configuration: /c/vant.yaml:3:1: unknown key \"plugin\"\n       -> the host goes on by what it read before: mend that, see \"vant config check\", then \"vant config reload\"\n",
		"WRONG  host: method_not_found: no method status\n",
		"WRONG  versions: the host has 9.9.9, this command 1.2.3\n       -> run \"vant down\" and \"vant up\" with the newer one\n",
		"WRONG  own folder: " + state + " may be written to by others (mode 0722)\n       -> run chmod 700 on it\n",
		"WRONG  plugin folder: " + plugins + " may be written to by everyone\n       -> run chmod o-w on it: the host starts nothing from it\n",
		"WRONG  plugin a: quarantined: 8 failures\n       -> see \"vant plugin logs a\", then \"vant plugin reset a\"\n",
		"WRONG  plugin b: refused: not executable\n       -> ",
		"/p/vant-plugin-b",
		"WRONG  plugin c: backoff\n",
		"WRONG  plugin d: failed: no key\n       -> mend the configuration, then \"vant config reload\"; see \"vant plugin logs d\"\n",
		"WRONG  plugin e: ready 1.0.0: the new one did not start\n       -> the one before it serves on; see \"vant plugin logs e\"\n",
		"WRONG  plugin f: starting: it crashed\n       -> it is being started; see \"vant plugin logs f\"\n",
		"ok     plugin g: starting\n",
		"ok     plugin h: stopped: switched off\n",
		"ok     plugin folder: /p (not there)\n",
		"WRONG  chromium: not installed, and the plugin browser needs it\n       -> install it",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
}

// The browser that the configuration names is the one that counts, that of the
// host when one runs, else that of the file.
func TestDoctorLooksAtTheBrowserThatTheConfigurationNames(t *testing.T) {
	plugins, programs, env := doctor(t)
	program(t, plugins, "vant-plugin-browser", "exit 1")
	program(t, programs, "chromium", "echo Chromium 156.0.1")
	program(t, programs, "other", "echo Chromium 157.0.1")
	browser, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	listening := browser.Addr().String()
	for section, want := range map[string]string{
		`{}`:                                "ok     chromium: " + programs + "/chromium, Chromium 156.0.1\n",
		`{"path":"` + programs + `/other"}`: "ok     chromium: " + programs + "/other, Chromium 157.0.1\n",
		`{"path":"other"}`:                  "ok     chromium: " + programs + "/other, Chromium 157.0.1\n",
		`{"path":"/nonexistent"}`: "WRONG  chromium: plugins.browser.path: stat /nonexistent: no such file or directory\n" +
			"       -> mend plugins.browser.path in the configuration, or leave it out: then one is looked for\n",
		`{"attach":"http://` + listening + `"}`: "ok     chromium: runs at http://" + listening + "\n",
		`{"attach":"ws://127.0.0.1:1/x"}`: "WRONG  chromium: no browser answers at ws://127.0.0.1:1/x: dial tcp 127.0.0.1:1: connect: connection refused\n" +
			"       -> start it with --remote-debugging-port, or",
	} {
		host := clienttest.Start(t, clienttest.Methods(map[string]clienttest.Handler{
			"version":      clienttest.Result(`{"vant":"1.2.3","protocol":1}`),
			"status":       clienttest.Result(`{"running":true,"pid":4194305}`),
			"plugins.list": clienttest.Result(`[{"name":"browser","version":"1.0.0","state":"ready"}]`),
			"plugins.info": clienttest.Result(`{"name":"browser","config":` + section + `}`),
		}))
		for _, r := range []run{
			{socket: host.Socket, env: append(slices.Clone(env), `FAKE_SECTION={"path":"/not/in/force"}`)},
			{socket: filepath.Join(tempDir(t), "s"), env: append(slices.Clone(env), "FAKE_SECTION="+section)},
		} {
			r.args = []string{"doctor"}
			if got := r.do(t); !strings.Contains(got.stdout, want) {
				t.Errorf("%s: %q is missing in\n%s", section, want, got.stdout)
			}
		}
	}
}

func TestDoctorSeesWhichProgramServes(t *testing.T) {
	s := newStage(t)
	check(t, outcome{s.socket + "\n", "", 0}, s.run(t, "", "up"))
	got := s.run(t, "", "doctor")
	self, err := os.Executable() // the host under test is this program
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ok     host: answers at \S+, process \d+, ` + regexp.QuoteMeta(self) + `\nok `).MatchString(got.stdout) {
		t.Errorf("status %d:\n%s", got.status, got.stdout)
	}
}

func TestDoctorWithoutAHostSaysThatTheConfigurationKeepsItFromStarting(t *testing.T) {
	_, _, env := doctor(t)
	env = append(env, "FAKE_CONFIG=/c/vant.yaml:1:1: one\n/c/vant.yaml:2:1: two\n/c/vant.yaml:3:1: warning: plugin x could not be asked what it allows: y")
	got := run{args: []string{"doctor"}, socket: filepath.Join(tempDir(t), "s"), env: env}.do(t)
	for _, want := range []string{
		"WRONG  configuration: /c/vant.yaml:1:1: one\nWRONG  configuration: /c/vant.yaml:2:1: two\n       -> mend that, see \"vant config check\", then run \"vant up\"\n" +
			"ok     configuration: /c/vant.yaml:3:1: warning: plugin x could not be asked what it allows: y\n       -> until then its section is not checked",
		"       -> mend the configuration, then run \"vant up\"\n",
	} {
		if got.status != 1 || !strings.Contains(got.stdout, want) {
			t.Errorf("status %d, %q is missing in\n%s", got.status, want, got.stdout)
		}
	}
}

func TestDoctorIsNotKeptByAProgramThatHangs(t *testing.T) {
	_, programs, env := doctor(t)
	program(t, programs, "chromium", "echo broken; exit 3")
	host := clienttest.Start(t, sick)
	got := run{args: []string{"doctor"}, socket: host.Socket, env: env}.do(t)
	if want := "WRONG  chromium: " + programs + "/chromium does not run: broken\n       -> install it anew\n"; !strings.Contains(got.stdout, want) {
		t.Errorf("%q is missing in\n%s", want, got.stdout)
	}
	program(t, programs, "chromium", "exec /bin/sleep 100")
	got = run{args: []string{"doctor"}, socket: host.Socket, env: env}.do(t)
	if want := "chromium does not run: " + programs + "/chromium did not end within 10s"; !strings.Contains(got.stdout, want) {
		t.Errorf("%q is missing in\n%s", want, got.stdout)
	}
}

func TestDoctorWithoutAHostSaysWhatToDo(t *testing.T) {
	socket := filepath.Join(tempDir(t), "s")
	_, _, env := doctor(t)
	got := run{args: []string{"doctor"}, socket: socket, env: env}.do(t)
	if got.status != 1 || !strings.Contains(got.stdout, "WRONG  host: no host at "+socket) || strings.Count(got.stdout, `"vant up"`) != 1 || !strings.Contains(got.stdout, `-> run "vant up"`) ||
		!strings.Contains(got.stdout, "ok     configuration: ") || !strings.Contains(got.stdout, "ok     chromium: ") {
		t.Errorf("status %d:\n%s", got.status, got.stdout)
	}
	got = run{args: []string{"doctor", "--json"}, socket: socket, env: env}.do(t)
	if got.status != 1 || !strings.HasPrefix(got.stdout, `[{"check":"socket folder","ok":true`) {
		t.Errorf("status %d: %s", got.status, got.stdout)
	}
}

func TestDoctorSeesAFileInThePlaceOfTheSocket(t *testing.T) {
	dir := tempDir(t)
	path := writeFile(t, dir, "s", "text")
	got := run{args: []string{"doctor"}, socket: path}.do(t)
	if got.status != 1 || !strings.Contains(got.stdout, "WRONG  socket: "+path+" is no socket\n") {
		t.Errorf("status %d:\n%s", got.status, got.stdout)
	}
}

func TestVersion(t *testing.T) {
	got := run{args: []string{"version"}}.do(t)
	if got.status != 0 || !strings.HasPrefix(got.stdout, "vant 1.2.3") || !strings.Contains(got.stdout, "protocol 1, go1.") {
		t.Errorf("status %d: %s", got.status, got.stdout)
	}
	check(t, got, run{args: []string{"--version"}}.do(t))
	got = run{args: []string{"version", "--json"}}.do(t)
	if !strings.Contains(got.stdout, `"vant":"1.2.3"`) {
		t.Errorf("status %d: %s", got.status, got.stdout)
	}
}
