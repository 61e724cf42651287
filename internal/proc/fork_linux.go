package proc

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

type forkRequest struct {
	path   string
	args   []string
	attr   *syscall.ProcAttr
	cgroup *os.File // nil: the parent's
}

// handle is a fresh child: its pid and, where the kernel has them, its pidfd
// (else -1).
type handle struct{ pid, pidfd int }

type forkReply struct {
	h   handle
	err error
}

type forkJob struct {
	req   forkRequest
	reply chan<- forkReply
}

var (
	forkOnce sync.Once
	forkJobs chan forkJob
)

// fork starts a child from the thread that all children come from.
//
// The kernel sends a child its death signal when the *thread* that made it
// ends, not the process. Go's scheduler moves goroutines between threads and
// ends threads that a goroutine died on while locked to them, which would kill
// healthy children. So one goroutine is locked to one thread for ever, and
// every child is its child.
func fork(req forkRequest) (handle, error) {
	forkOnce.Do(func() {
		forkJobs = make(chan forkJob)
		go forkLoop(forkJobs)
	})
	reply := make(chan forkReply, 1)
	forkJobs <- forkJob{req, reply}
	r := <-reply
	return r.h, r.err
}

func forkLoop(jobs <-chan forkJob) {
	runtime.LockOSThread()
	for j := range jobs {
		h, err := forkExec(j.req)
		j.reply <- forkReply{h, err}
	}
}

func forkExec(req forkRequest) (handle, error) {
	// Go opens everything close-on-exec, but what this process inherited, or a
	// library opened by hand, need not be.
	closeOnExec()
	pidfd := -1
	req.attr.Sys = &syscall.SysProcAttr{
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
		PidFD:     &pidfd,
	}
	if req.cgroup != nil {
		req.attr.Sys.UseCgroupFD, req.attr.Sys.CgroupFD = true, int(req.cgroup.Fd())
	}
	pid, _, err := syscall.StartProcess(req.path, req.args, req.attr)
	if err != nil {
		return handle{}, err
	}
	return handle{pid, pidfd}, nil
}

func closeOnExec() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	// Before Linux 5.11. The folder's own descriptor is among the names: it is
	// close-on-exec already.
	names, err := readDirNames("/proc/self/fd")
	if err != nil {
		return
	}
	for _, n := range names {
		if fd, err := strconv.Atoi(n); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

func readDirNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// bare is a handle of a child without its pidfd.
func bare(pid int) handle { return handle{pid, -1} }
