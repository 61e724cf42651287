package chromium

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/vant-run/vant/internal/proc"
)

// user is a process that has a profile folder in its command line.
type user struct {
	id    proc.Identity
	child bool // one of a browser's own: a renderer, a zygote …
}

// usersOf finds the processes that were started on a profile folder. Chromium's
// children overwrite their environment with their title, so that no marker is
// found in it, but the title has the folder.
func usersOf(dir string) ([]user, error) {
	table, err := proc.ReadTable()
	if err != nil {
		return nil, err
	}
	var found []user
	for id := range table.All() {
		if uses, child := lookAt(commandOf(id.Pid), dir); uses && id.Pid != os.Getpid() {
			found = append(found, user{id, child})
		}
	}
	return found, nil
}

// maxCommand bounds what is read of a command line.
const maxCommand = 64 << 10

func commandOf(pid int) []byte {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCommand))
	if err != nil {
		return nil
	}
	return b
}

// lookAt reads a command line: arguments that end with zero bytes, or a title
// in which blanks separate them. A title counts only where it is that of a
// browser's child: a shell's script or a search for the folder is none.
func lookAt(command []byte, dir string) (uses, child bool) {
	flag := []byte("--user-data-dir=" + dir)
	args := bytes.Split(bytes.TrimRight(command, "\x00"), []byte{0})
	if len(args) > 1 {
		for _, a := range args[1:] {
			uses = uses || bytes.Equal(a, flag)
			child = child || bytes.HasPrefix(a, []byte("--type="))
		}
		return uses, uses && child
	}
	program, rest, ok := bytes.Cut(args[0], []byte(" --type="))
	if !ok || bytes.Contains(program, []byte(" -")) {
		return false, false
	}
	for {
		i := bytes.Index(rest, flag)
		if i < 0 {
			return false, false
		}
		before, after := rest[:i], rest[i+len(flag):]
		if bytes.HasSuffix(before, []byte(" ")) && (len(after) == 0 || bytes.HasPrefix(after, []byte(" --"))) {
			return true, true
		}
		rest = after
	}
}
