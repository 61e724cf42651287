package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/vant-run/vant/sdk"
)

// childEnv says which descendant a process is: "hold" keeps its pipes open
// until it is killed, "fork" starts a holder and goes away.
const childEnv = "VANT_FAULTY_CHILD"

// memoryEnv says how many MiB a holder takes.
const memoryEnv = "VANT_FAULTY_CHILD_MB"

type spawnParams struct {
	// Setsid puts a process in between that goes away and leaves the group, so
	// that neither parent nor group lead to the one that stays.
	Setsid bool `json:"setsid,omitempty"`
	// Clean leaves it no environment that it could be known by.
	Clean bool `json:"clean,omitempty"`
	// MB is the memory that it takes.
	MB int `json:"mb,omitempty" clamp:"0,4096"`
}

type spawnResult struct {
	Pid int `json:"pid"`
}

// spawn leaves a process that holds this one's pipes.
func spawn(_ context.Context, in spawnParams) (spawnResult, error) {
	file, err := os.Executable()
	if err != nil {
		return spawnResult{}, err
	}
	kind := "hold"
	if in.Setsid {
		kind = "fork"
	}
	cmd := exec.Command(file)
	cmd.Env = append(os.Environ(), childEnv+"="+kind, memoryEnv+"="+strconv.Itoa(in.MB))
	if in.Clean {
		cmd.Env = []string{childEnv + "=" + kind, memoryEnv + "=" + strconv.Itoa(in.MB)}
	}
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	if !in.Setsid {
		if err := cmd.Start(); err != nil {
			return spawnResult{}, err
		}
		pid := cmd.Process.Pid
		return spawnResult{Pid: pid}, cmd.Process.Release()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return spawnResult{}, err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		w.Close()
		return spawnResult{}, err
	}
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return spawnResult{}, fmt.Errorf("the process in between said nothing: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return spawnResult{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return spawnResult{}, sdk.Errorf("internal_error", "pid: %w", err)
	}
	return spawnResult{Pid: pid}, nil
}

// grandchild gives the exit status of a descendant.
func grandchild(kind string) int {
	if kind == "hold" {
		if mb, err := strconv.Atoi(os.Getenv(memoryEnv)); err == nil {
			keep(mb)
		}
		block()
		return 0
	}
	file, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(file)
	cmd.Env = append(os.Environ(), childEnv+"=hold")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := fmt.Fprintln(os.NewFile(3, "pid"), cmd.Process.Pid); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
