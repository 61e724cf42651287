package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Own finds the control group that was delegated to this process: the one that
// it is in, or the one above (a service manager may have put it into a part of
// what it delegated). A group that nobody delegated is not touched, even where
// the files would allow it: it belongs to somebody who does not expect company.
func Own() (string, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	mount, path, err := locate(string(self), string(mounts))
	if err != nil {
		return "", err
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		if dir := filepath.Join(mount, p); p != "/" && delegated(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("control group %s is not delegated to this process; a systemd unit delegates with Delegate=yes", path)
}

// locate reads /proc/self/cgroup and /proc/self/mountinfo: where the unified
// hierarchy is mounted, and the own group's path below that.
func locate(self, mounts string) (mount, path string, err error) {
	for line := range strings.Lines(self) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = p
		}
	}
	if path == "" {
		return "", "", errors.New("there are no control groups of version 2")
	}
	for line := range strings.Lines(mounts) {
		// id parent dev root mountpoint options … - type source options
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !ok || len(f) < 6 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root := strings.TrimSuffix(f[3], "/")
		if below, ok := strings.CutPrefix(path, root); ok && (below == "" || below[0] == '/') {
			return f[4], filepath.Join("/", below), nil
		}
	}
	return "", "", fmt.Errorf("control group %s cannot be reached: it is not mounted", path)
}

// delegated says whether the service manager marked the group as this
// process's to divide, and the files let it.
func delegated(dir string) bool {
	marked := false
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var b [8]byte
		n, err := unix.Getxattr(dir, name, b[:])
		marked = marked || err == nil && string(b[:n]) == "1"
	}
	if !marked {
		return false
	}
	for _, name := range []string{"", procs, subtree} {
		if unix.Access(filepath.Join(dir, name), unix.W_OK) != nil {
			return false
		}
	}
	return true
}
