package observe

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowDisk blocks every write until it is let go.
type slowDisk struct {
	free    chan struct{}
	fail    error
	written bytes.Buffer
	closed  bool
}

func (d *slowDisk) Write(p []byte) (int, error) {
	<-d.free
	if d.fail != nil {
		return 0, d.fail
	}
	return d.written.Write(p)
}

func (d *slowDisk) Close() error { d.closed = true; return nil }

func TestSlowDiskBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{free: make(chan struct{})}
		s := newSpool(d)
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for range 1000 { // far more than the queue holds
			s.add(line)
		}
		synctest.Wait()
		// At most one batch is with the disk and one queue waits behind it.
		if dropped, _ := s.state(); dropped < 1000-2*maxQueued/1024 || dropped > 1000-maxQueued/1024 {
			t.Errorf("dropped %d", dropped)
		}

		s.beginClose()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close with a dead disk: %v", err)
		}

		close(d.free)
		if err := s.wait(t.Context()); err != nil || !d.closed {
			t.Errorf("close: %v, closed %v", err, d.closed)
		}
		dropped, _ := s.state()
		if written := uint64(d.written.Len() / 1024); written+dropped != 1000 {
			t.Errorf("%d written, %d dropped of 1000", written, dropped)
		}
	})
}

func TestFullDiskIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{free: make(chan struct{}), fail: errors.New("no space left")}
		close(d.free)
		s := newSpool(d)
		s.add([]byte("a\n"))
		synctest.Wait()
		dropped, err := s.state()
		if dropped != 1 || !errors.Is(err, d.fail) {
			t.Errorf("dropped %d, %v", dropped, err)
		}
		d.fail = nil
		s.add([]byte("b\n"))
		synctest.Wait()
		if dropped, err = s.state(); dropped != 1 || err != nil || d.written.String() != "b\n" {
			t.Errorf("after it has room again: dropped %d, %v, wrote %q", dropped, err, d.written.String())
		}
		s.beginClose()
		synctest.Wait()
		s.add([]byte("c\n"))
		if dropped, _ = s.state(); dropped != 2 {
			t.Errorf("a line after the end was not counted: %d", dropped)
		}
	})
}
