package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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
	b, err := environ(pid)
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

// environ reads a process's environment. One that executes another program meanwhile
// has none for a moment, or not all of it: it is asked again.
func environ(pid int) ([]byte, error) {
	for tries := 0; ; tries++ {
		b, err := readEnviron(pid)
		if err != nil || tries == execTries || whole(pid, len(b)) {
			return b, err
		}
		if tries > 0 {
			time.Sleep(execPause)
		}
	}
}

// whole tells whether a process's environment has so many bytes, or none to be read: the
// kernel's own have no memory.
func whole(pid, bytes int) bool {
	s, err := readStat(pid)
	return err != nil || s.dead() || s.size == 0 || s.environ == int64(bytes) || bytes == maxEnviron
}

// An exec takes well below a millisecond; on a busy machine it is interrupted.
const (
	execTries = 50
	execPause = time.Millisecond
)

func readEnviron(pid int) ([]byte, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxEnviron))
}

// Getenv gives the value that a variable had when the process was started. It
// is not known when the environment may not be read, or is not there: the
// process has ended, is just being started, or is the kernel's own.
func Getenv(pid int, name string) (value string, known bool) {
	b, err := environ(pid)
	if err != nil || len(b) == 0 {
		return "", false
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(v), true
		}
	}
	return "", true
}

// left finds what runs of known, what carries marker, and all that belongs to
// either; never the caller. What is older than the leader is not its child,
// and its environment is not read.
func left(leader Identity, marker string, known []Identity) ([]Identity, error) {
	t, err := ReadTable()
	if err != nil {
		return nil, err
	}
	roots := slices.Clone(known)
	for id := range t.All() {
		if id.Start >= leader.Start && hasMarker(id.Pid, marker) {
			roots = append(roots, id)
		}
	}
	self := os.Getpid()
	return slices.DeleteFunc(t.Family(roots...), func(id Identity) bool { return id.Pid == self }), nil
}

// Descendants finds the running children of pid, their children and so on.
// What a dead parent left behind belongs to another parent and is not found.
func Descendants(pid int) ([]Identity, error) {
	t, err := ReadTable()
	if err != nil {
		return nil, err
	}
	return t.below(pid), nil
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
