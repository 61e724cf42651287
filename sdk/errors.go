package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

// maxErrorMessage bounds the message of an error, in bytes.
const maxErrorMessage = 4096

// Source says whose fault an error is.
type Source int

const (
	// Unknown leaves the question to the host.
	Unknown Source = iota
	// Caller: the parameters were wrong.
	Caller
	// Fault: the plugin failed.
	Fault
	// Downstream: what the plugin talked to failed.
	Downstream
)

// Error is a failure with a code: the protocol's, or one that the plugin
// declared with [Errors] or [ErrorCodes]. A code that nobody declared reaches
// the client as internal_error. [Call] returns it too.
type Error struct {
	Code    string
	Message string
	// Data is a value with a JSON form, nil for none.
	Data   any
	Source Source
	cause  error
}

// Errorf makes an Error; %w keeps a cause for errors.Is and errors.As.
func Errorf(code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error()}
	if errors.Unwrap(err) != nil {
		e.cause = err
	} else if _, many := err.(interface{ Unwrap() []error }); many {
		e.cause = err
	}
	return e
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// From returns e with its source set.
func (e *Error) From(s Source) *Error {
	c := *e
	c.Source = s
	return &c
}

// With returns e with data for the client.
func (e *Error) With(data any) *Error {
	c := *e
	c.Data = data
	return &c
}

// protocolCode reports whether every plugin may answer with code; the rest of
// the protocol's codes are the host's alone.
func protocolCode(code string) bool {
	return envelope.Code(code).Known() && !envelope.Reserved(code)
}

// wireError turns what a method returned into what travels, and says what the
// log should have besides: "" when the client's message tells it all.
func (p *Plugin) wireError(ctx context.Context, err error) (out *pluginv1.Error, log string) {
	var e *Error
	switch {
	case errors.As(err, &e):
		if e == nil {
			return internal("the method returned a nil *sdk.Error"), "the method returned a nil *sdk.Error"
		}
		return p.wireTyped(e)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded):
		return &pluginv1.Error{Code: string(envelope.Timeout), Message: "the call's time is over"}, ""
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // nobody reads it, so no log line either
		return internal("the call was cancelled"), ""
	}
	return internal(err.Error()), err.Error()
}

func (p *Plugin) wireTyped(e *Error) (out *pluginv1.Error, log string) {
	out = &pluginv1.Error{
		Code:    e.Code,
		Message: clip(e.Message),
		Source:  e.source(),
	}
	if e.Data != nil {
		data, err := encode(e.Data)
		if err != nil {
			log = "the data of error " + e.Code + " has no JSON form: " + err.Error()
		}
		out.Data = data
	}
	if !protocolCode(e.Code) && !slices.Contains(p.errorCodes, e.Code) {
		log = "error code " + clip(e.Code) + " is not the plugin's to give, declare its own with sdk.Errors: " + e.Message
		out.Code = string(envelope.InternalError)
		out.Message = clip(e.Error())
		out.Source = pluginv1.Source_SOURCE_PLUGIN
	}
	if e.Code == string(envelope.InternalError) {
		log = e.Message
	}
	return out, log
}

func (e *Error) source() pluginv1.Source {
	switch e.Source {
	case Caller:
		return pluginv1.Source_SOURCE_CALLER
	case Fault:
		return pluginv1.Source_SOURCE_PLUGIN
	case Downstream:
		return pluginv1.Source_SOURCE_DOWNSTREAM
	}
	switch envelope.Code(e.Code) {
	case envelope.InvalidParams, envelope.InvalidParamType:
		return pluginv1.Source_SOURCE_CALLER
	case envelope.InternalError:
		return pluginv1.Source_SOURCE_PLUGIN
	}
	return pluginv1.Source_SOURCE_UNSPECIFIED
}

func internal(message string) *pluginv1.Error {
	return &pluginv1.Error{
		Code:    string(envelope.InternalError),
		Message: clip(message),
		Source:  pluginv1.Source_SOURCE_PLUGIN,
	}
}

// clip makes a message valid UTF-8 of bounded length: a bad byte in a string
// field would fail the whole RPC.
func clip(s string) string {
	if len(s) > maxErrorMessage {
		cut := maxErrorMessage
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
