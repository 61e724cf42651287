package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
)

// FindMarked finds the running processes that were started with marker, an
// environment entry in the form NAME=value, apart from the caller and those that it
// descends from. Processes
// whose environment may not be read (other users') are passed over.
func FindMarked(marker string) ([]Identity, error) {
	if strings.IndexByte(marker, '=') < 1 {
		return nil, errors.New("find processes: the marker must be NAME=value")
	}
	pids, err := allPids()
	if err != nil {
		return nil, err
	}
	var found []Identity
	above := ancestors(os.Getpid())
	for _, pid := range pids {
		if above[pid] {
			continue
		}
		// Identity first: if the pid changes hands in between, the identity
		// that is returned is the dead one's.
		s, err := readStat(pid)
		if err != nil || s.dead() || !hasMarker(pid, marker) {
			continue
		}
		found = append(found, Identity{Pid: pid, Start: s.start})
	}
	return found, nil
}

// ancestors are pid, its parent, the parent's parent and so on.
func ancestors(pid int) map[int]bool {
	above := map[int]bool{}
	for pid > 1 && !above[pid] {
		above[pid] = true
		s, err := readStat(pid)
		if err != nil {
			break
		}
		pid = s.ppid
	}
	return above
}

// maxEnviron bounds what is read of one environment; the kernel's own bound
// on arguments and environment together is usually 2 MiB.
const maxEnviron = 4 << 20

func hasMarker(pid int, marker string) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if string(entry) == marker {
			return true
		}
	}
	return false
}

// Descendants finds the running children of pid, their children and so on.
// What a dead parent left behind belongs to another parent and is not found.
func Descendants(pid int) ([]Identity, error) {
	pids, err := allPids()
	if err != nil {
		return nil, err
	}
	children := map[int][]Identity{}
	for _, p := range pids {
		if s, err := readStat(p); err == nil && !s.dead() {
			children[s.ppid] = append(children[s.ppid], Identity{Pid: p, Start: s.start})
		}
	}
	var found []Identity
	// The snapshot was not taken at one moment: pids used again could make it
	// circular.
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			if seen[c.Pid] {
				continue
			}
			seen[c.Pid] = true
			found = append(found, c)
			queue = append(queue, c.Pid)
		}
	}
	return found, nil
}

func allPids() ([]int, error) {
	names, err := readDirNames("/proc")
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
