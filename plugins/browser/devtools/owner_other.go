//go:build !linux

package devtools

import "net"

// owned cannot tell here who listens.
func owned(net.Conn, int) error { return nil }
