package socket

import (
	"errors"
	"fmt"
	"time"
)

// watch looks at the own path now and then: cleaners of temporary folders and
// people remove sockets, and a host that nobody can reach helps nobody.
func (l *Listener) watch(every time.Duration) {
	defer close(l.watchDone)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-l.stopWatch:
			return
		case <-ticker.C:
		}
		again, err := l.check()
		switch {
		case err != nil:
			l.log.Error("clients cannot reach this host", "path", l.path, "error", err)
		case again:
			l.log.Warn("the socket file was gone or replaced; it is bound again", "path", l.path)
		}
	}
}

// check binds the path again when it no longer leads here, and says whether it
// did. Accept turns to the new socket after those who had connected to the old
// one. Only the watch, and Listen's caller before it, may call it.
func (l *Listener) check() (again bool, err error) {
	if err := l.keepLock(); err != nil {
		return false, err
	}
	l.mu.Lock()
	old := l.ends[len(l.ends)-1]
	l.mu.Unlock()
	here, err := old.id.isAt(l.path)
	if err != nil {
		return false, fmt.Errorf("look at the own socket: %w", err)
	}
	if here {
		return false, nil
	}
	e, err := l.bind()
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	l.ends = append(l.ends, e)
	l.mu.Unlock()
	return true, l.wake(old)
}

// keepLock takes the lock again when its file is gone: without it two hosts
// would take the path from each other.
func (l *Listener) keepLock() error {
	l.mu.Lock()
	held := l.lock
	l.mu.Unlock()
	lost, err := held.lost()
	if err != nil {
		return fmt.Errorf("look at the own lock file: %w", err)
	}
	if !lost {
		return nil
	}
	fresh, err := tryLock(held.path)
	if err != nil {
		return err
	}
	if fresh == nil {
		return errors.Join(errors.New("the lock file was removed and another host has taken its place; stop one of the two"),
			&HeldError{Path: l.path, PID: readPID(held.path)})
	}
	l.mu.Lock()
	l.lock = fresh
	l.mu.Unlock()
	return held.file.Close()
}
