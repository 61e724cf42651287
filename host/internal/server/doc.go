// Package server moves request and reply lines between clients of the socket
// and a Handler: one request a connection. It knows the limits of the
// transport (sizes, times, connections) and nothing of methods.
//
// The host gives it a socket.Listener to accept from and the router as its
// Handler, and shuts it down before it closes the listener.
//
// # Descriptors
//
// A connection is a bare descriptor for as long as nothing has to be waited
// for, which is the whole life of most: its line is there when it is accepted,
// and its reply fits the socket's buffer. Only a connection that must wait is
// registered with the runtime's poller, and only then do deadlines need timers.
//
// # No resets
//
// A Unix socket that is closed while unread bytes are queued resets the
// client, which may then lose the end of its reply. Every connection therefore
// ends in one of two ways. If nothing more is expected, the socket is shut
// down in both directions, after which nothing can be queued, what is queued
// is read, and it is closed. If the client is known to be sending still, the
// reply is followed by an end of file and what comes is thrown away for a
// bounded time, so that the client gets to read; then the first way follows.
package server
