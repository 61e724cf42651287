package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vant-run/vant/host/internal/config"
	"github.com/vant-run/vant/host/internal/launch"
	"github.com/vant-run/vant/host/internal/socket"
	"github.com/vant-run/vant/proto/envelope"
)

// marker is the variable by which the next host finds processes that a killed
// one left.
const marker = "VANT_HOST"

// paths are the host's places in the file system. Those that belong to one
// host alone have an id in them that its socket's path gives.
type paths struct {
	id      string
	socket  string
	runtime string // plugins' sockets, 0700, short
	store   string // private copies of plugins
	logs    string
	state   string // parent of plugins' state folders
	cache   string
	data    string
}

func findPaths(o Options, cfg *config.Config) (paths, error) {
	p := paths{socket: o.Socket}
	if p.socket == "" {
		p.socket = envelope.SocketPath(o.Getenv, os.Getuid())
	}
	var err error
	if p.socket, err = filepath.Abs(p.socket); err != nil {
		return paths{}, err
	}
	sum := sha256.Sum256([]byte(p.socket))
	p.id = hex.EncodeToString(sum[:4])

	if run := o.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		p.runtime = filepath.Join(run, "vant", p.id)
	}
	if p.runtime == "" || len(p.runtime) > launch.MaxRuntimeDir {
		p.runtime = filepath.Join("/tmp", fmt.Sprintf("vant-%d", os.Getuid()), p.id)
	}
	home := o.Getenv("HOME")
	base := func(variable, below string) (string, error) {
		if dir := o.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "vant"), nil
		}
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("no place for files: set HOME or %s", variable)
		}
		return filepath.Join(home, below, "vant"), nil
	}
	state, err := base("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return paths{}, err
	}
	cache, err := base("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return paths{}, err
	}
	data, err := base("XDG_DATA_HOME", ".local/share")
	if err != nil {
		return paths{}, err
	}
	p.store = filepath.Join(state, "hosts", p.id)
	p.logs = filepath.Join(p.store, "log")
	if cfg.Log.Dir != "" {
		p.logs = cfg.Log.Dir
	}
	p.state = filepath.Join(state, "plugins")
	p.cache = filepath.Join(cache, "plugins")
	// Not "plugins": there the user's plugin binaries lie.
	p.data = filepath.Join(data, "data")
	return p, nil
}

// make makes the folders that belong to this host alone. The runtime folder
// may lie in /tmp, where others can write: each level is checked.
func (p paths) make() error {
	for _, dir := range []string{filepath.Dir(p.runtime), p.runtime} {
		if err := socket.PrivateDir(dir); err != nil {
			return fmt.Errorf("runtime folder: %w", err)
		}
	}
	return makePrivate(p.store)
}

// remove takes the runtime folder away, with its parent when no other host
// uses it.
func (p paths) remove() error {
	if err := os.RemoveAll(p.runtime); err != nil {
		return err
	}
	if err := os.Remove(filepath.Dir(p.runtime)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !notEmpty(err) {
		return err
	}
	return nil
}

// sandbox makes a folder in which a plugin is tried out.
func (p paths) sandbox() (string, error) { return os.MkdirTemp(p.store, "try-*") }

// clearSandboxes removes those that a killed host left.
func (p paths) clearSandboxes() error {
	left, err := filepath.Glob(filepath.Join(p.store, "try-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// forPlugin makes a plugin's own folders.
func (p paths) forPlugin(name string) (state, cache, data string, err error) {
	state, cache, data = filepath.Join(p.state, name), filepath.Join(p.cache, name), filepath.Join(p.data, name)
	for _, dir := range []string{state, cache, data} {
		if err := makePrivate(dir); err != nil {
			return "", "", "", err
		}
	}
	return state, cache, data, nil
}

// makePrivate makes a folder of mode 0700 below folders that the user owns.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	return socket.PrivateDir(dir)
}
