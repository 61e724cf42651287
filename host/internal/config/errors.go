package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds how many faults of a file are listed.
const maxErrors = 20

// Error is one fault. Its message never quotes a value that may be a secret.
type Error struct {
	File    string
	Line    int // from 1; 0 when the fault is the file's as a whole
	Col     int // from 1, in characters
	Message string
}

func (e *Error) Error() string { return e.place() + ": " + e.Message }

func (e *Error) place() string {
	if e.Line == 0 {
		return e.File
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
}

// Errors are the faults of a file by their place, at most 20.
type Errors struct {
	List []*Error
	More int // how many are not listed
}

func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, one := range e.List {
		lines = append(lines, one.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// faults collects what is wrong with one file.
type faults struct {
	file string
	list []*Error
}

func (f *faults) add(at pos, format string, args ...any) {
	f.list = append(f.list, &Error{File: f.file, Line: at.line, Col: at.col, Message: fmt.Sprintf(format, args...)})
}

// err gives everything collected, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	e := &Errors{List: f.list}
	if len(e.List) > maxErrors {
		e.List, e.More = f.list[:maxErrors], len(f.list)-maxErrors
	}
	return e
}

// clip bounds a text of the file in a message.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
