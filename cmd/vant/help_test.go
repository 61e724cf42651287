package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/command"
	"github.com/vant-run/vant/cmd/vant/internal/output"
)

func tree() *cobra.Command {
	return command.New(command.System{
		Stdin: strings.NewReader(""), Stdout: output.Stream{W: io.Discard}, Stderr: output.Stream{W: io.Discard}, Getenv: os.Getenv,
	})
}

// each calls f for a command and all below it.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, f)
	}
}

// TestHelp compares the help of every command, as the program prints it, with
// testdata/help; go test -update writes the files anew.
func TestHelp(t *testing.T) {
	dir := filepath.Join("testdata", "help")
	want := map[string]bool{}
	each(tree(), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())
		name := strings.Join(path, "_") + ".txt"
		want[name] = true
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			got := run{args: append(path[1:], "--help")}.do(t)
			if got.status != 0 || got.stderr != "" {
				t.Fatalf("status %d, stderr %q", got.status, got.stderr)
			}
			file := filepath.Join(dir, name)
			if *update {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got.stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), got.stdout); diff != "" {
				t.Error(diff)
			}
		})
	})
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("%s belongs to no command", f.Name())
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	each(tree(), func(cmd *cobra.Command) {
		if !strings.Contains(cmd.Example, cmd.Root().Name()+" ") {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if cmd.Short == "" {
			t.Errorf("%s says nothing of itself", cmd.CommandPath())
		}
	})
}

// A newcomer has no browser: what is shown first works without one.
func TestExamplesOfGroupsNeedNoBrowser(t *testing.T) {
	browser := regexp.MustCompile(`browser|page\.|vant (help )?agent (--json )?(tabs|open|snapshot|click|fill|diagnostics|js)\b`)
	each(tree(), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if strings.HasPrefix(path, "vant agent ") && path != "vant agent call" {
			return // the browser's own
		}
		if found := browser.FindString(cmd.Example); found != "" {
			t.Errorf("%s: the example has %q", path, found)
		}
	})
}

func TestColumnsOfCommandListsAlign(t *testing.T) {
	each(tree(), func(cmd *cobra.Command) {
		_, list, found := strings.Cut(run{args: append(strings.Fields(cmd.CommandPath())[1:], "--help")}.do(t).stdout, "\nCommands:\n")
		if !found {
			return
		}
		list, _, _ = strings.Cut(list, "\n\n")
		column := regexp.MustCompile(`^  \S+ +`)
		width := 0
		for line := range strings.Lines(list) {
			n := len(column.FindString(line))
			if width == 0 {
				width = n
			}
			if n != width {
				t.Errorf("%s: %q begins its text at %d, not %d", cmd.CommandPath(), line, n, width)
			}
		}
	})
}

func TestHelpCommandIsTheSameAsTheFlag(t *testing.T) {
	for _, path := range []string{"", "agent", "agent js", "plugin list"} {
		flag := run{args: append(strings.Fields(path), "--help")}.do(t)
		word := run{args: append([]string{"help"}, strings.Fields(path)...)}.do(t)
		if diff := cmp.Diff(flag.stdout, word.stdout); diff != "" || flag.stdout == "" {
			t.Errorf("%q: %s", path, diff)
		}
	}
}

// A method has a help of its own, with or without a host.
func TestMethodsHaveAHelp(t *testing.T) {
	for _, args := range [][]string{{"agent", "page.snapshot", "--help"}, {"agent", "--json", "page.snapshot", "-h"}} {
		got := run{args: args, socket: "/nonexistent/s"}.do(t)
		for _, want := range []string{
			"Call the method page.snapshot with", "  vant agent page.snapshot [FLAG]... [JSON]\n", `vant agent describe '{"name":"page.snapshot"}'`,
		} {
			if got.status != 0 || got.stderr != "" || !strings.Contains(got.stdout, want) {
				t.Errorf("%q: status %d, %s: %q is missing in\n%s", args, got.status, got.stderr, want, got.stdout)
			}
		}
	}
}

func TestHelpLinesFitATerminal(t *testing.T) {
	files, err := filepath.Glob("testdata/help/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			if len(line) > 120 {
				t.Errorf("%s: a line of %d bytes: %s", f, len(line), line)
			}
		}
	}
}
