package supervise

import "time"

// backoff remembers a plugin's failures and says what follows the next one.
type backoff struct {
	policy *Policy
	rand   func() float64 // in [0,1)
	streak int            // failures since the plugin was last well
	recent []time.Time    // failures within the window, oldest first
}

// fail notes a failure. It gives the wait before the next start, or
// quarantine.
func (b *backoff) fail(now time.Time) (wait time.Duration, quarantine bool) {
	b.streak++
	keep := b.recent[:0]
	for _, t := range b.recent {
		if now.Sub(t) < b.policy.FailureWindow {
			keep = append(keep, t)
		}
	}
	b.recent = append(keep, now)
	if len(b.recent) >= b.policy.MaxFailures {
		return 0, true
	}
	wait = b.policy.BackoffMax
	// The shift is bounded before it can overflow.
	if n := b.streak - 1; n < 30 && b.policy.BackoffMin<<n>>n == b.policy.BackoffMin {
		wait = min(wait, b.policy.BackoffMin<<n)
	}
	spread := 1 + b.policy.Jitter*(2*b.rand()-1)
	return time.Duration(float64(wait) * spread), false
}

// well forgets the streak: the plugin has been ready for long enough. What is
// in the window still counts towards quarantine.
func (b *backoff) well() { b.streak = 0 }

// forgive forgets everything: somebody has looked into it.
func (b *backoff) forgive() { b.streak, b.recent = 0, nil }
