package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vant-run/vant/cmd/vant/internal/agent"
	"github.com/vant-run/vant/cmd/vant/internal/hostproc"
	"github.com/vant-run/vant/cmd/vant/internal/output"
	"github.com/vant-run/vant/internal/release"
	"github.com/vant-run/vant/sdk/client"
)

// finding is the outcome of one check.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Find out what is wrong, and what to do", Args: cobra.NoArgs,
		Long:    "Check the socket, the host, the versions, the plugin folders and each plugin, and\nsay what to do about what is wrong. Exit status 1 when something is.",
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
	found := []finding{checkFolder(c.Socket()), checkSocket(c.Socket()), checkHostBinary()}
	var version struct {
		Vant     string `json:"vant"`
		Protocol int    `json:"protocol"`
	}
	if err := c.Call(ctx, "version", nil, &version); err != nil {
		f := finding{Check: "host", Detail: agent.Explain(err), Advice: "run \"vant up\""}
		if !errors.Is(err, client.ErrNoHost) {
			f.Advice = "look into the host's log, or stop it and run \"vant up\""
		}
		return append(append(found, f), a.checkDirs()...)
	}
	found = append(found, finding{Check: "host", OK: true, Detail: "answers at " + c.Socket()})
	found = append(found, checkVersion(version.Vant))
	found = append(found, a.checkDirs()...)
	return append(found, checkPlugins(ctx, c)...)
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

func checkHostBinary() finding {
	path, err := hostproc.Find()
	if err != nil {
		return finding{Check: "vantd", Detail: err.Error(), Advice: "install vantd beside vant"}
	}
	return finding{Check: "vantd", OK: true, Detail: path}
}

func checkVersion(host string) finding {
	ours := release.Version()
	if host != ours {
		return finding{Check: "versions", Detail: "the host has " + host + ", this command " + ours,
			Advice: "run \"vant down\" and \"vant up\" with the newer one"}
	}
	return finding{Check: "versions", OK: true, Detail: ours}
}

// checkDirs judges the plugin folders that this environment names. A folder
// that is not there is no fault.
func (a *app) checkDirs() []finding {
	var found []finding
	for _, dir := range a.pluginDirs() {
		f := finding{Check: "plugin folder", OK: true, Detail: dir}
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Detail += " (not there)"
		case err != nil:
			f.OK, f.Detail, f.Advice = false, err.Error(), "make it readable for you"
		case !info.IsDir():
			f.OK, f.Detail, f.Advice = false, dir+" is no folder", "move it away"
		case !ours(info) && !owned(info, 0):
			f.OK, f.Detail, f.Advice = false, dir+" belongs to another user", "the host starts nothing from it: use a folder of your own"
		case info.Mode().Perm()&0o002 != 0:
			f.OK, f.Detail, f.Advice = false, dir+" may be written to by everyone", "run chmod o-w on it: the host starts nothing from it"
		}
		found = append(found, f)
	}
	return found
}

// pluginDirs gives the folders where the host looks when its configuration
// names none.
func (a *app) pluginDirs() []string {
	if path := a.Getenv("VANT_PLUGIN_PATH"); path != "" {
		return filepath.SplitList(path)
	}
	data := a.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		if home, err := os.UserHomeDir(); err == nil {
			data = filepath.Join(home, ".local", "share")
		}
	}
	var dirs []string
	if data != "" {
		dirs = append(dirs, filepath.Join(data, "vant", "plugins"))
	}
	dirs = append(dirs, "/usr/local/lib/vant/plugins")
	if vantd, err := hostproc.Find(); err == nil {
		if vantd, err = filepath.EvalSymlinks(vantd); err == nil {
			bin := filepath.Dir(vantd)
			dirs = append(dirs, filepath.Join(bin, "plugins"), filepath.Join(bin, "..", "lib", "vant", "plugins"))
		}
	}
	return dirs
}

// checkPlugins gives one finding a plugin or refused file.
func checkPlugins(ctx context.Context, c *client.Client) []finding {
	var rows []row
	if err := c.Call(ctx, "plugins.list", object{"all": true}, &rows); err != nil {
		return []finding{{Check: "plugins", Detail: err.Error(), Advice: "look into the host's log"}}
	}
	if len(rows) == 0 {
		return []finding{{Check: "plugins", OK: true, Detail: "none found"}}
	}
	var found []finding
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
		case "failed", "quarantined":
			f.OK, f.Advice = false, "see \"vant plugin logs "+name+"\", then \"vant plugin reset "+name+"\""
		case "backoff":
			f.OK, f.Advice = false, "it is started again by itself; see \"vant plugin logs "+name+"\""
		}
		found = append(found, f)
	}
	return found
}
