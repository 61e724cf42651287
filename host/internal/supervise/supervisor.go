package supervise

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/vant-run/vant/host/internal/method"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// State is where a plugin stands in its life.
type State string

const (
	Starting    State = "starting"
	Ready       State = "ready"
	Draining    State = "draining"
	Backoff     State = "backoff"
	Quarantined State = "quarantined"
	Failed      State = "failed"
	Refused     State = "refused"
	Stopped     State = "stopped"
)

// Options configure a Supervisor. Launcher is required; every function may be
// nil. The functions may be called concurrently unless they say otherwise, and
// must not call methods of the Supervisor that wait (Restart, Stop).
type Options struct {
	Launcher Launcher
	Log      hclog.Logger
	Policy   Policy
	// HostVersion is told to plugins.
	HostVersion string
	// Order is the config's plugins.order: earlier names win claims.
	Order []string
	// Emit publishes an event; data is a JSON object or nil for an
	// empty one. It must not block.
	Emit func(typ string, data []byte)
	// Call runs a method for a plugin (package router).
	Call func(ctx context.Context, from Origin, call *pluginv1.Call) *pluginv1.CallResult
	// Publish receives the whole set of registered plugins, sorted by name,
	// after every change; calls never overlap and the last one is the truth.
	Publish func([]Registered)
	// CheckConfig checks a plugin's section of the config against the schema
	// that its Describe gave, which is not empty. Its error is shown and keeps
	// the plugin from starting.
	CheckConfig func(plugin string, schema, config []byte) error
	// LogDrops says how many log lines of a plugin were lost, for Info.
	LogDrops func(plugin string) uint64
	// Gone says that nothing is left of a plugin that was removed.
	Gone func(plugin string)
	// Rand gives numbers in [0,1) for the jitter of waits; nil: math/rand/v2.
	Rand func() float64
}

// Origin says which plugin makes a call through the host and how deep it is.
type Origin struct {
	Plugin string
	Depth  uint32 // of the new call
}

// Registered is a plugin as the method table sees it.
type Registered struct {
	Plugin     *Plugin
	Set        *method.Set
	SHA256     string
	Generation uint64
	State      State
}

// Status is a row of plugins.list.
type Status struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	State      State  `json:"state"`
	Reason     string `json:"reason,omitempty"`
	File       string `json:"file"`
	SHA256     string `json:"sha256"`
	Pid        int    `json:"pid,omitempty"`
	Generation uint64 `json:"generation"`
	UptimeMS   int64  `json:"uptime_ms"`
	Methods    int    `json:"methods"`
	InFlight   int    `json:"in_flight"`
	Calls      uint64 `json:"calls"`
	Errors     uint64 `json:"errors"`
	P50US      int64  `json:"p50_us"`
	P99US      int64  `json:"p99_us"`
	Restarts   uint64 `json:"restarts"`

	// Leaving: it is on its way out, and nothing takes its place.
	Leaving bool `json:"-"`
	// Described are the methods of one that does not serve, as it last described
	// them, or as the plugin did that had the name of a refused file.
	Described []string `json:"-"`
}

// UnavailableError: the plugin cannot take the call, or lost it.
type UnavailableError struct {
	Plugin     string
	State      State
	Reason     string
	RetryAfter time.Duration
}

func (e *UnavailableError) Error() string {
	state := string(e.State)
	if e.State == Backoff {
		state = "in backoff" // the one name that is no adjective
	}
	s := "plugin " + e.Plugin + " is " + state
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// BusyError: the plugin's in-flight limit and its queue are full.
type BusyError struct {
	Plugin string
	Limit  int
}

func (e *BusyError) Error() string { return "plugin " + e.Plugin + " has all its calls in use" }
