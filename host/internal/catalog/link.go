package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// linkEnd is where a link leads to.
type linkEnd int

const (
	linkInside  linkEnd = iota // to something in the folder
	linkOutside                // out of it, whatever lies there
	linkNowhere
	linkLoop
)

// maxLinks is how many links lead to a file at most, as in Linux.
const maxLinks = 40

// endOf walks from the link at rel, a path below dir, as the system would, but
// never out of dir.
func endOf(dir, rel string) (linkEnd, error) {
	at, links := ".", 0
	for todo := strings.Split(rel, "/"); len(todo) > 0; {
		step := todo[0]
		todo = todo[1:]
		switch {
		case step == "" || step == ".":
			continue
		case step == ".." && at == ".":
			return linkOutside, nil
		case step == "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, step)
		info, err := os.Lstat(filepath.Join(dir, next))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENAMETOOLONG):
			return linkNowhere, nil
		case err != nil:
			return 0, err
		case info.Mode().Type() != fs.ModeSymlink:
			if len(todo) > 0 && !info.IsDir() {
				return linkNowhere, nil
			}
			at = next
			continue
		}
		if links++; links > maxLinks {
			return linkLoop, nil
		}
		target, err := os.Readlink(filepath.Join(dir, next))
		if err != nil {
			return 0, err
		}
		if filepath.IsAbs(target) {
			return linkOutside, nil
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return linkInside, nil
}

// loopingLink says that err is the system's or EvalSymlinks' for links that
// lead to each other; danglingLink, for one that leads nowhere.
func loopingLink(err error) bool {
	return errors.Is(err, unix.ELOOP) || err != nil && strings.Contains(err.Error(), "too many links")
}

func danglingLink(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}
