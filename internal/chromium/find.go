// Package chromium finds the installed browser. The browser plugin starts what
// it finds, and "vant doctor" says whether there is one.
package chromium

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Names are those under which the folders of PATH are searched, best first.
var Names = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"microsoft-edge", "microsoft-edge-stable",
}

// Places are where it is when it is not in PATH. Flatpaks are not among them:
// their launcher does not pass on the descriptors of the debugging pipe.
var Places = []string{
	"/snap/bin/chromium",
	"/opt/google/chrome/chrome",
	"/opt/microsoft/msedge/msedge",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	"/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
}

// ErrNotFound: no browser is installed where Find looks.
var ErrNotFound = errors.New("no Chromium found")

// Find gives the browser's absolute path: the one that path, from the
// configuration, names (a path, or a name that is looked up in PATH), else the
// first of Names in PATH and of Places. That there is none is ErrNotFound,
// whose text says what to install.
func Find(path string, getenv func(string) string) (string, error) {
	if path != "" {
		return named(path, getenv("PATH"))
	}
	for _, name := range Names {
		if file := lookPath(name, getenv("PATH")); file != "" {
			return file, nil
		}
	}
	for _, file := range Places {
		if executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w (looked in PATH for %s); %s", ErrNotFound, strings.Join(Names, ", "), Advice())
}

// named checks what the configuration names.
func named(path, search string) (string, error) {
	if !strings.ContainsRune(path, filepath.Separator) {
		if file := lookPath(path, search); file != "" {
			return file, nil
		}
		return "", fmt.Errorf("plugins.browser.path: no program %q in PATH; name it by its absolute path", path)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("plugins.browser.path: %q is not an absolute path", path)
	}
	if err := executable(path); err != nil {
		return "", fmt.Errorf("plugins.browser.path: %w", err)
	}
	return path, nil
}

// lookPath finds a program in the folders of search. Relative ones are passed
// over: what is found must not depend on where a process was started.
func lookPath(name, search string) string {
	for _, dir := range filepath.SplitList(search) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(file) == nil {
			return file
		}
	}
	return ""
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a program", file)
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not executable; run chmod +x on it", file)
	}
	return nil
}

// Advice says how a browser comes to this system.
func Advice() string {
	var release []byte
	if runtime.GOOS == "linux" {
		for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
			if b, err := os.ReadFile(file); err == nil {
				release = b
				break
			}
		}
	}
	return advice(runtime.GOOS, string(release))
}

// installs tells by which command each distribution, by its ID in os-release,
// installs Chromium.
var installs = map[string]string{
	"debian":   "apt install chromium",
	"raspbian": "apt install chromium",
	"ubuntu":   "apt install chromium-browser",
	"fedora":   "dnf install chromium",
	"rhel":     "dnf install epel-release chromium",
	"centos":   "dnf install epel-release chromium",
	"arch":     "pacman -S chromium",
	"alpine":   "apk add chromium",
	"suse":     "zypper install chromium",
	"opensuse": "zypper install chromium",
	"sles":     "zypper install chromium",
	"void":     "xbps-install chromium",
	"nixos":    "nix-env -iA nixos.chromium",
}

func advice(system, release string) string {
	command := "the package of Chromium or Google Chrome"
	if system == "darwin" {
		command = "brew install --cask chromium"
	}
	// The distribution itself stands before those it is like.
	for _, id := range append(field(release, "ID"), field(release, "ID_LIKE")...) {
		if c, ok := installs[id]; ok {
			command = c
			break
		}
	}
	return "install it (" + command + "), or name another one by plugins.browser.path in the configuration"
}

// field gives the words of one variable of an os-release file.
func field(release, name string) []string {
	for line := range strings.Lines(release) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return strings.Fields(strings.ToLower(strings.Trim(value, `"'`)))
		}
	}
	return nil
}
