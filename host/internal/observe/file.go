package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gopkg.in/natefinch/lumberjack.v2"
)

// Rotation bounds a log file and its predecessors.
type Rotation struct {
	MaxSizeMB int // a file is replaced before it grows larger; 0: 10
	MaxFiles  int // how many are kept with the current one, at least 2; 0: 5
}

func (r Rotation) withDefaults() Rotation {
	if r.MaxSizeMB <= 0 {
		r.MaxSizeMB = 10
	}
	if r.MaxFiles <= 0 {
		r.MaxFiles = 5
	}
	r.MaxFiles = max(r.MaxFiles, 2)
	return r
}

// logFile is a rotating file of mode 0600 in a folder of mode 0700. It is not
// touched before the first write. One goroutine uses it; several may write to
// one rotating one.
type logFile struct {
	rotating *lumberjack.Logger
	ready    bool
}

// newRotating makes the writer of a file. It keeps a goroutine for good, closed
// or not, so there should be one for each file.
func newRotating(path string, r Rotation) *lumberjack.Logger {
	r = r.withDefaults()
	return &lumberjack.Logger{Filename: path, MaxSize: r.MaxSizeMB, MaxBackups: r.MaxFiles - 1}
}

func newLogFile(w *lumberjack.Logger) *logFile { return &logFile{rotating: w} }

func (f *logFile) Write(p []byte) (int, error) {
	// Somebody may have removed the file: do not write where nobody can read.
	if _, err := os.Lstat(f.rotating.Filename); f.ready && errors.Is(err, fs.ErrNotExist) {
		if err := f.rotating.Close(); err != nil {
			return 0, err
		}
		f.ready = false
	}
	if !f.ready {
		if err := prepare(f.rotating.Filename); err != nil {
			return 0, err
		}
		f.ready = true
	}
	n, err := f.rotating.Write(p)
	// After a failure the folder may be gone: make it again next time.
	f.ready = err == nil
	return n, err
}

func (f *logFile) Close() error { return f.rotating.Close() }

// prepare makes the file before the rotating writer does, which would follow a
// link, make folders that everybody can enter, and keep a loose mode.
func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the log folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("make the log file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; remove it", path)
	}
	if err == nil && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("make the log file: %w", err)
	}
	return nil
}
