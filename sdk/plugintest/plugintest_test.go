package plugintest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vant-run/vant/sdk"
)

// fakeEnv makes the test binary a stand-in for vantd: what is tested here is
// how a host is run and cleaned up after, with hosts that behave badly too.
const fakeEnv = "PLUGINTEST_FAKE_HOST"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeEnv); kind != "" {
		os.Exit(fakeHost(kind))
	}
	goleak.VerifyTestMain(m)
}

func fakeHost(kind string) int {
	if kind == "broken" {
		fmt.Fprintln(os.Stderr, "cannot start: as asked")
		return 1
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	l, err := net.Listen("unix", os.Args[2]) // --socket PATH --ready-fd 3
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if kind == "leaky" {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		cmd := exec.Command("/bin/sleep", "60")
		if err := cmd.Start(); err != nil {
			return 1
		}
	}
	go func() {
		<-stop.Done()
		l.Close()
	}()
	ready := os.NewFile(3, "ready")
	if _, err := ready.WriteString("ready\n"); err != nil {
		return 1
	}
	ready.Close()
	for {
		c, err := l.Accept()
		if err != nil {
			return 0
		}
		if kind == "mute" {
			continue // and hold the connection
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err == nil {
			id := "1"
			if _, after, ok := strings.Cut(line, `"id":"`); ok {
				id, _, _ = strings.Cut(after, `"`)
			}
			_, _ = fmt.Fprintf(c, `{"version":1,"id":"%s","ok":true,"result":{"running":true,"pid":%d}}`+"\n", id, os.Getpid())
		}
		c.Close()
	}
}

// recorder is a testing.TB that keeps failures for itself.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return len(r.failures) > 0 }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func fake(t *testing.T, kind string) HostOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return HostOptions{Program: self, Env: []string{fakeEnv + "=" + kind}}
}

func TestHostAnswersAndLeavesNothing(t *testing.T) {
	h := HostWith(t, fake(t, "good"))
	var status struct{ Running bool }
	if err := h.Call(t.Context(), "status", nil, &status); err != nil || !status.Running {
		t.Errorf("status is %+v, %v", status, err)
	}
	h.Stop()
	if _, err := os.Stat(h.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestResidueFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	h, err := startHost(r, fake(t, "leaky"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.cleanups {
		f()
	}
	all := strings.Join(r.failures, "\n")
	if !strings.Contains(all, "processes are left: sleep") || !strings.Contains(all, "a socket is left: /run/vant.sock") {
		t.Errorf("failures are: %s", all)
	}
	if left := waitGone(h.Dir, residueBound); len(left) > 0 {
		t.Errorf("the check left %v", left)
	}
}

func TestAHostThatDoesNotAnswerShowsItsGoroutines(t *testing.T) {
	r := &recorder{TB: t}
	h, err := startHost(r, fake(t, "mute"))
	if err != nil {
		t.Fatal(err)
	}
	r.Errorf("the test failed")
	for _, f := range r.cleanups {
		f()
	}
	if all := strings.Join(r.failures, "\n"); !strings.Contains(all, "does not answer") || !strings.Contains(h.Log(), "fakeHost(") {
		t.Errorf("failures are: %s\nthe log is: %s", all, h.Log())
	}
}

func TestAHostThatDoesNotStartSaysWhy(t *testing.T) {
	r := &recorder{TB: t}
	_, err := startHost(r, fake(t, "broken"))
	if err == nil || !strings.Contains(err.Error(), "cannot start: as asked") {
		t.Errorf("error is %v", err)
	}
	for _, f := range r.cleanups {
		f()
	}
}

func TestTheHostIsFoundByEnvironmentOrPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("VANT_HOST", "")
	t.Setenv("PATH", dir)
	if _, err := hostProgram(""); err == nil || !strings.Contains(err.Error(), "VANT_HOST") {
		t.Errorf("nowhere: %v", err)
	}
	file := filepath.Join(dir, "vantd")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := hostProgram(""); err != nil || got != file {
		t.Errorf("PATH: %q, %v", got, err)
	}
	t.Setenv("VANT_HOST", "/elsewhere/vantd")
	if got, err := hostProgram(""); err != nil || got != "/elsewhere/vantd" {
		t.Errorf("VANT_HOST: %q, %v", got, err)
	}
}

func TestInstallCopiesPluginsOnly(t *testing.T) {
	h := &RunningHost{Plugins: t.TempDir()}
	file := filepath.Join(t.TempDir(), "vant-plugin-x")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Install(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(h.Plugins, "vant-plugin-x"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("installed as %v, %v", info, err)
	}
	if err := h.Install(os.Args[0]); err == nil {
		t.Error("a file of another name was installed")
	}
	entries, err := os.ReadDir(h.Plugins)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestTranscriptIsReplayed(t *testing.T) {
	h := HostWith(t, fake(t, "good"))
	file := filepath.Join(t.TempDir(), "x.txtar")
	text := "Prose.\n-- request --\n{\"id\":\"a\"}\n-- reply --\n{\"version\":1,\"id\":\"a\",*\"pid\":*}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	Transcript(t, h, file)
}

func TestParseTranscript(t *testing.T) {
	got, err := parseTranscript("a\n\n-- request --\nr1\n\n-- reply --\nx1\n-- request --\n-- reply --\nx2\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []exchange{{3, "r1", "x1"}, {8, "", "x2"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(exchange{})); diff != "" {
		t.Errorf("wrong exchanges (-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		"", "prose", "-- reply --\nx", "-- request --\nr\n", "-- request --\nr\n-- request --\nr\n-- reply --\nx\n",
		"-- request --\nr\nr\n-- reply --\nx\n", "-- other --\n", "-- request --\nr\n-- reply --\nx\n-- reply --\nx\n",
	} {
		if _, err := parseTranscript(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"abc", "abc", true}, {"abc", "abcd", false}, {"a*c", "abbc", true}, {"a*c", "ac", true},
		{"a*c", "acd", false}, {"*", "", true}, {"a*b*c", "a1b2c", true}, {"a*b*c", "a1c", false},
		{`a\*c`, "a*c", true}, {`a\*c`, "abc", false}, {"ab*ba", "aba", false}, {"*x", "axbx", true},
	} {
		if got := glob(tc.pattern, tc.text); got != tc.want {
			t.Errorf("glob(%q, %q) = %v", tc.pattern, tc.text, got)
		}
	}
}

func TestBuildMakesAPlugin(t *testing.T) {
	file := Build(t, "github.com/vant-run/vant/plugins/internal/faulty", "faulty")
	out, err := exec.Command(file, "--version").Output()
	if err != nil || string(out) != "faulty 1.0.0\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}

type params struct {
	N int `json:"n" max:"3"`
}

func TestSessionChecksParametersAndResults(t *testing.T) {
	p := sdk.New("t", "1", "Test.")
	sdk.Handle(p, "t.it", "It.", func(_ context.Context, in params) (any, error) { return in.N, nil },
		sdk.ResultSchema(`{"type":"integer","minimum":0}`))
	sdk.Handle(p, "t.full", "A schema of other keywords.", func(context.Context, map[string]any) (bool, error) { return true, nil },
		sdk.ParamsSchema(`{"type":"object","not":{"required":["no"]}}`))
	r := &recorder{TB: t}
	s, err := start(r, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for params, want := range map[string]string{
		`{}`: "invalid_params", `{"n":4}`: "invalid_params", `{"n":"1"}`: "invalid_param_type", `{"n":1`: "invalid_request",
	} {
		_, err := s.CallRaw(t.Context(), "t.it", []byte(params))
		if e, ok := err.(*sdk.Error); !ok || e.Code != want { //nolint:errorlint // Call promises this very type
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
	if _, err := s.CallRaw(t.Context(), "t.full", []byte(`{"no":1}`)); err == nil || !strings.Contains(err.Error(), "invalid_params") {
		t.Errorf("full schema: %v", err)
	}
	if _, err := s.CallRaw(t.Context(), "t.full", []byte(`{"yes":1}`)); err != nil {
		t.Errorf("full schema: %v", err)
	}
	if err := s.Call(t.Context(), "t.it", params{-1}, nil); err != nil {
		t.Fatal(err)
	}
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "does not match its schema") {
		t.Errorf("failures are %v", r.failures)
	}
	if err := s.Call(t.Context(), "t.none", nil, nil); err == nil || !strings.Contains(err.Error(), "method_not_found") {
		t.Errorf("unknown method: %v", err)
	}
}

func TestSessionRefusesExamplesThatDoNotFit(t *testing.T) {
	p := sdk.New("t", "1", "Test.")
	sdk.Handle(p, "t.it", "It.", func(_ context.Context, in params) (int, error) { return in.N, nil }, sdk.Example(`{"n":9}`))
	if _, err := Start(t, p, Options{}); err == nil || !strings.Contains(err.Error(), "example 1") {
		t.Errorf("error is %v", err)
	}
}
