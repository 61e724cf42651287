// Package hostproc starts vantd for the vant command and waits for it to serve
// or to end. It knows nothing of the protocol: package command asks the host
// itself.
package hostproc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Find gives the path of vantd: beside the running vant, whose symbolic links
// are followed, else on PATH.
func Find() (string, error) {
	beside := ""
	if exe, err := os.Executable(); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			beside = filepath.Join(filepath.Dir(exe), "vantd")
			if runnable(beside) {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath("vantd")
	if err != nil {
		return "", fmt.Errorf("vantd is neither beside vant (%s) nor on PATH: install it in one of them", beside)
	}
	return filepath.Abs(path)
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// StateDir is where the host's own output goes: $XDG_STATE_HOME/vant, by
// default ~/.local/state/vant.
func StateDir(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no state folder: %w: set $HOME or $XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "vant"), nil
}
