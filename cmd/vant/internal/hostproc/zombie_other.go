//go:build unix && !linux

package hostproc

// zombie: here the init process waits for what vant up has left.
func zombie(int) bool { return false }
