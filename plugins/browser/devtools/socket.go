package devtools

import (
	"bytes"
	"context"
	"io"

	"github.com/coder/websocket"
)

// socket is a connection whose messages are read and written as on the
// debugging pipe: each is ended by a NUL byte.
type socket struct {
	conn    *websocket.Conn
	message io.Reader // that is being read, nil between two
}

type (
	reader struct{ *socket }
	writer struct{ *socket }
)

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.message == nil {
		_, m, err := r.conn.Reader(context.Background())
		if err != nil {
			return 0, err
		}
		r.message = m
	}
	n, err := r.message.Read(p)
	if err != io.EOF {
		return n, err
	}
	if n == len(p) { // no place for the NUL
		r.message = eof{}
		return n, nil
	}
	p[n], r.message = 0, nil
	return n + 1, nil
}

// eof is the end of a message.
type eof struct{}

// Read implements io.Reader.
func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Write sends the messages in p, which it holds whole.
func (w writer) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := bytes.IndexByte(p[done:], 0)
		if n < 0 {
			return done, io.ErrShortWrite
		}
		if err := w.conn.Write(context.Background(), websocket.MessageText, p[done:done+n]); err != nil {
			return done, err
		}
		done += n + 1
	}
	return len(p), nil
}

// Close implements io.Closer for both ends: one connection carries them. It does
// not wait for the browser.
func (s *socket) Close() error { return s.conn.CloseNow() }
