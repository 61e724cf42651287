package plugintest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// marked finds the processes that have dir in their environment: the host's
// folders are named there for everything that the host or a plugin starts.
// Zombies have no environment and are no survivors.
func marked(dir string) (pids []int, names []string) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(dir+"/")) {
			continue // ended meanwhile, or another user's
		}
		folder := filepath.Dir(file)
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil {
			continue
		}
		pids = append(pids, pid)
		names = append(names, strings.TrimSpace(string(name))+" ("+strconv.Itoa(pid)+")")
	}
	return pids, names
}

// waitGone waits until no process is marked, and names those that stay.
func waitGone(dir string, bound time.Duration) []string {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(bound)
	for {
		_, names := marked(dir)
		if len(names) == 0 || time.Now().After(deadline) {
			return names
		}
		<-tick.C
	}
}

func killMarked(dir string) {
	pids, _ := marked(dir)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
