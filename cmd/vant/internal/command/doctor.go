package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/cmd/vant/internal/hostproc"
	"github.com/vant-run/vant/cmd/vant/internal/output"
	"github.com/vant-run/vant/internal/chromium"
	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/sdk/client"
)

// finding is the outcome of one check. One that is in order may have advice
// too: nothing is wrong, but somebody should know.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

// toolBound bounds the programs that a check runs.
const toolBound = 10 * time.Second

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Find out what is wrong, and what to do", Args: cobra.NoArgs,
		Long: "Check the socket and who serves it, the configuration as \"vant config check\"\n" +
			"does, the versions, the host's folders, the plugin folders, each plugin of a host\n" +
			"that runs, and Chromium, also the one that plugins.browser.path names, and say\n" +
			"what to do about what is wrong. Exit status 1 when something is.",
		Example: "  vant doctor\n  vant doctor --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			for _, f := range found {
				if !f.OK {
					a.status = agent.Failure
				}
			}
			return fail(a.report(found))
		},
	}
}

func (a *app) report(found []finding) error {
	if a.json {
		raw, err := json.Marshal(found)
		if err != nil {
			return err
		}
		return a.Stdout.JSON(raw)
	}
	var b strings.Builder
	for _, f := range found {
		mark := "ok   "
		if !f.OK {
			mark = "WRONG"
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", mark, f.Check, output.OneLine(f.Detail))
		if f.Advice != "" {
			fmt.Fprintf(&b, "       -> %s\n", output.OneLine(f.Advice))
		}
	}
	return a.Stdout.Text(strings.TrimSuffix(b.String(), "\n"))
}

func (a *app) examine(ctx context.Context) []finding {
	c, err := client.Dial(client.Options{Socket: a.socket, Timeout: probeTimeout})
	if err != nil {
		return []finding{{Check: "socket", Detail: err.Error(), Advice: "choose another path with --socket or $VANT_SOCKET"}}
	}
	version, noHost := hostVersion(ctx, c)
	pid, noStatus := 0, noHost
	if noHost == nil {
		pid, noStatus = hostPid(ctx, c)
	}
	var running hostproc.Process
	if noStatus == nil {
		running = hostproc.Look(pid)
	}
	found := []finding{checkFolder(c.Socket()), checkSocket(c.Socket())}
	mended := "run \"vant up\""
	vantd, err := hostproc.Find()
	if err != nil {
		found = append(found, finding{Check: "vantd", Detail: err.Error(), Advice: "install vantd beside vant"})
	} else {
		found = append(found, checkHostBinary(ctx, vantd))
		config, valid := judgeConfig(ctx, vantd, running.Config, noHost == nil)
		found = append(found, config...)
		if !valid {
			mended = "mend the configuration, then " + mended
		}
	}
	var rows []row
	var plugins []finding
	if noHost == nil {
		rows, plugins = checkPlugins(ctx, c)
	}
	dirs := a.pluginDirs(vantd, running, rows)
	offline := slices.Concat(a.checkOwnFolders(), checkDirs(dirs))
	if err := noHost; err != nil {
		f := finding{Check: "host", Detail: err.Error(), Advice: mended}
		if !errors.Is(err, client.ErrNoHost) {
			f.Advice = "look into the host's log, or stop it and run \"vant up\""
		}
		if errors.Is(err, client.ErrWrongPeer) {
			f.Advice = "choose another path with --socket or $VANT_SOCKET"
		}
		found = append(append(found, f), offline...)
		return append(found, checkChromium(ctx, a.Getenv, plannedBrowser(ctx, vantd), usesBrowser(dirs, nil)))
	}
	found = append(found, checkServer(c.Socket(), pid, noStatus, running, vantd), checkVersion(version))
	found = slices.Concat(found, offline, plugins)
	return append(found, checkChromium(ctx, a.Getenv, runningBrowser(ctx, c), usesBrowser(dirs, rows)))
}

// checkFolder: whoever may write in the socket's folder may put another socket
// in the place of the host's.
func checkFolder(socket string) finding {
	dir := filepath.Dir(socket)
	f := finding{Check: "socket folder", Detail: dir}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		f.Detail, f.Advice = err.Error(), "make the folder with mode 0700, or choose another path with $VANT_SOCKET"
	case !info.IsDir():
		f.Detail, f.Advice = dir+" is no folder", "choose another path with $VANT_SOCKET"
	case !ours(info) && !owned(info, 0):
		f.Detail, f.Advice = dir+" belongs to another user", "choose another path with $VANT_SOCKET"
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		f.Detail = fmt.Sprintf("%s may be written to by others (mode %04o)", dir, info.Mode().Perm())
		f.Advice = "run chmod go-w on it, or choose another path with $VANT_SOCKET"
	default:
		f.OK = true
	}
	return f
}

