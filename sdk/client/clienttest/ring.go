package clienttest

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"
)

// Ring answers events.since as a host does: with what it keeps, or by a long
// poll. Each Ring has an epoch of its own.
type Ring struct {
	epoch string

	mu     sync.Mutex // guards the fields that follow
	events []string   // event n has the sequence n+1
	woken  chan struct{}
}

// NewRing makes an empty ring.
func NewRing(epoch string) *Ring {
	return &Ring{epoch: epoch, woken: make(chan struct{})}
}

// Add appends an event with data {} and gives its JSON.
func (r *Ring) Add(typ string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	event := fmt.Sprintf(`{"sequence":%d,"type":%q,"time":"2026-01-02T03:04:05.678Z","data":{}}`, len(r.events)+1, typ)
	r.events = append(r.events, event)
	close(r.woken)
	r.woken = make(chan struct{})
	return event
}

// Serve is the handler of events.since.
func (r *Ring) Serve(conn net.Conn, req Request) {
	var p struct {
		After  uint64 `json:"after"`
		WaitMS int64  `json:"wait_ms"`
	}
	if err := json.Unmarshal(req.Params, &p); err != nil {
		Failure("invalid_params", err.Error())(conn, req)
		return
	}
	timer := time.NewTimer(time.Duration(p.WaitMS) * time.Millisecond)
	defer timer.Stop()
	gone := make(chan struct{})
	go func() { // ends when the connection does
		defer close(gone)
		var b [1]byte
		for {
			if _, err := conn.Read(b[:]); err != nil {
				return
			}
		}
	}()
	for {
		page, n, woken := r.page(p.After)
		if n > 0 || p.WaitMS == 0 {
			Result(page)(conn, req)
			break
		}
		select {
		case <-woken:
			continue
		case <-timer.C:
			Result(page)(conn, req)
		case <-gone:
		}
		break
	}
	conn.Close()
	<-gone
}

func (r *Ring) page(after uint64) (page string, n int, woken <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := ""
	for i := after; i < uint64(len(r.events)); i++ {
		if n > 0 {
			list += ","
		}
		list += r.events[i]
		n++
	}
	return fmt.Sprintf(`{"latest":%d,"dropped":0,"epoch":%q,"events":[%s]}`, len(r.events), r.epoch, list), n, r.woken
}
