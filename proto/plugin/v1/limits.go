package pluginv1

import "github.com/vant-run/vant/proto/envelope"

const (
	// MaxCallEvents is how many events one Invoke answer may carry: as many as
	// the host keeps.
	MaxCallEvents = 2048
	// MaxCallEventBytes bounds the types and data of these events together, in
	// bytes.
	MaxCallEventBytes = 4 << 20
	// MaxMessage bounds a gRPC message in bytes: the largest result, the events
	// that travel with it, and room for what stands around them.
	MaxMessage = envelope.MaxResultBytes + MaxCallEventBytes + 1<<20
)
