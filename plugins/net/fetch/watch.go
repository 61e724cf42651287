package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"
)

// watch ends an exchange that takes too long: to connect, between two bytes,
// or altogether. It also measures.
type watch struct {
	cancel  context.CancelCauseFunc
	silence time.Duration
	idle    *time.Timer
	whole   *time.Timer
	begun   time.Time

	mu                   sync.Mutex // guards the fields that follow
	dnsAt, dialAt, tlsAt time.Time
	dns, connect, tls    time.Duration
	firstByte            time.Duration
	phase                string
}

// Timing says how long each part took, in milliseconds. What did not happen,
// such as a connect on a reused connection, took 0.
type Timing struct {
	DNS       float64 `json:"dns"`
	Connect   float64 `json:"connect"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
	Total     float64 `json:"total"`
}

// startWatch gives a context that ends by itself with an *Error as its cause.
func startWatch(ctx context.Context, silence, whole time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{cancel: cancel, silence: silence, begun: time.Now(), phase: "connecting"}
	w.idle = time.AfterFunc(silence, func() {
		w.mu.Lock()
		phase := w.phase
		w.mu.Unlock()
		cancel(&Error{Kind: KindTimeout, Message: fmt.Sprintf("%s took longer than timeout_ms (%d)", phase, silence.Milliseconds())})
	})
	w.whole = time.AfterFunc(whole, func() {
		cancel(&Error{Kind: KindTimeout, Message: fmt.Sprintf("the exchange took longer than deadline_ms (%d)", whole.Milliseconds())})
	})
	return httptrace.WithClientTrace(ctx, w.trace()), w
}

// stop must be called when the exchange is over.
func (w *watch) stop() {
	w.idle.Stop()
	w.whole.Stop()
	w.cancel(context.Canceled)
}

// progress starts the silence anew.
func (w *watch) progress() { w.idle.Reset(w.silence) }

func (w *watch) enter(phase string) {
	w.mu.Lock()
	w.phase = phase
	w.mu.Unlock()
	w.progress()
}

func (w *watch) trace() *httptrace.ClientTrace {
	lap := func(to *time.Duration, from *time.Time) {
		w.mu.Lock()
		*to += time.Since(*from)
		w.mu.Unlock()
	}
	mark := func(at *time.Time) {
		w.mu.Lock()
		*at = time.Now()
		w.mu.Unlock()
	}
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { mark(&w.dnsAt) },
		DNSDone:           func(httptrace.DNSDoneInfo) { lap(&w.dns, &w.dnsAt) },
		ConnectStart:      func(string, string) { mark(&w.dialAt) },
		ConnectDone:       func(string, string, error) { lap(&w.connect, &w.dialAt) },
		TLSHandshakeStart: func() { mark(&w.tlsAt) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { lap(&w.tls, &w.tlsAt) },
		// Connecting as a whole has one bound; from here on it is silence that counts.
		GotConn: func(httptrace.GotConnInfo) { w.enter("waiting for an answer") },
		GotFirstResponseByte: func() {
			w.mu.Lock()
			w.firstByte = time.Since(w.begun)
			w.mu.Unlock()
			w.enter("waiting for more of the answer")
		},
	}
}

func (w *watch) timing() Timing {
	w.mu.Lock()
	defer w.mu.Unlock()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return Timing{ms(w.dns), ms(w.connect), ms(w.tls), ms(w.firstByte), ms(time.Since(w.begun))}
}
