//go:build unix && !linux

package proc

import "context"

func awaitFD(context.Context, Identity) bool { return false }
