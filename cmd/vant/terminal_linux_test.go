package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/vant-run/vant/sdk/client/clienttest"
)

func TestResultThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	host := clienttest.Start(t, clienttest.Result(`1`))
	cmd := run{args: []string{"agent", "tabs"}, socket: host.Socket}.command(t.Context())
	cmd.Stdout = full
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("status %d, want 1", cmd.ProcessState.ExitCode())
	}
}

// onTerminal runs vant with a terminal as its output and gives what a person's
// terminal would get.
func onTerminal(t *testing.T, r run) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	cmd := r.command(t.Context())
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var out bytes.Buffer
	// The master's reads fail with EIO when the last user of the terminal ends.
	if _, err := io.Copy(&out, master); err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

func TestTerminalOutput(t *testing.T) {
	const object = `{"a":[1,{}],"b":"x\u001b","c":null,"d":true,"e":[]}`
	const indented = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\\u001b\",\n  \"c\": null,\n  \"d\": true,\n  \"e\": []\n}\n"
	const colored = "{\n  \x1b[34;1m\"a\"\x1b[0m: [\n    \x1b[36m1\x1b[0m,\n    {}\n  ],\n  \x1b[34;1m\"b\"\x1b[0m: \x1b[32m\"x\\u001b\"\x1b[0m,\n" +
		"  \x1b[34;1m\"c\"\x1b[0m: \x1b[90mnull\x1b[0m,\n  \x1b[34;1m\"d\"\x1b[0m: \x1b[33mtrue\x1b[0m,\n  \x1b[34;1m\"e\"\x1b[0m: []\n}\n"
	for _, c := range []struct{ name, result, want, env string }{
		{"JSON is indented and coloured", object, colored, "TERM=xterm"},
		{"NO_COLOR", object, indented, "NO_COLOR=1"},
		{"a dumb terminal", object, indented, "TERM=dumb"},
		{"a text's control characters are escaped", `"\u001b]0;title\u0007a\tb\r\nc\u009b1m"`, "\\u001b]0;title\\u0007a\tb\\u000d\nc\\u009b1m\n", "TERM=xterm"},
		{"control characters in JSON are escaped", "[\"\u009b1m\x7f\u202e\"]", "[\n  \"\\u009b1m\\u007f\\u202e\"\n]\n", "TERM=dumb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := clienttest.Start(t, clienttest.Result(c.result))
			env := []string{c.env}
			if !strings.HasPrefix(c.env, "TERM") {
				env = append(env, "TERM=xterm")
			}
			got := onTerminal(t, run{args: []string{"agent", "js", "1"}, socket: host.Socket, env: env})
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMessagesOnATerminalAreEscaped(t *testing.T) {
	host := clienttest.Start(t, clienttest.Warned(`1`, `["a\u001b[2Jb"]`))
	got := onTerminal(t, run{args: []string{"agent", "js", "1"}, socket: host.Socket, env: []string{"TERM=dumb"}})
	if want := "vant agent: warning: a\\u001b[2Jb\n1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
