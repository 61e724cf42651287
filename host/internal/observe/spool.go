package observe

import (
	"context"
	"fmt"
	"io"
	"sync"
)

const (
	// maxQueued bounds the bytes that wait for a disk.
	maxQueued = 256 << 10
	// keptBuffer is the largest buffer kept when the queue is empty.
	keptBuffer = 16 << 10
)

// spool writes lines to a file from a goroutine of its own. add never waits
// for the file: a line that finds the queue full is dropped and counted.
type spool struct {
	w    io.WriteCloser
	wake chan struct{} // holds one token when there is work
	done chan struct{} // closed when all is written and w is closed

	mu      sync.Mutex // guards what follows; never held over a write
	queue   []byte
	lines   uint64 // in queue
	dropped uint64
	failure error // of the last write
	closing bool
}

func newSpool(w io.WriteCloser) *spool {
	s := &spool{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// add queues one line; it copies it.
func (s *spool) add(line []byte) {
	s.mu.Lock()
	if s.closing || len(s.queue)+len(line) > maxQueued {
		s.dropped++
		s.mu.Unlock()
		return
	}
	s.queue = append(s.queue, line...)
	s.lines++
	s.mu.Unlock()
	s.signal()
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *spool) run() {
	defer close(s.done)
	var batch []byte
	for range s.wake {
		for {
			s.mu.Lock()
			batch, s.queue = s.queue, batch[:0]
			n, closing := s.lines, s.closing
			s.lines = 0
			s.mu.Unlock()
			if n == 0 {
				if closing {
					s.finish(s.w.Close())
					return
				}
				break
			}
			_, err := s.w.Write(batch)
			s.wrote(n, err)
			if cap(batch) > keptBuffer {
				batch = nil
			}
		}
	}
}

func (s *spool) wrote(lines uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
	if err != nil {
		s.dropped += lines
	}
}

func (s *spool) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failure = err
	}
}

// state gives how many lines were lost and why the last write failed, if so.
func (s *spool) state() (dropped uint64, failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped, s.failure
}

// beginClose refuses further lines; what is queued is still written.
func (s *spool) beginClose() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.signal()
}

// wait waits until everything is written, or ctx ends.
func (s *spool) wait(ctx context.Context) error {
	select {
	case <-s.done:
		_, err := s.state()
		return err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d bytes are not written yet: %w", len(s.queue), ctx.Err())
	}
}
