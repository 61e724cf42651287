package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// maxWatches bounds the folders that are watched: the kernel's watches are
// shared with everything else the user runs.
const maxWatches = 1024

// Watcher says when it is worth looking at the plugin directories again. What
// happened it does not say: events are hints, a scan is the truth. It watches
// the directories, the folder plugins in them, and the folders in which a
// directory that is missing, or a link that leads to it, would change.
//
// Watch and Close belong to one goroutine.
type Watcher struct {
	hint chan struct{}
	fs   *fsnotify.Watcher // nil: not made yet
	done chan struct{}     // closed when the goroutine that reads fs has ended

	mu     sync.Mutex // guards wanted
	wanted map[string]interest
	kept   map[string]identity // of the folders that are watched
}

// interest is what matters in a watched folder.
type interest struct {
	all     bool
	plugins bool   // entries that claim to be plugins
	names   string // further ones, each after a slash
}

// NewWatcher makes a watcher that watches nothing yet.
func NewWatcher() *Watcher {
	return &Watcher{hint: make(chan struct{}, 1), kept: map[string]identity{}}
}

// C gets a value soon after something has changed; many changes may come to
// one value.
func (w *Watcher) C() <-chan struct{} { return w.hint }

// Watch makes w watch these directories and files, which need not exist, and
// nothing else. Call it before each scan: what it does not see any more, the
// scan sees. With an error the watch is not complete, and only looking often
// finds what it misses.
func (w *Watcher) Watch(dirs, files []string) (err error) {
	if w.fs == nil {
		made, err := fsnotify.NewWatcher()
		if err != nil {
			return fmt.Errorf("watch the plugin directories: %w", err)
		}
		w.fs, w.done = made, make(chan struct{})
		go w.read(made)
	}
	// A folder that appears while its parent is not watched yet is found by
	// the next round.
	for added, round := true, 0; added && round < 3; round++ {
		added, err = w.watch(wish(dirs, files))
	}
	if err != nil {
		return fmt.Errorf("watch the plugin directories: %w", err)
	}
	return nil
}

// watch makes what is watched what is wanted.
func (w *Watcher) watch(wanted map[string]interest, full error) (added bool, err error) {
	w.mu.Lock()
	w.wanted = wanted
	w.mu.Unlock()
	live := map[string]bool{}
	for _, dir := range w.fs.WatchList() {
		live[dir] = true
	}
	for dir := range live {
		if _, ok := wanted[dir]; !ok {
			_ = w.fs.Remove(dir) // it may have gone by itself
			delete(w.kept, dir)
		}
	}
	err = full
	for dir, in := range wanted {
		info, serr := os.Stat(dir)
		if serr != nil {
			continue // the scan says what is wrong with it
		}
		id := metaOf(info).id
		id.Size, id.MTime, id.CTime = 0, 0, 0
		if live[dir] {
			if w.kept[dir] == id {
				continue
			}
			_ = w.fs.Remove(dir) // another folder has its name now
		}
		aerr := w.fs.Add(dir)
		switch {
		case aerr == nil:
			w.kept[dir], added = id, true
		case errors.Is(aerr, fs.ErrNotExist), errors.Is(aerr, fs.ErrPermission) && !in.plugins:
		default:
			err = aerr
		}
	}
	return added, err
}

// read passes hints on until the watcher is closed.
func (w *Watcher) read(from *fsnotify.Watcher) {
	defer close(w.done)
	for {
		select {
		case ev, ok := <-from.Events:
			if !ok {
				return
			}
			if !w.matters(ev.Name) {
				continue
			}
		case _, ok := <-from.Errors:
			if !ok {
				return
			}
			// Events were lost.
		}
		select {
		case w.hint <- struct{}{}:
		default:
		}
	}
}

func (w *Watcher) matters(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, itself := w.wanted[path]; itself {
		return true
	}
	dir, base := filepath.Split(path)
	in, ok := w.wanted[filepath.Clean(dir)]
	return ok && (in.all || in.plugins && ofInterest(base) || in.has(base))
}

func (in interest) has(name string) bool { return strings.Contains(in.names+"/", "/"+name+"/") }

// Close ends the watch.
func (w *Watcher) Close() error {
	if w.fs == nil {
		return nil
	}
	err := w.fs.Close()
	<-w.done
	return err
}

// wish says what to watch, by path without links. Its error says that this is
// not everything.
func wish(dirs, files []string) (map[string]interest, error) {
	want := map[string]interest{}
	var full error
	for _, dir := range dirs {
		real, ok := follow(want, dir)
		if !ok {
			continue
		}
		in := want[real]
		in.plugins = true
		want[real] = in
		if err := wishInside(want, real); err != nil {
			full = err
		}
	}
	for _, file := range files {
		if file != "" {
			follow(want, file)
		}
	}
	return want, full
}

// follow goes down an absolute path and wants to know when its last part
// changes, a link on the way, or where it breaks off.
func follow(want map[string]interest, path string) (real string, ok bool) {
	at := "/"
	parts := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for i, part := range parts {
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		link := err == nil && info.Mode().Type() == fs.ModeSymlink
		if err != nil || link || i == len(parts)-1 {
			if in := want[at]; !in.has(part) {
				in.names += "/" + part
				want[at] = in
			}
		}
		if link {
			next, err = filepath.EvalSymlinks(next)
		}
		if err != nil {
			return "", false
		}
		at = next
	}
	return at, true
}

// wishInside wants folder plugins whole, and the folders that links to
// programs lead to.
func wishInside(want map[string]interest, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // the scan says what is wrong with it
	}
	for _, e := range entries {
		if !ofInterest(e.Name()) || e.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 {
			continue
		}
		top := filepath.Join(dir, e.Name())
		if e.Type() == fs.ModeSymlink {
			if top, err = filepath.EvalSymlinks(top); err != nil || !within(dir, top) {
				continue
			}
			if info, err := os.Stat(top); err == nil && !info.IsDir() {
				top = filepath.Dir(top)
				in := want[top]
				in.all = true
				want[top] = in
				continue
			}
		}
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // as above
			}
			if len(want) >= maxWatches {
				return fmt.Errorf("more than %d folders", maxWatches)
			}
			want[path] = interest{all: true}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
