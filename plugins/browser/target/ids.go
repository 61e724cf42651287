package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// block is how many ids of a kind are reserved on disk at once. Ids are reserved
// before they are given away, so that none comes twice, whatever ends the
// process; after a crash those that were not used are skipped. The next block is
// written when half of one is used: no browser makes so many tabs while a disk
// writes one line.
var block = counters{Window: 1 << 12, Tab: 1 << 12, Generation: 1 << 16}

// IDs gives numbers that are never given again. Safe for concurrent use; giving
// one does no I/O.
type IDs struct {
	path string
	log  hclog.Logger
	ends sync.WaitGroup

	mu        sync.Mutex // guards the fields that follow
	next      counters
	reserved  counters
	reserving bool
}

type counters struct {
	Window     int64 `json:"window"`
	Tab        int64 `json:"tab"`
	Generation int64 `json:"generation"`
}

func (c counters) plus(n counters) counters {
	return counters{c.Window + n.Window, c.Tab + n.Tab, c.Generation + n.Generation}
}

// OpenIDs goes on where the file at path stands, and reserves the first blocks. A
// file that cannot be read is an error: counting from 1 would give ids again.
func OpenIDs(path string, log hclog.Logger) (*IDs, error) {
	i := &IDs{path: path, log: log, next: counters{1, 1, 1}}
	text, err := os.ReadFile(path)
	if err == nil {
		i.next = counters{}
		if err := json.Unmarshal(text, &i.next); err != nil || i.next.Window < 1 || i.next.Tab < 1 || i.next.Generation < 1 {
			return nil, fmt.Errorf("%s does not say which ids come next: remove it, and they count from 1 again", path)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	i.reserved = i.next.plus(block)
	return i, i.write(i.reserved)
}

// Window gives a window's id.
func (i *IDs) Window() int { return int(i.take(func(c *counters) *int64 { return &c.Window })) }

// Tab gives a tab's id.
func (i *IDs) Tab() int { return int(i.take(func(c *counters) *int64 { return &c.Tab })) }

// Generation gives a snapshot's number.
func (i *IDs) Generation() int64 { return i.take(func(c *counters) *int64 { return &c.Generation }) }

func (i *IDs) take(of func(*counters) *int64) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := *of(&i.next)
	*of(&i.next)++
	if !i.reserving && id+*of(&block)/2 > *of(&i.reserved) {
		i.reserving = true
		more := i.next.plus(block)
		i.ends.Go(func() { i.reserve(more) })
	}
	return id
}

func (i *IDs) reserve(more counters) {
	err := i.write(more)
	if err != nil {
		i.log.Error("ids could not be reserved; after a crash they may come again", "error", err.Error())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reserving = false
	i.reserved = more
}

// Close keeps the exact counts: the next start skips none.
func (i *IDs) Close() error {
	i.ends.Wait()
	i.mu.Lock()
	next := i.next
	i.mu.Unlock()
	return i.write(next)
}

// write replaces the file in one step.
func (i *IDs) write(c counters) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(i.path), ".ids-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), i.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
