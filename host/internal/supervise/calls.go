package supervise

import (
	"math/bits"
	"sync/atomic"
)

const (
	// The low bits of a call's number hold its depth.
	depthBits = 4
	depthMask = 1<<depthBits - 1
)

// callTable knows the calls in flight on one generation, so that a call which
// the plugin makes on behalf of one of them gets its depth. It is an open
// hash table of atomics with at least twice as many places as there are slots:
// add always finds room, and neither locks nor allocates.
type callTable []atomic.Uint64

func newCallTable(limit int) callTable {
	return make(callTable, 1<<bits.Len(uint(max(limit, 1)*2-1)))
}

// add notes the call id, which is not 0, and gives its place.
func (t callTable) add(id uint64) int {
	mask := len(t) - 1
	for i := int(id>>depthBits) & mask; ; i = (i + 1) & mask {
		if t[i].Load() == 0 && t[i].CompareAndSwap(0, id) {
			return i
		}
	}
}

func (t callTable) remove(place int) { t[place].Store(0) }

// has says whether id is in flight. Places empty out in any order, so it looks
// at all of them.
func (t callTable) has(id uint64) bool {
	for i := range t {
		if t[i].Load() == id {
			return id != 0
		}
	}
	return false
}

// callID makes a call's number out of a count and its depth.
func callID(count uint64, depth uint32) uint64 {
	return count<<depthBits | uint64(min(depth, depthMask))
}

// childDepth is the depth of a call whose parent is id: unknown parents stand
// at the top.
func (t callTable) childDepth(id uint64) uint32 {
	if !t.has(id) {
		return 1
	}
	return uint32(id&depthMask) + 1
}
