package supervise

import (
	"context"
	"fmt"
	"time"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// Launcher makes processes out of specs. Package launch has the real one;
// tests have a fake.
type Launcher interface {
	// Launch starts a process and returns when it has answered the
	// handshake. A failure is a *StartError. Nothing of a failed start is left.
	// The process outlives ctx, which bounds the start alone.
	Launch(ctx context.Context, spec Spec) (Process, error)
}

// Spec is one plugin as the supervisor is asked to run it.
type Spec struct {
	Name   string // as in vant-plugin-<name>
	File   string // the file as the operator knows it
	Exec   string // the private copy that runs
	SHA256 string // of what runs, lower-case hex
	// Env is the whole environment of the process, without what go-plugin adds.
	Env []string
	// Config is the plugin's section as a JSON object.
	Config []byte
	// Dirs are made by the supervisor's owner before the start.
	StateDir, CacheDir, DataDir string
	LogLevel                    string
	// MaxInFlight and MaxQueue override the plugin's own wish when not 0.
	MaxInFlight, MaxQueue int
	// MemoryMax in bytes, CPUWeight (100 is the usual share) and NoFile bound
	// the process and what it starts; 0: no limit.
	MemoryMax         int64
	CPUWeight, NoFile int
	// Attach is the address of a process that runs already, under a debugger
	// for example; then Exec, SHA256, Env and the limits of the process mean
	// nothing. Such a process is not watched, drained or ended: whoever started
	// it stops it at breakpoints and ends it.
	Attach string
}

// Process is one running plugin process. All methods may be called
// concurrently, and all are safe after the process has ended.
type Process interface {
	// Pid is the process's id and its group's.
	Pid() int
	// Health asks the gRPC health service for "plugin".
	Health(ctx context.Context) error
	Describe(ctx context.Context) (*pluginv1.DescribeResponse, error)
	Configure(ctx context.Context, req *pluginv1.ConfigureRequest) error
	// Invoke is the hot path: one unary RPC, nothing else. Its error is a gRPC
	// status.
	Invoke(ctx context.Context, req *pluginv1.InvokeRequest) (*pluginv1.InvokeResponse, error)
	// Link runs the Link stream until ctx ends, the process ends or the stream
	// breaks. A plugin that does not implement Link makes it return nil at once.
	Link(ctx context.Context, h LinkHandler) error
	Drain(ctx context.Context, timeout time.Duration) error
	// Stop ends the process group: SIGTERM, after grace SIGKILL, then release of
	// everything the process held in the host. It returns when all is released,
	// at most grace and two seconds later, whatever the process does.
	Stop(grace time.Duration)
	// Exited is closed when the process has ended, however that came.
	Exited() <-chan struct{}
	// Exit says how it ended; valid once Exited is closed.
	Exit() Exit
	// Resources says what bounds the process and what it uses.
	Resources() Resources
}

// Resources are what a process may use, by which means that is in force ("":
// it is not), and what it uses. 0: no limit, or not known.
type Resources struct {
	MemoryMax int64  `json:"memory_max"` // bytes
	MemoryBy  string `json:"memory_by"`  // cgroup or sampling
	CPUWeight int    `json:"cpu_weight"`
	CPUBy     string `json:"cpu_by"` // cgroup or nice
	NoFile    int    `json:"nofile"` // the limit in force
	// RSS is the memory in bytes of the process and of all that belongs to it.
	RSS int64 `json:"rss_bytes"`
}

// LinkHandler receives what a plugin sends on Link.
type LinkHandler interface {
	// Event is called in order and must not block. The number is what answers
	// to Invoke name as link_events; 0: none does.
	Event(ev *pluginv1.Event, number uint64)
	// Call runs a method for the plugin; ctx ends when the plugin cancels the
	// call or goes away.
	Call(ctx context.Context, call *pluginv1.Call) *pluginv1.CallResult
}

// Exit says how a process ended.
type Exit struct {
	Code   int    // exit status, -1 when ended by a signal
	Signal string // name of the signal, "" when it exited
	Time   time.Time
	// Reason says why the process was ended for the host's sake; "" when it
	// ended by itself, or by somebody else.
	Reason string
}

// why is a text for people: the reason, else how it ended.
func (e Exit) why() string {
	if e.Reason != "" {
		return e.Reason
	}
	return "its process ended (" + e.String() + ")"
}

// String gives "exit status 3" or "signal: killed".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// StartError says at which step a start failed.
type StartError struct {
	// Step is launch, handshake, health, describe, configure or claim.
	Step string
	// Permanent failures are not retried: the same file will fail again.
	Permanent bool
	Err       error
}

func (e *StartError) Error() string { return e.Step + ": " + e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }
