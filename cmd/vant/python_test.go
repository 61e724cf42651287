package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

// python runs tools/vant_agent.py.
func python(t *testing.T, socket string, args ...string) outcome {
	t.Helper()
	script, err := filepath.Abs("../../tools/vant_agent.py")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "VANT_SOCKET=" + socket, "PYTHONDONTWRITEBYTECODE=1"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func TestPythonClientPrintsTheEnvelopeIndented(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`{"n":12345678901234567890,"f":1.50,"e":[],"o":{},"s":"a\ud83d\"é","l":[1,{"b":null}]}`))
	got := python(t, host.Socket, "page.snapshot", "{ \"tab_id\": 1,\n \"f\": 1.50, \"s\": \"a  b\" }")
	r := host.Requests()
	if len(r) != 1 || r[0].Method != "page.snapshot" || string(r[0].Params) != `{"tab_id":1,"f":1.50,"s":"a  b"}` {
		t.Fatalf("requests %v", r)
	}
	want := "{\n  \"version\": 1,\n  \"id\": " + string(r[0].ID) + ",\n  \"ok\": true,\n  \"result\": {\n    \"n\": 12345678901234567890,\n    \"f\": 1.50,\n    \"e\": [],\n    \"o\": {},\n" +
		"    \"s\": \"a\\ud83d\\\"é\",\n    \"l\": [\n      1,\n      {\n        \"b\": null\n      }\n    ]\n  }\n}\n"
	check(t, outcome{want, "", 0}, got)
}

func TestPythonClientWithoutJSONSendsAnEmptyObject(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	if got := python(t, host.Socket, "browser.tabs"); got.status != 0 {
		t.Errorf("status %d, stderr %q", got.status, got.stderr)
	}
	if r := host.Requests(); len(r) != 1 || string(r[0].Params) != "{}" {
		t.Errorf("requests %v", r)
	}
}

func TestPythonClientPrintsFailuresAndEndsWith1(t *testing.T) {
	host := clienttest.Start(t, clienttest.Failure("not_found", "tab 7 is closed"))
	got := python(t, host.Socket, "browser.tabs", "{}")
	if got.status != 1 || got.stderr != "" || !strings.Contains(got.stdout, "\n    \"code\": \"not_found\",\n    \"message\": \"tab 7 is closed\"\n") {
		t.Errorf("status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
	}
}

func TestPythonClientUsage(t *testing.T) {
	host := clienttest.Start(t, clienttest.Result(`true`))
	for _, args := range [][]string{{}, {""}, {"a.b", "[]"}, {"a.b", "{"}, {"a.b", `{"x":NaN}`}, {"a.b", "{}", "x"}, {"a.b", "{\"x\":\"\xff\"}"}} {
		if got := python(t, host.Socket, args...); got.status != 2 || got.stdout != "" || !strings.Contains(got.stderr, "usage: vant_agent.py METHOD [JSON]") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, got.status, got.stdout, got.stderr)
		}
	}
	if n := len(host.Requests()); n != 0 {
		t.Errorf("%d requests came, want none", n)
	}
}

func TestPythonClientWithoutAHost(t *testing.T) {
	socket := filepath.Join(tempDir(t), "none")
	want := "vant_agent.py: no host at " + socket + " (No such file or directory): start one with \"vant up\"\n"
	check(t, outcome{"", want, 1}, python(t, socket, "status"))
}

func TestPythonClientSeesABrokenReply(t *testing.T) {
	for _, h := range []clienttest.Handler{func(net.Conn, clienttest.Request) {}, clienttest.Raw("no\n"), clienttest.Raw("[]\n"), clienttest.Raw(`{"ok":true`)} {
		host := clienttest.Start(t, h)
		if got := python(t, host.Socket, "a.b"); got.status != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "vant_agent.py: ") || strings.Contains(got.stderr, "Traceback") {
			t.Errorf("status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
		}
	}
}

func TestPythonClientReadsALargeReply(t *testing.T) {
	text := strings.Repeat("x", 8<<20)
	host := clienttest.Start(t, clienttest.Result(`"`+text+`"`))
	if got := python(t, host.Socket, "a.b"); got.status != 0 || !strings.Contains(got.stdout, text) {
		t.Errorf("status %d, %d bytes, stderr %q", got.status, len(got.stdout), got.stderr)
	}
}
