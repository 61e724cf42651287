package fetch

import (
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is what the client asks for when the caller asks for nothing.
const acceptEncoding = "gzip, br, zstd"

// maxZstdWindow bounds what a zstd stream may make the decoder allocate.
const maxZstdWindow = 8 << 20

// maxTextJSON bounds a text body's size in JSON, where control characters take
// six bytes each; a text above it travels in base64.
const maxTextJSON = 12 << 20

// decoded opens the body's content coding. compressed tells whether there was one.
func decoded(resp *http.Response) (body io.Reader, release func(), compressed bool, err error) {
	coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	none := func() {}
	var r io.Reader
	switch coding {
	case "gzip", "x-gzip":
		r = &lazyReader{open: func() (io.Reader, error) { return gzip.NewReader(resp.Body) }}
	case "deflate":
		r = &lazyReader{open: func() (io.Reader, error) { return zlib.NewReader(resp.Body) }}
	case "br":
		r = brotli.NewReader(resp.Body)
	case "zstd":
		d, err := zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, none, true, err
		}
		return d, d.Close, true, nil
	default:
		return resp.Body, none, coding != "" && coding != "identity", nil
	}
	return r, none, true, nil
}

// lazyReader opens its reader at the first Read: an answer without a body
// (HEAD, 304) may name a coding all the same.
type lazyReader struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.r == nil {
		r, err := l.open()
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}

// noticedReader calls noticed whenever bytes went through it.
type noticedReader struct {
	r       io.Reader
	noticed func()
}

func (n *noticedReader) Read(p []byte) (int, error) {
	m, err := n.r.Read(p)
	if m > 0 {
		n.noticed()
	}
	return m, err
}

func (n *noticedReader) Close() error { return nil }

// kept is the part of a body that goes into the result.
type kept struct {
	text      string
	encoding  string
	truncated bool
	read      int64
}

// keep reads up to limit bytes and one more, to know whether there are more.
func keep(body io.Reader, limit int) (kept, error) {
	var buf []byte
	lr := io.LimitReader(body, int64(limit)+1)
	buf, err := io.ReadAll(lr)
	if err != nil {
		return kept{read: int64(len(buf))}, err
	}
	k := kept{read: int64(len(buf))}
	if len(buf) > limit {
		k.truncated = true
		k.read = int64(limit)
		buf = buf[:limit]
	}
	text := buf
	if k.truncated {
		text = wholeCharacters(buf)
	}
	if utf8.Valid(text) && jsonSize(text) <= maxTextJSON {
		k.text, k.encoding = string(text), "text"
	} else {
		k.text, k.encoding = base64.StdEncoding.EncodeToString(buf), "base64"
	}
	return k, nil
}

// wholeCharacters takes an unfinished character off the end of b.
func wholeCharacters(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func jsonSize(text []byte) int {
	n := len(text)
	for _, c := range text {
		if c < 0x20 {
			n += 5
		} else if c == '"' || c == '\\' {
			n++
		}
	}
	return n
}
