package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// stdout is the descriptor that the handshake goes to, kept from package sdk,
// which lets nobody else write there.
var stdout *os.File

func keepStdout() {
	fd, err := syscall.Dup(1)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dup:", err)
		os.Exit(2)
	}
	syscall.CloseOnExec(fd)
	stdout = os.NewFile(uintptr(fd), "stdout")
}

// evilLines look like log lines and are none.
var evilLines = []string{
	`{"@message":1}`,
	`{"@level":[]}`,
	`{"@timestamp":0}`,
	`{"@message":{"a":"b"},"@level":"info"}`,
	`{"@level":"info","@message":"no end`,
	`null`, `[]`, `"text"`, `17`, `{}`, ``,
	"panic: not a real one",
	"fatal error: not a real one either",
	"zero \x00 bytes \x00\x00",
	"bad utf-8 \xff\xfe",
	"\x1b[31mred\x1b[0m \x1b]0;title\x07",
	`{"@message":"` + strings.Repeat(`{`, 2000) + `"}`,
	`{"@level":"info","@message":"fields","deep":` + strings.Repeat(`[`, 2000) + strings.Repeat(`]`, 2000) + `}`,
}

func logBomb(s settings) {
	w := os.Stderr
	_, err := io.WriteString(w, strings.Join(evilLines, "\n")+"\n")
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte{0}, 100<<10))
	}
	if err == nil {
		_, err = io.WriteString(w, strings.Repeat("x", 1<<20)+"\n")
	}
	if err == nil {
		err = flood(w, s.bytes, `{"@level":"info","@message":"flood","@timestamp":"2001-02-03T04:05:06.000000Z"}`+"\n")
	}
	if err == nil {
		_, err = io.WriteString(w, "logbomb is over\n")
	}
	report(err)
}

func stdoutFlood(s settings) {
	_, err := io.WriteString(stdout, strings.Repeat("y", 70<<10)+"\n")
	if err == nil {
		err = flood(stdout, s.bytes, "a line that nobody asked for\n")
	}
	report(err)
}

// flood writes line again and again, n bytes in all.
func flood(w io.Writer, n int64, line string) error {
	block := []byte(strings.Repeat(line, 64<<10/len(line)))
	for n > 0 {
		m, err := w.Write(block[:min(int64(len(block)), n)])
		if err != nil {
			return err
		}
		n -= int64(m)
	}
	return nil
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "flood ended:", err)
	}
}
