package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// goroutines counts a process's by what has created them.
type goroutines map[string]int

// readGoroutines reads the traces that a process prints at SIGQUIT.
func readGoroutines(dump []byte) goroutines {
	all := goroutines{}
	for trace := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if !bytes.HasPrefix(bytes.TrimLeft(trace, "\n"), []byte("goroutine ")) {
			continue
		}
		by := "the runtime"
		if _, after, ok := bytes.Cut(trace, []byte("\ncreated by ")); ok {
			line, _, _ := strings.Cut(string(after), "\n")
			by, _, _ = strings.Cut(line, " in goroutine ")
		}
		all[by]++
	}
	return all
}

func (g goroutines) total() (n int) {
	for _, count := range g {
		n += count
	}
	return n
}

// beyond names what there is more of than in before.
func (g goroutines) beyond(before goroutines) string {
	var more []string
	for by, n := range g {
		if n > before[by] {
			more = append(more, fmt.Sprintf("%d by %s", n-before[by], by))
		}
	}
	slices.Sort(more)
	return strings.Join(more, ", ")
}
