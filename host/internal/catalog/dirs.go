package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SystemDir is where an administrator puts plugins for every user.
const SystemDir = "/usr/local/lib/vant/plugins"

// Dirs gives the plugin directories, most important first, as absolute paths
// without repeats; they need not exist. $VANT_PLUGIN_PATH (colon list) stands
// alone when it is set, else configDirs do, else the usual places: the user's
// data folder, SystemDir, and two beside exe, the path of the running vantd
// ("" when it is not known), whose symbolic links are followed first.
func Dirs(getenv func(string) string, configDirs []string, exe string) []string {
	var dirs []string
	switch path := getenv("VANT_PLUGIN_PATH"); {
	case path != "":
		dirs = filepath.SplitList(path)
	case len(configDirs) > 0:
		dirs = configDirs
	default:
		if dir := UserDir(getenv); dir != "" {
			dirs = append(dirs, dir)
		}
		dirs = append(dirs, SystemDir)
		if exe != "" {
			if real, err := filepath.EvalSymlinks(exe); err == nil {
				exe = real
			}
			bin := filepath.Dir(exe)
			dirs = append(dirs, filepath.Join(bin, "plugins"), filepath.Join(bin, "..", "lib", "vant", "plugins"))
		}
	}

	out := make([]string, 0, len(dirs))
	seen := make(map[string]bool, len(dirs))
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		abs, err := filepath.Abs(dir)
		if err != nil || seen[abs] {
			continue
		}
		seen[abs] = true
		out = append(out, abs)
	}
	return out
}

// Names gives the names of what lies in the plugin directories as a plugin,
// acceptable or not, sorted. A directory that cannot be read holds nothing.
func Names(dirs []string) []string {
	var names []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if name, ok := strings.CutPrefix(e.Name(), Prefix); ok && ValidName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UserDir is the user's own plugin folder, where plugins are installed:
// $XDG_DATA_HOME/vant/plugins. It is "" when there is no home directory. A
// relative $XDG_DATA_HOME is ignored, as its specification asks.
func UserDir(getenv func(string) string) string {
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			home, _ = os.UserHomeDir() // "" is handled below
		}
		if !filepath.IsAbs(home) {
			return ""
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "vant", "plugins")
}
