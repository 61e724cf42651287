package hostproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// logName is the file in the state folder that takes vantd's output.
	logName = "vantd.out"
	// maxLog is the size from which on the file is set aside at a start.
	maxLog = 1 << 20
	// maxReport bounds what vantd may say on the readiness pipe.
	maxReport = 8 << 10
	// readyFD is the descriptor of the readiness pipe in vantd.
	readyFD = 3
)

// Options say how vantd is started.
type Options struct {
	Path   string // of vantd
	Socket string // absolute
	Config string // absolute, "" for vantd's own choice
	State  string // the state folder; made when it is missing
	Env    []string
}

// FailedError says that vantd ended before it served.
type FailedError struct {
	Report string // what it said, "" for nothing
	Log    string // where its output is
}

func (e *FailedError) Error() string {
	if e.Report == "" {
		return "vantd ended before it was ready: see " + e.Log
	}
	return "vantd did not start: " + e.Report
}

// Start runs vantd in a session of its own, so that it outlives this process
// and its terminal, and returns when vantd says that it serves and that the
// first starts of its plugins have settled: it writes "ready" and a newline to
// the pipe that it inherits. Anything else there, or its end, is a failure. When
// ctx ends first, vantd goes on.
func Start(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	logPath := filepath.Join(o.State, logName)
	log, err := openLog(logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()

	args := []string{"--socket", o.Socket, "--ready-fd", fmt.Sprint(readyFD)}
	if o.Config != "" {
		args = append(args, "--config", o.Config)
	}
	cmd := exec.Command(o.Path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{write}
	cmd.Env = hostEnv(o.Env)
	// A host that kept our folder would keep its file system busy.
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", o.Path, errno(err))
	}
	// Our end must go, or the pipe would not end with vantd.
	if err := write.Close(); err != nil {
		return err
	}
	// Nobody waits for vantd: it becomes a child of init when we end.
	if err := cmd.Process.Release(); err != nil {
		return err
	}
	return await(ctx, read, logPath)
}

// await reads the readiness pipe.
func await(ctx context.Context, pipe *os.File, log string) error {
	stop := context.AfterFunc(ctx, func() { pipe.Close() })
	defer stop()
	var said []byte
	buf := make([]byte, 512)
	for {
		n, err := pipe.Read(buf)
		said = append(said, buf[:min(n, maxReport-len(said))]...)
		if string(said) == "ready\n" {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("vantd is not ready yet; it goes on starting, its output is in %s: %w", log, ctx.Err())
		case err == io.EOF, len(said) == maxReport:
			return &FailedError{Report: strings.TrimSpace(string(said)), Log: log}
		case err != nil:
			return fmt.Errorf("waiting for vantd: %w", err)
		}
	}
}

// openLog opens the file for vantd's output, for this user only. A large one
// is set aside first; its predecessor goes.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("setting the old output aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("file for vantd's output: %w", err)
	}
	return f, nil
}

// hostEnv is the environment of vantd. Relative paths in vant's variables are
// made absolute: it runs in another folder. The marks by which a host finds what
// its plugins started are left out: the new host outlives the plugin, if there
// is one, whose program asked for it.
func hostEnv(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "VANT_HOST", name == "VANT_INSTANCE":
			continue
		case value == "":
		case name == "VANT_CONFIG":
			kv = name + "=" + abs(value)
		case name == "VANT_PLUGIN_PATH":
			dirs := filepath.SplitList(value)
			for i, dir := range dirs {
				if dir != "" {
					dirs[i] = abs(dir)
				}
			}
			kv = name + "=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
		out = append(out, kv)
	}
	return out
}

func abs(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

func errno(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}
