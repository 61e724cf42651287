package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpAgainWithTheHostsOwnConfigurationIsNotWarned(t *testing.T) {
	s := newStage(t)
	writeFile(t, s.dir, "mine.yaml", "")
	for range 2 {
		got := run{args: []string{"up", "--config", "mine.yaml"}, socket: s.socket, dir: s.dir,
			env: []string{"XDG_STATE_HOME=" + s.dir, "FAKE_CONFIG=warn"}}.do(t)
		check(t, outcome{s.socket + "\n", "", 0}, got)
	}
}

func TestDoctorAsksWhatTheRunningHostWasStartedWith(t *testing.T) {
	s := newStage(t)
	file, folder := writeFile(t, s.dir, "my.yaml", ""), filepath.Join(s.dir, "its")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) outcome {
		return run{args: args, socket: s.socket, dir: s.dir, env: []string{"XDG_STATE_HOME=" + s.dir, "FAKE_CONFIG=warn",
			"VANT_PLUGIN_PATH=" + map[bool]string{true: "its", false: "/nonexistent/mine"}[args[0] == "up"]}}.do(t)
	}
	check(t, outcome{s.socket + "\n", "", 0}, do("up", "--config", "my.yaml"))
	got := do("doctor")
	for _, want := range []string{"ok     configuration: " + file + ": valid\n", "ok     plugin folder: " + folder + "\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "/nonexistent/mine") {
		t.Errorf("it shows a folder of this command's environment:\n%s", got.stdout)
	}
}