func checkSocket(path string) finding {
	f := finding{Check: "socket", Detail: path}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.OK, f.Detail = true, path+" (not there: no host has made it)"
	case err != nil:
		f.Detail, f.Advice = err.Error(), "choose another path with $VANT_SOCKET"
	case info.Mode()&fs.ModeSocket == 0:
		f.Detail, f.Advice = path+" is no socket", "move it away, or choose another path with $VANT_SOCKET"
	case !ours(info):
		f.Detail, f.Advice = path+" belongs to another user", "choose another path with $VANT_SOCKET"
	case info.Mode().Perm() != 0o600:
		f.Detail = fmt.Sprintf("%s has mode %04o, not 0600", path, info.Mode().Perm())
		f.Advice = "run \"vant down\" and \"vant up\""
	default:
		f.OK = true
	}
	return f
}

func ours(info fs.FileInfo) bool { return owned(info, os.Geteuid()) }

func owned(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}

// checkHostBinary: a vantd of another version would be started by the next
// "vant up".
func checkHostBinary(ctx context.Context, path string) finding {
	f := finding{Check: "vantd", OK: true, Detail: path}
	out, err := outputOf(ctx, toolBound, path, "version")
	fields := strings.Fields(out)
	switch {
	case err != nil || len(fields) < 2 || fields[0] != "vantd":
		f.OK, f.Advice = false, "install vantd anew"
		f.Detail += " does not say its version"
		if err != nil {
			f.Detail += ": " + err.Error()
		}
	case fields[1] != release.Version():
		f.OK, f.Detail = false, path+" has version "+fields[1]+", this command "+release.Version()
		f.Advice = "install vant and vantd of one version"
	}
	return f
}

// outputOf runs a program and gives what it prints, both streams together. A
// failure's error is the first line of that.
func outputOf(ctx context.Context, bound time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // what it started may hold its output
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return text, nil
	}
	if ctx.Err() != nil {
		return text, fmt.Errorf("%s did not end within %v", name, bound)
	}
	if first, _, _ := strings.Cut(text, "\n"); first != "" {
		err = errors.New(first)
	}
	return text, err
}

// judgeConfig has vantd check the configuration that the host reads, or would
// read: one that is not valid keeps a host from starting, and one that runs goes
// on by what it has read before.
func judgeConfig(ctx context.Context, vantd, file string, running bool) (found []finding, valid bool) {
	out, err := checkConfig(ctx, vantd, file)
	if err != nil {
		last := 0 // of the faults; the first line is one
		for line := range strings.Lines(err.Error()) {
			if strings.Contains(line, ": warning: ") {
				found = append(found, configWarning(line))
				continue
			}
			last = len(found)
			found = append(found, finding{Check: "configuration", Detail: strings.TrimSpace(line)})
		}
		see := "\"vant config check\""
		if file != "" {
			see = "\"vant config check --config " + file + "\""
		}
		advice := &found[last].Advice
		*advice = "mend that, see " + see + ", then run \"vant up\""
		if running {
			*advice = "the host goes on by what it read before: mend that, see " + see + ", then \"vant config reload\""
		}
		return found, false
	}
	first, rest, _ := strings.Cut(out, "\n")
	found = []finding{{Check: "configuration", OK: true, Detail: first}}
	for line := range strings.Lines(rest) {
		found = append(found, configWarning(line))
	}
	return found, true
}

// configWarning is a line of the check that keeps no host from starting.
func configWarning(line string) finding {
	advice := "install the plugin, or take its name out of the configuration"
	if strings.Contains(line, "could not be asked") {
		advice = "until then its section is not checked; \"vantd check\" says what becomes of the plugin"
	}
	return finding{Check: "configuration", OK: true, Detail: strings.TrimSpace(line), Advice: advice}
}

// checkServer says which process has the socket.
func checkServer(socket string, pid int, err error, running hostproc.Process, vantd string) finding {
	f := finding{Check: "host", OK: true, Detail: "answers at " + socket}
	if err != nil {
		f.OK, f.Detail, f.Advice = false, agent.Explain(err), "look into the host's log, or stop it and run \"vant up\""
		return f
	}
	f.Detail += fmt.Sprintf(", process %d", pid)
	if running.Program == "" {
		return f // no such folder here, or another user's
	}
	f.Detail += ", " + running.Program
	if real, err := filepath.EvalSymlinks(vantd); err == nil && real != running.Program {
		f.Advice = "\"vant up\" would start " + vantd + "; for that one run \"vant down\" and \"vant up\""
	}
	return f
}

