//go:build unix && !linux

package proc

import (
	"errors"
	"fmt"
)

// FindMarked needs /proc.
func FindMarked(string) ([]Identity, error) {
	return nil, fmt.Errorf("find processes by their environment: %w", errors.ErrUnsupported)
}

// Descendants needs /proc.
func Descendants(int) ([]Identity, error) {
	return nil, fmt.Errorf("find descendants: %w", errors.ErrUnsupported)
}
