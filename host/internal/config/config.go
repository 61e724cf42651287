package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Config is a whole configuration with its defaults filled in. It must not be
// modified after Load. Paths in it are absolute or "".
type Config struct {
	// File is where it came from, "" when there is no file.
	File string `yaml:"-"`

	Log       Log       `yaml:"log"`
	Plugins   Plugins   `yaml:"plugins"`
	Supervise Supervise `yaml:"supervise"`

	root *node // the file; nil when it is empty
}

// Log says what the host and its plugins log.
type Log struct {
	// Level is the host's own and the plugins' default.
	Level string `yaml:"level" oneof:"trace debug info warn error off"`
	// Calls switches the call log on.
	Calls bool `yaml:"calls"`
	// Dir is the folder of log files; "": below the state folder.
	Dir       string `yaml:"dir" is:"path"`
	MaxSizeMB int    `yaml:"max_size_mb" min:"1" max:"1024"`
	MaxFiles  int    `yaml:"max_files" min:"2" max:"100"`
}

// Plugins says which plugins run and how.
type Plugins struct {
	// Dirs replace the usual plugin directories when there are any.
	Dirs []string `yaml:"dirs" is:"path"`
	// Order lists names that win a contested method, the first most.
	Order []string `yaml:"order" is:"plugin"`
	// Verify is "off" or "strict": then only what Lock pins is started.
	Verify string `yaml:"verify" oneof:"off strict"`
	// Lock is the path of plugins.lock.
	Lock     string `yaml:"lock" is:"path"`
	Defaults Limits `yaml:"defaults"`
	// Sections are the plugins' own, by name. Use For.
	Sections map[string]Plugin `yaml:"<name>"`
}

// Plugin is one plugin's section.
type Plugin struct {
	Host Host `yaml:"host"`
	// Config is everything else in the section, as a JSON object.
	Config Section `yaml:"-"`
}

// Host is what the host wants to know of one plugin.
type Host struct {
	// Env are variables for this plugin alone.
	Env Secrets `yaml:"env" is:"variable"`
	// EnvFrom names variables of the host's own environment to pass on.
	EnvFrom  []string `yaml:"env_from" is:"variable"`
	Disabled bool     `yaml:"disabled"`
	Limits   `yaml:",inline"`
}

// Limits of a plugin; what is 0 or "" is not limited by the config.
type Limits struct {
	LogLevel    string `yaml:"log_level" oneof:"trace debug info warn error off"`
	MaxInFlight int    `yaml:"max_in_flight" min:"1" max:"1024"`
	Queue       int    `yaml:"queue" min:"1" max:"1024"`
	// MemoryMax is in bytes; the file may say 512MiB.
	MemoryMax Bytes `yaml:"memory_max" min:"16777216" max:"17592186044416"`
	// CPUWeight is a cgroup's: 100 is the usual share.
	CPUWeight int `yaml:"cpu_weight" min:"1" max:"10000"`
	// NoFile bounds open files.
	NoFile int `yaml:"nofile" min:"64" max:"1048576"`
}

// Supervise holds the numbers of the supervisor; what is 0 keeps the
// supervisor's default.
type Supervise struct {
	StartTimeout     time.Duration `yaml:"start_timeout" min:"100ms" max:"5m"`
	DescribeTimeout  time.Duration `yaml:"describe_timeout" min:"100ms" max:"1m"`
	ConfigureTimeout time.Duration `yaml:"configure_timeout" min:"100ms" max:"5m"`
	StartConcurrency int           `yaml:"start_concurrency" min:"1" max:"256"`
	SettleTimeout    time.Duration `yaml:"settle_timeout" min:"100ms" max:"1m"`

	HealthEvery   time.Duration `yaml:"health_every" min:"100ms" max:"1h"`
	HealthTimeout time.Duration `yaml:"health_timeout" min:"50ms" max:"1m"`
	HealthMisses  int           `yaml:"health_misses" min:"1" max:"100"`

	BackoffMin    time.Duration `yaml:"backoff_min" min:"10ms" max:"1m"`
	BackoffMax    time.Duration `yaml:"backoff_max" min:"10ms" max:"1h"`
	BackoffReset  time.Duration `yaml:"backoff_reset" min:"1s" max:"24h"`
	MaxFailures   int           `yaml:"max_failures" min:"1" max:"1000"`
	FailureWindow time.Duration `yaml:"failure_window" min:"1s" max:"24h"`

	MaxInFlight int `yaml:"max_in_flight" min:"1" max:"1024"`
	Queue       int `yaml:"queue" min:"1" max:"1024"`

	Drain          time.Duration `yaml:"drain" min:"100ms" max:"10m"`
	ExclusiveDrain time.Duration `yaml:"exclusive_drain" min:"100ms" max:"1m"`
	StopGrace      time.Duration `yaml:"stop_grace" min:"50ms" max:"2s"`
}

// Bytes is a number of bytes.
type Bytes int64

// defaults are what the host uses without a file. Lock and what the
// supervisor knows better are left to them.
func defaults() Config {
	return Config{
		Log:     Log{Level: "info", MaxSizeMB: 10, MaxFiles: 5},
		Plugins: Plugins{Verify: "off", Sections: map[string]Plugin{}},
	}
}

// For gives the section of a plugin with plugins.defaults filled in. Its
// Config is never empty.
func (p *Plugins) For(name string) Plugin {
	s := p.Sections[name]
	if len(s.Config) == 0 {
		s.Config = Section("{}")
	}
	l, d := &s.Host.Limits, &p.Defaults
	l.LogLevel = or(l.LogLevel, d.LogLevel)
	l.MaxInFlight = or(l.MaxInFlight, d.MaxInFlight)
	l.Queue = or(l.Queue, d.Queue)
	l.MemoryMax = or(l.MemoryMax, d.MemoryMax)
	l.CPUWeight = or(l.CPUWeight, d.CPUWeight)
	l.NoFile = or(l.NoFile, d.NoFile)
	return s
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// hidden stands for a value that is not for eyes.
const hidden = "***"

// Secrets are values by name. Formatting and marshalling show the names only.
type Secrets map[string]string

// Format writes the names.
func (s Secrets) Format(f fmt.State, _ rune) {
	fmt.Fprint(f, slices.Sorted(maps.Keys(s)), "=", hidden)
}

// MarshalJSON gives the names with hidden values.
func (s Secrets) MarshalJSON() ([]byte, error) {
	out := make(map[string]string, len(s))
	for name := range s {
		out[name] = hidden
	}
	return json.Marshal(out)
}

// Section is a JSON object of a plugin's own. The host does not know which of
// its values are secret, so formatting and marshalling show none.
type Section []byte

// Format writes how large the section is.
func (s Section) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "{%d bytes}", len(s)) }

// MarshalJSON gives the section with every value hidden.
func (s Section) MarshalJSON() ([]byte, error) {
	var top map[string]json.RawMessage
	if len(s) > 0 {
		if err := json.Unmarshal(s, &top); err != nil {
			return nil, err
		}
	}
	for key := range top {
		top[key] = json.RawMessage(`"` + hidden + `"`)
	}
	if top == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(top)
}
