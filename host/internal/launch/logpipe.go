package launch

import (
	"os"
	"sync"
)

// A pipe is read with a small buffer, since most plugins say little; one that
// floods is read with a large one, which is cheaper a byte.
const (
	quietBuffer = 4 << 10
	floodBuffer = 64 << 10
	floodReads  = 4 // full reads in a row
)

var floodBuffers = sync.Pool{New: func() any { return new([floodBuffer]byte) }}

// copyOutput hands what f holds to take until f ends, is closed or reaches
// its deadline.
func copyOutput(f *os.File, take func([]byte)) {
	quiet := make([]byte, quietBuffer)
	full := 0
	for {
		n, err := f.Read(quiet)
		if n > 0 {
			take(quiet[:n])
		}
		if err != nil {
			return
		}
		if n < len(quiet) {
			full = 0
			continue
		}
		if full++; full == floodReads {
			full = 0
			if copyFlood(f, take) != nil {
				return
			}
		}
	}
}

// copyFlood reads with a large buffer until a read no longer fills a small
// one.
func copyFlood(f *os.File, take func([]byte)) error {
	b := floodBuffers.Get().(*[floodBuffer]byte)
	defer floodBuffers.Put(b)
	for {
		n, err := f.Read(b[:])
		if n > 0 {
			take(b[:n])
		}
		if err != nil || n < quietBuffer {
			return err
		}
	}
}
