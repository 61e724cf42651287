package proc

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// reniceRounds bounds how often a process is looked through for threads that
// were made meanwhile by threads not looked at yet.
const reniceRounds = 10

// limit sets the limits of a child that nobody has reaped, and gives those
// that are in force.
func limit(pid int, want Limits) (set Limits) {
	if want.NoFile > 0 {
		set.NoFile = limitFiles(pid, want.NoFile)
	}
	if want.Nice != 0 && renice(pid, want.Nice) {
		set.Nice = want.Nice
	}
	return set
}

func limitFiles(pid int, n uint64) uint64 {
	var old unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old) != nil {
		return 0
	}
	for _, n := range []uint64{n, min(n, old.Max)} {
		if unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}, nil) == nil {
			return n
		}
	}
	return 0
}

// renice changes every thread: on Linux each has a nice value of its own, and
// a new thread has that of the one that made it.
func renice(pid, by int) bool {
	own, err := niceOf(0)
	if err != nil {
		return false
	}
	want := max(-20, min(own+by, 19))
	for range reniceRounds {
		threads, err := readDirNames("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return false
		}
		changed := false
		for _, name := range threads {
			tid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			if now, err := niceOf(tid); err != nil || now == want {
				continue
			}
			switch err := unix.Setpriority(unix.PRIO_PROCESS, tid, want); {
			case err == nil:
				changed = true
			case !errors.Is(err, unix.ESRCH):
				return false
			}
		}
		if !changed {
			return true
		}
	}
	return false
}

// niceOf undoes what the system call does to keep its answer positive.
func niceOf(tid int) (int, error) {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	return 20 - n, err
}
