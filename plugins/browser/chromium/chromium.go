// Package chromium finds, starts and ends the browser of the browser plugin.
// It knows the program, its flags, its profile folder and its processes, and
// nothing of what is said over the debugging pipe: the plugin's transport
// takes over from [Process.Pipe].
//
// Nothing is orphaned. Chromium ends when its pipe closes, and its main process
// is killed when the plugin's process ends (Linux). What leaves the process
// group is found by a marker in its environment, by descent, or by the profile
// in its command line, and is killed after the main process has ended; what a
// killed plugin left is killed before the next start on that profile.
package chromium

import (
	"fmt"
	"strconv"
	"strings"

	installed "github.com/vant-run/vant/internal/chromium"
)

// Find gives the browser's absolute path: path, from the configuration, else
// the first that is installed. The error says what to install.
func Find(path string, getenv func(string) string) (string, error) {
	return installed.Find(path, getenv)
}

// HeadlessFor decides by the configuration's mode, "true", "false" or "auto":
// without a display there is no window.
func HeadlessFor(mode string, getenv func(string) string) bool {
	switch mode {
	case "true":
		return true
	case "false":
		return false
	}
	return getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == ""
}

// minVersion is the first major version that speaks all of the protocol that
// the plugin uses.
const minVersion = 120

// CheckVersion judges the product that Browser.getVersion tells, as in
// "Chrome/156.0.8078.108".
func CheckVersion(product string) error {
	name, version, _ := strings.Cut(product, "/")
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	switch {
	case err != nil || !strings.Contains(name, "Chrom") && !strings.Contains(name, "Edg"):
		return fmt.Errorf("%q is no Chromium; name one by plugins.browser.path", product)
	case major < minVersion:
		return fmt.Errorf("%s is too old: version %d or later is needed; update it, or name another one by plugins.browser.path", product, minVersion)
	}
	return nil
}
