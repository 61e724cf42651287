// Package method turns what a plugin's Describe says into methods that the
// router can serve: names, schemas and bounds are checked once, schemas are
// compiled once. Package supervise asks it while it starts a plugin; package
// router holds its results in the method table.
package method

import (
	"time"

	"github.com/vant-run/vant/internal/wire"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// Set is a plugin's whole description, checked. It must not be modified.
type Set struct {
	Name, Version, Summary string
	Methods                []*Method // sorted by name
	Namespaces, Features   []string  // sorted
	ConfigSchema           []byte
	Exclusive              bool
	MaxInFlight            int             // 0: the host's default
	ErrorCodes             map[string]bool // the plugin's own
}

// Names gives the names of the methods, sorted.
func (s *Set) Names() []string {
	names := make([]string, len(s.Methods))
	for i, m := range s.Methods {
		names[i] = m.Name
	}
	return names
}

// Method is one method, ready to be served. It must not be modified.
type Method struct {
	Name, Summary        string
	ParamsSchema         []byte // compact JSON, never empty
	ResultSchema         []byte // compact JSON, never empty
	ParamsShort          []byte // the short form for describe: {"tab_id":"integer?"}
	ReturnsShort         string
	Errors               []string
	ReadOnly, Idempotent bool
	Timeout              time.Duration // never 0
	Since, Deprecated    string
	Examples             [][]byte
	Params               *wire.Schema // compiled ParamsSchema
}

// Parse checks a description. Its error is a sentence that says what is wrong
// and where, for the author of the plugin.
func Parse(d *pluginv1.DescribeResponse) (*Set, error) { return parse(d) }
