package sdk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vant-run/vant/proto/envelope"
)

// Limits that the host sets for every plugin; breaking one panics at the
// declaration, so that it shows in the first test.
const (
	maxMethods    = 512
	maxMethodName = 128
)

var (
	pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	methodName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)
	eventType  = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$`)
	errorCode  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,63}$`)
)

// reservedNames are keys of the host's configuration, where a plugin's section
// goes by its name.
var reservedNames = []string{"dirs", "order", "verify", "lock", "defaults"}

// Plugin is a plugin's declaration. It is filled before [Serve] and must not
// be modified afterwards; declaring is not safe for concurrent use.
type Plugin struct {
	name, version, summary string
	methods                []*method // in order of declaration
	namespaces, features   []string
	errorCodes             []string
	exclusive              bool
	maxInFlight            uint32

	configSchema []byte
	configure    func(ctx context.Context, config []byte) error
	start        []func(ctx context.Context) error
	stop         []func(ctx context.Context) error
}

// method is one declared method.
type method struct {
	name, summary              string
	run                        func(ctx context.Context, params []byte) ([]byte, error)
	paramsSchema, resultSchema []byte
	examples                   [][]byte
	errors                     []string
	readOnly, idempotent       bool
	closed                     bool
	timeout                    time.Duration
	since, deprecated          string
}

// Option says something about a whole plugin.
type Option func(*Plugin)

// New declares a plugin. The name ([a-z][a-z0-9-]{0,31}) is that of the binary
// behind "vant-plugin-"; the version is in the plugin's own scheme. It panics
// when the name is not valid, or one of dirs, order, verify, lock and defaults:
// these are the host's in the configuration.
func New(name, version, summary string, options ...Option) *Plugin {
	if !pluginName.MatchString(name) {
		panic(fmt.Sprintf("sdk: plugin name %q: use lower-case letters, digits and dashes, at most 32", name))
	}
	if slices.Contains(reservedNames, name) {
		panic(fmt.Sprintf("sdk: plugin name %q: it is a key of the host's configuration; choose another", name))
	}
	p := &Plugin{name: name, version: version, summary: summary}
	for _, o := range options {
		o(p)
	}
	return p
}

// Exclusive: two processes of the plugin may not run at once, for example
// because they would share a profile folder. Replacing it then has a gap.
func Exclusive() Option { return func(p *Plugin) { p.exclusive = true } }

// MaxInFlight bounds how many calls run at once; without it the host's own
// bound stands.
func MaxInFlight(n int) Option {
	if n < 1 || n > 1<<16 {
		panic(fmt.Sprintf("sdk: MaxInFlight(%d): give 1 to 65536", n))
	}
	return func(p *Plugin) { p.maxInFlight = uint32(n) }
}

// Namespaces are listed by the host's capabilities; without them the first
// parts of the method names are.
func Namespaces(names ...string) Option {
	return func(p *Plugin) { p.namespaces = append(p.namespaces, names...) }
}

// Features are listed by the host's capabilities.
func Features(names ...string) Option {
	return func(p *Plugin) { p.features = append(p.features, names...) }
}

// ErrorCodes declares error codes of the plugin's own. Codes named by
// [Errors] need no second declaration.
func ErrorCodes(codes ...string) Option {
	return func(p *Plugin) {
		for _, c := range codes {
			p.declareCode(c)
		}
	}
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return p.name }

// Version is the plugin's version.
func (p *Plugin) Version() string { return p.version }

// OnStart adds a hook that runs once the configuration has been taken, in
// order of declaration. Its context lives until the plugin stops: background
// work uses it. An error keeps the plugin from starting and is shown to the
// operator.
func (p *Plugin) OnStart(hook func(ctx context.Context) error) { p.start = append(p.start, hook) }

// OnStop adds a hook that runs once, when no call runs any more or waiting for
// them has taken too long, in reverse order of declaration: it closes what the
// plugin owns. Its context bounds it; events and logs still work.
func (p *Plugin) OnStop(hook func(ctx context.Context) error) { p.stop = append(p.stop, hook) }

// declareCode adds a code of the plugin's own; codes of the protocol need none.
func (p *Plugin) declareCode(code string) {
	if !errorCode.MatchString(code) {
		panic(fmt.Sprintf("sdk: error code %q: use lower-case letters, digits and underscores, 2 to 64", code))
	}
	if !envelope.Code(code).Known() && !slices.Contains(p.errorCodes, code) {
		p.errorCodes = append(p.errorCodes, code)
	}
}

// add checks m and adds it.
func (p *Plugin) add(m *method) {
	fail := func(format string, args ...any) {
		panic("sdk: method " + m.name + ": " + fmt.Sprintf(format, args...))
	}
	switch {
	case len(m.name) > maxMethodName || !methodName.MatchString(m.name):
		fail("the name must be dotted lower-case words, such as weather.today, at most %d bytes", maxMethodName)
	case builtin(m.name):
		fail("the name belongs to the host")
	case slices.ContainsFunc(p.methods, func(o *method) bool { return o.name == m.name }):
		fail("declared twice")
	case len(p.methods) == maxMethods:
		fail("a plugin has at most %d methods", maxMethods)
	case m.timeout < 0 || m.timeout > envelope.MaxTimeout:
		fail("timeout %v: at most %v is allowed", m.timeout, envelope.MaxTimeout)
	}
	for _, c := range m.errors {
		p.declareCode(c)
	}
	p.methods = append(p.methods, m)
}

// builtin reports whether the host answers name itself.
func builtin(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "status", "version", "capabilities", "describe", "events", "host", "plugins":
		return true
	}
	return false
}
