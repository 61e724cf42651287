package hostproc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Process is what the system tells of a host that runs. Its members are empty
// where the system has no /proc, or does not tell.
type Process struct {
	Program string
	// Config is the file that --config or $VANT_CONFIG named.
	Config string
	env    []string
}

// Look asks for the process pid.
func Look(pid int) Process {
	dir := fmt.Sprintf("/proc/%d/", pid)
	var p Process
	if program, err := os.Readlink(dir + "exe"); err == nil {
		p.Program = strings.TrimSuffix(program, " (deleted)") // another one may have its place
	}
	if env, err := os.ReadFile(dir + "environ"); err == nil {
		p.env = strings.Split(string(env), "\x00")
	}
	p.Config = p.Getenv("VANT_CONFIG")
	if raw, err := os.ReadFile(dir + "cmdline"); err == nil {
		if file := configFlag(strings.Split(string(raw), "\x00")); file != "" {
			p.Config = file
		}
	}
	if p.Config != "" && !filepath.IsAbs(p.Config) {
		wd, err := os.Readlink(dir + "cwd")
		if err != nil {
			p.Config = ""
			return p
		}
		p.Config = filepath.Join(wd, p.Config)
	}
	return p
}

// Known says whether the environment is known.
func (p Process) Known() bool { return p.env != nil }

// Getenv gives a variable of the process as it was started.
func (p Process) Getenv(name string) string {
	for _, kv := range p.env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func configFlag(args []string) (file string) {
	for i, arg := range args {
		name, value, given := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case name != "-config" && name != "config" || !strings.HasPrefix(arg, "-"):
		case given:
			file = value
		case i+1 < len(args):
			file = args[i+1]
		}
	}
	return file
}
