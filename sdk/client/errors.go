package client

import (
	"errors"

	"github.com/vant-run/vant/proto/envelope"
)

// Error is a failure that the host answered: a code of the protocol or of a
// plugin, a message, and optional data.
type Error = envelope.Error

var (
	// ErrNoHost says that no host listens; nothing was sent. The error's
	// dynamic type is *NoHostError, which has the socket's path.
	ErrNoHost = errors.New("no host")
	// ErrHostGone says that the host that Events followed went away and did not
	// come back within RestartWait.
	ErrHostGone = errors.New("the host went away and did not come back")
	// ErrWrongPeer says that the socket belongs to another user; nothing was
	// sent.
	ErrWrongPeer = errors.New("the socket is served by another user")
	// ErrNoReply says that the host closed the connection before its reply was
	// complete. Whether the call took effect is unknown.
	ErrNoReply = errors.New("the host closed the connection without a reply; whether the call took effect is unknown")
	// ErrReplyTooLarge says that the reply is longer than the protocol allows.
	ErrReplyTooLarge = errors.New("the reply is larger than the protocol allows")
	// ErrBadReply says that what came is no reply to the request.
	ErrBadReply = errors.New("bad reply")
)

// NoHostError says at which socket there was no host.
type NoHostError struct {
	Socket string
	Err    error // what connecting said
}

func (e *NoHostError) Error() string { return "no host at " + e.Socket + ": " + e.Err.Error() }

// Unwrap gives what connecting said.
func (e *NoHostError) Unwrap() error { return e.Err }

// Is makes the error an ErrNoHost.
func (e *NoHostError) Is(target error) bool { return target == ErrNoHost }
