//go:build unix && !linux

package proc

import (
	"errors"
	"fmt"
	"iter"
)

// FindMarked needs /proc.
func FindMarked(string) ([]Identity, error) {
	return nil, fmt.Errorf("find processes by their environment: %w", errors.ErrUnsupported)
}

// Getenv needs /proc.
func Getenv(int, string) (string, bool) { return "", false }

func left(Identity, string, []Identity) ([]Identity, error) {
	return nil, fmt.Errorf("find what processes left: %w", errors.ErrUnsupported)
}

// Table would hold the system's processes.
type Table struct{}

// ReadTable needs /proc.
func ReadTable() (*Table, error) {
	return nil, fmt.Errorf("list processes: %w", errors.ErrUnsupported)
}

// All gives nothing.
func (*Table) All() iter.Seq[Identity] { return func(func(Identity) bool) {} }

// Family gives nothing.
func (*Table) Family(...Identity) []Identity { return nil }

// RSS is not known.
func (*Table) RSS([]Identity) int64 { return 0 }

// Descendants needs /proc.
func Descendants(int) ([]Identity, error) {
	return nil, fmt.Errorf("find descendants: %w", errors.ErrUnsupported)
}
