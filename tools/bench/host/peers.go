package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vant-run/vant/tools/bench/internal/measure"
)

// bareEcho serves one line a connection. The line begins with the size of the
// reply that the client wants, so that both sides of a row move the same bytes.
func bareEcho(socket string) {
	ln, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	filler := bytes.Repeat([]byte("x"), 1<<20)
	for {
		c, err := ln.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer c.Close()
			line, err := bufio.NewReaderSize(c, 4096).ReadBytes('\n')
			if err != nil {
				return
			}
			n, err := strconv.Atoi(string(line[:8]))
			if err != nil || n < 1 || n > len(filler) {
				return
			}
			reply := make([]byte, n)
			copy(reply, filler)
			reply[n-1] = '\n'
			if _, err := c.Write(reply); err != nil {
				log.Print(err)
			}
		}()
	}
}

// bareLine is a request of n bytes for a reply of m.
func bareLine(n, m int) []byte {
	line := append([]byte(fmt.Sprintf("%08d", m)), bytes.Repeat([]byte("x"), max(n-9, 0))...)
	return append(line, '\n')
}

// launch starts a host with the four echo plugins and does not wait.
func (b *bench) launch(name string) (*measure.Host, error) {
	return measure.Launch(b.vantd, filepath.Join(b.work, name), filepath.Join(b.work, "plugins"))
}

func (b *bench) startHost(name string) (*measure.Host, error) {
	h, err := b.launch(name)
	if err != nil {
		return nil, err
	}
	if err := measure.WaitFor(15*time.Second, func() bool { n, _ := h.Ready(); return n == 4 }); err != nil {
		h.Stop()
		return nil, fmt.Errorf("four plugins are not ready: %w", err)
	}
	return h, nil
}

// payload is one kind of echo.
type payload struct {
	name   string
	method string
	params []byte
}

func payloads() []payload {
	text := func(n int) []byte { return fmt.Appendf(nil, `{"data":%q}`, bytes.Repeat([]byte("a"), n)) }
	items := []byte(`{"data":[`)
	count := 0
	for ; len(items) < 64<<10; count++ {
		if count > 0 {
			items = append(items, ',')
		}
		items = fmt.Appendf(items, `{"id":%d,"name":"item number %d","ok":true,"tags":["a","b"],"v":%d.5}`, count, count, count)
	}
	items = append(items, "]}"...)
	return []payload{
		{"64 B", "echo1.text", text(64)},
		{"64 KiB string", "echo1.text", text(64 << 10)},
		{fmt.Sprintf("64 KiB of %d objects", count), "echo1.items", items},
	}
}

func (p payload) line() []byte {
	return fmt.Appendf(nil, `{"version":1,"id":"1","method":%q,"params":%s}`+"\n", p.method, p.params)
}
