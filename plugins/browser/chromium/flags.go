package chromium

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// flags are those of every start, by what they are for.
var flags = []string{
	// Nothing greets, asks or reminds.
	"--no-first-run",
	"--no-default-browser-check",
	"--disable-search-engine-choice-screen",
	"--hide-crash-restore-bubble",
	"--noerrdialogs",
	"--disable-infobars",
	"--propagate-iph-for-testing", // no hints that point at new features

	// Nothing is fetched or reported that no page asked for.
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-component-extensions-with-background-pages",
	"--disable-default-apps",
	"--disable-domain-reliability",
	"--disable-field-trial-config",
	"--disable-sync",
	"--metrics-recording-only",
	"--no-pings",

	// Several tabs are driven at once: those behind go on as fast as the one in
	// front, and many commands are no attack.
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
	"--disable-ipc-flooding-protection",

	// No prompt keeps a call waiting. Permissions are granted over the protocol;
	// what was not granted is denied.
	"--deny-permission-prompts",
	"--disable-hang-monitor",
	"--disable-prompt-on-repost",
	"--disable-popup-blocking", // they are tabs, and reported
	"--password-store=basic",   // else the keyring asks for its password
	"--use-mock-keychain",      // macOS: the same

	// One model of navigation, and input that is not lost before the first frame.
	"--disable-back-forward-cache",
	"--allow-pre-commit-input",

	// Colours are the same on every screen.
	"--force-color-profile=srgb",

	// No reports of crashes. (The handlers themselves cannot be switched off:
	// with --disable-crashpad-for-testing the network service crashes.)
	"--disable-breakpad",
}

// disabled are features that stand in the way, without which a start is
// quicker, or that speak to servers.
var disabled = []string{
	"AutofillServerCommunication",
	"AvoidUnnecessaryBeforeUnloadCheckSync", // beforeunload is always asked
	"DeferRendererTasksAfterInput",          // what a page does about input need not wait for a frame
	"DestroyProfileOnBrowserClose",          // a profile lives on without windows
	"DialMediaRouteProvider",
	"GlobalMediaControls",
	"HttpsUpgrades", // the navigation policy decides about schemes
	"LensOverlay",
	"MediaRouter", // looks for devices in the network
	"OptimizationHints",
	"PaintHolding",   // a screenshot shows the new document, not the old one
	"RenderDocument", // a context may be used again, and its calls never answered
	"Translate",
	// Each window would make two more renderers for the address bar's list.
	"WebUIOmniboxAimPopup",
	"WebUIOmniboxFullPopup",
	"WebUIOmniboxPopup",
}

// enabled are features that are off by default.
var enabled = []string{
	"CDPScreenshotNewSurface", // a screenshot does not resize what is on screen
}

// commandLine is the argument vector. extra flags come last, where they win;
// lists of features are joined, since Chromium takes the last list alone.
func commandLine(o Options, root bool) ([]string, error) {
	off, on := slices.Clone(disabled), slices.Clone(enabled)
	var extra []string
	for _, arg := range o.Args {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "--") || name == "--":
			return nil, fmt.Errorf("browser argument %q is no flag: it must begin with --", arg)
		case strings.ContainsRune(arg, 0):
			return nil, fmt.Errorf("browser argument %q holds a zero byte", arg)
		case name == "--user-data-dir" || strings.HasPrefix(name, "--remote-debugging-"):
			return nil, fmt.Errorf("browser argument %s is the plugin's to set", name)
		case name == "--disable-features":
			off = append(off, strings.Split(value, ",")...)
		case name == "--enable-features":
			on = append(on, strings.Split(value, ",")...)
		default:
			extra = append(extra, arg)
		}
	}
	// What the user wants on is not switched off here.
	off = slices.DeleteFunc(off, func(f string) bool {
		return slices.Contains(on[len(enabled):], f)
	})
	args := []string{o.Path, "--remote-debugging-pipe", "--user-data-dir=" + o.Profile}
	args = append(args, flags...)
	args = append(args, "--disable-features="+strings.Join(off, ","), "--enable-features="+strings.Join(on, ","))
	if !slices.ContainsFunc(extra, func(arg string) bool { return strings.HasPrefix(arg, "--window-size=") }) {
		// A common desktop's: without a screen to fit, the default makes pages show
		// themselves as on a phone.
		args = append(args, "--window-size=1280,800")
	}
	if o.Headless {
		args = append(args, "--headless", "--mute-audio")
	}
	if root {
		args = append(args, "--no-sandbox")
	}
	if smallShm() {
		args = append(args, "--disable-dev-shm-usage")
	}
	// The first tab: empty, so that nothing of it is waited for.
	return append(append(args, extra...), "about:blank"), nil
}

// minShm is what pages' shared memory should find free; containers often have
// 64 MiB, and tabs crash when it is used up.
const minShm = 512 << 20

func smallShm() bool {
	var s unix.Statfs_t
	return unix.Statfs("/dev/shm", &s) == nil && s.Bavail*uint64(s.Bsize) < minShm
}
