package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Settle waits until the process has stopped working off its start.
func Settle(pid int) error {
	last, err := CPU(pid)
	if err != nil {
		return err
	}
	return WaitFor(20*time.Second, func() bool {
		time.Sleep(time.Second)
		now, err := CPU(pid)
		quiet := err != nil || now-last < 2*time.Millisecond
		last = now
		return quiet
	})
}

// CPU is the time that all the process's threads have run.
func CPU(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that just ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ns)
	}
	return total, nil
}
