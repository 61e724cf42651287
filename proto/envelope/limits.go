package envelope

import "time"

// Version is the protocol's version, the value of every envelope's "version".
const Version = 1

// Limits of the protocol; `capabilities` shows them to clients.
const (
	// MaxRequestBytes bounds a request line, its newline not counted.
	MaxRequestBytes = 1 << 20
	// MaxResultBytes bounds a reply line.
	MaxResultBytes = 16 << 20
	// MaxIDBytes bounds a string id, its quotes not counted.
	MaxIDBytes = 256
	// MaxDepth bounds the nesting of a JSON text.
	MaxDepth = 512
	// MaxConnections is how many connections the host serves at once.
	MaxConnections = 256
	// DefaultTimeout bounds a call whose method names no bound.
	DefaultTimeout = 30 * time.Second
	// MaxTimeout is the largest bound that a method may name.
	MaxTimeout = 305 * time.Second
	// FirstByteTimeout is how long a client may stay silent.
	FirstByteTimeout = 10 * time.Second
	// RequestTimeout is how long a client may take to send its line.
	RequestTimeout = 30 * time.Second
	// WriteTimeout is how long a write of a reply may stand still.
	WriteTimeout = 30 * time.Second
	// MaxSocketPath bounds a socket's path in bytes.
	MaxSocketPath = 104
)
