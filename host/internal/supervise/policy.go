package supervise

import (
	"runtime"
	"time"
)

const (
	// slotsCeiling bounds what a plugin or its config may ask for as in-flight
	// limit and as queue: each costs memory whether it is used or not.
	slotsCeiling = 1024
	// maxRetiring is how many old generations of a plugin may finish their
	// calls at once; the oldest is hastened when there are more.
	maxRetiring = 4
	// exitNotice is how long a failed call waits to learn whether its process
	// has ended: that decides what the client is told.
	exitNotice = 50 * time.Millisecond
	// keptExits is how many ends of processes Info shows.
	keptExits = 10
	// reasonBytes bounds a reason: part of it is text of the plugin's.
	reasonBytes = 1024
	// linkRetryMin and linkRetryMax bound the wait before a broken Link stream
	// is opened again.
	linkRetryMin = time.Second
	linkRetryMax = 30 * time.Second
	// arrivalBound is how long an answer waits for events that its plugin had
	// queued for Link before.
	arrivalBound = time.Second
	// attachRetryMax bounds the wait before the next try to attach to a process
	// that somebody starts by hand.
	attachRetryMax = time.Second
	// killBound is what Process.Stop may take beyond its grace.
	killBound = 2 * time.Second
)

// Policy holds every number of a Supervisor. A field that is 0 takes its value
// from DefaultPolicy.
type Policy struct {
	// Bounds of the steps of a start.
	LaunchTimeout      time.Duration // process and handshake
	StartHealthTimeout time.Duration // the first health answer
	DescribeTimeout    time.Duration
	ConfigureTimeout   time.Duration
	// StartConcurrency is how many starts may run at once.
	StartConcurrency int
	// SettleTimeout bounds the first starts: Settled is closed then at the
	// latest.
	SettleTimeout time.Duration

	// A ready plugin is asked for its health every HealthEvery and has
	// HealthTimeout to answer; HealthMisses failures in a row end it.
	HealthEvery   time.Duration
	HealthTimeout time.Duration
	HealthMisses  int

	// The n-th failure in a row is followed by a wait of BackoffMin×2^(n-1), at
	// most BackoffMax, ± Jitter (a fraction; negative: none). After
	// BackoffReset of being ready the count begins again.
	BackoffMin   time.Duration
	BackoffMax   time.Duration
	BackoffReset time.Duration
	Jitter       float64
	// MaxFailures within FailureWindow put a plugin into quarantine.
	MaxFailures   int
	FailureWindow time.Duration

	// MaxInFlight and MaxQueue are the bulkhead of a plugin that asks for
	// nothing else. A negative MaxQueue means no queue.
	MaxInFlight int
	MaxQueue    int

	// Drain bounds how long a replaced or removed generation may finish its
	// calls; a generation with methods of a longer bound gets that bound, so
	// that no call is cut before its own deadline. ExclusiveDrain is the bound
	// when a successor may not start before, StopDrain when the host stops.
	Drain          time.Duration
	ExclusiveDrain time.Duration
	StopDrain      time.Duration
	// DrainRPC bounds the plugin's own Drain, once its calls have ended.
	DrainRPC time.Duration
	// StopGrace stands between SIGTERM and SIGKILL.
	StopGrace time.Duration
}

// DefaultPolicy is what the documentation promises.
func DefaultPolicy() Policy {
	return Policy{
		LaunchTimeout:      10 * time.Second,
		StartHealthTimeout: 2 * time.Second,
		DescribeTimeout:    2 * time.Second,
		ConfigureTimeout:   5 * time.Second,
		// More than the cores: a start that hangs must not hold up the others.
		StartConcurrency: max(8, runtime.NumCPU()),
		SettleTimeout:    10 * time.Second,
		HealthEvery:      5 * time.Second,
		HealthTimeout:    time.Second,
		HealthMisses:     3,
		BackoffMin:       200 * time.Millisecond,
		BackoffMax:       30 * time.Second,
		BackoffReset:     60 * time.Second,
		Jitter:           0.2,
		MaxFailures:      8,
		FailureWindow:    10 * time.Minute,
		MaxInFlight:      64,
		MaxQueue:         64,
		Drain:            30 * time.Second,
		ExclusiveDrain:   5 * time.Second,
		StopDrain:        2 * time.Second,
		DrainRPC:         2 * time.Second,
		StopGrace:        time.Second,
	}
}

// withDefaults fills what is 0.
func (p Policy) withDefaults() Policy {
	d := DefaultPolicy()
	for _, f := range []struct{ have, want *time.Duration }{
		{&p.LaunchTimeout, &d.LaunchTimeout},
		{&p.StartHealthTimeout, &d.StartHealthTimeout},
		{&p.DescribeTimeout, &d.DescribeTimeout},
		{&p.ConfigureTimeout, &d.ConfigureTimeout},
		{&p.SettleTimeout, &d.SettleTimeout},
		{&p.HealthEvery, &d.HealthEvery},
		{&p.HealthTimeout, &d.HealthTimeout},
		{&p.BackoffMin, &d.BackoffMin},
		{&p.BackoffMax, &d.BackoffMax},
		{&p.BackoffReset, &d.BackoffReset},
		{&p.FailureWindow, &d.FailureWindow},
		{&p.Drain, &d.Drain},
		{&p.ExclusiveDrain, &d.ExclusiveDrain},
		{&p.StopDrain, &d.StopDrain},
		{&p.DrainRPC, &d.DrainRPC},
		{&p.StopGrace, &d.StopGrace},
	} {
		if *f.have <= 0 {
			*f.have = *f.want
		}
	}
	for _, f := range []struct{ have, want *int }{
		{&p.StartConcurrency, &d.StartConcurrency},
		{&p.HealthMisses, &d.HealthMisses},
		{&p.MaxFailures, &d.MaxFailures},
		{&p.MaxInFlight, &d.MaxInFlight},
	} {
		if *f.have <= 0 {
			*f.have = *f.want
		}
	}
	switch {
	case p.MaxQueue == 0:
		p.MaxQueue = d.MaxQueue
	case p.MaxQueue < 0:
		p.MaxQueue = 0
	}
	switch {
	case p.Jitter == 0:
		p.Jitter = d.Jitter
	case p.Jitter < 0:
		p.Jitter = 0
	case p.Jitter > 1:
		p.Jitter = 1
	}
	p.BackoffMax = max(p.BackoffMax, p.BackoffMin)
	return p
}
