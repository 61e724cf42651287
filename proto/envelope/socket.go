package envelope

import (
	"path/filepath"
	"strconv"
)

// SocketPath gives the path at which host and clients of a user meet:
// $VANT_SOCKET, else a file in $XDG_RUNTIME_DIR, else one in /tmp. An
// XDG_RUNTIME_DIR that is not absolute is ignored, as its specification asks.
func SocketPath(getenv func(string) string, uid int) string {
	if p := getenv("VANT_SOCKET"); p != "" {
		return p
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		dir = "/tmp"
	}
	return filepath.Join(dir, "vantage-agent-"+strconv.Itoa(uid)+".sock")
}
