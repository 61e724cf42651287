package router

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vant-run/vant/host/internal/supervise"
	"github.com/vant-run/vant/internal/wire"
	"github.com/vant-run/vant/proto/envelope"
	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	// maxErrorMessage bounds the message of a plugin's error.
	maxErrorMessage = 16 << 10
	// maxErrorData bounds the data of a plugin's error.
	maxErrorData = 1 << 20
)

func invalid(message string) *envelope.Error {
	return &envelope.Error{Code: envelope.InvalidRequest, Message: message}
}

func tooDeep() *envelope.Error {
	return &envelope.Error{
		Code:    envelope.PermissionDenied,
		Message: "calls may stand " + strconv.Itoa(MaxCallDepth) + " deep; plugins call one another in a circle",
	}
}

// violated is the answer to parameters that break the schema.
func violated(v *wire.Violation) *envelope.Error {
	code := envelope.InvalidParams
	if v.Type {
		code = envelope.InvalidParamType
	}
	return &envelope.Error{Code: code, Message: v.Error()}
}

// failure is the answer to a call that did not come to a plugin's own answer.
// E is nil when the method is not known yet; bound is what bounded the call,
// 0 when nothing did.
func (r *Router) failure(err error, c *call, e *entry, bound time.Duration) *envelope.Error {
	var (
		own         *envelope.Error
		unavailable *supervise.UnavailableError
		busy        *supervise.BusyError
		fault       *supervise.PluginFault
		unknown     *supervise.NotFoundError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &unavailable):
		return &envelope.Error{
			Code:    envelope.PluginUnavailable,
			Message: unavailable.Error(),
			Data:    unavailableData(unavailable),
		}
	case errors.As(err, &busy):
		data := append([]byte(nil), `{"plugin":`...)
		data = wire.AppendString(data, busy.Plugin)
		data = append(data, `,"limit":`...)
		data = strconv.AppendInt(data, int64(busy.Limit), 10)
		return &envelope.Error{Code: envelope.PluginBusy, Message: busy.Error(), Data: append(data, '}')}
	case errors.Is(err, supervise.ErrResultTooLarge):
		return envelope.ErrResultTooLarge()
	case errors.As(err, &unknown):
		return &envelope.Error{Code: envelope.NotFound, Message: unknown.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		if bound == 0 {
			return &envelope.Error{
				Code:    envelope.Timeout,
				Message: c.shown() + " did not answer within its caller's bound; whether it had an effect is unknown",
			}
		}
		return envelope.ErrTimeout(c.shown(), bound)
	case errors.Is(err, context.Canceled):
		// Callers that gave a call up do not hear of it.
		return &envelope.Error{
			Code:    envelope.PluginUnavailable,
			Message: c.shown() + " was cut short, as when the host stops; whether it had an effect is unknown",
		}
	case errors.As(err, &fault):
		r.log.Warn("a plugin failed", "plugin", fault.Plugin, "method", c.shown(), "fault", fault.Message)
		return envelope.ErrInternal(clip(fault.Error()))
	}
	r.log.Error("a call failed in the host", "method", c.shown(), "error", err)
	if e == nil || e.run != nil {
		return envelope.ErrInternal(c.shown() + ": " + clip(err.Error()))
	}
	return envelope.ErrInternal("plugin " + e.plugin + ": " + clip(err.Error()))
}

// refused gives what an operator's request failed with the code invalid_params
// when it has none and is no matter of time: the file or the configuration
// that it names is at fault, and the error says how.
func refused(ctx context.Context, err error) error {
	var own *envelope.Error
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &envelope.Error{Code: envelope.InvalidParams, Message: clip(err.Error())}
}

func unavailableData(u *supervise.UnavailableError) []byte {
	data := append(make([]byte, 0, 96), `{"plugin":`...)
	data = wire.AppendString(data, u.Plugin)
	data = append(data, `,"state":`...)
	data = wire.AppendString(data, string(u.State))
	data = append(data, `,"retry_after_ms":`...)
	// Rounded up: who comes back on time must not find the door still shut.
	data = strconv.AppendInt(data, int64((max(u.RetryAfter, 0)+time.Millisecond-1)/time.Millisecond), 10)
	return append(data, '}')
}

// pluginError is the answer to an error that a plugin gave: its code passes
// when it is the plugin's own or the protocol's, but not the host's.
func (r *Router) pluginError(e *entry, err *pluginv1.Error) *envelope.Error {
	out := &envelope.Error{Code: envelope.Code(err.GetCode()), Message: clip(err.GetMessage())}
	if envelope.Reserved(err.GetCode()) || !e.codes[err.GetCode()] && !out.Code.Known() {
		r.log.Warn("a plugin answered with a code that it may not use",
			"plugin", e.plugin, "method", e.Name, "code", strconv.Quote(clipTo(err.GetCode(), 64)))
		out.Code = envelope.InternalError
	}
	if out.Message == "" {
		out.Message = "plugin " + e.plugin + " gave no message"
	}
	if data := err.GetData(); len(data) > 0 {
		compact, bad := wire.Valid(data)
		switch {
		case bad != nil || len(data) > maxErrorData:
			r.log.Warn("a plugin's error has data that cannot be passed on",
				"plugin", e.plugin, "method", e.Name, "bytes", len(data))
		case compact:
			out.Data = data
		default:
			out.Data = wire.AppendCompact(nil, data)
		}
	}
	return out
}

func clip(s string) string { return clipTo(s, maxErrorMessage) }

// clipTo bounds s in bytes and makes it valid UTF-8: protobuf refuses other
// text.
func clipTo(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
