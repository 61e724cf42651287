package catalog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLockBytes bounds a lock file: some ten thousand pins.
const maxLockBytes = 1 << 20

// Lock holds the pins of a plugins.lock file: one "name sha256" line for each
// plugin; # begins a comment. It must not be modified while a Scan uses it.
type Lock struct {
	// File is where the pins came from, for messages.
	File string
	// Pins maps names to checksums in lower-case hex.
	Pins map[string]string
}

// ReadLock reads a lock file. One that does not exist has no pins: errors.Is
// of the error with fs.ErrNotExist is left to the caller to judge.
func ReadLock(file string) (*Lock, error) {
	// A pipe in its place must not make the host wait.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("lock file %s is not a regular file; remove it", file)
	}
	if r := CheckAccess(info, file); r != nil {
		return nil, fmt.Errorf("lock file %s %s", file, r.Reason)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLockBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	return ParseLock(file, data)
}

// ParseLock reads the text of a lock file; file is its name for messages. It
// names every fault it finds, with its line.
func ParseLock(file string, data []byte) (*Lock, error) {
	if len(data) > maxLockBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes, this is no lock file", file, maxLockBytes)
	}
	l := &Lock{File: file, Pins: map[string]string{}}
	var faults []error
	fault := func(line int, format string, args ...any) {
		if len(faults) < 20 {
			faults = append(faults, fmt.Errorf("%s:%d: "+format, append([]any{file, line}, args...)...))
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLockBytes+1)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
		case len(fields) != 2:
			fault(n, "want a name and a sha256, found %d words", len(fields))
		case !ValidName(fields[0]):
			fault(n, "%q is not a plugin name", clip(fields[0]))
		case !validSHA256(fields[1]):
			fault(n, "the checksum of %s is not 64 lower-case hex digits", fields[0])
		case l.Pins[fields[0]] != "":
			fault(n, "%s is pinned twice; keep one line", fields[0])
		default:
			l.Pins[fields[0]] = fields[1]
		}
	}
	if err := lines.Err(); err != nil {
		fault(1, "%v", err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return l, nil
}

// Format gives the text of the lock file, sorted by name.
func (l *Lock) Format() []byte {
	var b bytes.Buffer
	b.WriteString("# Pinned plugins: name and sha256. Written by: vant plugin lock\n")
	names := make([]string, 0, len(l.Pins))
	for name := range l.Pins {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", name, l.Pins[name])
	}
	return b.Bytes()
}

// Write replaces file by l in one step; a crash leaves the old one or the new
// one. The folder is made when it is missing.
func (l *Lock) Write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	if err := writeFile(file, l.Format(), true); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}

func validSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

// clip bounds a text from a file in a message.
func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}
