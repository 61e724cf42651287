package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/internal/proc"
)

func TestARealBrowserAnswersAndLeavesNothing(t *testing.T) {
	log, text := logged(hclog.Warn)
	dir := folder(t)
	p := start(t, Options{Path: real(t), Profile: dir, Log: log})
	a := ask(p)
	var version struct{ Product string }
	if err := json.Unmarshal(a.call("Browser.getVersion", ""), &version); err != nil {
		t.Fatal(err)
	}
	if err := CheckVersion(version.Product); err != nil {
		t.Error(err)
	}
	var targets struct {
		TargetInfos []struct{ TargetID, Type, URL string }
	}
	if err := json.Unmarshal(a.call("Target.getTargets", ""), &targets); err != nil {
		t.Fatal(err)
	}
	if len(targets.TargetInfos) != 1 || targets.TargetInfos[0].Type != "page" || targets.TargetInfos[0].URL != "about:blank" {
		t.Fatalf("targets %+v, want one empty page", targets.TargetInfos)
	}
	var session struct{ SessionID string }
	attach := map[string]any{"targetId": targets.TargetInfos[0].TargetID, "flatten": true}
	if err := json.Unmarshal(a.call("Target.attachToTarget", "", attach), &session); err != nil {
		t.Fatal(err)
	}
	// Text has the widths of a font, and the window that of a desktop.
	const measure = `(() => { const c = document.createElement('canvas').getContext('2d'); c.font = '20px sans-serif';
		return c.measureText('WWW').width > 1.5 * c.measureText('iii').width && c.measureText('iii').width > 5 && innerWidth > 1000 })()`
	if got := string(a.call("Runtime.evaluate", session.SessionID, map[string]any{"expression": measure})); !strings.Contains(got, `"value":true`) {
		t.Errorf("text has no metrics: %s", got)
	}
	if n := len(residue(t, dir)); n < 3 {
		t.Fatalf("the check for residue sees %d processes of a running browser", n)
	}
	if p.Exit() != "" {
		t.Errorf("exit %q while it runs", p.Exit())
	}
	a.call("Browser.close", "")
	stop(t, p, 20*time.Second)
	if left := residue(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if p.Exit() != "exit status 0" {
		t.Errorf("exit %q", p.Exit())
	}
	for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if warned := strings.Count(text.String(), "sandbox"); (warned == 1) != (os.Geteuid() == 0) {
		t.Errorf("%d warnings of the sandbox:\n%s", warned, text.String())
	}
}

func TestARealBrowserEndsWithItsPipe(t *testing.T) {
	dir := folder(t)
	p := start(t, Options{Path: real(t), Profile: dir})
	ask(p).call("Browser.getVersion", "")
	_, w := p.Pipe()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if exit := ends(t, p); exit != "exit status 0" {
		t.Errorf("exit %q", exit)
	}
}

func TestNothingOutlivesAKilledBrowser(t *testing.T) {
	dir := folder(t)
	p := start(t, Options{Path: real(t), Profile: dir})
	ask(p).call("Browser.getVersion", "")
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := ends(t, p); !strings.HasPrefix(exit, "signal: killed") {
		t.Errorf("exit %q", exit)
	}
	if left := residue(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Lstat(filepath.Join(dir, "SingletonLock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its lock: %v", err)
	}
}

func TestNothingOutlivesAKilledPlugin(t *testing.T) {
	dir := folder(t)
	c := plugin(t, real(t), dir)
	if n := len(residue(t, dir)); n < 3 {
		t.Fatalf("the check for residue sees %d processes of a running browser", n)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, 3*time.Second, "all processes have ended", func() bool { return len(residue(t, dir)) == 0 })
	_ = c.Wait()
	p := start(t, Options{Path: real(t), Profile: dir})
	ask(p).call("Browser.getVersion", "")
	stop(t, p, 20*time.Second)
}

// A browser's child that left the group, which a killed plugin could not end.
func TestTheNextStartEndsWhatAKilledPluginLeft(t *testing.T) {
	dir := folder(t)
	ready := filepath.Join(t.TempDir(), "ready")
	c := plugin(t, fake(t, "setsid sleep 100 >/dev/null 2>&1 3<&- 4>&- &", "echo >"+ready, "read x <&3"), dir)
	within(t, 5*time.Second, "it has a child", func() bool { _, err := os.Stat(ready); return err == nil && len(residue(t, dir)) == 2 })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	within(t, 3*time.Second, "the browser ends with the plugin", func() bool { return len(residue(t, dir)) == 1 })
	p := start(t, Options{Path: fake(t, "exec sleep 100"), Profile: dir})
	if left := residue(t, dir); len(left) != 1 || left[0].Pid != p.Pid() {
		t.Errorf("running: %v, want %d alone", left, p.Pid())
	}
	stop(t, p, 2*time.Second)
}

// Its socket's folder, and others that it had not removed yet.
func TestTemporaryFilesAreGoneWithTheBrowserOrAtTheNextStart(t *testing.T) {
	dir := folder(t)
	all, err := os.MkdirTemp("", "v") // short enough for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(all) })
	t.Setenv("TMPDIR", all)
	left := func() (names []string) {
		_ = filepath.WalkDir(all, func(path string, _ fs.DirEntry, _ error) error {
			names = append(names, path)
			return nil
		})
		return names[1:]
	}
	p := start(t, Options{Path: real(t), Profile: dir})
	ask(p).call("Browser.getVersion", "")
	own := (&profile{dir: dir}).temporary(all)
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	stop(t, p, 20*time.Second)
	if names := left(); len(names) > 0 {
		t.Errorf("after an orderly end: %v", names)
	}
	c := plugin(t, real(t), dir)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	within(t, 5*time.Second, "all have ended", func() bool { return len(residue(t, dir)) == 0 })
	if err := os.Mkdir(filepath.Join(own, "org.chromium.Chromium.AbCdEf"), 0o700); err != nil {
		t.Fatal(err)
	}
	p = start(t, Options{Path: real(t), Profile: dir})
	ask(p).call("Browser.getVersion", "")
	stop(t, p, 20*time.Second)
	if names := left(); len(names) > 0 {
		t.Errorf("after a start that followed a kill: %v", names)
	}
}

func TestAFolderOfTemporaryFilesIsMadeOnlyWhereItCanBe(t *testing.T) {
	for name, taken := range map[string]func(dir string) (all string, err error){
		"too long a name": func(dir string) (string, error) {
			all := filepath.Join(dir, strings.Repeat("x", 90))
			return all, os.Mkdir(all, 0o700)
		},
		"no folder around it": func(dir string) (string, error) { return filepath.Join(dir, "none"), nil },
	} {
		all, err := taken(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		env := []string{"TMPDIR=" + all, "A=b"}
		if got := (&profile{dir: "/p"}).inTemporary(env); !slices.Equal(got, env) {
			t.Errorf("%s: %v", name, got)
		}
	}
	all, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(all) })
	p, kept := &profile{dir: "/p"}, filepath.Join(all, "kept")
	if err := errors.Join(os.Mkdir(kept, 0o700), os.WriteFile(filepath.Join(kept, "file"), nil, 0o600), os.Symlink(kept, p.temporary(all))); err != nil {
		t.Fatal(err)
	}
	own := p.temporary(all)
	if got := p.inTemporary([]string{"TMPDIR=" + all}); !slices.Equal(got, []string{"TMPDIR=" + own}) {
		t.Errorf("with a link in its place: %v", got)
	}
	if info, err := os.Lstat(own); err != nil || !info.IsDir() {
		t.Errorf("it is %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(kept, "file")); err != nil {
		t.Errorf("what the link led to: %v", err)
	}
}

func TestABrowserThatCannotRunSaysWhy(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"a message", "echo 'cannot do that' >&2; exit 7", "exit status 7: cannot do that"},
		{"on standard output", "echo 'not me'; exit 1", "exit status 1: not me"},
		{"a library is missing", "echo 'x: error while loading shared libraries: libnss3.so: cannot open' >&2; exit 127", "libnss3.so: cannot open; install the package"},
		{"another one runs", "echo 'Opening in existing browser session.'; exit 0", "exit status 0: Opening in existing browser session.; a browser runs on this profile already"},
		{"without a word", "exit 1", "exit status 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := start(t, Options{Path: fake(t, tc.script), Profile: folder(t)})
			if exit := ends(t, p); !strings.Contains(exit, tc.want) {
				t.Errorf("exit %q, want %q", exit, tc.want)
			}
		})
	}
	t.Run("a bad flag for the real one", func(t *testing.T) {
		p := start(t, Options{Path: real(t), Profile: folder(t), Args: []string{"--headless=nonsense-mode", "--gpu-launcher=/nonexistent", "--version"}})
		if exit := ends(t, p); !strings.Contains(exit, "exit status 0: ") || !strings.Contains(exit, "Chrom") {
			t.Errorf("exit %q", exit)
		}
	})
	t.Run("no program", func(t *testing.T) {
		dir := folder(t)
		for range 2 { // the first one does not hold the profile
			_, err := Start(t.Context(), Options{Path: filepath.Join(t.TempDir(), "none"), Profile: dir})
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("error %v", err)
			}
		}
	})
}