func checkVersion(host string) finding {
	ours := release.Version()
	if host != ours {
		return finding{Check: "versions", Detail: "the host has " + host + ", this command " + ours,
			Advice: "run \"vant down\" and \"vant up\" with the newer one"}
	}
	return finding{Check: "versions", OK: true, Detail: ours}
}

// checkOwnFolders judges the folders in which the host keeps logs, private
// copies and plugins' sockets. It makes them itself, closed to others.
func (a *app) checkOwnFolders() []finding {
	var dirs []string
	if dir, err := hostproc.StateDir(a.Getenv); err == nil {
		dirs = append(dirs, dir)
	}
	if run := a.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		dirs = append(dirs, filepath.Join(run, "vant"))
	}
	var found []finding
	for _, dir := range append(dirs, fmt.Sprintf("/tmp/vant-%d", os.Getuid())) {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f := finding{Check: "own folder", Detail: dir}
		switch {
		case err != nil:
			f.Detail, f.Advice = err.Error(), "make it readable for you"
		case !info.IsDir():
			f.Detail, f.Advice = dir+" is no folder", "move it away"
		case !ours(info):
			f.Detail, f.Advice = dir+" belongs to another user", "have it removed: the host does not use it"
		case info.Mode().Perm()&0o022 != 0:
			f.Detail = fmt.Sprintf("%s may be written to by others (mode %04o)", dir, info.Mode().Perm())
			f.Advice = "run chmod 700 on it"
		default:
			f.OK = true
		}
		found = append(found, f)
	}
	return found
}

// pluginFolder is a folder with plugins, and whose it is.
type pluginFolder struct{ path, of string }

// checkDirs judges the plugin folders. One that is not there is no fault.
func checkDirs(dirs []pluginFolder) []finding {
	var found []finding
	for _, d := range dirs {
		dir := d.path
		f := finding{Check: "plugin folder", OK: true, Detail: dir + d.of}
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Detail = dir + " (not there)"
		case err != nil:
			f.OK, f.Detail, f.Advice = false, err.Error(), "make it readable for you"
		case !info.IsDir():
			f.OK, f.Detail, f.Advice = false, dir+" is no folder", "move it away"
		case !ours(info) && !owned(info, 0):
			f.OK, f.Detail, f.Advice = false, dir+" belongs to another user", "the host starts nothing from it: use a folder of your own"
		case info.Mode().Perm()&0o002 != 0:
			f.OK, f.Detail, f.Advice = false, dir+" may be written to by everyone", "run chmod o-w on it: the host starts nothing from it"
		case info.Mode().Perm()&0o020 != 0 && !ownGroup(info):
			f.OK, f.Detail, f.Advice = false, dir+" may be written to by a group", "run chmod g-w on it: the host starts nothing from it"
		}
		found = append(found, f)
	}
	return found
}

// ownGroup says whether a file's group is its owner's own.
func ownGroup(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Gid == stat.Uid
}

// pluginDirs gives the folders where the host looks: those of what it has found,
// then those that its environment and its program's place make, which hold unless
// its configuration names others. Without a host they are those of vantd.
func (a *app) pluginDirs(vantd string, running hostproc.Process, rows []row) []pluginFolder {
	var dirs []pluginFolder
	add := func(path, of string) {
		if path != "" && !slices.ContainsFunc(dirs, func(d pluginFolder) bool { return d.path == path }) {
			dirs = append(dirs, pluginFolder{path, of})
		}
	}
	for _, r := range rows {
		if filepath.IsAbs(r.File) { // else it is a plugin that was attached
			add(filepath.Dir(r.File), ", in use by the host")
		}
	}
	getenv := a.Getenv
	if running.Known() {
		getenv = running.Getenv
	}
	if path := getenv("VANT_PLUGIN_PATH"); path != "" {
		for _, dir := range filepath.SplitList(path) {
			add(dir, "")
		}
		return dirs
	}
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		if home, err := os.UserHomeDir(); err == nil {
			data = filepath.Join(home, ".local", "share")
		}
	}
	if data != "" {
		add(filepath.Join(data, "vant", "plugins"), "")
	}
	add("/usr/local/lib/vant/plugins", "")
	program := running.Program
	if program == "" {
		program, _ = filepath.EvalSymlinks(vantd) // "" when there is none
	}
	if program != "" {
		bin := filepath.Dir(program)
		add(filepath.Join(bin, "plugins"), ", beside "+program)
		add(filepath.Join(bin, "..", "lib", "vant", "plugins"), ", near "+program)
	}
	return dirs
}

