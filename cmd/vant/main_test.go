package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bin is the folder with the vant that the tests run, and beside it a vantd
// that is this test binary under another name.
var bin string

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "vantd" {
		os.Exit(fakeVantd(os.Args[1:]))
	}
	flag.Parse()
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "vantcli")
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
	out, err := exec.Command("go", "build", "-ldflags", "-X github.com/vant-run/vant/internal/release.version=1.2.3", "-o", filepath.Join(dir, "vant"), ".").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "vantd"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// limit bounds a command of a test.
const limit = 60 * time.Second

// run is one run of vant.
type run struct {
	args   []string
	stdin  string
	socket string
	env    []string
	dir    string
}

type outcome struct {
	stdout, stderr string
	status         int
}

func (r run) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "vant"), r.args...)
	cmd.Stdin = strings.NewReader(r.stdin)
	cmd.Dir = r.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "VANT_SOCKET=" + r.socket}, r.env...)
	return cmd
}

func (r run) do(t *testing.T) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := r.command(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("vant %q did not end within %v", r.args, limit)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// readLine gives the next line of a running command.
func readLine(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line, ok := <-lines:
		if !ok {
			t.Fatal("the output ended")
		}
		return line
	case <-time.After(limit):
		t.Fatal("no line came")
	}
	return ""
}

// tempDir gives a folder with a path short enough for sockets.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vant")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
