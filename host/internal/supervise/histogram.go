package supervise

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// Buckets of microseconds: one each below 8, then eight to an octave, which
	// keeps a quantile within 7 % of the truth.
	octaveBits  = 3
	octaveParts = 1 << octaveBits
	// topBits bounds the range at 2^29 µs, nine minutes: more than any call may
	// take. What is longer counts as that.
	topBits     = 29
	bucketCount = (topBits - octaveBits + 1) * octaveParts
)

// histogram counts durations. Its zero value is empty; add and quantile may be
// called concurrently.
type histogram struct {
	counts [bucketCount]atomic.Uint64
}

func (h *histogram) add(d time.Duration) { h.counts[bucketOf(d.Microseconds())].Add(1) }

// bucketOf gives the bucket that holds us microseconds.
func bucketOf(us int64) int {
	if us < octaveParts {
		return int(max(us, 0))
	}
	n := bits.Len64(uint64(us))
	if n > topBits {
		return bucketCount - 1
	}
	shift := n - octaveBits - 1
	return (shift+1)*octaveParts + int(us>>shift) - octaveParts
}

// bucketRange gives the values of a bucket: from low up to, not including,
// high.
func bucketRange(i int) (low, high int64) {
	if i < octaveParts {
		return int64(i), int64(i) + 1
	}
	shift := i/octaveParts - 1
	low = int64(octaveParts+i%octaveParts) << shift
	return low, low + 1<<shift
}

// Bucket is one step of a latency histogram.
type Bucket struct {
	BelowUS int64  `json:"below_us"` // upper bound, not included
	Count   uint64 `json:"count"`    // of this bucket alone
}

// read gives the buckets that hold something and two quantiles in
// microseconds, 0 when there is nothing. Counts that change meanwhile are in
// or not.
func (h *histogram) read() (buckets []Bucket, p50, p99 int64) {
	var total uint64
	var snapshot [bucketCount]uint64
	for i := range h.counts {
		snapshot[i] = h.counts[i].Load()
		total += snapshot[i]
	}
	if total == 0 {
		return nil, 0, 0
	}
	want50, want99 := (total+1)/2, total-total/100
	var seen uint64
	for i, n := range snapshot {
		if n == 0 {
			continue
		}
		low, high := bucketRange(i)
		buckets = append(buckets, Bucket{BelowUS: high, Count: n})
		mid := (low + high - 1) / 2
		if seen < want50 && seen+n >= want50 {
			p50 = mid
		}
		if seen < want99 && seen+n >= want99 {
			p99 = mid
		}
		seen += n
	}
	return buckets, p50, p99
}
