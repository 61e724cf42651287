package launch

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vant-run/vant/host/internal/supervise"
)

// givenUp is the failure of a start that was not waited for any longer. Its
// text says so already; cause is for errors.Is.
type givenUp struct {
	text  string
	cause error
}

func (e *givenUp) Error() string { return e.text }
func (e *givenUp) Unwrap() error { return e.cause }

// explainWait turns the end of a wait into a sentence: did says what had not
// happened, and more is what there is to add.
func explainWait(cause error, after time.Duration, did, more string) *supervise.StartError {
	after = after.Round(10 * time.Millisecond)
	text := fmt.Sprintf("%s within %v%s", did, after, more)
	if errors.Is(cause, context.Canceled) {
		text = fmt.Sprintf("the start was given up after %v: %s until then%s", after, did, more)
	}
	return &supervise.StartError{Step: stepHandshake, Err: &givenUp{text, cause}}
}

// explainExec turns a failure to execute into a sentence that says what to
// do, and says whether the same file will fail again.
func explainExec(path, dir string, err error) error {
	permanent, what := true, ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		what = "the system cannot run it: " + describeFile(path)
	case errors.Is(err, syscall.ENOENT):
		if _, e := os.Stat(dir); e != nil {
			permanent, what = false, fmt.Sprintf("its working folder %s is missing", dir)
		} else if _, e := os.Stat(path); e != nil {
			permanent, what = false, "the file is missing"
		} else {
			what = missingInterpreter(path)
		}
	case errors.Is(err, syscall.EACCES):
		what = "it may not be executed: check its mode, the folders above it and whether the file system is mounted noexec"
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
	default:
		permanent = false
	}
	if what != "" {
		err = fmt.Errorf("%w; %s", err, what)
	}
	return &supervise.StartError{Step: stepLaunch, Permanent: permanent, Err: err}
}

// describeFile says what a file is that cannot be executed here.
func describeFile(path string) string {
	head, err := fileHead(path)
	if err != nil {
		return "it cannot be read"
	}
	here := runtime.GOOS + "/" + runtime.GOARCH
	switch {
	case len(head) == 0:
		return "the file is empty"
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return fmt.Sprintf("it is an ELF file for %s, this host is %s; build it for %s", elfMachine(path), here, here)
	case bytes.HasPrefix(head, []byte{0xcf, 0xfa, 0xed, 0xfe}), bytes.HasPrefix(head, []byte{0xca, 0xfe, 0xba, 0xbe}):
		return fmt.Sprintf("it is a Mach-O file (macOS), this host is %s; build it for %s", here, here)
	case bytes.HasPrefix(head, []byte("MZ")):
		return fmt.Sprintf("it is a Windows program, this host is %s; build it for %s", here, here)
	case bytes.HasPrefix(head, []byte("#!")):
		return missingInterpreter(path)
	case bytes.IndexByte(head, 0) < 0:
		return "it is a text file without an interpreter line; begin it with #! and the interpreter's path"
	}
	return "its format is not known"
}

func elfMachine(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return "a machine that its damaged header does not tell"
	}
	defer discard(f)
	bits := 32
	if f.Class == elf.ELFCLASS64 {
		bits = 64
	}
	name := strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
	return fmt.Sprintf("%s (%d-bit)", name, bits)
}

// missingInterpreter explains "no such file" for a file that is there.
func missingInterpreter(path string) string {
	head, err := fileHead(path)
	if err != nil {
		return "it cannot be read"
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		words := strings.Fields(string(line))
		switch {
		case strings.HasSuffix(string(line), "\r"):
			return "its interpreter line ends with a carriage return; save it with Unix line ends"
		case len(words) == 0:
			return "its interpreter line names no interpreter"
		}
		return fmt.Sprintf("its interpreter %s is missing or cannot be run; install it", quote(words[0]))
	}
	if f, err := elf.Open(path); err == nil {
		defer discard(f)
		for _, p := range f.Progs {
			if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
				continue
			}
			name, err := io.ReadAll(io.LimitReader(p.Open(), int64(p.Filesz)))
			if err == nil {
				return fmt.Sprintf("its dynamic loader %s is missing; link it statically or for this system's C library",
					quote(string(bytes.TrimRight(name, "\x00"))))
			}
		}
	}
	return "something that it needs is missing"
}

func fileHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer discard(f)
	return io.ReadAll(io.LimitReader(f, 256))
}