func TestTheEndIsForcedWhenItIsNotGiven(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		bound, most  time.Duration
	}{
		{"never speaks", "exec sleep 100", 2 * time.Second, 4 * time.Second},
		{"ignores SIGTERM", "trap '' TERM; echo; while :; do sleep 1; done", 2 * time.Second, 4 * time.Second},
		{"is stopped", "kill -STOP $$; sleep 100", 2 * time.Second, 4 * time.Second},
		{"no time at all", "exec sleep 100", time.Nanosecond, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := start(t, Options{Path: fake(t, tc.script), Profile: folder(t)})
			began := time.Now()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { stop(t, p, tc.bound) })
			}
			all.Wait()
			if took := time.Since(began); took > tc.most {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestChildrenThatLeaveTheGroupAreEnded(t *testing.T) {
	for name, child := range map[string]string{
		"with the marker":    "setsid sleep 100",
		"without the marker": "env -i setsid sleep 100",
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			p := start(t, Options{Path: fake(t, child+" &", "read x <&3", "exit 3"), Profile: dir})
			var known []proc.Identity
			within(t, 5*time.Second, "it has a child of its own session", func() bool {
				var err error
				known, err = proc.Descendants(p.Pid())
				if err != nil || len(known) != 1 {
					return false
				}
				group, err := syscall.Getpgid(known[0].Pid)
				return err == nil && group == known[0].Pid
			})
			stop(t, p, 10*time.Second)
			if proc.Alive(known[0]) {
				_ = proc.Signal(known[0], syscall.SIGKILL)
				t.Error("the child lives")
			}
		})
	}
	t.Run("at an end that nobody asked for", func(t *testing.T) {
		dir := folder(t)
		p := start(t, Options{Path: fake(t, "setsid sleep 100 &", "sleep 0.2; exit 3"), Profile: dir})
		if exit := ends(t, p); exit != "exit status 3" {
			t.Errorf("exit %q", exit)
		}
		if left := residue(t, dir); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestTheBrowserGetsItsStartersEnvironmentOrTheOneThatIsGiven(t *testing.T) {
	t.Setenv("CHROMIUM_TEST_SECRET", "x")
	t.Setenv("LANGUAGE", "own")
	for want, env := range map[string][]string{"own": nil, "given": {"LANGUAGE=given", "VANT_BROWSER_PROFILE=/other"}} {
		file := filepath.Join(t.TempDir(), "env")
		dir := folder(t)
		p := start(t, Options{Path: fake(t, "/usr/bin/env >"+file), Profile: dir, Env: env})
		ends(t, p)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := "\n" + string(b); !strings.Contains(got, "\nLANGUAGE="+want+"\n") || !strings.Contains(got, "\nVANT_BROWSER_PROFILE="+dir+"\n") || strings.Contains(got, "SECRET") || strings.Contains(got, "/other") {
			t.Errorf("environment:\n%s", got)
		}
	}
}

func TestThePipeIsTheBrowsersDescriptors3And4(t *testing.T) {
	p := start(t, Options{Path: fake(t, "read x <&3", `echo "got $x" >&4`, "read y <&3"), Profile: folder(t)})
	r, w := p.Pipe()
	if _, err := w.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := r.Read(b)
	if err != nil || string(b[:n]) != "got hello\n" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(p.Exit(), "exit status") {
		t.Errorf("exit %q: the end of the pipe did not end it", p.Exit())
	}
}

func TestABrowserGetsWhatItNeedsOfTheEnvironment(t *testing.T) {
	home, err := os.MkdirTemp("", "v") // short enough for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=" + home, "no_proxy=localhost",
		"VANT_SOCKET=/secret", "API_KEY=secret", "HOMEX=secret", "LC=secret", "AWS_SECRET=secret", "SSLKEYLOGFILE=/secret",
	}
	dir := folder(t)
	p := start(t, Options{Path: real(t), Profile: dir, Env: env})
	ask(p).call("Browser.getVersion", "")
	seen := 0
	for _, id := range residue(t, dir) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id.Pid))
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("process %d has %q", id.Pid, text)
		}
		if id.Pid != p.Pid() {
			continue
		}
		own := &profile{dir: dir}
		for _, want := range slices.Concat(env[:2], env[3:6], []string{own.marker(), "TMPDIR=" + own.temporary(home)}) {
			if strings.Contains("\x00"+string(text), "\x00"+want+"\x00") {
				seen++
			} else {
				t.Errorf("the browser lacks %s", want)
			}
		}
	}
	if seen == 0 {
		t.Error("the browser's environment was not read")
	}
}
