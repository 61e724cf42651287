package envelope

import (
	"strconv"
	"time"

	"github.com/vant-run/vant/internal/wire"
)

// These are the errors that several packages answer with, so that each has one
// text. Each call makes a new one: the caller may change it.

// ErrTooLarge answers a request line that is too long.
func ErrTooLarge() *Error {
	return &Error{Code: RequestTooLarge, Message: "the request is longer than " +
		strconv.Itoa(MaxRequestBytes) + " bytes; pass large data by file"}
}

// ErrResultTooLarge answers a call whose reply would be too long.
func ErrResultTooLarge() *Error {
	return &Error{Code: ResultTooLarge, Message: "the reply would be longer than " +
		strconv.Itoa(MaxResultBytes) + " bytes; ask for less"}
}

// ErrBusy answers a connection for which there is no room.
func ErrBusy() *Error {
	return &Error{Code: Busy, Message: "the host serves " + strconv.Itoa(MaxConnections) +
		" connections already; try again"}
}

// ErrHTTP answers a client that speaks HTTP.
func ErrHTTP() *Error {
	return invalid("this is not HTTP: send one JSON object on one line")
}

// ErrTimeout answers a call that took longer than its bound.
func ErrTimeout(method string, bound time.Duration) *Error {
	return &Error{Code: Timeout, Message: method + " took longer than its bound of " +
		strconv.FormatInt(bound.Milliseconds(), 10) + " ms; whether it had an effect is unknown"}
}

// ErrMethodNotFound answers a call of a method that nobody has.
func ErrMethodNotFound(method string, near []string) *Error {
	msg := "no method " + wire.Quote(method)
	for i, n := range near {
		switch i {
		case 0:
			msg += "; near: " + n
		default:
			msg += ", " + n
		}
	}
	return &Error{Code: MethodNotFound, Message: msg}
}

// ErrInternal answers a fault of the host or of a plugin.
func ErrInternal(message string) *Error { return &Error{Code: InternalError, Message: message} }
