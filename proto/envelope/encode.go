package envelope

import (
	"strings"

	"github.com/vant-run/vant/internal/wire"
)

// AppendResult appends the reply of a call that succeeded, newline included.
// Id and result are raw JSON without whitespace between tokens; an empty id is
// written as `""`, an empty result as null.
func AppendResult(dst, id, result []byte, warnings []string) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"ok":true,"result":`...)
	if len(result) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, result...)
	}
	return appendTail(dst, warnings)
}

// AppendError appends the reply of a call that failed, newline included. Data
// that is not well-formed JSON is left out.
func AppendError(dst, id []byte, err *Error, warnings []string) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"ok":false,"error":{"code":`...)
	dst = wire.AppendString(dst, string(err.Code))
	dst = append(dst, `,"message":`...)
	dst = wire.AppendString(dst, err.Message)
	if len(err.Data) > 0 {
		if compact, bad := wire.Valid(err.Data); bad == nil {
			dst = append(dst, `,"data":`...)
			if compact {
				dst = append(dst, err.Data...)
			} else {
				dst = wire.AppendCompact(dst, err.Data)
			}
		}
	}
	dst = append(dst, '}')
	return appendTail(dst, warnings)
}

// AppendRequest appends a request line, newline included. Id and params are
// raw JSON; nil params are written as `{}`, and whitespace in them is dropped,
// because a newline would end the line early.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"method":`...)
	dst = wire.AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	if len(params) == 0 {
		dst = append(dst, "{}"...)
	} else {
		dst = wire.AppendCompact(dst, params)
	}
	return append(dst, '}', '\n')
}

func appendHead(dst, id []byte) []byte {
	dst = append(dst, `{"version":1,"id":`...)
	if len(id) == 0 {
		return append(dst, noID...)
	}
	return append(dst, id...)
}

func appendTail(dst []byte, warnings []string) []byte {
	if len(warnings) > 0 {
		dst = append(dst, `,"warnings":[`...)
		for i, w := range warnings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = wire.AppendString(dst, w)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}', '\n')
}

var httpMethods = [...]string{
	"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE ",
	"PRI * HTTP/2",
}

// LooksLikeHTTP says whether a connection began with an HTTP request line.
// Twelve bytes are enough to know.
func LooksLikeHTTP(prefix []byte) bool {
	for _, m := range httpMethods {
		if len(prefix) >= len(m) && strings.EqualFold(string(prefix[:len(m)]), m) {
			return true
		}
	}
	return false
}
