package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// coreVersion is the version of go-plugin's own part of the handshake.
const coreVersion = 1

// maxHandshake bounds the first line in bytes. go-plugin's own reader stops
// for ever at 64 KiB; nothing that a plugin has to say is near that.
const maxHandshake = 4 << 10

// maxQuote bounds what an error quotes of a plugin's output, in bytes.
const maxQuote = 200

// handshake is a checked handshake line.
type handshake struct{ addr string }

// line is what go-plugin is given to read: written anew, because it trusts
// fields that it should not (a certificate without TLS makes it panic).
func (h handshake) line() string {
	return fmt.Sprintf("%d|%d|unix|%s|grpc\n", coreVersion, pluginv1.ProtocolVersion, h.addr)
}

// parseHandshake checks the first line that a plugin printed. The socket must
// lie directly in dir.
func parseHandshake(line, dir string) (handshake, error) {
	f := strings.Split(strings.TrimSpace(line), "|")
	core, err := strconv.Atoi(f[0])
	if err != nil || len(f) < 4 {
		return handshake{}, fmt.Errorf("the first line on standard output is not the handshake: %s; "+
			"print nothing there before the plugin serves, and log to standard error", quote(line))
	}
	if core != coreVersion {
		return handshake{}, fmt.Errorf("the plugin speaks version %s of go-plugin's handshake, the host version %d; "+
			"rebuild the plugin with a go-plugin of that version", quote(f[0]), coreVersion)
	}
	if v, err := strconv.Atoi(f[1]); err != nil || v != pluginv1.ProtocolVersion {
		return handshake{}, fmt.Errorf("the plugin speaks plugin protocol %s, the host protocol %d; "+
			"rebuild the plugin with an SDK for that protocol, or use another host version", quote(f[1]), pluginv1.ProtocolVersion)
	}
	if len(f) < 5 || f[4] != "grpc" {
		return handshake{}, fmt.Errorf("the plugin does not speak gRPC: its handshake is %s", quote(line))
	}
	if f[2] != "unix" {
		return handshake{}, fmt.Errorf("the plugin listens on network %s, address %s; it must listen on a unix socket in $PLUGIN_UNIX_SOCKET_DIR",
			quote(f[2]), quote(f[3]))
	}
	addr := f[3]
	if strings.IndexFunc(addr, unsafeRune) >= 0 {
		return handshake{}, fmt.Errorf("the plugin names a socket with control characters: %s", quote(addr))
	}
	if !filepath.IsAbs(addr) || filepath.Clean(addr) != addr || filepath.Dir(addr) != dir {
		return handshake{}, fmt.Errorf("the plugin names the socket %s, which is not in its own folder; it must listen in $PLUGIN_UNIX_SOCKET_DIR", quote(addr))
	}
	if len(f) > 5 && f[5] != "" {
		return handshake{}, fmt.Errorf("the plugin wants TLS (its handshake holds a certificate); the host speaks without: serve plain gRPC on the unix socket")
	}
	return handshake{addr}, nil
}

// checkSocket refuses what is not a socket itself, a link to one for example.
func checkSocket(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("the plugin's socket cannot be found: %w", err)
	}
	if fi.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("the plugin names %s, which is not a socket", quote(path))
	}
	return nil
}

// quote makes a plugin's text safe to show and bounds it.
func quote(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if len(s) <= maxQuote {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuote]) + fmt.Sprintf("… (%d bytes)", len(s))
}
