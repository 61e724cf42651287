package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/vant-run/vant/host/internal/catalog"
)

// Find says which file is the configuration: path (of --config) when it is
// not "", else $VANT_CONFIG, else vant/vant.yaml below $XDG_CONFIG_HOME or
// ~/.config. named means that somebody asked for this very file, so that it
// must exist. file is "" when there is no home directory either.
func Find(path string, getenv func(string) string) (file string, named bool) {
	if path == "" {
		path = getenv("VANT_CONFIG")
	}
	if path != "" {
		return path, true
	}
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home := homeDir(getenv)
		if home == "" {
			return "", false
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "vant", "vant.yaml"), false
}

func homeDir(getenv func(string) string) string {
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return home
}

// Load reads the configuration that Find finds. Without a file it gives the
// defaults, unless the file was named. Faults of the content are *Errors.
func Load(path string, getenv func(string) string) (*Config, error) {
	file, named := Find(path, getenv)
	if file == "" {
		return Parse("", nil, getenv)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	data, err := readFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		c, err := Parse(file, nil, getenv)
		if c != nil {
			c.File = ""
		}
		return c, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration %s does not exist; correct --config or $VANT_CONFIG", file)
	case err != nil:
		return nil, err
	}
	return Parse(file, data, getenv)
}

// readFile reads a configuration that no other user can have written. It never
// waits for a pipe.
func readFile(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("configuration %s is not a regular file; name another one", file)
	}
	if r := catalog.CheckAccess(info, file); r != nil {
		return nil, fmt.Errorf("configuration %s %s", file, r.Reason)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return data, nil
}

// Parse reads the text of a configuration. file names it in errors, and
// relative paths in it start from its folder.
func Parse(file string, data []byte, getenv func(string) string) (*Config, error) {
	f := &faults{file: file}
	d := &decoder{faults: f, dir: filepath.Dir(file), home: homeDir(getenv)}
	c := defaults()
	c.File = file
	if root := readYAML(data, f); root != nil {
		d.members(root.members, reflect.ValueOf(&c).Elem(), "")
		c.root = root
		c.check(f)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if c.Plugins.Lock == "" && file != "" {
		c.Plugins.Lock = filepath.Join(d.dir, "plugins.lock")
	}
	return &c, nil
}

// check looks at values that depend on each other.
func (c *Config) check(f *faults) {
	at := c.root.find
	s := c.Supervise
	if s.BackoffMin > 0 && s.BackoffMax > 0 && s.BackoffMin > s.BackoffMax {
		f.add(at("supervise", "backoff_min"), "supervise.backoff_min is longer than supervise.backoff_max; make it shorter")
	}
	if s.HealthTimeout > 0 && s.HealthEvery > 0 && s.HealthTimeout > s.HealthEvery {
		f.add(at("supervise", "health_timeout"), "supervise.health_timeout is longer than supervise.health_every; make it shorter")
	}
	seen := map[string]bool{}
	for _, name := range c.Plugins.Order {
		if seen[name] {
			f.add(at("plugins", "order"), "plugins.order names %s twice; remove one", name)
		}
		seen[name] = true
	}
}

// Place says where what the keys and indexes of path lead to stands, or the
// last on the way that is there: FILE:LINE:COL, and FILE alone when there is
// none. It is "" without a file.
func (c *Config) Place(path ...string) string {
	at := c.root.find(path...)
	return (&Error{File: c.File, Line: at.line, Col: at.col}).place()
}

// resolve makes a path absolute: ~/ is the home directory, relative ones start
// from dir.
func resolve(path, dir, home string) (string, error) {
	rest, inHome := strings.CutPrefix(path, "~/")
	switch {
	case path == "":
		return "", errors.New("must not be empty; leave the key out for the default")
	case inHome && home == "":
		return "", errors.New("uses ~, but there is no home directory")
	case inHome:
		return filepath.Join(home, rest), nil
	case strings.HasPrefix(path, "~"):
		return "", errors.New("may use ~/ for your own home directory only; write the path out")
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}
