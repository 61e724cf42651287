package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// echo answers commands over real pipes with a text of a size, as cheaply as it
// can: its own share of a round trip is that of BenchmarkBareRoundTrip.
func echo(b *testing.B, size int) (r, w *os.File) {
	b.Helper()
	commands, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	r, answers, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	filler := bytes.Repeat([]byte("x"), size)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answers.Close()
		in := bufio.NewReader(commands)
		var out []byte
		for {
			text, err := in.ReadSlice(0)
			if err != nil {
				return
			}
			id := text[len(`{"id":`):bytes.IndexByte(text, ',')]
			out = append(append(append(out[:0], `{"id":`...), id...), `,"result":{"value":"`...)
			out = append(append(out, filler...), "\"}}\x00"...)
			if _, err := answers.Write(out); err != nil {
				return
			}
		}
	}()
	b.Cleanup(func() {
		w.Close()
		<-ended
		commands.Close()
		r.Close()
	})
	return r, w
}

var sizes = []int{100, 60_000, 1_000_000}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, w := echo(b, size)
			c := New(r, w, nil)
			defer c.Close()
			params := jsonv2.Value(`{"expression":"1+1","returnByValue":true}`)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Root().Start("Runtime.evaluate", params).Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBareRoundTrip is the least that a round trip can be: one write, then
// reads up to the NUL, on one goroutine.
func BenchmarkBareRoundTrip(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, w := echo(b, size)
			in := bufio.NewReaderSize(r, 2_000_000)
			line := []byte("{\"id\":1,\"method\":\"Runtime.evaluate\",\"params\":{\"expression\":\"1+1\",\"returnByValue\":true}}\x00")
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := in.ReadSlice(0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPipelined(b *testing.B) {
	r, w := echo(b, 100)
	c := New(r, w, nil)
	defer c.Close()
	params := jsonv2.Value(`{"type":"mouseMoved","x":1,"y":1}`)
	b.ReportAllocs()
	for b.Loop() {
		var started [3]*Pending
		for i := range started {
			started[i] = c.Root().Start("Input.dispatchMouseEvent", params)
		}
		for _, p := range started {
			if _, err := p.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	r, w := io.Pipe()
	seen := 0
	c := New(r, discard{}, func(string, []byte) { seen++ })
	text := bytes.Repeat([]byte("{\"method\":\"Network.dataReceived\",\"params\":{\"requestId\":\"1\",\"timestamp\":1.5,\"dataLength\":100,\"encodedDataLength\":0}}\x00"), 100)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := w.Write(text); err != nil {
			b.Fatal(err)
		}
		n += 100
	}
	c.Close()
	if seen < n-100 { // what was in flight at the end
		b.Fatalf("%d events of %d", seen, n)
	}
}
