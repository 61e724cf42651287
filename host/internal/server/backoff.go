package server

import "time"

// backoff spaces tries at something that fails for a while.
type backoff time.Duration

const (
	minBackoff = backoff(5 * time.Millisecond)
	maxBackoff = backoff(time.Second)
)

// next gives the wait before the next try; first says that the one before had
// succeeded.
func (b *backoff) next() (wait time.Duration, first bool) {
	first = *b == 0
	*b = min(max(2**b, minBackoff), maxBackoff)
	return time.Duration(*b), first
}

// end forgets the failures and says whether there were any.
func (b *backoff) end() bool {
	failed := *b != 0
	*b = 0
	return failed
}
