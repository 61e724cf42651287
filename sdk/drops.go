package sdk

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// dropsEvery is how often a reason to drop events is logged at most. A page or a
// loop may bring forth thousands of them, and who emits must not wait for a log.
const dropsEvery = 5 * time.Second

// drops logs events that cannot be published: of each reason the first one, and
// how many more there were in the time after it. The zero value is ready.
type drops struct {
	mu   sync.Mutex     // guards more; not held while logging
	more map[string]int // by reason, since its last line
}

// add counts an event; reason is one of few. args say more of it in the log.
func (d *drops) add(log hclog.Logger, reason, typ string, args ...any) {
	d.mu.Lock()
	_, quiet := d.more[reason]
	if quiet {
		d.more[reason]++
	} else {
		if d.more == nil {
			d.more = make(map[string]int)
		}
		d.more[reason] = 0
	}
	d.mu.Unlock()
	if quiet {
		return
	}
	time.AfterFunc(dropsEvery, func() { d.tell(log, reason) })
	log.Error("event dropped: "+reason, append([]any{"type", clip(typ)}, args...)...)
}

// tell logs what came since the last line; with nothing the next one is a first.
func (d *drops) tell(log hclog.Logger, reason string) {
	d.mu.Lock()
	n := d.more[reason]
	if n > 0 {
		d.more[reason] = 0
	} else {
		delete(d.more, reason)
	}
	d.mu.Unlock()
	if n == 0 {
		return
	}
	time.AfterFunc(dropsEvery, func() { d.tell(log, reason) })
	log.Error("more events dropped: "+reason, "dropped", n)
}
