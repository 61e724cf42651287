package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat is what /proc/<pid>/stat says that we need.
type stat struct {
	state byte
	ppid  int
	pgrp  int
	start uint64 // clock ticks since boot
	size  uint64 // bytes of address space
	rss   int64  // pages in memory

	environ int64 // bytes of the environment; -1 while there is none yet
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the fields after the command name, which stands in
// parentheses and may itself hold blanks and parentheses.
func parseStat(b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, fmt.Errorf("process status has no command name")
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 22 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("process status has %d fields after the name, want 22 or more", len(f))
	}
	ppid, err := strconv.Atoi(string(f[1]))
	if err != nil {
		return stat{}, fmt.Errorf("parent in process status: %w", err)
	}
	pgrp, err := strconv.Atoi(string(f[2]))
	if err != nil {
		return stat{}, fmt.Errorf("group in process status: %w", err)
	}
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in process status: %w", err)
	}
	size, err := strconv.ParseUint(string(f[20]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("size in process status: %w", err)
	}
	rss, err := strconv.ParseInt(string(f[21]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("resident pages in process status: %w", err)
	}
	s := stat{state: f[0][0], ppid: ppid, pgrp: pgrp, start: start, size: size, rss: rss, environ: -1}
	if len(f) > 48 {
		from, _ := strconv.ParseUint(string(f[47]), 10, 64)
		to, _ := strconv.ParseUint(string(f[48]), 10, 64)
		if to > 0 {
			s.environ = int64(to - from)
		}
	}
	return s, nil
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

func inspect(pid int) (start uint64, dead bool, err error) {
	s, err := readStat(pid)
	return s.start, s.dead(), err
}

func signal(id Identity, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.Pid, 0)
	switch err {
	case nil:
		defer func() { _ = unix.Close(fd) }()
	case unix.ESRCH:
		return ErrGone
	case unix.ENOSYS, unix.EPERM:
		fd = -1 // an old kernel or a strict sandbox
	default:
		return fmt.Errorf("signal process %d: %w", id.Pid, err)
	}
	// Checked after the descriptor was opened: it is bound to the process that
	// had the pid then.
	if !Alive(id) {
		return ErrGone
	}
	if fd >= 0 {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(id.Pid, sig)
	}
	switch err {
	case nil:
		return nil
	case unix.ESRCH:
		return ErrGone
	}
	return fmt.Errorf("signal process %d: %w", id.Pid, err)
}
