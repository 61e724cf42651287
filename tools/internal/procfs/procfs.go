// Package procfs reads what Linux says of a process, for the tools that watch a
// host from outside.
package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// RSS is a process's resident memory in MiB.
func RSS(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), "VmRSS:")
	if !ok {
		return 0, fmt.Errorf("process %d is gone", pid)
	}
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1024, err
}