// checkPlugins gives one finding a plugin or refused file.
func checkPlugins(ctx context.Context, c *client.Client) (rows []row, found []finding) {
	if err := c.Call(ctx, "plugins.list", object{"all": true}, &rows); err != nil {
		return nil, []finding{{Check: "plugins", Detail: err.Error(), Advice: "look into the host's log"}}
	}
	if len(rows) == 0 {
		return nil, []finding{{Check: "plugins", OK: true, Detail: "none found"}}
	}
	for _, r := range rows {
		name := r.Name
		if name == "" {
			name = r.File
		}
		f := finding{Check: "plugin " + name, OK: true, Detail: strings.TrimSpace(r.State + " " + r.Version)}
		if r.Reason != "" {
			f.Detail += ": " + r.Reason
		}
		switch r.State {
		case "refused":
			f.OK, f.Advice = false, "put that right in "+r.File+": the host then takes it by itself"
		case "failed":
			f.OK, f.Advice = false, "mend the configuration, then \"vant config reload\"; see \"vant plugin logs "+name+"\""
		case "quarantined":
			f.OK, f.Advice = false, "see \"vant plugin logs "+name+"\", then \"vant plugin reset "+name+"\""
		case "backoff":
			f.OK, f.Advice = false, "it is started again by itself; see \"vant plugin logs "+name+"\""
		case "ready":
			if r.Reason != "" { // what should run instead does not
				f.OK, f.Advice = false, "the one before it serves on; see \"vant plugin logs "+name+"\""
			}
		case "starting":
			if r.Reason != "" {
				f.OK, f.Advice = false, "it is being started; see \"vant plugin logs "+name+"\""
			}
		}
		found = append(found, f)
	}
	return rows, found
}

// usesBrowser says whether there is a plugin that needs Chromium.
func usesBrowser(dirs []pluginFolder, rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.Name == "browser" }) ||
		slices.ContainsFunc(dirs, func(dir pluginFolder) bool {
			_, err := os.Stat(filepath.Join(dir.path, "vant-plugin-browser"))
			return err == nil
		})
}

// browserSection is what the configuration of the plugin browser says of the
// program.
type browserSection struct {
	Path   string
	Attach string // it drives a browser that runs already, and starts none
}

// runningBrowser is what is in force at a host.
func runningBrowser(ctx context.Context, c *client.Client) browserSection {
	var info struct{ Config browserSection }
	if c.Call(ctx, "plugins.info", object{"name": "browser"}, &info) != nil {
		return browserSection{} // there is no such plugin; others are told of by checkPlugins
	}
	return info.Config
}

// plannedBrowser is what the next host would go by.
func plannedBrowser(ctx context.Context, vantd string) browserSection {
	var s browserSection
	if out, err := outputOf(ctx, toolBound, vantd, "check", "--section", "browser"); err != nil || json.Unmarshal([]byte(out), &s) != nil {
		return browserSection{} // the check of the configuration says why
	}
	return s
}

// checkAttached looks whether something listens where the browser should.
func checkAttached(ctx context.Context, address string) finding {
	ctx, cancel := context.WithTimeout(ctx, toolBound)
	defer cancel()
	u, err := url.Parse(address)
	if err == nil {
		var conn net.Conn
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", u.Host); err == nil {
			conn.Close()
			return finding{Check: "chromium", OK: true, Detail: "runs at " + address}
		}
	}
	return finding{
		Check: "chromium", Detail: "no browser answers at " + address + ": " + err.Error(),
		Advice: "start it with --remote-debugging-port, or take plugins.browser.attach out of the configuration: then one is started",
	}
}

// checkChromium finds the browser where the plugin does. Without a plugin that
// drives one it may be missing.
func checkChromium(ctx context.Context, getenv func(string) string, section browserSection, needed bool) finding {
	if needed && section.Attach != "" {
		return checkAttached(ctx, section.Attach)
	}
	f := finding{Check: "chromium", OK: true}
	file, err := chromium.Find(section.Path, getenv)
	switch {
	case err != nil && section.Path != "":
		f.OK, f.Detail, f.Advice = !needed, err.Error(), "mend plugins.browser.path in the configuration, or leave it out: then one is looked for"
		return f
	case err != nil:
		f.Detail = "not installed; no plugin here needs it"
		if needed {
			f.OK, f.Detail, f.Advice = false, "not installed, and the plugin browser needs it", chromium.Advice()
		}
		return f
	}
	out, err := outputOf(ctx, toolBound, file, "--version")
	if err != nil {
		f.OK, f.Detail, f.Advice = !needed, file+" does not run: "+err.Error(), "install it anew"
		return f
	}
	// A launcher's own complaints come first.
	version := out
	for line := range strings.Lines(out) {
		if version = strings.TrimSpace(line); strings.Contains(version, "Chrom") || strings.Contains(version, "Edge") {
			break
		}
	}
	f.Detail = file + ", " + version
	return f
}
